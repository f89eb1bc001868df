"""Calibration of a checker on grounded answers, written into its ``checker.json``.

    python training/fit_checker.py --data DATA --checker checker-0.5b

The adapter is the one that ``--llm local:checker-0.5b`` takes: of the installed package
(``pip install -e packages/veridical-checker``) or kept by ``veridical models get``. Answers of
DATA/grounded/*_dev.jsonl are judged by ``statement_judge``. A logistic regression of the largest
log-odds of an answer gives intercept and slope. Every set has as many right as wrong answers. The
printed balanced accuracy covers answers whose documents the fit did not see. The printed AUROC is
that of the log-odds. With ``--out`` the replies are kept, and the run resumes.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from default_data import lines

import veridical
from veridical.files.atomic import write_atomic
from veridical.stats.logistic import LogisticFit, fit_logistic
from veridical.stats.metrics.ranking import auroc
from veridical.weights import checkers

SETS = ("factcc", "frank", "healthver", "scitab")
FOLDS = 5


class Judged(NamedTuple):
    """Answers of one set: the largest log-odds of each, labels (1: wrong), and folds."""

    name: str
    odds: np.ndarray
    labels: np.ndarray
    folds: np.ndarray


def drawn(path: Path, most: int) -> list[dict[str, Any]]:
    """Return at most ``most`` rows, as many right as wrong."""
    rows = list(lines(path))
    by_label = [[row for row in rows if row["label"] == label] for label in (0, 1)]
    each = min(most // 2, *map(len, by_label))
    rng = np.random.default_rng(0)
    return [of[i] for of in by_label for i in sorted(rng.permutation(len(of))[:each])]


def judged(name: str, rows: list[dict[str, Any]], llm: Any, out: Path | None) -> Judged:
    """Return the log-odds of ``rows``; those that could not be judged are left out."""
    asked = [{key: row[key] for key in ("response", "contexts")} for row in rows]
    folder = None if out is None else out / name
    results = veridical.check(asked, "statement_judge", llm=llm, out=folder, store=None)
    kept = []
    for row, result in zip(rows, results, strict=True):
        score = result.scores["statement_judge"]
        if score.status == "scored":
            raw: Any = score.raw
            fold = zlib.crc32("\n".join(row["contexts"]).encode()) % FOLDS
            kept.append((max(raw["log_odds"]), float(row["label"]), fold))
    return Judged(name, *np.array(kept).T)


def fitted(sets: Sequence[Judged], without: int = -1) -> LogisticFit:
    """Return the fit on all folds but one."""
    kept = [one.folds != without for one in sets]
    odds = np.concatenate([one.odds[k] for one, k in zip(sets, kept, strict=True)])
    labels = np.concatenate([one.labels[k] for one, k in zip(sets, kept, strict=True)])
    return fit_logistic(odds[:, None], labels)


def show(sets: Sequence[Judged]) -> None:
    """Print figures of each set by the fits without each answer's fold."""
    fits = [fitted(sets, fold) for fold in range(FOLDS)]
    for one in sets:
        chosen = [fits[int(fold)] for fold in one.folds]
        intercepts = np.array([f.intercept for f in chosen])
        odds = intercepts + np.array([f.coefficients[0] for f in chosen]) * one.odds
        missed, flagged = (odds[one.labels == 1] < 0).mean(), (odds[one.labels == 0] >= 0).mean()
        print(
            f"{one.name}: {len(odds)} answers, AUROC {auroc(one.labels, one.odds):.3f}, "
            f"balanced accuracy {1 - (missed + flagged) / 2:.3f}"
        )


def main(arguments: Sequence[str] | None = None, llm: Any = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of public data sets")
    parser.add_argument("--checker", choices=tuple(checkers.CHECKERS), default="checker-0.5b")
    parser.add_argument("--rows", type=int, default=150, help="rows of each set")
    parser.add_argument("--out", type=Path, help="folder of the runs")
    args = parser.parse_args(arguments)
    adapter = checkers.need(checkers.CHECKERS[args.checker])
    asked = f"local:{args.checker}" if llm is None else llm
    sets = []
    for name in SETS:
        rows = drawn(args.data / "grounded" / f"{name}_dev.jsonl", args.rows)
        sets.append(judged(name, rows, asked, args.out))
    show(sets)
    fit = fitted(sets)
    slope = float(fit.coefficients[0])
    if slope <= 0:
        raise SystemExit(f"slope {slope:.4f}: the checker does not rank wrong answers higher")
    card = adapter.path.with_name("checker.json")
    content = json.loads(card.read_text("utf-8"))
    content["calibration"] = [round(fit.intercept, 4), round(slope, 4)]
    content["calibrated_on"] = {f"{one.name}_dev": len(one.odds) for one in sets}
    write_atomic(card, json.dumps(content, indent=1).encode() + b"\n")
    print(f"{card}: calibration {content['calibration']}")


if __name__ == "__main__":
    main()
