"""Fit of P(a source answers the question), the rule for missed answers.

    python training/fit_missed_answer.py --data DATA [--items N]

Fitted on ``data/answerable.txt``: short passages written for this project, questions that each
answers, and questions on its topic that it does not. Cross-validated by passage; the threshold lets
:data:`RIGHT_FLAGGED` of the unanswered questions pass for answered. Writes ``missed_answer.json``
into the scorer's folder. DATA holds the folder ``halueval``. The first 80 % of its ``qa`` are a
check; nothing is fitted to them. Each question is asked with its passage, with the passage without
the sentences that hold its answer, and with the nearest other passage.

Needs: this package.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from veridical.core.evidence import LocalEvidence
from veridical.core.records import Record
from veridical.core.verdicts import Verdicts
from veridical.engine.batching import pack
from veridical.models import load_encoder, load_nli
from veridical.scorers.grounding import _missed_answer as model
from veridical.text.asked import asked

FILE = Path(model.__file__).with_suffix(".json")
SHARE = 0.8  # rows of HaluEval qa that a model may be trained on
PENALTY = 1.0
ROUNDS = 8
FOLDS = 10
RIGHT_FLAGGED = 0.1  # largest share of unanswered questions that may count as missed
_GLUED = re.compile(r"(?<=[a-z)])\.(?=[A-Z])")


Floats = NDArray[np.float64]


class Item(NamedTuple):
    kind: str
    question: str
    contexts: list[str]
    answer: str
    answered: bool


class Models(LocalEvidence):
    """The embedded models, called at once."""

    encoder = load_encoder("minilm", threads=1)
    judge = load_nli("veridical-nli-mini")

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        run = lambda batch: self.encoder.run(batch, False)  # noqa: E731
        parts = _outputs(self.encoder.windows(texts), run)
        return np.array([self.encoder.assemble(w, o, False).vector for w, o in parts])

    async def nli(self, pairs: Sequence[tuple[str, str]], model: str | None = None) -> Verdicts:
        parts = _outputs(self.judge.windows(pairs), self.judge.run)
        return Verdicts(np.array([_probabilities(self.judge.assemble(w, o)) for w, o in parts]))


def _probabilities(judged: Any) -> NDArray[np.float64]:
    return np.asarray(getattr(judged, "probabilities", judged), dtype=float)[:3]


def _outputs(windows: Sequence[Sequence[Any]], run: Any) -> list[tuple[Any, list[Any]]]:
    flat = sorted(
        ((i, j, w) for i, ws in enumerate(windows) for j, w in enumerate(ws)),
        key=lambda part: part[2].length,
    )
    outputs: list[list[Any]] = [[None] * len(ws) for ws in windows]
    for batch in pack(flat, 4096):
        for (i, j, _), output in zip(batch, run([w for *_, w in batch]), strict=True):
            outputs[i][j] = output
    return list(zip(windows, outputs, strict=True))


def items(data: Path, count: int) -> list[Item]:
    chance = random.Random(7)
    lines = (data / "halueval/dataset_halueval_qa.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[: int(SHARE * len(lines))]]
    for row in rows:
        row["sentences"] = list(re.split(r"(?<=\.)\s+", _GLUED.sub(". ", row["knowledge"])))
    made: list[Item] = []
    pool = chance.sample(rows, count)
    words = [set(re.findall(r"\w{4,}", r["question"].lower())) for r in rows]
    texts = [set(re.findall(r"\w{4,}", r["knowledge"].lower())) for r in rows]
    for row in pool:
        question, answer = row["question"], row["right_answer"]
        others = [s for r in chance.sample(rows, 2) for s in r["sentences"]][:4]
        asks = set(re.findall(r"\w{4,}", question.lower()))
        if answer.lower() in ("yes", "no") or answer.lower() in question.lower():
            continue

        def contexts(sentences: list[str], others: list[str] = others) -> list[str]:
            return [" ".join(sentences), " ".join(others)]

        made.append(Item("whole passage", question, contexts(row["sentences"]), answer, True))
        left = [s for s in row["sentences"] if answer.lower() not in s.lower()]
        if left and len(left) < len(row["sentences"]):
            made.append(Item("left out", question, contexts(left), answer, False))
        near = max(
            (i for i, r in enumerate(rows) if r is not row and answer not in r["knowledge"]),
            key=lambda i: len(asks & texts[i]) + 0.5 * len(asks & words[i]),
        )
        made.append(Item("near", question, contexts(rows[near]["sentences"]), answer, False))
    return made


def written(path: Path) -> list[Item]:
    """Hand-written passages with questions."""
    made: list[Item] = []
    passage = ""
    for line in path.read_text("utf-8").splitlines():
        if line[:2] in ("+ ", "- "):
            kind = "written"
            made.append(Item(kind, line[2:], [passage], "", line[0] == "+"))
        elif line and not line.startswith("#"):
            passage = line
    return made


async def rows_of(made: Sequence[Item]) -> list[Floats]:
    found: list[Floats] = []
    for item in made:
        question = asked(item.question)
        record = Record(response="x", prompt=item.question, contexts=item.contexts)
        assert question is not None, item.question
        candidates = model.candidates_of(record.against("contexts"), question)
        found.append((await model.measured(Models(record), question, candidates))[1])
    return found


def fit(made: Sequence[Item], rows: Sequence[Floats], used: Sequence[int]) -> Floats:
    """Fit coefficients and intercept.

    Each question is represented by the sentence that is the likeliest to answer it, by the last
    round's fit.
    """
    weights = np.zeros(len(model.NAMES) + 1)
    weights[0] = 1.0
    y = np.array([made[i].answered for i in used], dtype=float)
    for _ in range(ROUNDS):
        x = np.array([rows[i][int(np.argmax(rows[i] @ weights[:-1]))] for i in used])
        mean, deviation = x.mean(0), x.std(0) + 1e-6

        def loss(c: Floats, z: Floats = (x - mean) / deviation) -> float:
            logits = z @ c[:-1] + c[-1]
            error = float((np.logaddexp(0, logits) - y * logits).sum())
            return error + PENALTY * float((c[:-1] ** 2).sum()) / 2

        found = minimize(loss, np.zeros(len(weights)), method="L-BFGS-B").x
        weights = np.append(
            found[:-1] / deviation, found[-1] - (found[:-1] * mean / deviation).sum()
        )
    return weights


def score(row: Floats, weights: Floats) -> float:
    return float((row @ weights[:-1]).max() + weights[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--items", type=int, default=200)
    arguments = parser.parse_args()
    made = written(Path(__file__).parent / "data/answerable.txt")
    rows = asyncio.run(rows_of(made))
    answered = np.array([m.answered for m in made])
    passages = list(dict.fromkeys(m.contexts[0] for m in made))
    fold = np.array([passages.index(m.contexts[0]) % FOLDS for m in made])
    scores = np.zeros(len(made))
    for part in range(FOLDS):
        weights = fit(made, rows, np.flatnonzero(fold != part).tolist())
        for i in np.flatnonzero(fold == part):
            scores[i] = score(rows[i], weights)
    shift = float(np.quantile(scores[~answered], 1 - RIGHT_FLAGGED))
    found = (scores[answered] >= shift).mean()
    print(
        f"written, cross-validated: n {len(made)}, answered ones found {found:.2f}, "
        f"others {(scores[~answered] >= shift).mean():.2f}"
    )
    weights = fit(made, rows, range(len(made)))
    out = {
        "fitted_on": "training/data/answerable.txt",
        "coefficients": {n: round(float(c), 3) for n, c in zip(model.NAMES, weights, strict=False)},
        "intercept": round(float(weights[-1]) - shift, 3),
    }
    FILE.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    print(out)
    if arguments.data:
        others = items(arguments.data, arguments.items)
        measured = asyncio.run(rows_of(others))
        for kind in dict.fromkeys(m.kind for m in others):
            part = [
                score(r, weights) for m, r in zip(others, measured, strict=True) if m.kind == kind
            ]
            print(
                f"HaluEval qa, {kind}: n {len(part)}, counted as answered "
                f"{(np.array(part) >= shift).mean():.2f}"
            )


if __name__ == "__main__":
    main()
