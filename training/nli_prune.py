"""The small NLI model: the larger one, pruned and trained to agree.

    python training/nli_prune.py BASE DATA/nli generated.jsonl SMALL --edited edited.jsonl \\
        --bound bound.jsonl --bf16

BASE is the larger model's checkpoint (``nli_restore.py``), the other files are those of
``nli_train.py``; SMALL becomes a checkpoint for ``nli_export.py``. Each round of :data:`ROUNDS`
leaves the heads and neurons that matter most (``nli_heads.py``) and trains the rest. Targets are
the labels and wrong words of the rows, BASE's output for them, and BASE's hidden states after every
layer. The last help most with few pairs (Jiao et al. 2020, TinyBERT). BASE reads every batch along
with the model. If stopped, the same command resumes from the last save.

Needs: torch, transformers, safetensors, tokenizers and this package.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from nli_heads import Importance, cut, weights_of
from nli_reader import Pair, Reader, tensors, tokenized
from nli_stages import BOUND, EDITED, STAGES
from nli_train import (
    SAVE_EVERY,
    WARM_UP,
    held_out,
    labels_loss,
    leading,
    optimiser_of,
    schedule,
    sources,
    words_loss,
)
from tokenizers import Tokenizer
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import AutoTokenizer


class Round(NamedTuple):
    """A cut and the training after it.

    ``share`` of the whole model's weights in layers is left. ``tokens`` are trained on, at a rate
    that falls from :data:`PEAK_RATE` to ``last`` of it.
    """

    share: float
    tokens: int
    last: float


ROUNDS = (Round(0.55, 350_000, 0.6), Round(0.40, 2_000_000, 0.0))
PEAK_RATE = 8e-5
#: Weights of the loss: labels, BASE's classes, wrong words, and hidden states.
LABELLED, TAUGHT, WORDED, HIDDEN = 0.35, 0.65, 0.5, 2.0
#: Batches that importance is measured on, and the most pairs read at once for it.
MEASURED, AT_ONCE = 60, 24
STAGE = replace(STAGES["bound"], mixture=STAGES["bound"].mixture | {BOUND: 1.0})


class Losses(NamedTuple):
    labelled: torch.Tensor
    taught: torch.Tensor
    worded: torch.Tensor
    hidden: torch.Tensor

    @property
    def total(self) -> torch.Tensor:
        return (
            LABELLED * self.labelled
            + TAUGHT * self.taught
            + WORDED * self.worded
            + HIDDEN * self.hidden
        )


def losses(batch: list[Pair], model: Reader, teacher: Reader, heat: float, bf16: bool) -> Losses:
    """Compute the losses of one batch; ``heat`` is the temperature of the teacher's classes."""
    inputs, labels, wrong = tensors(batch, model)
    mask = inputs["attention_mask"].bool()
    stated = torch.zeros_like(mask)
    for row, pair in enumerate(batch):
        stated[row, pair.stated.start : pair.stated.stop] = True
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        with torch.no_grad():
            theirs = teacher.classifier(**inputs, output_hidden_states=True)
            risks = torch.sigmoid(teacher.words(theirs.hidden_states[-1]).squeeze(-1).float())
        ours = model.classifier(**inputs, output_hidden_states=True)
        odds = model.words(ours.hidden_states[-1]).squeeze(-1)
    target = torch.softmax(theirs.logits.float() / heat, dim=1)
    taught = -(target * torch.log_softmax(ours.logits.float(), dim=1)).sum(dim=1).mean()
    known = binary_cross_entropy_with_logits(odds[stated].float(), risks[stated])
    hidden = torch.zeros(())
    for mine, other in zip(ours.hidden_states[1:], theirs.hidden_states[1:], strict=True):
        a, b = mine[mask].float(), other[mask].float()
        hidden = hidden + ((a - b) ** 2).mean() / b.var()
    return Losses(
        labels_loss(ours.logits, labels, STAGE),
        taught,
        0.5 * words_loss(odds, wrong) + 0.5 * known,
        hidden / (len(ours.hidden_states) - 1),
    )


def narrow(model: Reader, batches: list[list[Pair]], share: float, bf16: bool) -> None:
    """Cut ``model`` to ``share``, by the importance estimated on the pairs of ``batches``."""
    model.eval()
    parts = [b[i : i + AT_ONCE] for b in batches for i in range(0, len(b), AT_ONCE)]
    with Importance(model.classifier) as importance:
        for part in parts:
            inputs, labels, wrong = tensors(part, model)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                logits, odds = model(**inputs)
            loss = labels_loss(logits, labels, STAGE)
            (len(part) * (loss + STAGE.words * words_loss(odds, wrong))).backward()
            importance.add()
        kept = importance.most(share)
    cut(model.classifier, kept)
    heads = [len(found) for found in kept.heads]
    neurons = [len(found) for found in kept.neurons]
    print(f"{weights_of(model.classifier)} weights, {heads} heads, {neurons} neurons", flush=True)


def train(
    model: Reader,
    teacher: Reader,
    plan: list[list[Pair]],
    about: Round,
    output: Path,
    heat: float,
    bf16: bool,
) -> None:
    """Train one round, resumed from the progress in ``output``."""
    optimiser = optimiser_of(model, PEAK_RATE)
    rise = max(1, int(WARM_UP * len(plan)))

    def rate(step: int) -> float:
        left = (len(plan) - step) / max(1, len(plan) - rise)
        return min((step + 1) / rise, about.last + (1 - about.last) * left)

    rates = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    saved, first = output / "progress.pt", 0

    def save(done: int) -> None:
        state = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
        state |= {"rates": rates.state_dict(), "share": about.share, "done": done}
        torch.save(state, saved.with_suffix(".tmp"))
        saved.with_suffix(".tmp").replace(saved)

    if saved.exists():
        state = torch.load(saved, weights_only=True)
        if state["share"] == about.share:
            model.load_state_dict(state["model"])
            optimiser.load_state_dict(state["optimiser"])
            rates.load_state_dict(state["rates"])
            first = state["done"]
            print(f"resuming from batch {first}", flush=True)
    model.train()
    started = last = time.monotonic()
    seen = 0
    for number, batch in enumerate(plan[first:], first + 1):
        found = losses(batch, model, teacher, heat, bf16)
        found.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rates.step()
        optimiser.zero_grad()
        seen += sum(len(p.ids) for p in batch)
        if number % 50 == 0:
            values = " ".join(f"{float(x.detach()):.3f}" for x in found)
            pace = seen / (time.monotonic() - started)
            print(f"{number}/{len(plan)} {values} {pace:.0f} tokens/s", flush=True)
        if time.monotonic() - last > SAVE_EVERY or number == len(plan):
            save(number)
            last = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("generated", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--edited", type=Path, required=True)
    parser.add_argument("--bound", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bf16", action="store_true", help="matrix products in bfloat16: faster where it is native"
    )
    parser.add_argument("--tokens", type=int, help="tokens of the last round, instead of its own")
    a = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(a.base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    pairs: dict[str, list[Pair]] = {}
    held: list[Pair] = []
    made: dict[str, Path | None] = {EDITED: a.edited, BOUND: a.bound}
    for name, rows, kept_back in sources(a.data, a.generated, made, STAGE, a.seed):
        held += tokenized(kept_back, tokenizer, name, STAGE)
        pairs[name] = tokenized(rows, tokenizer, name, STAGE)
    plan = list(schedule(range(1), pairs, STAGE, a.seed))
    random.Random(a.seed).shuffle(plan)
    heat = json.loads((a.base / "calibration.json").read_text("utf-8"))["temperature"]
    teacher = Reader(a.base).eval()
    model = Reader(a.base)
    for number, about in enumerate(ROUNDS):
        if a.tokens and number == len(ROUNDS) - 1:
            about = about._replace(tokens=a.tokens)
        batches = leading(plan, about.tokens)
        plan = plan[len(batches) :]
        place, later = (a.output / f"round{n}" for n in (number, number + 1))
        if later.exists():
            continue
        if place.exists():
            model = Reader(place)
        else:
            narrow(model, plan[-MEASURED:], about.share, a.bf16)
            model.save(place, words=True)
        train(model, teacher, batches, about, a.output, heat, a.bf16)
    report = held_out(model, held)
    model.save(a.output, words=True)
    AutoTokenizer.from_pretrained(a.base).save_pretrained(a.output)
    (a.output / "calibration.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
