"""Fits what ``statement_judge`` makes of its replies, and what the default makes of both.

    python training/fit_judge.py --data ../shared/data --llm local:qwen-1.5b --out RUN

Two logistic regressions on labelled answers, in which every set counts the same and so do right
and wrong answers of each: of the log-odds that the judge gives (for the constants of
``scorers/judges/statement_judge.py``, which are printed), and of the log-odds of the default
without a judge and of the judge (the entry ``judge`` of ``ensembles/scorers/default.json``, which
is written). No coefficient is below 0. The run in RUN resumes; another fit of its scores needs no
model.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from default_data import Labelled, begin, halueval_qa, lines
from fit_default import DIGITS, FOLDS, HOME, OUT, Answers, Model, figures, fitted, show

import veridical
from veridical.core.scores import Result
from veridical.ensembles.scorers import default_set as default

#: Answers of a set, as many right as wrong.
EACH = 24
#: Sets that the embedded NLI model was trained on: the default looks better there than it is, so
#: they fit the judge's own numbers alone.
SEEN = ("VitaminC", "FoolMeTwice")
NAMES = ("ensemble", "statement_judge")


def even(name: str, items: list[tuple[dict[str, Any], float, str]], most: int = EACH) -> Labelled:
    """As many right as wrong ones, drawn with a fixed seed."""
    drawn = random.Random(0).sample(items, len(items))
    by_label = [[item for item in drawn if item[1] == label][: most // 2] for label in (0.0, 1.0)]
    return Labelled.of(name, "contexts", "fit", [*by_label[0], *by_label[1]])


def claims(path: Path) -> list[tuple[dict[str, Any], float, str]]:
    """Claims with the passage they are checked by, of at most 1 200 characters."""
    return [
        (
            {"contexts": row["premise"], "response": row["hypothesis"]},
            float(row["label"] != "entailment"),
            row["premise"],
        )
        for row in lines(path)
        if len(row["premise"]) <= 1200
    ]


def sets(data: Path) -> list[Labelled]:
    qa = data / "halueval" / "dataset_halueval_qa.jsonl"
    return [
        even("BEGIN wow/dev", begin(data / "begin" / "dev_wow.tsv")),
        even("HaluEval qa", halueval_qa(qa, 400, False)),
        even("VitaminC", claims(data / "nli" / "vitaminc_piece_train.jsonl")),
        even("FoolMeTwice", claims(data / "nli" / "fm2_train.jsonl")),
    ]


def features(by_default: Result, by_judge: Result) -> np.ndarray:
    """(sentences, 2): the default's log-odds and the judge's mean log-odds of no."""
    ensemble, judge = by_default.scores["ensemble"], by_judge.scores["statement_judge"]
    odds = judge.raw["log_odds"]  # type: ignore[index]
    pairs = zip(ensemble.units, odds, strict=True)
    rows = [[default.log_odds(float(u.raw)), o] for u, o in pairs if u.raw is not None]  # type: ignore[arg-type]
    return np.array(rows)


def out_of_fold(answers: list[Answers], used: tuple[int, ...], title: str) -> Model:
    """The fit of all by the features at ``used``; prints figures by fits without each fold."""
    whole = fitted(answers, NAMES, used, used)
    models = [fitted(answers, NAMES, used, used, skip) for skip in range(FOLDS)]
    every = []
    for one in answers:
        length = np.array([len(row["response"]) for row in one.of.rows])
        odds = [
            float(models[k].odds(f).max()) for f, k in zip(one.features, one.folds, strict=True)
        ]
        every.append((np.array(odds), one.labels, length))
        show(f"{title}: {one.of.name}", figures(*every[-1]))
    show(f"{title}: all", figures(*(np.concatenate(c) for c in zip(*every, strict=True))))
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--llm", default="local:qwen-1.5b")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    args = parser.parse_args()
    answers = []
    for one in sets(args.data):
        folder = args.out / one.name.replace("/", "-").replace(" ", "-")
        judged = veridical.check(one.rows, [NAMES[1]], llm=args.llm, out=folder, store=None)
        scored = veridical.check(one.rows, [NAMES[0]], store=None)
        pairs = zip(scored, judged, strict=True)
        answers.append(Answers(one, [features(*pair) for pair in pairs]))
    judge = out_of_fold(answers, (1,), "judge")
    slope = judge.coefficients[1]
    print(f"INTERCEPT, SLOPE = {judge.intercept:.{DIGITS}f}, {slope:.{DIGITS}f}")
    for answer in answers:  # what the default reads: the risk by these constants
        for f in answer.features:
            risks = 1 / (1 + np.exp(-judge.odds(f)))
            f[:, 1] = [default.log_odds(float(r)) for r in risks]
    unseen = [a for a in answers if a.of.name not in SEEN]
    out_of_fold(unseen, (0,), "default")
    both = out_of_fold(unseen, (0, 1), "default and judge")
    content = json.loads(OUT.read_text("utf-8"))
    content["judge"] = {
        "llm": "qwen-1.5b",
        "fitted_on": {one.name: len(one.rows) for one in (a.of for a in unseen)},
        "intercept": round(both.intercept, DIGITS),
        "members": round(float(both.coefficients[0]), DIGITS),
        "judge": round(float(both.coefficients[1]), DIGITS),
    }
    OUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {OUT.relative_to(HOME)}")


if __name__ == "__main__":
    main()
