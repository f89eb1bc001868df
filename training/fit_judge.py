"""Calibration of ``statement_judge``, and its share in the default.

    python training/fit_judge.py --data ../shared/data --llm local:qwen-1.5b --out RUN

A logistic regression of the judge's log-odds on answers with contexts gives the constants of
``scorers/judges/statement_judge.py``, which are printed. Every set counts the same, and has as many
right as wrong answers. They are paired so that neither length nor words shared with the source
distinguish them. The remaining difference is the one that a judge is needed for.

Then the AUROC is printed: of the default's members, of the judge, and of both by several shares of
the members (``default_set.beside_judge``). That share is chosen, not fitted: the embedded NLI model
was trained on VitaminC and FoolMeTwice, and the members' weights on BEGIN and HaluEval. Answers
with a reference are shown too. The run in RUN resumes; another fit of its scores needs no model.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from default_data import Labelled, begin, halueval_qa, lines, truthfulqa
from fit_default import DIGITS, FOLDS, Answers, Model, figures, fitted, show

import veridical
from veridical.core.scores import Result
from veridical.ensembles.scorers import default_set as default
from veridical.stats.logistic import sigmoid
from veridical.stats.metrics.ranking import auroc

#: Answers of a set, as many right as wrong.
EACH = 32
#: Maximum distance between the answers of a pair. It holds for the share of words that their
#: sources have, and for a quarter of the logarithm of the ratio of their lengths.
ALIKE = 0.1
NAMES = ("members", "judge")
#: Compared shares of the members in the risk of both.
SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)

Item = tuple[dict[str, Any], float, str]


class _Look(NamedTuple):
    """Properties of an answer that need no reading of it."""

    found: float
    length: float

    @classmethod
    def at(cls, item: Item) -> _Look:
        words = re.findall(r"\w+", item[0]["response"].casefold())
        source = set(re.findall(r"\w+", item[0]["contexts"].casefold()))
        found = sum(word in source for word in words) / max(len(words), 1)
        return cls(found, float(np.log(max(len(words), 1))))

    def apart(self, other: _Look) -> float:
        return max(abs(self.found - other.found), abs(self.length - other.length) / 4)


def paired(name: str, items: list[Item], most: int = EACH) -> Labelled:
    """Right and wrong answers that look alike, the nearest pairs first."""
    looks = [_Look.at(item) for item in items]
    by_label = [[i for i, item in enumerate(items) if item[1] == label] for label in (0.0, 1.0)]
    near = sorted((looks[i].apart(looks[j]), i, j) for i in by_label[0] for j in by_label[1])
    used: set[int] = set()
    pairs = []
    for apart, i, j in near:
        if apart <= ALIKE and not used & {i, j}:
            used |= {i, j}
            pairs.append((items[i], items[j]))
    drawn = np.random.default_rng(0).permutation(len(pairs))[: most // 2]
    return Labelled.of(name, "", "contexts", "fit", [item for k in drawn for item in pairs[k]])


def claims(path: Path) -> list[Item]:
    """Load claims with the passage they are checked by, of at most 1 200 characters."""
    return [
        (
            {"contexts": row["premise"], "response": row["hypothesis"]},
            float(row["label"] != "entailment"),
            row["premise"],
        )
        for row in lines(path)
        if len(row["premise"]) <= 1200
    ][:600]


def sets(data: Path) -> list[Labelled]:
    qa = data / "halueval" / "dataset_halueval_qa.jsonl"
    return [
        *(
            paired(f"BEGIN {part}/dev", begin(data / "begin" / f"dev_{part}.tsv"))
            for part in ("cmu", "tc", "wow")
        ),
        paired("HaluEval qa", halueval_qa(qa, 400, False)),
        paired("VitaminC", claims(data / "nli" / "vitaminc_piece_train.jsonl")),
        paired("FoolMeTwice", claims(data / "nli" / "fm2_train.jsonl")),
        Labelled.of(
            "TruthfulQA",
            "",
            "reference",
            "shown",
            truthfulqa(data / "truthfulqa" / "TruthfulQA_generation.jsonl", False)[: 2 * EACH],
        ),
    ]


def features(by_default: Result, by_judge: Result) -> np.ndarray:
    """Return (sentences, 2): the members' log-odds, 0 without any, and the judge's of no."""
    ensemble, judge = by_default.scores["ensemble"], by_judge.scores["statement_judge"]
    said = {(u.start, u.end): u.raw for u in ensemble.units}
    odds = judge.raw["log_odds"]  # type: ignore[index]
    rows = []
    for unit, of_judge in zip(judge.units, odds, strict=True):
        even = said.get((unit.start, unit.end))
        rows.append([0.0 if even is None else default.log_odds(float(even)), of_judge])  # type: ignore[arg-type]
    return np.array(rows)


def out_of_fold(answers: list[Answers]) -> None:
    """Print figures of the judge by fits without each fold."""
    models = [fitted(answers, NAMES, (1,), (1,), skip) for skip in range(FOLDS)]
    every = []
    for one in answers:
        length = np.array([len(row["response"]) for row in one.of.rows])
        odds = [
            float(models[k].odds(f).max()) for f, k in zip(one.features, one.folds, strict=True)
        ]
        every.append((np.array(odds), one.labels, length))
        show(f"judge: {one.of.name}", figures(*every[-1]))
    show("judge: all", figures(*(np.concatenate(c) for c in zip(*every, strict=True))))


def beside(answers: list[Answers], judge: Model) -> None:
    """Print the AUROC by several shares of the members in addition to the judge."""
    print(f"AUROC: members alone, then with the judge by a share of {SHARES}")
    for one in answers:
        ways = [[float(f[:, 0].max()) for f in one.features]]
        for share in SHARES:
            turns = one.of.field == "reference"
            ways.append([_worst(f, judge, share, turns) for f in one.features])
        found = " ".join(f"{auroc(one.labels, np.array(odds)):.3f}" for odds in ways)
        print(f"  {one.of.name} ({len(one.labels)}): {found}")


def _worst(said: np.ndarray, judge: Model, share: float, turns: bool) -> float:
    """Compute the log-odds of the worst sentence, as the default does."""
    risks = np.asarray(sigmoid(judge.odds(said)))
    return max(
        default.moved(default.log_odds(float(risk)), share * float(members), turns)
        for risk, members in zip(risks, said[:, 0], strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--llm", default="local:qwen-1.5b")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    args = parser.parse_args()
    answers = []
    for one in sets(args.data):
        folder = args.out / one.name.replace("/", "-").replace(" ", "-")
        judged = veridical.check(
            one.rows, ["statement_judge"], llm=args.llm, out=folder, store=None
        )
        scored = veridical.check(one.rows, ["ensemble"], store=None)
        pairs = zip(scored, judged, strict=True)
        answers.append(Answers(one, [features(*pair) for pair in pairs]))
    fitting = [a for a in answers if a.of.role == "fit"]
    out_of_fold(fitting)
    model = fitted(fitting, NAMES, (1,), (1,))
    slope = model.coefficients[1]
    print(f"INTERCEPT, SLOPE = {model.intercept:.{DIGITS}f}, {slope:.{DIGITS}f}")
    beside(answers, model)


if __name__ == "__main__":
    main()
