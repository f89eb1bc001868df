"""Agreement of scorers with human labels (Mirage, findings 1, 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from veridical.arrays import Floats, Ints
from veridical.errors import UsageError, unknown_name
from veridical.stats.famd import famd as first_component
from veridical.stats.metrics import Targets, compute
from veridical.stats.metrics.classification import counts, weighted_f1
from veridical.stats.metrics.metric import finite
from veridical.stats.thresholds import best_threshold, cross_fitted
from veridical_lab.bench.guards import inverted, known_mean, rank_correlations
from veridical_lab.bench.result import Alignment, AlignmentSplit

FAMD = "famd"
LENGTH_BINS = 6
#: Share of one predicted class from which a scorer is flagged ``one_class``; the paper's Table 11
#: has six cells of 99.7 % and more.
ONE_CLASS = 0.99
_FIGURES = ("trapezoid_pr", "average_precision")
_LABELS = ("weighted_precision", "weighted_recall", "weighted_f1", "accuracy")


def alignment(
    suite: str,
    split: str,
    truth: Floats,
    lengths: Ints,
    groups: Ints,
    scores: Mapping[str, Floats],
    risks: Mapping[str, Floats],
    *,
    as_published: bool,
    famd: Sequence[str] = (),
    seed: int = 0,
) -> AlignmentSplit:
    """Compute Mirage tables 1, 9, 10 and 11, and figures 1, 2, 5 and 6, for one data set.

    Labels are those of a threshold on the risk (the score, where a scorer has no risk). For
    ``as_published`` it is that of the highest weighted F1 on these very items, as the paper did,
    flagged ``threshold_fitted_on_test``. Else each item's is fitted on other groups.

    Flags: ``inverted`` when the upper end of the AUROC's 95 % interval (over resampled groups) is
    below a half. The score turned upside down is then better by more than chance. ``one_class``
    when 99 % of the labels, or more, are the same.

    A scorer's figures are over the items it scored; cells of the matrices are over those that
    both scored. Length bins are sixths of the items by the number of words, merged where lengths
    tie. Each holds its lower edge, the last one both.

    Args:
        truth: (n,) 1 hallucinated, 0 not; items of NaN are left out.
        lengths: (n,) of the responses, in words.
        groups: (n,) the independent unit of each item.
        scores: scorer -> (n,), higher = riskier, NaN where it failed.
        risks: scorer -> (n,) in [0, 1].
        famd: scorers to combine into one more, ``famd``; fewer than two make none. Those with two
            distinct scores at most enter as verdicts.

    Raises:
        UsageError: no item has a label, a name in ``famd`` is unknown, or the ``meta`` extra that
            it needs is not installed.
    """
    known = ~np.isnan(truth)
    if not known.any():
        raise UsageError(f"{suite} {split}: no item has a label; alignment requires labels")
    y, words, units = truth[known] >= 0.5, lengths[known], groups[known]
    truth = y.astype(np.float64)
    score = {name: np.asarray(s, dtype=np.float64)[known] for name, s in scores.items()}
    risk = {n: np.asarray(risks.get(n, scores[n]), dtype=np.float64)[known] for n in scores}
    if len(famd) > 1:
        score[FAMD] = risk[FAMD] = _ensemble(score, famd)
    aligned, correct = [], []
    for name in score:
        row, right = _one(name, truth, score[name], risk[name], units, as_published, seed)
        aligned.append(row)
        correct.append(right)
    edges, place = _length_bins(words)
    bins = len(edges) - 1
    majority = np.full(len(y), int(2 * y.sum() >= len(y)))
    return AlignmentSplit(
        suite=suite,
        split=split,
        n=len(y),
        prevalence=float(y.mean()),
        majority_f1=finite(float(weighted_f1(counts(truth, majority, 2)))),
        scorers=aligned,
        spearman=rank_correlations(list(score.values())),
        overlap=[[known_mean(a * b) for b in correct] for a in correct],
        length_edges=edges,
        length_counts=np.bincount(place, minlength=bins).tolist(),
        lengths=[[known_mean(right[place == b]) for b in range(bins)] for right in correct],
    )


def _ensemble(score: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    if FAMD in score:
        raise UsageError(
            f"a scorer is called {FAMD!r}, so there cannot be an ensemble of that name"
        )
    for name in names:
        if name not in score:
            raise unknown_name("scorer of famd", name, score)
    chosen = {name: score[name] for name in names}
    binary = [n for n, s in chosen.items() if len(np.unique(s[~np.isnan(s)])) <= 2]
    return first_component(chosen, binary)


def _one(
    name: str,
    truth: Floats,
    score: Floats,
    risk: Floats,
    groups: Ints,
    as_published: bool,
    seed: int,
) -> tuple[Alignment, Floats]:
    """Return a scorer's row, and per item if its label is right: 1, 0, or NaN without one."""
    scored = ~(np.isnan(score) | np.isnan(risk))
    y, s, r, g = truth[scored], score[scored], risk[scored], groups[scored]
    threshold = None
    if as_published:
        threshold = best_threshold(y, r, "weighted_f1")
        predicted = (r >= threshold).astype(np.int64)
    else:
        predicted = cross_fitted(y, r, g, objective="weighted_f1", seed=seed)
    figures = compute((*_FIGURES, *_LABELS), Targets(y, s, predicted=predicted))
    shown = {k: finite(v) for k, v in figures.items()}
    positive = int(predicted.sum())
    flags = ["threshold_fitted_on_test"] if as_published else []
    if inverted(y, s, g, seed):
        flags.append("inverted")
    if len(y) and max(positive, len(y) - positive) >= ONE_CLASS * len(y):
        flags.append("one_class")
    right = np.full(len(truth), np.nan)
    right[scored] = predicted == y
    row = Alignment(
        scorer=name,
        area=shown["trapezoid_pr"],
        area_inverted=finite(compute(["trapezoid_pr"], Targets(y, -s))["trapezoid_pr"]),
        average_precision=shown["average_precision"],
        precision=shown["weighted_precision"],
        recall=shown["weighted_recall"],
        f1=shown["weighted_f1"],
        accuracy=shown["accuracy"],
        threshold=threshold,
        threshold_on="test" if as_published else "cross-fitted",
        predicted_positive=positive,
        predicted_negative=len(y) - positive,
        flags=flags,
    )
    return row, right


def _length_bins(words: Ints) -> tuple[list[float], Ints]:
    """Return edges (b + 1) of the bins, and the bin of each item (n,)."""
    shares = np.linspace(0, 1, LENGTH_BINS + 1)
    # Real lengths, not means of two, so that an edge is a number of words.
    edges = np.unique(np.quantile(words, shares, method="inverted_cdf"))
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    place = np.searchsorted(edges[1:-1], words, side="right")
    return [float(e) for e in edges], place.astype(np.int64)
