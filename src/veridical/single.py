"""``check_one`` and ``acheck_one``: checks of single answers by warm engines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.engine.engine import Engine
from veridical.engine.options import EngineKeywords
from veridical.engine.run import Task
from veridical.engine.warm import WarmEngines
from veridical.errors import UsageError, VeridicalError
from veridical.io.cells import plain_row
from veridical.io.columns import Columns
from veridical.io.names import ALIASES
from veridical.io.problems import RowProblem
from veridical.run.request import Request

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from typing_extensions import Unpack

    from veridical.core.records import Against, Context, Sample
    from veridical.core.registry import BoundScorer
    from veridical.core.verdict_cuts import Strictness
    from veridical.decide.repair import How
    from veridical.decide.selection import Select
    from veridical.report.results import Results
    from veridical.retrieval.query_writing import Queries
    from veridical.retrieval.search import Retriever
    from veridical.run.options import CheckKeywords

#: Options of :func:`veridical.check` for many records or for the run directory.
OF_MANY = {
    "out",
    "limit",
    "mapping",
    "reader",
    "strict",
    "retry_failed",
    "fresh",
    "notify",
    "sampling",
}
#: Options that need a temporary run directory.
_IN_A_FOLDER = ("corpus", "select", "repair")


_engines = WarmEngines()


class OneKeywords(EngineKeywords, total=False):
    """Options of :func:`check_one`: those of :func:`veridical.check` that apply to one answer."""

    scorers: str | Iterable[str | BoundScorer] | None
    preset: str
    prior: float | None
    strictness: Strictness | None
    against: Against | Literal["auto"] | None
    answer: str | None
    paper_forms: bool
    claims: bool
    corpus: str | Path | Retriever | None
    corpus_top: int | None
    corpus_query: Queries
    corpus_pages: int | None
    policy: str | Path | None
    select: Select | None
    repair: How | None


def check_one(
    response: str,
    *,
    contexts: str | Sequence[str | Mapping[str, Any] | Context] | None = None,
    question: str | list[dict[str, Any]] | None = None,
    samples: str | Sequence[str | Mapping[str, Any] | Sample] | None = None,
    reference: str | float | Sequence[str | float] | None = None,
    engine: Engine | None = None,
    **options: Unpack[OneKeywords],
) -> Result:
    """Check one answer.

    The result has ``verdict``, ``risk``, ``spans``, ``worst`` and ``explain()``.

    The first call loads the models. They stay in memory for later calls, from any thread or event
    loop, also inside a running one. A few engines with different options are kept; all are closed
    when the process ends.

    Args:
        response: the answer.
        contexts: sources on which the answer should be based.
        question: the question, as text or as chat messages.
        samples: other answers to the same question.
        reference: the right answer, or several.
        engine: an :class:`~veridical.Engine` of your own instead of a warm one.
        options: as for :func:`veridical.check`: ``scorers``, ``preset``, ``prior``,
            ``strictness``, ``against``, ``answer``, ``paper_forms``, ``claims``, ``corpus`` and
            ``corpus_...``, ``policy``, ``select``, ``repair``. Also those of
            :class:`~veridical.Engine` (``nli``, ``llm``, ``store``, ...).

    Raises:
        UsageError: an argument or option is invalid; the message names it.
        ModelError: a model cannot be loaded.
    """
    one = _One.of(
        {
            "response": response,
            "question": question,
            "contexts": contexts,
            "samples": samples,
            "reference": reference,
        },
        engine,
        options,
    )
    with one.engine() as warm:
        if one.needs_folder:
            from veridical.api import check

            return _only(check([one.record], one.scorers, engine=warm, **one.run_options))
        work = one.start(warm)
        try:
            return one.result(work.result())
        finally:
            work.cancel()  # if waiting was interrupted


async def acheck_one(
    response: str,
    *,
    contexts: str | Sequence[str | Mapping[str, Any] | Context] | None = None,
    question: str | list[dict[str, Any]] | None = None,
    samples: str | Sequence[str | Mapping[str, Any] | Sample] | None = None,
    reference: str | float | Sequence[str | float] | None = None,
    engine: Engine | None = None,
    **options: Unpack[OneKeywords],
) -> Result:
    """Run :func:`check_one` without blocking the caller's event loop. Cancelling stops the work."""
    one = _One.of(
        {
            "response": response,
            "question": question,
            "contexts": contexts,
            "samples": samples,
            "reference": reference,
        },
        engine,
        options,
    )
    with one.engine() as warm:
        if one.needs_folder:
            from veridical.api import acheck

            return _only(await acheck([one.record], one.scorers, engine=warm, **one.run_options))
        return one.result(await asyncio.wrap_future(one.start(warm)))


@dataclass(frozen=True)
class _One:
    """One answer, and the options of its check."""

    record: Record
    request: Request
    scorers: str | Iterable[str | BoundScorer] | None
    run_options: dict[str, Any]

    @classmethod
    def of(
        cls, arguments: Mapping[str, Any], engine: Engine | None, options: Mapping[str, Any]
    ) -> _One:
        """Validate the arguments and options of a check.

        Raises:
            UsageError: an argument or option is invalid.
        """
        for name in options:
            if name in OF_MANY:
                raise UsageError(
                    f"check_one has no option {name!r}, which applies to many answers; use "
                    f"veridical.check([...], {name}=...)"
                )
            field = next((f for f, names in ALIASES.items() if name in (f, *names)), None)
            meant = "question" if field == "prompt" else field
            if meant in arguments and name not in OneKeywords.__annotations__:
                raise UsageError(f"check_one has no option {name!r}; did you mean {meant}?")
        try:
            row = {name: _plain(name, v) for name, v in arguments.items() if v is not None}
            record = Columns().record({"response": None, **row}, 0)
        except RowProblem as e:
            raise UsageError(f"{e.field or 'response'} {e.error}") from None
        scorers = options.get("scorers")
        if scorers is not None and not isinstance(scorers, str):
            scorers = list(scorers) if isinstance(scorers, Iterable) else scorers
        keywords = {name: value for name, value in options.items() if name != "scorers"}
        request = Request.of(scorers, cast("CheckKeywords", {**keywords, "engine": engine}))
        of_engine = request.engine_options.given()
        run_options = {name: v for name, v in keywords.items() if name not in of_engine}
        return cls(record, request, scorers, run_options)

    @property
    def needs_folder(self) -> bool:
        """True if the check needs a run directory."""
        return any(getattr(self.request.options, name) is not None for name in _IN_A_FOLDER)

    def engine(self) -> AbstractContextManager[Engine]:
        """Return the engine of the check: the caller's own, or a warm one."""
        if self.request.engine is not None:
            return nullcontext(self.request.engine)
        return _engines.use(self.request.engine_options)

    def start(self, engine: Engine) -> Future[bytes]:
        """Load the required models, and start the check. The future has the result line, or a
        UsageError if a required model or LLM is not available."""
        task = Task(self.request.scorers, self.request.strictness)
        return engine.submit(engine.score_one(self.record, task))

    def result(self, line: bytes) -> Result:
        """Return the result of the line, with the policy's decision."""
        result = Result.model_validate_json(line)
        policy = self.request.policy
        if policy is None:
            return result
        decided = policy.decide(result, policy.stratum(self.record))
        return result.model_copy(update={"decision": decided.decision, "why": decided.why})


def _plain(name: str, value: Any) -> Any:
    """Return a tuple, array or other collection as a list, and documents as objects.

    Raises:
        RowProblem: it contains a value that no record can represent.
    """
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        value = list(value) if not hasattr(value, "page_content") else value
    if isinstance(value, Mapping):
        value = dict(value)
    return plain_row({name: value})[name]


def _only(results: Results) -> Result:
    """Return the single result.

    Raises:
        VeridicalError: the record became a row error, for example by failed retrieval.
    """
    for result in results:
        return result
    raise VeridicalError("; ".join(error.error for error in results.errors()))
