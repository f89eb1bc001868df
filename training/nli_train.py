"""Training of an NLI cross-encoder: three classes and wrong words.

    python training/nli_pairs.py DATA/halueval/dataset_halueval_qa.jsonl generated.jsonl
    python training/nli_train.py MPNET DATA/nli generated.jsonl BASE --stage base --layers 9 --bf16
    python training/typed_pairs.py DATA/nli edited.jsonl
    python training/bound_pairs.py DATA bound.jsonl
    python training/nli_train.py BASE DATA/nli generated.jsonl BOUND --stage bound --bf16 \\
        --edited edited.jsonl --bound bound.jsonl --first-epoch 2 --tokens 3300000

MPNET is the folder of all-mpnet-base-v2 (``mpnet.py`` fetches it), DATA/nli the labelled pairs that
``nli_stages.py`` names. BASE and BOUND become ordinary transformers checkpoints for sequence
classification. Both get a ``calibration.json`` (temperature and held-out figures) and a
``words.safetensors``. That is a linear layer over the last hidden states; its output is the
log-odds that a token of the hypothesis is wrong. The layer of a checkpoint is trained further.
``training/nli_export.py`` turns the last one into the packaged ONNX file, ``nli_prune.py`` makes
the small model from it.

The loss is the cross-entropy of the three classes. A row of a two-class source that is labelled
``not_entailment`` is trained with the likelihood of its label: P(neutral) + P(contradiction).
Added, with a weight, is the cross-entropy of entailment against contradiction alone, where all that
is not entailed counts as contradicted. SelfCheckGPT's score is made of these two, and three classes
leave open which of them is the larger where neutral is right. Premises are joined to long ones, so
that the model learns to find one sentence's evidence in a full window.
``spans`` of generated rows mark the wrong words of the hypothesis, and no word of an entailed
hypothesis is wrong. These labels train the layer of words, with the weight of the stage.
Batches hold pairs of like length up to a number of tokens. Word embeddings stay as they are.
One part in :data:`HELD_OUT` of every source is not trained on: the temperature is fitted there.
Progress is saved every few minutes, and the same command resumes from there.

Needs: torch, transformers, safetensors, tokenizers and this package.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nli_reader import (
    NOT_ENTAILMENT,
    UNKNOWN,
    Pair,
    Reader,
    Rows,
    read_all,
    tensors,
    tokenized,
)
from nli_stages import (
    BOUND,
    DOCUMENTS,
    EDITED,
    GENERATED,
    LONG,
    STAGES,
    TYPED,
    WRITTEN,
    Stage,
)
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from veridical.stats.metrics.ranking import auroc

HELD_OUT = 50
WARM_UP = 0.06
WEIGHT_DECAY = 0.01
SAVE_EVERY = 240.0  # seconds
#: Names in a mixture that are a part of their file.
PARTS = (GENERATED, TYPED, DOCUMENTS, WRITTEN, LONG)


def sources(
    data: Path, generated: Path, made: dict[str, Path | None], stage: Stage, seed: int
) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield each source of the mixture: name, rows to train on, rows held out."""
    documents = made.get(DOCUMENTS)
    made = made | {GENERATED: generated, TYPED: generated, WRITTEN: documents, LONG: documents}
    for name in stage.mixture:
        if name in made:
            file = made[name]
            if file is None:
                option = DOCUMENTS if name in (WRITTEN, LONG) else name
                raise SystemExit(f"this stage learns from --{option} FILE")
            rows, kept_back = read(file, seed)
            if name in PARTS:
                rows, kept_back = (
                    [r for r in part if part_of(r) == name] for part in (rows, kept_back)
                )
            yield name, rows, kept_back
        else:
            yield name, *read(data / f"{name}.jsonl", seed)


def part_of(row: dict[str, Any]) -> str:
    """Return the name in a mixture of a row of ``nli_pairs.py`` or ``document_pairs.py``."""
    source = str(row.get("source", ""))
    if source.startswith("document_"):
        kind = source.removeprefix("document_")
        return LONG if kind == LONG else WRITTEN if kind.startswith(WRITTEN) else DOCUMENTS
    return TYPED if source.startswith("typed_") else GENERATED


def read(path: Path, seed: int) -> tuple[Rows, Rows]:
    """Read the rows of a JSON Lines file: to train on, and held out (the same in each stage)."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    random.Random(seed).shuffle(rows)
    cut = len(rows) // HELD_OUT
    return rows[cut:], rows[:cut]


def batches(pairs: list[Pair], chance: random.Random, most: int) -> list[list[Pair]]:
    """Put ``pairs`` in random batches of like length and at most ``most`` padded tokens."""
    ordered = sorted(pairs, key=lambda p: len(p.ids) + chance.uniform(-3, 3))
    found: list[list[Pair]] = [[]]
    longest = 0
    for pair in ordered:
        longest = max(longest, len(pair.ids))
        if found[-1] and longest * (len(found[-1]) + 1) > most:
            found.append([])
            longest = len(pair.ids)
        found[-1].append(pair)
    chance.shuffle(found)
    return found


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Compute cross-entropy; for NOT_ENTAILMENT, minus log(P(neutral) + P(contradiction))."""
    logs = torch.log_softmax(logits.float(), dim=1)
    other = torch.logsumexp(logs[:, 1:], dim=1, keepdim=True)
    by_label = torch.cat([logs, other], dim=1)
    return -by_label.gather(1, labels[:, None]).mean()


def forced_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of entailment against contradiction, without neutral: is it supported?"""
    two = torch.log_softmax(logits[:, [0, 2]].float(), dim=1)
    return -two.gather(1, (labels != 0).long()[:, None]).mean()


def labels_loss(logits: torch.Tensor, labels: torch.Tensor, stage: Stage) -> torch.Tensor:
    """Compute the loss of the classes, and of entailment against contradiction by its weight."""
    return loss_of(logits, labels) + stage.forced * forced_loss(logits, labels)


def optimiser_of(model: Reader, rate: float) -> torch.optim.AdamW:
    """Make the optimiser of the trained parameters; biases and norms do not decay."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [p for p in trained if p.ndim > 1], "weight_decay": WEIGHT_DECAY},
            {"params": [p for p in trained if p.ndim == 1], "weight_decay": 0},
        ],
        lr=rate,
        fused=True,
    )


def words_loss(odds: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """Compute the mean cross-entropy of tokens known to be wrong or right; 0 without any."""
    known = wrong != UNKNOWN
    if not known.any():
        return odds.sum() * 0
    return torch.nn.functional.binary_cross_entropy_with_logits(
        odds[known].float(), wrong[known].float()
    )


def schedule(
    epochs: range, pairs: dict[str, list[Pair]], stage: Stage, seed: int
) -> Iterator[list[Pair]]:
    """Yield the batches of all epochs; thinned sources show other rows in each epoch."""
    for epoch in epochs:
        chance = random.Random(f"{seed}/{epoch}")
        chosen: list[Pair] = []
        for source, rows in pairs.items():
            share = stage.mixture[source]
            chosen += rows if share >= 1 else chance.sample(rows, round(share * len(rows)))
        yield from batches(chosen, chance, stage.batch_tokens)


def words_found(pairs: list[Pair], odds: list[np.ndarray]) -> dict[str, float | int]:
    """Count the tokens with a known verdict; add the share of wrong ones, and AUROC."""
    wrong = np.concatenate([p.wrong for p in pairs])
    known = wrong != UNKNOWN
    truth, risk = wrong[known], np.concatenate(odds)[known]
    report: dict[str, float | int] = {"tokens": len(truth)}
    if 0 < truth.mean() < 1:
        report |= {"wrong": round(float(truth.mean()), 4)}
        report |= {"auroc": round(float(auroc(truth.astype(float), risk)), 4)}
    return report


def temperature_of(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """Find the divisor of the logits with the least held-out loss."""
    grid = torch.linspace(0.5, 3.0, 251)
    return float(min(grid, key=lambda t: float(loss_of(logits / t, labels))))


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """Share of rows whose label the best class agrees with."""
    best = logits.argmax(1)
    right = torch.where(labels == NOT_ENTAILMENT, best != 0, best == labels)
    return float(right.float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("generated", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--stage", choices=list(STAGES), default="base")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument(
        "--first-epoch", type=int, default=0, help="draws other rows of thinned sources"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bf16", action="store_true", help="matrix products in bfloat16: faster where it is native"
    )
    parser.add_argument("--layers", type=int, help="maximum layers of the source, from the first")
    parser.add_argument(
        "--edited", type=Path, help="rows of typed_pairs.py, where a stage has some"
    )
    parser.add_argument("--bound", type=Path, help="rows of bound_pairs.py, where a stage has some")
    parser.add_argument(
        "--documents", type=Path, help="rows of document_pairs.py, where a stage has some"
    )
    parser.add_argument("--tokens", type=int, help="stop the plan after this many; default: all")
    a = parser.parse_args()
    torch.manual_seed(a.seed)
    stage = STAGES[a.stage]

    tokenizer = Tokenizer.from_file(str(a.source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    train: dict[str, list[Pair]] = {}
    held: list[Pair] = []
    made = {EDITED: a.edited, BOUND: a.bound, DOCUMENTS: a.documents}
    for name, rows, kept_back in sources(a.data, a.generated, made, stage, a.seed):
        held += tokenized(kept_back, tokenizer, name, stage)
        train[name] = pairs = tokenized(rows, tokenizer, name, stage)
        print(f"{name}: {len(pairs)} rows, {sum(len(p.ids) for p in pairs)} tokens", flush=True)
    epochs = range(a.first_epoch, a.first_epoch + a.epochs)
    plan = leading(list(schedule(epochs, train, stage, a.seed)), a.tokens)
    print(f"{len(plan)} batches, {sum(len(p.ids) for b in plan for p in b)} tokens", flush=True)

    a.output.mkdir(parents=True, exist_ok=True)
    model = Reader(a.source, a.layers)
    continued(model, plan, stage, a.output, a.bf16)
    report = held_out(model, held)
    model.save(a.output, words=True)
    AutoTokenizer.from_pretrained(a.source).save_pretrained(a.output)
    (a.output / "calibration.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


def leading(plan: list[list[Pair]], tokens: int | None) -> list[list[Pair]]:
    """Return the first batches of ``plan`` that hold ``tokens`` in all, or all of them."""
    if tokens is None:
        return plan
    sizes = np.cumsum([sum(len(p.ids) for p in batch) for batch in plan])
    return plan[: int(np.searchsorted(sizes, tokens)) + 1]


def trained(
    model: Reader,
    plan: list[list[Pair]],
    stage: Stage,
    output: Path,
    bf16: bool,
) -> None:
    """Train ``model`` on the batches of ``plan``, going on where ``output`` has got to."""
    optimiser = optimiser_of(model, stage.peak_rate)
    rise = max(1, int(WARM_UP * len(plan)))
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min((s + 1) / rise, (len(plan) - s) / max(1, len(plan) - rise))
    )
    saved, first = output / "progress.pt", 0

    def save(number: int) -> None:
        state = {
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "rates": rates.state_dict(),
            "batch": number,
            "batches": len(plan),
        }
        torch.save(state, saved.with_suffix(".tmp"))
        saved.with_suffix(".tmp").replace(saved)

    if saved.exists():
        state = torch.load(saved, weights_only=True)
        if state["batches"] != len(plan):
            raise SystemExit(f"{saved} is of {state['batches']} batches, this run of {len(plan)}")
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        rates.load_state_dict(state["rates"])
        first = state["batch"]
        print(f"resuming from batch {first}", flush=True)

    started = last = time.monotonic()
    seen, recent = 0, 0.0
    model.train()
    for number, batch in enumerate(plan[first:], first + 1):
        inputs, labels, wrong = tensors(batch, model)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            logits, odds = model(**inputs)
        loss = labels_loss(logits, labels, stage)
        loss = loss + stage.words * words_loss(odds, wrong)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rates.step()
        optimiser.zero_grad()
        seen += int(inputs["attention_mask"].sum())
        value = float(loss.detach())
        recent = value if not recent else 0.98 * recent + 0.02 * value
        if number % 50 == 0:
            pace = seen / (time.monotonic() - started)
            print(f"{number}/{len(plan)} loss {recent:.3f} {pace:.0f} tokens/s", flush=True)
        if time.monotonic() - last > SAVE_EVERY or number == len(plan):
            save(number)
            last = time.monotonic()


def continued(
    model: Reader, plan: list[list[Pair]], stage: Stage, output: Path, bf16: bool
) -> None:
    """Train ``model``, and average its weights with the initial ones."""
    begun = {k: v.clone() for k, v in model.state_dict().items()}
    trained(model, plan, stage, output, bf16)
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            value.lerp_(begun[name], stage.kept)


def held_out(model: Reader, held: list[Pair]) -> dict[str, Any]:
    """Compute the temperature, and held-out figures by source and of words.

    Raises:
        SystemExit: the training did not converge.
    """
    logits, odds = read_all(model, held)
    labels = torch.tensor([p.label for p in held])
    temperature = temperature_of(logits, labels)
    if not math.isfinite(temperature) or not torch.isfinite(logits).all():
        raise SystemExit("the training did not converge")
    report: dict[str, Any] = {"temperature": temperature, "held_out": {}}
    for name in sorted({p.source for p in held}):
        rows = torch.tensor([p.source == name for p in held])
        report["held_out"][name] = {
            "rows": int(rows.sum()),
            "accuracy": round(accuracy(logits[rows], labels[rows]), 4),
            "loss": round(float(loss_of(logits[rows] / temperature, labels[rows])), 4),
        }
    return report | {"words": words_found(held, odds)}


if __name__ == "__main__":
    main()
