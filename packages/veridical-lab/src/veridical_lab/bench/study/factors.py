"""Effects of tuning, decoding and size (Mirage, findings 3 and 4).

All are computed from a table of values by model:

- the tests of tables 2 and 6 to 8;
- the p-values of figures 4, 11, 12 and 15;
- the scaling curves of figures 3, 13 and 14;
- the boxes of figures 8 to 10;
- the rank correlations of figure 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from veridical.arrays import Floats, Ints
from veridical.stats.comparisons import holm
from veridical_lab.bench.guards import rank_correlations
from veridical_lab.bench.result import Agreement, Box, FactorTest, Pairwise, Scaling, Study
from veridical_lab.bench.study.independent import independent
from veridical_lab.bench.study.normality import NORMALITY, Outcome
from veridical_lab.bench.study.related import paired, repeated
from veridical_lab.bench.study.table import Table, TableColumn, read_table
from veridical_lab.sampling.levels import BINS, bin_names

TUNING = ("pretrained", "instruct")
_MODEL = ("model", "size", "instruct")
_POSTHOC = ("posthoc", "posthoc_test")
_UNITS = {
    "item": (
        "each item counts: values of one model, or of one item under several models, are not "
        "independent, so p-values are too small; unit='configuration' tests the means"
    ),
    "configuration": "what is tested are the means over the items of a model and decoding",
}


def factors(
    table: Any,
    *,
    unit: Literal["item", "configuration"] = "item",
    size_bins: Sequence[float] = BINS,
) -> Study:
    """Compute the factor tests of every data set and scorer of ``table``, and rank correlations.

    *Tuning*: the instruction-tuned less the pretrained version of a family and size, paired by
    decoding and item. Where no item was given to both, the means of the configurations are paired.
    *Decoding*: blocks are a model and an item. Those without a value for every decoding are left
    out. *Size*: all values by the bin of the model's size. The lower edge belongs to the bin, so
    that 70B models are in the last one, as the paper's must be. Values under the same key
    are averaged. ``p_holm`` is over all tests of the table. Tests that the data do not allow have
    ``p`` None and say why.

    Args:
        table: see :mod:`veridical_lab.bench.study.table`: a path, rows or a data frame.
        unit: what an observation is: a value, or the mean of a model and decoding over the items.
            The paper does not say; that it found the verdicts of a judge normal points to means.
        size_bins: lower edges of the bins of sizes, in billions of parameters; the default is the
            paper's (appendix C.3).

    Raises:
        UsageError: a broken row (named), or edges that are not positive and increasing.
    """
    sizes = bin_names(size_bins)
    whole = read_table(table)
    study = Study(notes=[NORMALITY, _UNITS[unit], *whole.notes])
    for d, dataset in enumerate(whole.dataset.names):
        _agree(study, whole.where(whole.dataset.codes == d), dataset)
        for s, scorer in enumerate(whole.scorer.names):
            part = whole.where((whole.dataset.codes == d) & (whole.scorer.codes == s))
            if not len(part.value):
                continue
            _curve(study, part, dataset, scorer)
            if unit == "configuration":
                part = _means(part, *_MODEL, "decoding")
            place = np.searchsorted(size_bins, part.size, side="right")
            _boxes(study, part, dataset, scorer, place, sizes)
            for test in (_tuning(part), _decoding(part), _size(part, place, sizes)):
                _add(study, dataset, scorer, test)
    adjusted = holm([t.p for t in study.tests])
    study.tests = [
        t.model_copy(update={"p_holm": p}) for t, p in zip(study.tests, adjusted, strict=True)
    ]
    study.notes = list(dict.fromkeys(study.notes))
    return study


def _agree(study: Study, part: Table, dataset: str) -> None:
    """Rank correlations between the scorers, answer by answer."""
    used, level = np.unique(part.scorer.codes, return_inverse=True)
    mean, _ = _matrix(part, part.keys(*_MODEL, "decoding", "item"), level, len(used))
    if len(used) > 1:
        study.agreement.append(
            Agreement(
                dataset=dataset,
                scorers=[part.scorer.names[c] for c in used],
                n=len(mean),
                spearman=rank_correlations(list(mean.T)),
            )
        )


def _means(part: Table, *columns: str) -> Table:
    """Return one row for each combination of ``columns``: the mean of its values."""
    key = part.keys(*columns)
    _, first = np.unique(key, return_index=True)
    mean = np.bincount(key, part.value) / np.bincount(key)
    means = replace(part.where(first), value=mean)
    if "item" in columns:
        return means
    return replace(means, item=TableColumn(("all",), np.zeros(len(mean), dtype=np.int64)))


def _matrix(part: Table, block: Ints, level: Ints, k: int) -> tuple[Floats, Floats]:
    """Return means (blocks, k) by block and level, NaN if missing, and their counts."""
    shape = (int(block.max()) + 1, k)
    cell = block * k + level
    counts = np.bincount(cell, minlength=shape[0] * k)
    total = np.bincount(cell, part.value, minlength=shape[0] * k)
    mean = np.full(counts.shape, np.nan)
    np.divide(total, counts, out=mean, where=counts > 0)
    return mean.reshape(shape), counts.reshape(shape).astype(np.float64)


class _Test(NamedTuple):
    """A test, and the values of each level that went into it."""

    factor: Literal["tuning", "decoding", "size"]
    levels: list[str]
    values: list[Floats]
    outcome: Outcome
    notes: list[str]


def _tuning(part: Table) -> _Test:
    notes = []
    for columns in (("family", "size", "decoding", "item"), ("family", "size", "decoding")):
        mean, counts = _matrix(part, part.keys(*columns), part.instruct, 2)
        both = ~np.isnan(mean).any(axis=1)
        if both.any():
            break
    alone = int((~both).sum())
    items = len(columns) == 4 and len(np.unique(part.item.codes)) > 1
    if both.any():
        notes.append("paired by item" if items else "pairs of configuration means")
        if alone:
            notes.append(f"{alone} without a counterpart are left out")
        if items and (counts[both] > 1).any():
            notes.append("values of one family, size, decoding and item were averaged")
    outcome = paired(mean[both, 1] - mean[both, 0])
    return _Test("tuning", list(TUNING), list(mean[both].T), outcome, notes)


def _decoding(part: Table) -> _Test:
    used, level = np.unique(part.decoding.codes, return_inverse=True)
    names = [part.decoding.names[c] for c in used]
    mean, _ = _matrix(part, part.keys(*_MODEL, "item"), level, len(names))
    complete = ~np.isnan(mean).any(axis=1)
    notes = []
    if len(names) > 1 and not complete.all():
        notes.append(f"{int((~complete).sum())} of {len(mean)} blocks are incomplete and left out")
    outcome = repeated(mean[complete])
    return _Test("decoding", names, list(mean[complete].T), outcome, notes)


def _size(part: Table, place: Ints, sizes: Sequence[str]) -> _Test:
    used = np.unique(place).tolist()
    groups = [part.value[place == b] for b in used]
    return _Test("size", [sizes[b] for b in used], groups, independent(groups), [])


def _add(study: Study, dataset: str, scorer: str, test: _Test) -> None:
    outcome = test.outcome
    remarks = [*test.notes, outcome.note] if outcome.note else test.notes
    by_level = list(zip(test.levels, test.values, strict=True))
    study.tests.append(
        FactorTest(
            dataset=dataset,
            scorer=scorer,
            factor=test.factor,
            p_holm=None,
            **{k: v for k, v in vars(outcome).items() if k not in ("note", *_POSTHOC)},
            groups={level: len(values) for level, values in by_level},
            means={level: float(values.mean()) for level, values in by_level if len(values)},
            note="; ".join(remarks) or None,
        )
    )
    if outcome.posthoc is not None:
        study.pairwise.append(
            Pairwise(
                dataset=dataset,
                scorer=scorer,
                factor=test.factor,
                test=outcome.posthoc_test,
                levels=test.levels,
                p=outcome.posthoc,
            )
        )


def _curve(study: Study, part: Table, dataset: str, scorer: str) -> None:
    """Add the mean by model with its 95 % t interval over the items, for greedy decoding if
    present.
    """
    from scipy import stats

    greedy = [c for c, n in enumerate(part.decoding.names) if n.strip().lower() == "greedy"]
    is_greedy = np.isin(part.decoding.codes, greedy)
    if is_greedy.any():
        part = part.where(is_greedy)
    else:
        study.notes.append(f"{dataset}: no greedy decoding, so curves are over all decodings")
    part = _means(part, *_MODEL, "item")
    key = part.keys(*_MODEL)
    for k in range(int(key.max()) + 1):
        rows = np.flatnonzero(key == k)
        values, first = part.value[rows], rows[0]
        n, mean = len(values), float(values.mean())
        half = None
        if n > 1:
            half = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
        study.scaling.append(
            Scaling(
                dataset=dataset,
                scorer=scorer,
                model=part.model.names[part.model.codes[first]],
                size=float(part.size[first]),
                tuning=TUNING[part.instruct[first]],
                n=n,
                mean=mean,
                ci_low=None if half is None else mean - half,
                ci_high=None if half is None else mean + half,
            )
        )


def _boxes(
    study: Study, part: Table, dataset: str, scorer: str, place: Ints, sizes: Sequence[str]
) -> None:
    """Add quartiles by decoding and size bin.

    Whiskers end at the last value within 1.5 of the box's height (Tukey).
    """
    for code, decoding in enumerate(part.decoding.names):
        for b, size in enumerate(sizes):
            values = part.value[(part.decoding.codes == code) & (place == b)]
            if not len(values):
                continue
            q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
            reach = 1.5 * (q3 - q1)
            inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
            study.boxes.append(
                Box(
                    dataset=dataset,
                    scorer=scorer,
                    decoding=decoding,
                    size=size,
                    n=len(values),
                    # Quartiles are interpolated, so the last value may lie within the box.
                    low=float(min(inside.min(), q1)),
                    q1=float(q1),
                    median=float(median),
                    q3=float(q3),
                    high=float(max(inside.max(), q3)),
                )
            )
