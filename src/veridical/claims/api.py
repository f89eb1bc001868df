"""Python API: ``veridical.claims.extract``, ``check`` and ``ground``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from veridical.claims import extractors, majority
from veridical.claims.attribution import Merge, ReadingOptions, Verdict
from veridical.claims.claim import Claim, Extraction
from veridical.claims.engine_work import run_work
from veridical.claims.select import Selection
from veridical.claims.select import costs_of as selection_costs
from veridical.core.options import Options, option, split
from veridical.core.records import Record
from veridical.core.registry import Cost
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions, ModelKeywords
from veridical.errors import UsageError, several
from veridical.text.passages import SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical.core.evidence import Evidence
    from veridical.engine.options import ReaderKeywords

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ClaimCheckOptions(Options):
    """Options of :func:`check`, without those of its engine."""

    response: str = option(
        "", "Response that the claims come from; separates names from capitalised words."
    )
    prompt: str | None = option(None, "Question, used by some checkers.", kind=str)
    checker: str = option("nli_words")
    merge: Merge = option("about", choices=get_args(Merge), called="way to merge")
    select: Selection = option("bm25", choices=get_args(Selection), called="way to select")
    top: int = option(8, least=1)
    ranker: str | None = option(None, kind=str)
    window: int = option(SIZE)
    nli: str | None = option(None, kind=str)
    llm: str | None = option(None, kind=str)
    proxy: str | None = option(None, kind=str)
    model: str | None = option(None, kind=str)
    shots: int | None = option(None, kind=int)


class ClaimCheckKeywords(ModelKeywords, total=False):
    """:class:`ClaimCheckOptions` and the engine's options, as keywords."""

    response: str
    prompt: str | None
    checker: str
    merge: Merge
    select: Selection
    top: int
    ranker: str | None
    window: int
    nli: str | None
    llm: str | None
    proxy: str | None
    model: str | None
    shots: int | None


def extract(
    response: str | Record,
    *,
    prompt: str | None = None,
    extractor: str = "clauses",
    llm: str | None = None,
    engine: Engine | None = None,
    **options: Unpack[ReaderKeywords],
) -> Extraction:
    """Extract the claims of a response, each with its place in it.

    Args:
        response: a text, or a record (which has its own prompt).
        prompt: question, used by some extractors.
        extractor: one of :data:`veridical.claims.extractors.EXTRACTORS`; or ``trained|FILE``.
        llm: endpoint of an extractor that calls an LLM.
        engine: an open :class:`~veridical.engine.engine.Engine`; if None, one is created from
            ``options``.

    Raises:
        UsageError: there is no such extractor or model.
        NotApplicable: the response is empty.
        ModelError: a model call failed, or its reply could not be used.

    >>> [c.text for c in extract("Ada was a countess. She wrote.", extractor="sentences").claims]
    ['Ada was a countess.', 'She wrote.']
    """
    (of_engine,) = split(options, EngineOptions, also=("prompt", "extractor", "engine"))
    engine_options = EngineOptions(**of_engine)
    engine_options.refuse_with(engine)
    if not isinstance(response, (str, Record)):
        raise UsageError(f"response must be a str or a Record, not {response!r:.60}")
    if not isinstance(response, Record):
        response = Record(prompt=prompt, response=response)
    work = extractors.find_extractor(extractor, llm)
    costs = extractors.costs_of(extractor)
    return _run(response, work, costs, engine, engine_options, {"llm": [llm]})


def check(
    claims: str | Claim | Iterable[str | Claim],
    passages: str | Sequence[str],
    *,
    engine: Engine | None = None,
    **options: Unpack[ClaimCheckKeywords],
) -> list[Verdict]:
    """Return a verdict on each claim by the passages, in order.

    Args:
        claims: statements, as texts or as returned by :func:`extract`.
        passages: sources for the check; evidence refers to them as contexts, by index.
        engine: an open :class:`~veridical.engine.engine.Engine`; if None, one is created from
            ``options``.
        response: response that the claims come from; separates names from other capitalised words.
        prompt: question, used by some checkers.
        checker, merge, select, top, ranker, window, nli, llm, proxy, model, shots: as in the scorer
            ``claims``, with the same defaults.

    Raises:
        UsageError: there is no such option, checker or model, or no passage.
        NotApplicable: the checker does not support these texts.
        ModelError: a model call failed, or its reply could not be used.
    """
    of_check, of_engine = split(options, ClaimCheckOptions, EngineOptions, also=("engine",))
    how = ClaimCheckOptions(**of_check)
    models = {"nli": how.nli, "llm": how.llm, "proxy": how.proxy}
    engine_options = EngineOptions(**{k: v for k, v in of_engine.items() if k not in models})
    engine_options.refuse_with(engine)
    if how.nli is not None and engine_options.precision != EngineOptions.precision:
        raise UsageError(
            "precision applies to the default NLI model only; with nli=NAME, set it in NAME"
        )
    listed = [
        c if isinstance(c, Claim) else Claim(c, 0, 0, 0)
        for c in several("claims", claims, (str, Claim), "a text, a Claim")
    ]
    contexts = several("passages", passages, (str,), "a text")
    record = Record(prompt=how.prompt, response=how.response, contexts=contexts)
    if not any(p.text for p in record.contexts):
        raise UsageError("passages must not be empty")
    costs = majority.costs_of(how.checker) | selection_costs(how.select)
    reading = ReadingOptions(how.select, how.top, how.ranker or how.nli, how.window, how.merge)
    checker_options: dict[str, Any] = {**models, "model": how.model, "shots": how.shots}
    if how.select == "cross_encoder" and "nli" not in majority.options_of(how.checker):
        del checker_options["nli"]  # used by the ranker
    named = majority.find_checkers(how.checker, **checker_options)

    async def work(record: Record, evidence: Evidence) -> list[Verdict]:
        return await majority.judge_by(named, listed, record.against("contexts"), evidence, reading)

    if not listed:
        return []
    asked = majority.models_of(how.checker, nli=how.nli, llm=how.llm)
    if how.select == "cross_encoder":
        asked["nli"].append(how.ranker or how.nli)
    asked["proxy"] = [how.proxy]
    return _run(record, work, costs, engine, engine_options, asked)


def _run(
    record: Record,
    work: Callable[[Record, Evidence], Awaitable[T]],
    costs: set[Cost],
    engine: Engine | None,
    engine_options: EngineOptions,
    models: Mapping[str, Sequence[str | None]],
) -> T:
    """Run ``work`` for ``record`` within an engine; return its result or raise its error.

    Args:
        models: models that ``work`` uses, by kind; None is the default.
    """
    outcomes: list[T] = []
    errors: list[Exception] = []

    async def remember(record: Record, evidence: Evidence) -> None:
        try:
            outcomes.append(await work(record, evidence))
        except Exception as e:
            errors.append(e)
            raise

    with Engine(engine_options) if engine is None else nullcontext(engine) as running:
        run_work(running, [record], remember, costs, models)
    if errors:
        raise errors[0]
    return outcomes[0]
