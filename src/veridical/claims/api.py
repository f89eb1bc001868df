"""``veridical.claims.extract``, ``check`` and ``ground``."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from veridical.claims import checkers, extractors
from veridical.claims.attribution import Merge, Reading, Verdict, judge
from veridical.claims.claim import Claim, Extraction
from veridical.claims.select import Selection
from veridical.claims.select import costs_of as selection_costs
from veridical.engine import Engine
from veridical.errors import UsageError
from veridical.evidence.rundir import Rows
from veridical.io import open_source
from veridical.records import Record
from veridical.registry import BoundScorer, Cost, Scorer
from veridical.run import Progress, Task
from veridical.scores import Score
from veridical.text.passages import SIZE

if TYPE_CHECKING:
    from veridical.errors import RowError
    from veridical.evidence import Evidence
    from veridical.results import Results

T = TypeVar("T")


def extract(
    response: str | Record,
    *,
    prompt: str | None = None,
    extractor: str = "clauses",
    llm: str | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Extraction:
    """The claims of a response, each with its place in it.

    Args:
        response: the text, or a record (which has its own prompt).
        prompt: the question, which some extractors read.
        extractor: one of :data:`veridical.claims.extractors.EXTRACTORS`.
        llm: of an extractor that asks one.
        engine: a warm :class:`~veridical.engine.Engine`; else one is made with ``options``.

    Raises:
        UsageError: there is no such extractor or model.
        NotApplicable: the response is empty.
        ModelError: a model could not be asked, or its answer not be used.

    >>> [c.text for c in extract("Ada was a countess. She wrote.", extractor="sentences").claims]
    ['Ada was a countess.', 'She wrote.']
    """
    record = response
    if not isinstance(record, Record):
        record = Record(prompt=prompt, response=record)
    work = extractors.find_extractor(extractor, llm)
    return _run(record, work, extractors.costs_of(extractor), engine, options, llm=llm)


def check(
    claims: str | Claim | Iterable[str | Claim],
    passages: str | Sequence[str],
    *,
    response: str = "",
    prompt: str | None = None,
    checker: str = "nli_words",
    merge: Merge = "about",
    select: Selection = "bm25",
    top: int = 8,
    ranker: str | None = None,
    window: int = SIZE,
    nli: str | None = None,
    llm: str | None = None,
    proxy: str | None = None,
    model: str | None = None,
    shots: int | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> list[Verdict]:
    """A verdict on each claim by the passages, in order.

    Args:
        claims: statements, as texts or as :func:`extract` gives them.
        passages: what they are checked by; evidence refers to them as contexts, by their place.
        response: where the claims are from, which tells names from other capitalised words.
        prompt: the question, which some checkers read.
        engine: a warm :class:`~veridical.engine.Engine`; else one is made with ``options``.

    The other arguments are those of the scorer ``claims``, with the same defaults.

    Raises:
        UsageError: there is no such checker or model, or no passage.
        NotApplicable: the checker cannot read these texts.
        ModelError: a model could not be asked, or its answer not be used.
    """
    listed = [claims] if isinstance(claims, (str, Claim)) else claims
    found = [c if isinstance(c, Claim) else Claim(c, 0, 0, 0) for c in listed]
    sources = [passages] if isinstance(passages, str) else passages
    record = Record(prompt=prompt, response=response, contexts=sources)
    if not any(p.text for p in record.contexts):
        raise UsageError("there is no passage to check claims by")
    costs = checkers.costs_of(checker) | selection_costs(select)
    reading = Reading(select, top, ranker or nli, window, merge)
    given = {"nli": nli, "llm": llm, "proxy": proxy, "model": model, "shots": shots}
    if "nli" in costs and "nli" not in checkers.options_of(checker):
        del given["nli"]  # it is the ranker's
    judging = checkers.find_checker(checker, **given)

    async def work(record: Record, evidence: Evidence) -> list[Verdict]:
        return await judge(found, record.against("contexts"), evidence, judging, reading)

    if not found:
        return []
    named = {"nli": nli, "llm": llm, "proxy": proxy, "ranker": ranker}
    return _run(record, work, costs, engine, options, **named)


def ground(inputs: Any, **settings: Any) -> Results:
    """:func:`veridical.check` by the scorer ``claims``.

    Args:
        inputs: as :func:`veridical.check` takes them.
        settings: the scorer's parameters, and the settings of :func:`veridical.check`. What
            both have (``nli``, ``llm``, ``proxy``) is the run's own.

    Raises:
        UsageError: something asked for does not exist or does not fit.
    """
    from veridical import api
    from veridical.registry import REGISTRY

    shared = {"nli", "llm", "proxy"}
    names = [n for n in REGISTRY.get("claims").parameters if n not in shared]
    arguments = {n: settings.pop(n) for n in names if n in settings}
    return api.check(inputs, [REGISTRY.bind("claims", arguments)], **settings)


class _NoSink:
    """Keeps no results."""

    def __init__(self) -> None:
        self.done = Rows()

    def write(self, row: int, line: bytes) -> None:
        """Nothing: what is wanted is kept as it comes."""

    def write_error(self, error: RowError) -> None:
        raise UsageError(str(error))


def _run(
    record: Record,
    work: Callable[[Record, Evidence], Awaitable[T]],
    costs: set[Cost],
    engine: Engine | None,
    options: dict[str, Any],
    **named: str | None,
) -> T:
    """What ``work`` gives for ``record`` within an engine, or what it raises.

    Args:
        named: the models it names, by the parameter of scorers that does.
    """
    kept: list[T] = []
    errors: list[Exception] = []

    async def function(
        record: Record,
        evidence: Evidence,
        *,
        nli: str | None = None,
        ranker: str | None = None,
        llm: str | None = None,
        proxy: str | None = None,
    ) -> Score:
        try:
            kept.append(await work(record, evidence))
        except Exception as e:
            errors.append(e)
            raise
        return Score.of(0.0)

    made = Engine(**options) if engine is None else engine
    scorer = Scorer(
        name="veridical.claims",
        function=function,
        level="claim",
        needs=frozenset(),
        cost="llm",
        source="",
        raw_is="risk",
        raw_key=None,
        presets=frozenset(),
        version=1,
        costs_by=lambda **_: costs,
    )
    task = Task([BoundScorer(scorer, named)])
    try:
        made.models(task)
        services = made.services(task)
        with tempfile.TemporaryDirectory(prefix="veridical-claims-") as folder:
            account = None
            if made.llms_of(task):
                account = made.llms.account(uuid.uuid4().hex, Path(folder))
            try:
                run = made.run(
                    open_source([record]), task, _NoSink(), Progress(), services, account
                )
                made.submit(run).result()
            finally:
                if account is not None:
                    made.llms.leave(account)
    finally:
        if engine is None:
            made.close()
    if errors:
        raise errors[0]
    return kept[0]
