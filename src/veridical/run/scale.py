"""Extrapolation of a plan to very many records.

A sample is planned like a run of its own, with an empty store. Figures that grow with the records
(seconds of this computer, LLM calls and cost) are scaled from the sample to the number of records.
One-time work, such as loading a model, is left out.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.ensembles.cascade_file import read
from veridical.errors import UsageError, option_named
from veridical.models.onnx import usable_processors
from veridical.run.dryrun import StandIns
from veridical.run.plans import Plans, rounds_of
from veridical.run.request import Request

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.run.options import CheckKeywords, ScaleOptions

#: Default share of records left to the more expensive scorers, and default hours.
DEFERRAL, HOURS = 0.1, 24.0
_MEASURED, _LONG = 1.0, 10.0  # seconds of measurement; a longer first pass is not repeated


class Load(NamedTuple):
    """Average load of a record; NaN is unknown, which is never 0.

    Attributes:
        seconds: on this computer with all its cores, without waiting for an LLM.
        calls, tokens_in, tokens_out: LLM figures; ``tokens_out`` is a maximum.
        money: maximum LLM cost, in the currency of the prices.
    """

    seconds: float
    calls: float
    tokens_in: float
    tokens_out: float
    money: float

    def plus(self, other: Load, share: float = 1.0) -> Load:
        """Return the load if a ``share`` of the records has the ``other`` load in addition."""
        return Load(*(one + share * two for one, two in zip(self, other, strict=True)))

    def beyond(self, other: Load) -> Load:
        """Return the load without the ``other``, which is part of it; at least 0, as both are
        measured."""
        # max() keeps NaN in this order
        return Load(*(max(rest, 0.0) for rest in self.plus(other, -1.0)))


@dataclass(frozen=True)
class ScoringChoice:
    """A choice of scorers for the records.

    Attributes:
        instead_of: name of the choice that it is compared with.
    """

    name: str
    load: Load
    instead_of: str | None = None


def at_scale(
    plans: Plans,
    request: Request,
    scorers: str | Iterable[str | BoundScorer] | None,
    keywords: CheckKeywords,
    options: ScaleOptions,
) -> dict[str, Any]:
    """Plan machines, hours and cost for ``options.records`` records, by choice of scorers.

    Args:
        scorers, keywords: the source of ``request``; without ``scorers``, each preset is planned.

    Returns:
        ``records``; ``sample``, the records measured; ``cores`` of a machine and
        ``measured_cores``. ``machines``, ``hours``, ``price`` and ``deferral`` in effect (None if
        computed per choice, or not given). And ``choices``: each has ``name``,
        ``records_per_second`` of a machine, ``machine_hours``, ``machines``, ``hours``, ``cost``
        (``machines``, ``llm``) and ``llm`` (``calls``, ``tokens_in``, ``tokens_out``). Its
        ``saves`` is None, or ``instead_of`` and the share saved of ``machine_hours`` and ``cost``.
        None is unknown. LLM figures are maxima, as in the plan, without its ``again``.

    Raises:
        UsageError: ``records`` is less than the sample, or the sample is empty.
    """
    assert options.records is not None
    rows = plans.rows.rows()
    sample = sum(1 for _ in itertools.islice(rows, request.options.limit))
    if options.records < sample:
        raise UsageError(
            f"{option_named('records')} {options.records} must be at least the {sample} rows of "
            f"the input; raise it, or plan on fewer rows by {option_named('limit', 'N')}"
        )
    measuring = _Measuring(plans, keywords)
    choices = _choices(measuring, request, scorers, options)
    here = request.engine_options.threads or usable_processors()
    there = {c.name: c.load for c in choices}
    return {
        "records": options.records,
        "sample": measuring.records,
        "cores": options.cores or here,
        "measured_cores": here,
        "machines": options.machines,
        "hours": None if options.machines else options.hours or HOURS,
        "price": options.price,
        "deferral": None if _cascade_of(request) else _deferral(options),
        "choices": [
            _plan_choice(c, there, here / (options.cores or here), options) for c in choices
        ],
    }


class _Measuring:
    """Loads measured by dry runs that share the rates of their models.

    Attributes:
        records: number of valid records of the sample.
    """

    records = 0

    def __init__(self, plans: Plans, keywords: CheckKeywords) -> None:
        self._plans = plans
        self._keywords = keywords
        self._stand_ins: StandIns = {}

    def preset(self, name: str) -> Load:
        """Return the load of a preset, with the run's options that do not concern scorers."""
        claims = self._keywords.get("claims", False) and name != "fast"
        keywords: CheckKeywords = {
            **self._keywords,
            "preset": name,
            "claims": claims,
            "policy": None,
        }
        if name == "fast":
            keywords = {**keywords, "proxy": None, "spans": None, "select": None, "repair": None}
        return self.of(Request.of(None, keywords))

    def of(self, request: Request, rounds: int | None = None) -> Load:
        def again() -> dict[str, Any]:
            how = {"cold": True, "stand_ins": self._stand_ins}
            return self._plans.of(request, rounds, **how)

        plan, seconds = _repeated(again)
        self.records = plan["records"]
        if not self.records:
            raise UsageError(
                "the input has no valid record to scale the plan from; name an input with some"
            )
        llm = plan["llm"]
        counts = [llm[k] for k in ("calls", "tokens_in", "tokens_out", "cost")]
        if not llm["complete"]:
            counts = [None] * len(counts)
        return Load(*(math.nan if c is None else c / self.records for c in (seconds, *counts)))


def _repeated(again: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float | None]:
    """Return a plan, and the median of its ``scoring_seconds`` over enough repeats. The first warms
    up modules, processes and rates of models."""
    started = time.perf_counter()
    plan = again()
    first: float | None = plan["scoring_seconds"]
    if first is None or time.perf_counter() - started >= _LONG:
        return plan, first
    found: list[float] = []
    started = time.perf_counter()
    while not found or time.perf_counter() - started < _MEASURED:
        found.append(again()["scoring_seconds"])
    return plan, statistics.median(found)


def _choices(
    measuring: _Measuring,
    request: Request,
    scorers: str | Iterable[str | BoundScorer] | None,
    options: ScaleOptions,
) -> list[ScoringChoice]:
    fast = measuring.preset("fast")
    stopped = _cascade_of(request)
    if stopped:
        tiers = [measuring.of(request, n + 1) for n in range(len(stopped))]
        load, reach = tiers[0], 1.0
        for stops, before, after in zip(stopped, tiers, tiers[1:], strict=False):
            reach -= stops
            load = load.plus(after.beyond(before), max(0.0, reach))
        every = "all its tiers"
        return [
            ScoringChoice("fast", fast, every),
            ScoringChoice("the cascade", load, every),
            ScoringChoice(every, tiers[-1]),
        ]
    if scorers is not None:
        dear = [("scorers", measuring.of(request))]
    else:
        dear = [(name, measuring.preset(name)) for name in ("auto", "all")]
    share = _deferral(options)
    return [
        ScoringChoice("fast", fast, dear[0][0]),
        *(ScoringChoice(name, load) for name, load in dear),
        *(
            ScoringChoice(f"fast, then {name} ({100 * share:.3g}%)", fast.plus(load, share), name)
            for name, load in dear
        ),
    ]


def _deferral(options: ScaleOptions) -> float:
    return DEFERRAL if options.deferral is None else options.deferral


def _cascade_of(request: Request) -> Sequence[float]:
    """Return the shares of graded records that stop at each tier if the only scorer is a cascade;
    else an empty sequence."""
    if len(request.scorers) != 1 or request.scorers[0].scorer.name != "cascade":
        return ()
    if rounds_of(request) < 2:
        return ()
    learned, _ = read(str(request.scorers[0].values["file"]))
    return [tier.stopped for tier in learned.tiers]


def _plan_choice(
    choice: ScoringChoice, loads: dict[str, Load], machine: float, options: ScaleOptions
) -> dict[str, Any]:
    """Return the figures of a choice; ``machine`` is the size of this computer relative to a
    machine, by cores."""
    n, load = options.records or 0, choice.load
    spent = load.seconds * machine
    total = spent * n / 3600
    machines, hours = options.machines, options.hours or HOURS
    if machines:
        hours = total / machines
    elif not math.isnan(total):
        machines = max(1, math.ceil(total / hours))
    cost = _cost(load, machine, options)
    saves = None
    if choice.instead_of is not None:
        dear = loads[choice.instead_of]
        dear_cost = _cost(dear, machine, options)
        saves = {
            "instead_of": choice.instead_of,
            "machine_hours": _saved(load.seconds, dear.seconds),
            "cost": _saved(sum(cost.values()), sum(dear_cost.values())),
        }
    calls = {"calls": load.calls, "tokens_in": load.tokens_in, "tokens_out": load.tokens_out}
    planned: dict[str, Any] = _nan_to_none(
        {
            "name": choice.name,
            "records_per_second": 1 / spent if spent else None,
            "machine_hours": total,
            "machines": machines,
            "hours": hours,
            "cost": {name: value * n for name, value in cost.items()},
            "llm": {name: value * n for name, value in calls.items()},
            "saves": saves,
        }
    )
    return planned


def _cost(load: Load, machine: float, options: ScaleOptions) -> dict[str, float]:
    """Return the cost per record."""
    price = math.nan if options.price is None else options.price
    return {"machines": load.seconds * machine / 3600 * price, "llm": load.money}


def _saved(cost: float, instead_of: float) -> float:
    """Return the share saved; negative if more is spent."""
    return 1 - cost / instead_of if instead_of else math.nan


def _nan_to_none(value: Any) -> Any:
    """Return ``value`` with None for NaN, at any depth."""
    if isinstance(value, dict):
        return {name: _nan_to_none(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
