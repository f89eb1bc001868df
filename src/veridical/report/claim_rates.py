"""Table of claim rates by model: supported, unsupported, contradicted.

Rates of a response are the shares of its claims. Rates of a model are their means over the
responses that make claims, and the share of all responses that decline to answer. Source: Hu et al.
2024 (RefChecker), appendix A.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from veridical.core.records import Record
from veridical.core.scores import Result, Score
from veridical.engine.summary import Moments
from veridical.report.claim_payload import claims_of
from veridical.report.html import rendered
from veridical.stats.proportions import wilson

RATES = ("entailment", "neutral", "contradiction", "hallucination", "abstain")
NOTE = (
    "Rates are means over the responses that make claims, with 95 % intervals over responses; "
    "hallucination is contradicted or unsupported. Abstained is the share of all responses."
)
MOST_MODELS = 100  #: models listed by name; the rest share a row
UNNAMED, OTHERS, ALL = "(no model named)", "(other models)", "all"

_NAME = 200


class Rate(NamedTuple):
    """A share in [0, 1] with its 95 % interval (None if unknown)."""

    value: float
    low: float | None = None
    high: float | None = None


class ModelRates(NamedTuple):
    """A model's row of the table.

    Attributes:
        rates: rates by the names in :data:`RATES`; a missing one is shown as a dash.
        responses: number of judged responses.
        claims: number of their claims.
        unjudged: responses that were not judged because a scorer failed or did not apply.
        total: True for the row that sums up the others.
    """

    model: str
    rates: Mapping[str, Rate]
    responses: int
    claims: int
    unjudged: int = 0
    total: bool = False


class RateTally:
    """Rates of one scorer by model, updated with each response."""

    def __init__(self) -> None:
        self._models: dict[str, _Counts] = {}
        self._all = _Counts()

    def add(self, model: str | None, score: Score | None) -> None:
        """Count a response of ``model``. A score without claims counts as not judged."""
        name = model or UNNAMED
        if name not in self._models and len(self._models) >= MOST_MODELS:
            name = OTHERS
        for counts in (self._models.setdefault(name, _Counts()), self._all):
            counts.add(score)

    def rows(self) -> list[ModelRates]:
        """Return a row per model, lowest hallucination rate first, then the total of several
        models; an empty list if no response was judged."""
        if not self._all.responses:
            return []
        rows = [counts.row(name) for name, counts in self._models.items()]
        none = Rate(math.inf)
        rows.sort(key=lambda r: (r.rates.get("hallucination", none).value, r.model))
        return [*rows, self._all.row(ALL)._replace(total=True)] if len(rows) > 1 else rows


class _Counts:
    def __init__(self) -> None:
        self.responses = self.claims = self.unjudged = 0
        self.shares = {name: Moments() for name in RATES}

    def add(self, score: Score | None) -> None:
        whole = None if score is None else claims_of(score)
        raw = score.raw if score is not None and isinstance(score.raw, dict) else {}
        shares = {name: raw.get(name) for name in RATES}
        if score is None or whole is None or not all(map(_is_share, shares.values())):
            self.unjudged += 1
            return
        self.responses += 1
        self.claims += len(score.units)
        self.shares["abstain"].add(float(whole["abstained"]))
        for name in RATES[:-1] if score.units else ():
            self.shares[name].add(float(shares[name] or 0))

    def row(self, model: str) -> ModelRates:
        rates = {
            name: Rate(
                m.mean, *share_interval(m, self.responses if name == "abstain" else self.claims)
            )
            for name, m in self.shares.items()
            if m.n
        }
        return ModelRates(model, rates, self.responses, self.claims, self.unjudged)


def share_interval(shares: Moments, trials: int) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of a mean of n shares in [0, 1]; None for fewer than two shares.

    It is Wilson's interval (1927) for the effective sample size (Franco et al. 2019). That is the
    number of independent trials that the shares' variance implies, at most ``trials``. Unlike the
    normal approximation, it neither leaves [0, 1] nor shrinks to a point if all shares are 0 or 1.
    """
    if shares.n < 2:
        return None, None
    p = min(1.0, max(0.0, shares.mean))
    variance = shares.m2 / (shares.n - 1)
    spread = p * (1 - p)
    n = float(shares.n)
    if spread > 0:
        n = min(float(trials), spread / variance * n) if variance > 0 else float(trials)
    return wilson(p, n)


def model_of(record: Record) -> str | None:
    """Return the model named in a record's ``meta``: ``model`` (or its ``name``) or
    ``model_name``."""
    for key in ("model", "model_name"):
        name = record.meta.get(key)
        if isinstance(name, dict):
            name = name.get("name")
        if isinstance(name, str) and name.strip():
            return name.strip()[:_NAME]
    return None


def rates_by_model(
    pairs: Iterable[tuple[Record, Result]], scorers: Sequence[str]
) -> dict[str, list[ModelRates]]:
    """Return the rows of the ``scorers`` that judged claims; every pair is read once."""
    tallies = {name: RateTally() for name in scorers}
    for record, result in pairs:
        model = model_of(record)
        for name, tally in tallies.items():
            tally.add(model, result.scores.get(name))
    return {name: rows for name, tally in tallies.items() if (rows := tally.rows())}


def rates_tables(by_scorer: Mapping[str, Sequence[ModelRates]]) -> list[Markup]:
    """Return the table of each scorer; the last one explains the computation of rates."""
    last = len(by_scorer) - 1
    return [
        rates_table(f"Claims by model: {name}", rows, NOTE if i == last else "")
        for i, (name, rows) in enumerate(by_scorer.items())
    ]


def rates_table(caption: str, rows: Sequence[ModelRates], note: str = "") -> Markup:
    """Return the rows as a table with bars and intervals, for a page with ``report.css`` and
    ``claims.css``. Texts are escaped; there is no inline style.

    Args:
        note: a line of text below the table.
    """
    shown = [(row, _bar(row)) for row in rows]
    return rendered("claim_rates.html", caption=caption, rows=shown, note=note)


class _Bar(NamedTuple):
    """Pieces of a bar (verdict, start, width) and its whisker, in per cent of the width."""

    pieces: list[tuple[str, float, float]]
    low: float | None
    high: float | None


def _bar(row: ModelRates) -> _Bar | None:
    """Return the bar: contradicted, unsupported, supported; the second ends at the hallucination
    rate."""
    shares = [(name, row.rates.get(name)) for name in ("contradiction", "neutral", "entailment")]
    pieces: list[tuple[str, float, float]] = []
    at = 0.0
    for name, rate in shares:
        if rate is None:
            return None
        pieces.append((name, 100 * at, 100 * rate.value))
        at += rate.value
    whisker = row.rates.get("hallucination") or Rate(0)
    low, high = (None if v is None else 100 * v for v in (whisker.low, whisker.high))
    return _Bar(pieces, low, high)


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
