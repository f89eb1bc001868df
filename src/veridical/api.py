"""``check``, ``acheck`` and ``plan``: resumable runs from inputs to results."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veridical.core.options import split
from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.decide.follow_up import FollowUp
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.engine.progress import Progress
from veridical.engine.results import LEDGER
from veridical.engine.run import Task
from veridical.errors import StrictError, UsageError, VeridicalError
from veridical.files.atomic import write_atomic
from veridical.files.rundir import SPOOLED, RunDirectory, RunFiles, check_free
from veridical.files.temporary import TemporaryFolder
from veridical.io import open_source
from veridical.io.source import spooled_path
from veridical.notices import warn_once
from veridical.report.results import Results
from veridical.run.display import TICK, Display, display_for, show, watch
from veridical.run.inputs import Inputs
from veridical.run.options import RunOptions, ScaleOptions
from veridical.run.request import Request
from veridical.run.unread import context_languages, corpus_languages, warn_of_unread
from veridical.sampling.sampling import Sampling
from veridical.sampling.stream import Prompts
from veridical.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical.engine.service import Service
    from veridical.io.source import InputSource
    from veridical.llm.cost_accounting import Account
    from veridical.retrieval.search import Retriever
    from veridical.run.inputs import Opened
    from veridical.run.options import CheckKeywords, PlanKeywords
    from veridical.sampling.stream import SampledSource

#: Default folder of run directories, under the current folder.
RUNS = Path(".veridical") / "runs"
#: Last part of ``out`` that is replaced by the run's own fingerprint.
AUTO = "<fingerprint>"


class Job:
    """A run in progress. ``progress`` may be read at any time; ``wait`` returns the results.

    Takes the arguments of :func:`check`.

    Attributes:
        sampled: the prompts being answered, with their own ``progress``; None if the input has
            responses.
    """

    directory: RunDirectory
    results: Results
    _rows: InputSource

    def __init__(
        self,
        inputs: Any,
        scorers: str | Iterable[str | BoundScorer] | None = None,
        **options: Unpack[CheckKeywords],
    ) -> None:
        self._request = request = Request.of(scorers, options)
        chosen = request.options
        self._task = Task(
            request.scorers,
            request.strictness,
            samples=chosen.samples,
            limit=chosen.limit,
            strict=chosen.strict,
        )
        rows = request.open(inputs)
        self._owns_engine = request.engine is None
        self.engine = request.engine or Engine(request.engine_options)
        self.progress = Progress()
        self.sampled: SampledSource | None = None
        self._account: Account | None = None
        self._retriever: Retriever | None = None
        self._temporary: TemporaryFolder | None = None
        try:
            self.follow_up = FollowUp(request.policy, request.steps(self.engine))
            opened = self._opened(rows)
            self._let_rows_run_again(opened)
            services = self.engine.services(self._task)
            self._warn_of_languages(services)
            self.future = self.engine.submit(self._work(opened.records, services))
        except BaseException:
            self._close()
            self._discard()
            raise

    def _opened(self, rows: InputSource) -> Opened:
        """Open the sources of the run in its directory. One-shot inputs are copied there."""
        spool = None if rows.reiterable else TemporaryFolder("input")
        try:
            if spool is not None:
                rows = rows.spool(spool.path / SPOOLED)
            inputs = Inputs.of(rows, self._request.options, self.engine.llms)
            self._see(rows)
            self.directory = self._make_directory(inputs, spooled=spool is not None)
            if spool is not None:
                rows.move(self.directory.path / SPOOLED)
        finally:
            if spool is not None:
                spool.close()
        self._account = self._open_account(inputs)
        options, directory = self._request.options, self.directory
        llm = None
        if self._account is not None and (inputs.prompts is not None or inputs.writes):
            llm = self.engine.llms.chat(self._account)
        opened = inputs.open(
            directory.path,
            key=directory.key,
            chat=None if inputs.prompts is None else llm,
            retriever=self._retriever,
            submit=self.engine.submit,
            writing=llm if inputs.writes else None,
            limit=options.limit,
            again=directory.done if options.retry_failed else None,
        )
        self.sampled = opened.sampled
        self._rows = opened.rows
        self.results = Results(
            directory,
            opened.records,
            self._request.scorers,
            samples=options.samples,
            temporary=self._temporary,
        )
        return opened

    def _see(self, rows: InputSource) -> None:
        """Inspect the rows before any model is loaded; a hook for subclasses."""

    def _warn_of_languages(self, services: Mapping[str, Service]) -> None:
        """Warn of contexts and corpus passages that the NLI model does not read."""
        model = services["nli"].backend if "nli" in services else None
        if model is None or model.languages is None:
            return
        name = model.name
        warn_of_unread("contexts", context_languages(self._rows.rows()), model.languages, name)
        index = getattr(self._retriever, "index", None)
        if index is not None:
            warn_of_unread("passages", corpus_languages(index), model.languages, name)

    def _make_directory(self, inputs: Inputs, *, spooled: bool) -> RunDirectory:
        options, scorers = self._request.options, self._request.scorers
        if options.out is not None and Path(options.out).name != AUTO:
            check_free(Path(options.out))  # before models are loaded
        parameters = {
            "samples": options.samples,
            "limit": options.limit,
            "reader": options.reader,
            "mapping": self._request.mapping,
            "strictness": self._request.strictness,
            **self._open_retriever(inputs),
        }
        if self._request.engine is None:
            self.engine.check_unused(self._task)
        identity = {
            "inputs": inputs.fingerprint(),
            "scorers": [b.signature() for b in scorers],
            "models": self.engine.models(self._task),
            "parameters": parameters,
        }
        request = {
            "veridical": __version__,
            "inputs": inputs.rows.describe(),
            "scorers": [b.spec for b in scorers],
            "samples": options.samples,
            "reader": options.reader,
            "mapping": self._request.mapping,
            "strictness": self._request.strictness,
            "spooled": spooled,
            "prompts": None if inputs.prompts is None else inputs.rows.fingerprint(),
            "retrieved": inputs.top is not None,
            "run": uuid.uuid4().hex,
        }
        if options.out is None:
            self._temporary = TemporaryFolder("run")
            path = self._temporary.path
        else:
            path = Path(options.out)
        if path.name == AUTO:
            path = path.with_name(fingerprint(identity))
        return RunDirectory(path, identity, request, fresh=options.fresh)

    def _open_retriever(self, inputs: Inputs) -> dict[str, Any]:
        """Open the retriever, and return its identity."""
        corpus = self._request.options.corpus
        if corpus is None or inputs.top is None:
            return {}
        from veridical.retrieval.corpus.opening import open_retriever
        from veridical.retrieval.retrieved import identity

        options = self._request.options
        self._retriever = open_retriever(
            corpus, self.engine, options.notify, pages=options.corpus_pages
        )
        writer = self.engine.llms.identity() if inputs.writes else None
        return {"corpus": identity(self._retriever, inputs.top, writer)}

    def _open_account(self, inputs: Inputs) -> Account | None:
        """Open the account of the run's LLM calls; None without calls."""
        asks = any(step.asks for step in self.follow_up.steps)
        asks = asks or inputs.prompts is not None or inputs.writes
        if not asks and not self.engine.llms_of(self._task):
            return None
        run = str(self.directory.manifest()["request"].get("run", ""))
        retry = self._request.options.retry_failed
        return self.engine.llms.account(run, self.directory.path, retry=retry)

    def _let_rows_run_again(self, opened: Opened) -> None:
        """Schedule rows that failed, or whose answers or contexts are no longer stored, and delete
        decisions on the results.

        Raises:
            StrictError: a bad row is known from an earlier run, under ``strict``.
        """
        directory, options = self.directory, self._request.options
        lost = 0
        for source in (opened.sampled, opened.retrieved):
            if source is not None and (directory.done.count or source.keeps):
                rows = source.lost(directory.done, directory.distrusted)
                directory.forget(rows)
                lost += rows.count
        if options.retry_failed:
            directory.retry_failed(None if opened.sampled is None else opened.sampled.failed())
        again = options.retry_failed or bool(lost or directory.distrusted.count)
        self.follow_up.clear(directory.path, again=again)
        if options.strict:
            for error in directory.errors():
                raise StrictError(str(error))
        self.progress.resumed = directory.resumed

    async def _work(self, records: Any, services: Mapping[str, Service]) -> None:
        engine, task, account = self.engine, self._task, self._account
        counting = asyncio.ensure_future(asyncio.to_thread(self._count))
        await engine.run(records, task, self.directory, self.progress, services, account)
        await counting
        await self.follow_up(engine, task, self.results, services, account)

    def _count(self) -> None:
        """Count the rows, in parallel to the run."""
        rows, limit = None, self._task.limit
        with contextlib.suppress(VeridicalError):  # errors are raised by the reading
            rows = self._rows.count()
        if rows is not None:
            self.progress.total = rows if limit is None else min(rows, limit)

    @property
    def current(self) -> tuple[str, Progress]:
        """The current stage after scoring ("" at first), and its progress."""
        return self.follow_up.stages[-1] if self.follow_up.stages else ("", self.progress)

    def wait(self, timeout: float | None = None) -> Results:
        """Wait until every record is done, and return the results.

        Raises:
            TimeoutError: the run is not done yet; wait again.
            VeridicalError: the run stopped. Finished work is kept, and the run can be resumed.
        """
        if not self.future.done():
            self.engine.check_usable()
        try:
            self.future.result(timeout)
        except (TimeoutError, concurrent.futures.TimeoutError):
            if not self.future.done():
                raise TimeoutError from None
            self.cancel()
            raise
        except BaseException:
            self.cancel()
            raise
        self._close()
        for warning in self._rows.warnings():
            warn_once(warning)
        return self.results

    def cancel(self) -> None:
        """Cancel the run. Finished work stays in the run directory, unless that is temporary."""
        if not self.future.done():
            self.engine.check_usable()
        self.future.cancel()
        concurrent.futures.wait([self.future])
        self._close()
        self._discard()

    def _discard(self) -> None:
        """Remove a temporary run, which cannot be resumed."""
        if self._temporary is not None:
            self._temporary.close()

    def _close(self) -> None:
        retriever, self._retriever = self._retriever, None
        if retriever is not None and retriever is not self._request.options.corpus:
            self.engine.submit(retriever.close()).result()
        if self._owns_engine:
            self.engine.close()
        if self.sampled is not None:  # the error of a failed run may keep its source open
            self.sampled.close()
        directory: RunDirectory | None = getattr(self, "directory", None)
        if self._account is not None and directory is not None:
            if hasattr(self, "future"):  # otherwise nothing was called
                ledger = json.dumps(self._account.ledger.as_dict())
                with contextlib.suppress(OSError):  # the results exist nevertheless
                    write_atomic(directory.path / LEDGER, ledger + "\n", private=True)
            self.engine.llms.leave(self._account)
            self._account = None
        if directory is not None:
            directory.close()


def fingerprint(identity: Mapping[str, Any]) -> str:
    """Return 16 hex digits that identify a run by its content."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def reopen(path: str | Path) -> Results:
    """Open the results in a run directory whose input files are in place.

    Raises:
        UsageError: it is not a run directory, or its input was in memory or has changed.
    """
    files = RunFiles(Path(path))
    manifest = files.manifest()
    try:
        request = _Request.model_validate(manifest.get("request"))
        paths = [entry.path for entry in request.inputs]
        if request.spooled:
            copies = [spooled_path(files.path / SPOOLED, i, len(paths)) for i in range(len(paths))]
            paths = [c if Path(c).exists() else p for c, p in zip(copies, paths, strict=True)]
        rows = open_source(
            paths,
            mapping=request.mapping or None,
            reader=request.reader,
            prompts=request.prompts is not None,
        )
        scorers = resolve(request.scorers)
    except ValidationError as e:
        where = ".".join(map(str, e.errors()[0]["loc"])) or "request"
        raise UsageError(
            f"{path}: the run's input cannot be opened again (manifest.json: {where})"
        ) from None
    # of a growing input, each result is bound to its record
    known = rows.fingerprint() == (request.prompts or manifest["identity"].get("inputs"))
    if not request.grows and not known:
        raise UsageError(f"{path}: the input files have changed since the run")
    files.check_seals()
    inputs = Inputs(rows, top=1 if request.retrieved else None)  # no further retrieval
    if request.prompts is not None:
        inputs = replace(inputs, prompts=Prompts(rows, Sampling(), ""))  # and no further sampling
    opened = inputs.open(files.path, key=files.key, unsealed=files.unsealed)
    return Results(files, opened.records, scorers, samples=request.samples)


class _Input(BaseModel):
    path: str


class _Request(BaseModel):
    """Part of a manifest that is needed to reopen its run."""

    model_config = ConfigDict(extra="ignore", strict=True)

    inputs: list[_Input] = Field(min_length=1)
    scorers: list[str]
    samples: int | None = Field(ge=1)
    reader: str | None
    mapping: dict[str, str]
    spooled: bool
    prompts: str | None = None
    retrieved: bool = False
    grows: bool = False


def check(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None = None,
    *,
    progress: bool | None = None,
    **options: Unpack[CheckKeywords],
) -> Results:
    """Score every record of ``inputs``.

    Args:
        inputs: one or several paths (JSONL, JSON, CSV, Parquet), a list of dicts or
            :class:`Record`, or a pandas, polars or pyarrow frame.
        scorers: ``"cosine, ngram(n=2)"``, or a list of such; default: those of ``preset``.
        preset: ``auto``: the few scorers that make the verdict, with an LLM including a judge.
            ``all``: every scorer that the fields allow; those that call an LLM only if one is
            named. ``fast``: model-free scorers, without a verdict.
        prior: expected share of wrong answers, over 0 and under 1. It shifts the default's risks
            by odds, not its verdicts; None is 0.5.
        strictness: operating point of the verdicts: ``low`` flags least, ``high`` flags most.
            It changes verdicts, not risks; None is the policy's, or ``balanced``.
        against: ``samples``, ``contexts`` or ``reference``, for scorers with this parameter.
        answer: part of each answer that is compared, for scorers that can compare a part:
            ``regex:PATTERN``, ``number`` or ``json:FIELD`` (see ``exact_match``).
        paper_forms: use the published form of scorers whose defaults differ, except for given
            parameters (``docs/scorers/index.md`` has the table).
        samples: use at most this many samples per record.
        limit: stop after this many rows.
        out: run directory; an existing one is resumed. Default: a temporary one.
        mapping: field -> column, in addition to the usual aliases.
        reader: name of a reader for a published data set's own format.
        strict: stop at the first bad row instead of reporting it.
        retry_failed: score records with a failed score again, and repeat failed prompts and
            unusable replies.
        fresh: score everything again in the run directory, ignoring earlier results.
        claims: add the scorer ``claims``, which checks each statement of the response.
        corpus: source of contexts for records without any: a folder or file of documents,
            ``search:NAME`` for a search service of ``veridical.toml``, or a
            :class:`~veridical.retrieval.search.Retriever`. Contexts are stored in the run
            directory (``contexts.jsonl``); evidence refers to them by index.
        corpus_top: passages per query; default 3.
        corpus_query: ``sentences`` searches for each sentence of a response; ``llm`` for one
            question that the LLM writes for it, as RefChecker's retriever does.
        corpus_pages: number of results per query of ``search:NAME`` whose pages are fetched and
            read, at most 10; None fetches none of them. Only public addresses are requested
            (``docs/corpus.md``).
        notify: callback(progress) during corpus indexing.
        sampling: sampling of prompts without a response by ``llm``; default: a greedy response
            and 10 samples (or ``samples``). An error if there is no such prompt.
        policy: a TOML file (``docs/tuning.md``) that decides on every record. Results do not
            depend on it: another policy may decide on the same ``out``.
        select: ``best`` judges a response and its samples by each other and names the least
            risky (``selected`` of a result). ``cluster`` judges them too, and names the answer
            with the most probable meaning (see ``cluster_probability``, which is then added).
        repair: ``drop`` removes unsupported text from responses, ``rewrite`` lets ``llm``
            rewrite its sentences; the result is scored (``repair`` of a result).
        progress: show progress on standard error or in the notebook; default: on a terminal and
            in a notebook.
        engine: a warm :class:`Engine`; otherwise one is made with the remaining options
            (``embedder``, ``token_encoder``, ``nli``, ``llm``, ``proxy``, ``budget``, ``store``,
            ``processes``, ``threads``, ``device``).

    Raises:
        UsageError: an option names something that does not exist, or has an invalid value.
        StrictError: there is a bad row, under ``strict``.
    """
    display = display_for(progress)
    if display is None:
        return Job(inputs, scorers, **options).wait()
    with display:
        display.update("loading models", None)
        return _watched(Job(inputs, scorers, **options), display)


def _watched(job: Job, display: Display) -> Results:
    """Return the results of ``job``; cancel it on a foreign error such as an interrupt."""
    try:
        return watch(job, display)
    except BaseException:
        job.cancel()
        raise


async def acheck(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None = None,
    *,
    progress: bool | None = None,
    **options: Unpack[CheckKeywords],
) -> Results:
    """Run :func:`check` for callers with their own event loop. Cancelling stops the run."""
    starting = asyncio.ensure_future(asyncio.to_thread(lambda: Job(inputs, scorers, **options)))
    try:
        job = await asyncio.shield(starting)
        ended = asyncio.wrap_future(job.future)
        if (display := display_for(progress)) is not None:
            with display:
                while not ended.done():
                    show(job, display)
                    await asyncio.wait([ended], timeout=TICK)
        await ended
    except asyncio.CancelledError:
        job = await starting  # the construction of a job cannot be cancelled
        await asyncio.to_thread(job.cancel)
        raise
    except BaseException:
        if starting.done() and starting.exception() is None:
            await asyncio.to_thread(starting.result().cancel)
        raise
    return await asyncio.to_thread(job.wait)


def plan(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None = None,
    **options: Unpack[PlanKeywords],
) -> dict[str, Any]:
    """Estimate the work of :func:`check` with these arguments, by the same code with null models.

    See :func:`veridical.run.dryrun.dry_run` for the figures. Neither a missing ``store`` nor the
    run directory ``out`` is created.

    Unless known, a cascade is planned as though no record stopped early, and a repair as though
    every answer changed. ``least`` is then the plan in which all records stop at the first tier and
    no answer changes; otherwise it is None. A ``policy`` costs no more than its ensemble.

    With ``records``, ``scale`` estimates that many similar records
    (:func:`veridical.run.scale.at_scale`, with ``machines``, ``hours``, ``cores``, ``price`` and
    ``deferral``); otherwise it is None.
    """
    from veridical.run.plans import Plans, engine_of

    named = {n: v for n, v in options.items() if n != "engine"}
    of_scale, *_ = split(named, ScaleOptions, RunOptions, EngineOptions, also=["engine"])
    scale = ScaleOptions(**of_scale)
    keywords = cast("CheckKeywords", {n: v for n, v in options.items() if n not in of_scale})
    request = Request.of(scorers, keywords)
    rows = request.open(inputs)
    if not rows.reiterable:
        raise UsageError("plan must read its input twice; name a file, not a stream")
    with contextlib.ExitStack() as stack:
        engine, store = request.engine, request.engine_options.store_path
        if engine is None:
            engine = stack.enter_context(engine_of(request.engine_options))
        else:
            store = None if engine.store is None else engine.store.path
        plans = Plans(engine, rows, store is not None)
        if scale.records is None:
            return {**plans.ranged(request), "scale": None}
        from veridical.run.scale import at_scale

        scaled = at_scale(plans, request, scorers, keywords, scale)
        return {**plans.ranged(request), "scale": scaled}
