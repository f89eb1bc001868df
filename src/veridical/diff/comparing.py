"""``diff``: comparison of two runs, record by record."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from veridical.arrays import Floats, Ints
from veridical.core.scores import Decision
from veridical.core.verdict_cuts import FLAGGED, Verdict
from veridical.decide.gates import NO_STATEMENT
from veridical.diff import result as r
from veridical.diff.options import DiffOptions
from veridical.diff.pairing import Pairs, paired
from veridical.diff.reading import CLAIM_RATES, ComparedAnswer, ShownText, Side
from veridical.errors import UsageError, option_named
from veridical.stats.comparisons import holm
from veridical.stats.paired import (
    ALPHA,
    Flips,
    detectable_mean,
    detectable_share,
    mcnemar,
    mean_interval,
    share_rises,
    sign_flip,
)
from veridical.text.display import shown
from veridical.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical.diff.options import DiffKeywords

#: Verdicts that count as bad.
BAD: tuple[Verdict, ...] = FLAGGED
#: Maximum flips stored with their texts.
MOST_FLIPS = 1_000
#: Maximum distinct values of a field.
MOST_STRATA = 50
SEED, PERMUTATIONS, REPLICATES = 0, 9_999, 1_000
_STRICTNESS: dict[str | None, int] = {"accept": 0, "review": 1, "reject": 2}
_NAMED = 3
#: Minimum independent units that can show a rise: five flips one way have p = 1/32.
_LEAST_UNITS = 5
_Figure = Callable[[ComparedAnswer], float | None]
#: Function that returns the shown texts of the answers at given indices of a side.
Texts = Callable[[AbstractSet[int]], Mapping[int, ShownText]]


def diff(a: str | Path, b: str | Path, **options: Unpack[DiffKeywords]) -> r.Diff:
    """Compare two runs, record by record.

    Args:
        a, b: run directories, or files of result lines (``check --json``), gzipped or not.
        pair_by: key of the pairs: ``id``, ``prompt`` or ``row``; see
            :func:`~veridical.diff.pairing.paired`.
        split_by: a field of the records' ``meta``; figures are also given for each of its values.
        tolerate: tolerated rise of the share of bad answers (or of the mean risk).
        allow_different: compare runs whose scorers have different signatures.

    Raises:
        UsageError: a run cannot be read, they have no record in common, their ids repeat, or they
            were scored in different ways.
    """
    chosen = DiffOptions(**options)
    first, second = Side(Path(a), chosen.split_by), Side(Path(b), chosen.split_by)
    pairs = paired(first, second, chosen.pair_by)
    return compared(first, second, chosen, pairs, (first.texts, second.texts))


def compared(
    a: Side, b: Side, options: DiffOptions, pairs: Pairs, texts: tuple[Texts, Texts]
) -> r.Diff:
    """Compute :func:`diff` for sides that are read and paired already.

    Args:
        texts: functions that return the shown texts of each side.
    """
    different = list(_different(pairs.pairs))
    if different and not options.allow_different:
        raise UsageError(_refusal(a, b, different))
    if _mixed(a, b) and not options.allow_different:
        raise UsageError(
            f"the runs differ in strictness: {a.strictness} and {b.strictness}, so differences "
            f"may come from the thresholds; {option_named('allow_different')} compares them "
            "nevertheless"
        )
    table = _Table(pairs.pairs)
    endpoints = list(table.endpoints())
    flips = sorted(_flips(pairs.pairs), key=lambda flip: flip[0])
    kept = flips[:MOST_FLIPS]
    of_kept = (
        texts[0]({x.place for _, x, _, _ in kept}),
        texts[1]({y.place for _, _, y, _ in kept}),
    )
    gate = table.gate(options.tolerate)
    return r.Diff(
        version=__version__,
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        a=_facts(a),
        b=_facts(b),
        paired_by=pairs.by,
        n_pairs=len(pairs.pairs),
        n_only_a=pairs.only_a,
        n_only_b=pairs.only_b,
        n_groups=table.n_groups,
        gate=gate,
        endpoints=endpoints,
        split_by=options.split_by,
        strata=[] if options.split_by is None else _strata(pairs.pairs),
        n_flips=_by_direction(flips),
        flips=[_flip(*flip[1:], *of_kept) for flip in kept],
        different=different,
        signatures=_signatures(pairs.pairs),
        settings={
            "tolerate": options.tolerate,
            "pair_by": options.pair_by,
            "split_by": options.split_by,
            "allow_different": options.allow_different,
            "seed": SEED,
            "permutations": PERMUTATIONS,
            "bootstrap": REPLICATES,
        },
        notes=[
            *a.notes,
            *b.notes,
            *pairs.notes,
            *table.notes(),
            *_notes(a, b, pairs, gate, different),
        ],
    )


class _Table:
    """Figures of pairs, as columns."""

    def __init__(self, pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]]) -> None:
        self._pairs = pairs
        self._answers = [x for pair in pairs for x in pair]
        units = [(x.unit, y.unit) for x, y in pairs]
        self._groups: Ints = np.arange(len(pairs))
        if all(x is not None and y is not None for x, y in units):
            number = {unit: i for i, unit in enumerate(dict.fromkeys(units))}
            self._groups = np.array([number[unit] for unit in units], dtype=np.int64)
        self.n_groups = len(np.unique(self._groups))
        # too few to show any rise: the test is then on these units alone, over their answers
        self.answers_tested = self.n_groups < min(_LEAST_UNITS, len(pairs))
        if self.answers_tested:
            self._groups = np.arange(len(pairs))

    def gate(self, tolerate: float) -> r.DiffGate | None:
        """Return the figure that determines the exit code; None without any."""
        lost = sum(_bad(x) is not None and _bad(y) is None for x, y in self._pairs)
        bad = self._column(_bad)
        name: str = "bad_share" if (~np.isnan(bad).any(axis=1)).any() else "risk"
        values, groups = self._known(bad if name == "bad_share" else self._column(_risk))
        if not len(values):
            return None
        change = values[:, 1] - values[:, 0]
        single = len(np.unique(groups)) == len(groups)
        if name == "bad_share" and single:
            flips = Flips.of(change)
            p, test = share_rises(flips, tolerate), "tango" if tolerate else "mcnemar"
            detectable = detectable_share(flips, tolerate)
        else:
            p = sign_flip(
                change,
                groups,
                permutations=PERMUTATIONS,
                seed=SEED,
                alternative="greater",
                margin=tolerate,
            )
            test, detectable = "permutation", detectable_mean(change, groups, tolerate)
        rise = float(change.mean())
        return r.DiffGate(
            endpoint=name,
            n=len(values),
            a=float(values[:, 0].mean()),
            b=float(values[:, 1].mean()),
            difference=rise,
            tolerate=tolerate,
            test=test,
            p=p,
            alpha=ALPHA,
            worse=rise > tolerate and p < ALPHA,
            detectable=None if detectable is None or detectable > 1 else detectable,
            lost=lost,
        )

    def notes(self) -> Iterator[str]:
        """Describe the independent units unless each pair is one."""
        if self.n_groups == len(self._pairs):
            return
        of = f"{len(self._pairs):,} pairs are of {self.n_groups:,} independent unit"
        of += f"{'' if self.n_groups == 1 else 's'} (a prompt with its contexts, or a group)"
        if self.answers_tested:
            yield (
                f"{of}, too few to test: the tests take the answers as independent, so they hold "
                "for these prompts only"
            )
        else:
            yield f"{of}; the tests treat the answers of a unit together"

    def endpoints(self) -> Iterator[r.DiffEndpoint]:
        """Yield every figure that any pair has, with Holm's correction within each kind."""
        yield from self.main()
        for kind, names in (("verdict", get_args(Verdict)), ("decision", get_args(Decision))):
            yield from _corrected(filter(None, (self._share(kind, name) for name in names)))
        keys = dict.fromkeys(key for pair in self._pairs for x in pair for key in x.scores)
        yield from _corrected(filter(None, map(self._scorer, keys)))
        scores = (part for x in self._answers for part in x.scores.items())
        judging = {key for key, part in scores if part.claims is not None}
        rates = ((k, name) for k in keys if k in judging for name in range(len(CLAIM_RATES)))
        yield from _corrected(filter(None, (self._claims(*rate) for rate in rates)))

    def main(self) -> Iterator[r.DiffEndpoint]:
        """Yield the share of bad answers, and the mean risk."""
        for kind, of, share in (("bad_share", _bad, True), ("risk", _risk, False)):
            found = self._endpoint(kind, kind, self._column(of), share=share)
            if found is not None:
                yield found

    def _share(self, kind: str, name: str) -> r.DiffEndpoint | None:
        def of(x: ComparedAnswer) -> float | None:
            value = getattr(x, kind)
            return None if value is None else float(value == name)

        column = self._column(of)
        return self._endpoint(kind, name, column, share=True) if np.any(column == 1) else None

    def _scorer(self, key: str) -> r.DiffEndpoint | None:
        return self._endpoint("scorer", key, self._column(lambda x: _score(x, key)))

    def _claims(self, key: str, rate: int) -> r.DiffEndpoint | None:
        def of(x: ComparedAnswer) -> float | None:
            part = x.scores.get(key)
            return None if part is None or part.claims is None else part.claims[rate]

        return self._endpoint("claims", CLAIM_RATES[rate], self._column(of), scorer=key)

    def _endpoint(
        self,
        kind: str,
        name: str,
        column: Floats,
        *,
        share: bool = False,
        scorer: str | None = None,
    ) -> r.DiffEndpoint | None:
        values, groups = self._known(column)
        if not len(values):
            return None
        change = values[:, 1] - values[:, 0]
        low, high = mean_interval(change, groups, replicates=REPLICATES, seed=SEED, share=share)
        flips = Flips.of(change)
        exact = share and len(np.unique(groups)) == len(groups)
        p = (
            mcnemar(flips)
            if exact
            else sign_flip(change, groups, permutations=PERMUTATIONS, seed=SEED)
        )
        return r.DiffEndpoint(
            kind=kind,
            name=name,
            scorer=scorer,
            n=len(values),
            a=float(values[:, 0].mean()),
            b=float(values[:, 1].mean()),
            difference=float(change.mean()),
            ci_low=low,
            ci_high=high,
            test="mcnemar" if exact else "permutation",
            p=p,
            rises=flips.rises if share else None,
            falls=flips.falls if share else None,
        )

    def _column(self, of: _Figure) -> Floats:
        """Return (n, 2) of a figure, NaN if an answer lacks it."""
        return np.array([of(x) for x in self._answers], dtype=np.float64).reshape(-1, 2)

    def _known(self, column: Floats) -> tuple[Floats, Ints]:
        """Return the pairs that have the figure, and their groups."""
        known = ~np.isnan(column).any(axis=1)
        return column[known], self._groups[known]


def _bad(x: ComparedAnswer) -> float | None:
    """Return 1 for a bad verdict, 0 for a good one, and None if the answer could not be checked. An
    answer that states nothing is good."""
    if x.verdict == "unchecked" and x.reason != NO_STATEMENT:
        return None
    return float(x.verdict in BAD)


def _risk(x: ComparedAnswer) -> float | None:
    return x.risk


def _score(x: ComparedAnswer, key: str) -> float | None:
    part = x.scores.get(key)
    return None if part is None else part.risk


def _corrected(endpoints: Iterable[r.DiffEndpoint]) -> list[r.DiffEndpoint]:
    """Apply Holm's correction over all endpoints."""
    found = list(endpoints)
    adjusted = holm([e.p for e in found])
    return [e.model_copy(update={"p_holm": p}) for e, p in zip(found, adjusted, strict=True)]


def _strata(pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]]) -> list[r.Stratum]:
    """Return the main figures for each value of the second run's field, most common first."""
    by_value: dict[str | None, list[tuple[ComparedAnswer, ComparedAnswer]]] = {}
    for pair in pairs:
        by_value.setdefault(pair[1].stratum, []).append(pair)
    largest = sorted(by_value.items(), key=lambda item: -len(item[1]))[:MOST_STRATA]
    parts = [(value, some, list(_Table(some).main())) for value, some in largest]
    adjusted: dict[str, Iterator[r.DiffEndpoint]] = {
        kind: iter(_corrected(e for _, _, found in parts for e in found if e.kind == kind))
        for kind in ("bad_share", "risk")
    }
    return [
        r.Stratum(value=value, n_pairs=len(some), endpoints=[next(adjusted[e.kind]) for e in found])
        for value, some, found in parts
    ]


def _different(pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]]) -> Iterator[r.Difference]:
    """Yield scorers with two signatures in any pair, and those that only one run has."""
    keys = dict.fromkeys(key for pair in pairs for x in pair for key in x.scores)
    for key in keys:
        there = [any(key in pair[side].scores for pair in pairs) for side in (0, 1)]
        if not all(there):
            yield r.Difference(scorer=key, a=_signature(pairs, 0, key), b=_signature(pairs, 1, key))
            continue
        for x, y in pairs:
            first, second = x.scores.get(key), y.scores.get(key)
            if first is None or second is None or not (first.signature and second.signature):
                continue
            if first.signature != second.signature:
                yield r.Difference(scorer=key, a=first.signature, b=second.signature)
                break


def _signature(
    pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]], side: int, key: str
) -> str | None:
    parts = (pair[side].scores.get(key) for pair in pairs)
    return next((part.signature for part in parts if part is not None), None)


def _signatures(pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]]) -> dict[str, str]:
    """Return the signatures of the second run."""
    found: dict[str, str] = {}
    for _, answer in pairs:
        for key, part in answer.scores.items():
            if part.signature:
                found.setdefault(key, part.signature)
    return found


def _refusal(a: Side, b: Side, different: Sequence[r.Difference]) -> str:
    lines = []
    for d in different[:_NAMED]:
        if d.a is None or d.b is None:
            lines.append(f"only {(a if d.b is None else b).name} has {d.scorer}")
        else:
            lines.append(f"{d.scorer}: {d.a} and {d.b}")
    more = f"; and {len(different) - _NAMED} more" if len(different) > _NAMED else ""
    return (
        f"the runs were not scored in the same way: {'; '.join(lines)}{more}. Differences may come "
        f"from the scoring; {option_named('allow_different')} compares them "
        "nevertheless"
    )


def direction_of(x: ComparedAnswer, y: ComparedAnswer) -> r.Direction | None:
    """Return the direction of a pair's change; None if neither verdict nor decision changed."""
    if (x.verdict, x.decision) == (y.verdict, y.decision):
        return None
    bad, before = _bad(y), _bad(x)
    if bad is not None and before is not None and bad != before:
        return "worse" if bad > before else "better"
    if x.decision is not None and y.decision is not None and x.decision != y.decision:
        stricter = _STRICTNESS[y.decision] > _STRICTNESS[x.decision]
        return "worse" if stricter else "better"
    return "other"


_Changed = tuple[tuple[int, float, int], ComparedAnswer, ComparedAnswer, r.Direction]


def _flips(pairs: Sequence[tuple[ComparedAnswer, ComparedAnswer]]) -> Iterator[_Changed]:
    """Yield pairs that changed, each with its rank: worst first, then by the rise of the risk."""
    for i, (x, y) in enumerate(pairs):
        direction = direction_of(x, y)
        if direction is not None:
            yield rank_of(x, y, direction, i), x, y, direction


def rank_of(
    x: ComparedAnswer, y: ComparedAnswer, direction: r.Direction | None, i: int
) -> tuple[int, float, int]:
    """Return the sort key of the ``i``-th pair: pairs that got worse come first."""
    order = ("worse", "other", "better", None).index(direction)
    return order, (x.risk or 0.0) - (y.risk or 0.0), i


def _by_direction(flips: Sequence[_Changed]) -> dict[r.Direction, int]:
    counts = Counter(direction for *_, direction in flips)
    return {name: counts[name] for name in get_args(r.Direction)}


def _flip(
    x: ComparedAnswer,
    y: ComparedAnswer,
    direction: r.Direction,
    texts_a: Mapping[int, ShownText],
    texts_b: Mapping[int, ShownText],
) -> r.Flip:
    name, question, first, second = pair_of(x, y, texts_a, texts_b)
    return r.Flip(id=name, question=question, direction=direction, a=first, b=second)


def pair_of(
    x: ComparedAnswer,
    y: ComparedAnswer,
    texts_a: Mapping[int, ShownText],
    texts_b: Mapping[int, ShownText],
) -> tuple[str, str | None, r.FlipSide, r.FlipSide]:
    """Return the id, the question and both answers of a pair."""
    first, second = texts_a[x.place], texts_b[y.place]
    return y.id, second.question or first.question, _flip_side(x, first), _flip_side(y, second)


def _flip_side(x: ComparedAnswer, text: ShownText) -> r.FlipSide:
    worst = text.worst
    return r.FlipSide(
        row=x.row,
        file=text.file,
        line=text.line,
        verdict=x.verdict,
        reason=x.reason,
        decision=x.decision,
        risk=x.risk,
        answer=text.answer,
        whole=text.whole,
        sentence=None if worst is None else worst.text,
        evidence=[
            r.ShownEvidence(kind=e.kind, index=e.index, text=e.text)
            for e in (() if worst is None else worst.evidence[:_NAMED])
        ],
    )


def _facts(side: Side) -> r.Compared:
    return r.Compared(
        path=side.name,
        kind=side.kind,
        n=len(side.answers),
        n_unchecked=sum(_bad(x) is None for x in side.answers),
        n_row_errors=side.row_errors,
    )


def _notes(
    a: Side,
    b: Side,
    pairs: Pairs,
    gate: r.DiffGate | None,
    different: Sequence[r.Difference],
) -> Iterator[str]:
    """Yield remarks on the limits of the comparison."""
    if gate is not None and gate.lost:
        yield (
            f"answers that {a.name} checked and {b.name} could not check: {gate.lost}; they are "
            "left out, and may be wrong"
        )
    for side, alone in ((a, pairs.only_a), (b, pairs.only_b)):
        if alone:
            yield f"answers that are only in {side.name}, left out: {alone}"
        if side.row_errors:
            yield f"rows of {side.name} that were no valid records: {side.row_errors}"
    if different:
        names = ", ".join(shown(d.scorer) for d in different[:_NAMED])
        yield (
            f"the runs were not scored in the same way ({names}): this alone may explain "
            "differences"
        )
    if _mixed(a, b):
        yield (
            f"the runs differ in strictness ({a.strictness}, {b.strictness}): their verdicts have "
            "different thresholds"
        )


def _mixed(a: Side, b: Side) -> bool:
    """Return True if the verdicts of two runs are known to be cut at different thresholds."""
    points = (a.strictness, b.strictness)
    return None not in points and points[0] != points[1]
