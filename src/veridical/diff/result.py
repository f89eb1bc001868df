"""Result of a comparison of two runs: the stable format of ``veridical diff --json``.

Every view is made from a :class:`Diff`. Shares, rates and risks are fractions; a difference is the
second run's figure minus the first's, so that above 0 is worse.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from veridical.core.scores import Decision
from veridical.core.verdict_cuts import Unchecked, Verdict

_STORED = ConfigDict(extra="forbid")

Kind = Literal["bad_share", "risk", "verdict", "decision", "claims", "scorer"]
Test = Literal["mcnemar", "tango", "permutation"]
Direction = Literal["worse", "better", "other"]


class Compared(BaseModel):
    """One of the two runs.

    ``kind`` is ``run`` or ``file``; ``n`` is its number of results. ``n_unchecked`` counts those
    without a verdict although they make a statement, and ``n_row_errors`` invalid rows (0 for a
    file, where it is unknown).
    """

    model_config = _STORED
    path: str
    kind: Literal["run", "file"]
    n: int
    n_unchecked: int
    n_row_errors: int


class DiffEndpoint(BaseModel):
    """A figure of both runs over the ``n`` pairs that have it, and its change.

    Attributes:
        kind: ``bad_share``: the share of unsupported, contradicted and inconsistent answers, of
            pairs that both runs checked. ``risk``: the mean risk. ``verdict``, ``decision``: the
            share of answers with it. ``claims``: the mean rate of a scorer's claims. ``scorer``:
            the mean risk of a scorer.
        name: name of the verdict, decision, rate or scorer; else the kind.
        scorer: the scorer of the claims.
        ci_low, ci_high: 95 % bootstrap interval of the difference.
        p: two-sided, by the ``test``: McNemar's exact test, or a permutation test.
        p_holm: corrected for the endpoints of this kind.
        rises, falls: pairs that flip, if the figure is a share.
    """

    model_config = _STORED
    kind: Kind
    name: str
    scorer: str | None = None
    n: int
    a: float
    b: float
    difference: float
    ci_low: float | None
    ci_high: float | None
    test: Test
    p: float
    p_holm: float | None = None
    rises: int | None = None
    falls: int | None = None


class DiffGate(BaseModel):
    """Figure that determines the exit code.

    It is the rise of ``bad_share`` (``risk`` if no pair has verdicts) compared with ``tolerate``.

    Attributes:
        p: one-sided, by the ``test``. It is McNemar's exact test; with a tolerated rise, Tango's
            score test; for risks, and for several records per independent unit, a permutation test.
        worse: True if the rise exceeds ``tolerate`` and ``p`` is below ``alpha``.
        detectable: the smallest rise that this many pairs show in 8 of 10 cases; null if there is
            no such rise.
        lost: pairs that the first run checked and the second could not.
    """

    model_config = _STORED
    endpoint: Literal["bad_share", "risk"]
    n: int
    a: float
    b: float
    difference: float
    tolerate: float
    test: Test
    p: float
    alpha: float
    worse: bool
    detectable: float | None
    lost: int


class Stratum(BaseModel):
    """The pairs with one value of ``Diff.split_by``; null for records without one. Holm's
    correction is over the strata, for each kind of endpoint."""

    model_config = _STORED
    value: str | None
    n_pairs: int
    endpoints: list[DiffEndpoint]


class ShownEvidence(BaseModel):
    """A piece of evidence: ``text`` is a slice of the context, sample or reference ``index``."""

    model_config = _STORED
    kind: Literal["context", "sample", "reference", "token"]
    index: int
    text: str


class FlipSide(BaseModel):
    """One of the two answers of a flip.

    Its location is ``line`` (from 1; null without lines) of ``file``: the input of a run, or a file
    of results. ``answer`` is the whole answer; if only result lines are known, it is composed of
    the judged sentences, and ``whole`` is false. ``sentence`` is the worst one, with its
    ``evidence``.
    """

    model_config = _STORED
    row: int
    file: str
    line: int | None
    verdict: Verdict
    reason: Unchecked | None
    decision: Decision | None
    risk: float | None
    answer: str
    whole: bool
    sentence: str | None
    evidence: list[ShownEvidence] = []


class Flip(BaseModel):
    """A pair whose verdict or decision changed.

    ``direction`` is ``worse`` if an answer that was not bad is bad now, ``better`` for the reverse,
    else ``other``. Bad verdicts are unsupported, contradicted and inconsistent; a stricter decision
    is worse too.
    """

    model_config = _STORED
    id: str
    question: str | None
    direction: Direction
    a: FlipSide
    b: FlipSide


class Difference(BaseModel):
    """Different signatures of a scorer; null if a run lacks it."""

    model_config = _STORED
    scorer: str
    a: str | None
    b: str | None


class Diff(BaseModel):
    """Two runs compared.

    ``flips`` are sorted worst first, and limited; ``n_flips`` counts all by direction. ``gate`` is
    null if no pair has a figure to compare.
    """

    model_config = _STORED
    version: str
    created: str
    a: Compared
    b: Compared
    paired_by: Literal["id", "prompt", "row"]
    n_pairs: int
    n_only_a: int
    n_only_b: int
    n_groups: int
    gate: DiffGate | None
    endpoints: list[DiffEndpoint]
    split_by: str | None
    strata: list[Stratum]
    n_flips: dict[Direction, int]
    flips: list[Flip]
    different: list[Difference]
    signatures: dict[str, str]
    settings: dict[str, Any]
    notes: list[str]
