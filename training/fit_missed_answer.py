"""Fit P(a source answers the question), by which an abstention counts as missed.

    python training/fit_missed_answer.py --data DATA [--items N] [--rows FILE]

DATA holds the folders ``halueval`` and ``nli``. Questions with a passage that answers are the
first 80 % of HaluEval ``qa`` (question, Wikipedia passage). The same question with the sentences
that hold its answer left out, and with the nearest other passage, is not answered. Questions of
yes or no are made of LingNLI's hypotheses: a neutral premise does not answer them. Sentences of
other passages stand beside each. Writes ``missed_answer.json`` beside the scorer, and prints the
figures of a held-out fifth. FILE keeps the features between runs.

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
from veridical.errors import NotApplicable
from veridical.models import load_encoder, load_nli
from veridical.scorers.grounding import missed_answer as model
from veridical.text.asked import asked

FILE = Path(model.__file__).with_suffix(".json")
SHARE = 0.8  # rows of HaluEval qa that a model may be trained on
PENALTY = 1.0
ROUNDS = 12
RIGHT_FLAGGED = 0.1  # largest share of unanswered questions that may count as missed
_GLUED = re.compile(r"(?<=[a-z)])\.(?=[A-Z])")


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

        made.append(Item("told", question, contexts(row["sentences"]), answer, True))
        left = [s for s in row["sentences"] if answer.lower() not in s.lower()]
        if left and len(left) < len(row["sentences"]):
            made.append(Item("left out", question, contexts(left), answer, False))
        near = max(
            (i for i, r in enumerate(rows) if r is not row and answer not in r["knowledge"]),
            key=lambda i: len(asks & texts[i]) + 0.5 * len(asks & words[i]),
        )
        made.append(Item("near", question, contexts(rows[near]["sentences"]), answer, False))
    pairs = [json.loads(x) for x in (data / "nli/lingnli_train.jsonl").read_text().splitlines()]
    for pair in chance.sample(pairs, count):
        others = [s for r in chance.sample(rows, 2) for s in r["sentences"]][:4]
        question = f"Is it true that {pair['hypothesis'].strip(' .')}?"
        told = pair["label"] != "neutral"
        made.append(Item("yes or no", question, [pair["premise"], " ".join(others)], "", told))
    return made


async def rows_of(made: Sequence[Item]) -> list[NDArray[np.float64] | None]:
    found: list[NDArray[np.float64] | None] = []
    for item in made:
        question = asked(item.question)
        record = Record(response="x", prompt=item.question, contexts=item.contexts)
        if question is not None and item.kind == "yes or no":
            said = item.question.removeprefix("Is it true that ").rstrip("?") + "."
            question = question._replace(said=said, question=said.rstrip(".") + "?")
        if question is None:
            found.append(None)
            continue
        try:
            candidates = model.candidates_of(record.against("contexts"), question)
            found.append((await model.measured(Models(record), question, candidates))[1])
        except NotApplicable:
            found.append(None)
    return found


def fit(
    made: Sequence[Item], rows: Sequence[NDArray[np.float64]], used: Sequence[int]
) -> NDArray[np.float64]:
    """Coefficients and intercept. Of an answered question one sentence answers, which one is
    taken from the last round's fit; of another none does."""
    weights = np.zeros(len(model.NAMES) + 1)
    weights[0] = weights[1] = 1.0
    for _ in range(ROUNDS):
        x, y, w = [], [], []
        for i in used:
            best = int(np.argmax(rows[i] @ weights[:-1]))
            x.append(rows[i][best])
            y.append(made[i].answered)
        x, y = np.array(x), np.array(y, dtype=float)
        share = y.mean()
        w = np.where(y == 1, 0.5 / share, 0.5 / (1 - share))

        def loss(c: NDArray[np.float64], x: Any = x, y: Any = y, w: Any = w) -> float:
            z = x @ c[:-1] + c[-1]
            each = np.logaddexp(0, z) - y * z
            return float((w * each).sum() + PENALTY * (c[:-1] ** 2).sum() / 2)

        weights = minimize(loss, weights, method="L-BFGS-B", bounds=_bounds()).x
    return weights


def _bounds() -> list[tuple[float | None, float | None]]:
    signed = {"contradicted", "yes_no"}
    return [*((None, None) if n in signed else (0, None) for n in model.NAMES), (None, None)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--rows", type=Path)
    arguments = parser.parse_args()
    if arguments.rows and arguments.rows.exists():
        kept = json.loads(arguments.rows.read_text("utf-8"))
        made = [Item(*fields) for fields in kept["items"]]
        rows = [np.array(r) for r in kept["rows"]]
    else:
        made = items(arguments.data, arguments.items)
        rows = asyncio.run(rows_of(made))
        made = [m for m, r in zip(made, rows, strict=True) if r is not None]
        rows = [r for r in rows if r is not None]
        if arguments.rows:
            kept = {"items": made, "rows": [r.tolist() for r in rows]}
            arguments.rows.write_text(json.dumps(kept), encoding="utf-8")
    held = [i for i in range(len(made)) if hash_of(made[i].question) % 5 == 0]
    rest = [i for i in range(len(made)) if hash_of(made[i].question) % 5]
    weights = fit(made, rows, rest)
    scores = np.array([(rows[i] @ weights[:-1]).max() + weights[-1] for i in held])
    answered = np.array([made[i].answered for i in held])
    kinds = np.array([made[i].kind for i in held])
    shift = np.quantile(scores[~answered], 1 - RIGHT_FLAGGED)
    for kind in dict.fromkeys(kinds):
        part = scores[kinds == kind]
        print(f"{kind:10} n {len(part):4d} counted as told {(part >= shift).mean():.2f}")
    order = np.argsort(np.argsort(scores)) + 1
    n = answered.sum()
    auroc = (order[answered].sum() - n * (n + 1) / 2) / (n * (len(answered) - n))
    print(f"auroc {auroc:.3f}, shift {shift:.2f}")
    weights = fit(made, rows, range(len(made)))
    out = {
        "fitted_on": "HaluEval qa (first 80 %), LingNLI train",
        "coefficients": {n: round(float(c), 3) for n, c in zip(model.NAMES, weights, strict=False)},
        "intercept": round(float(weights[-1] - shift), 3),
    }
    FILE.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    print(out)


def hash_of(text: str) -> int:
    return sum(map(ord, text))


if __name__ == "__main__":
    main()
