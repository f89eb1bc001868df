"""``check`` and ``plan``: from inputs to results, resumably."""

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
    from veridical.llm.payments import Account
    from veridical.retrieval.search import Retriever
    from veridical.run.inputs import Opened
    from veridical.run.options import CheckKeywords, PlanKeywords
    from veridical.sampling.stream import SampledSource

#: Where runs go by default, under the current folder.
RUNS = Path(".veridical") / "runs"
#: Last part of ``out`` that stands for the run's own fingerprint.
AUTO = "<fingerprint>"


class Job:
    """A run under way. ``progress`` may be read at any time; ``wait`` gives the results.

    Takes the arguments of :func:`check`.

    Attributes:
        sampled: the prompts that are being answered, with their own ``progress``; None where the
            records are scored as they come.
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
        """The sources of the run, in its directory. What can be read only once is copied there."""
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
        """A look at the rows before any model is loaded, for those who make jobs of their own."""

    def _warn_of_languages(self, services: Mapping[str, Service]) -> None:
        """Warn of contexts and of a corpus that the NLI model does not read."""
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
        """Open what finds contexts; what they depend on besides the records."""
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
        """The account of the run's LLM calls; None where it makes none."""
        asks = any(step.asks for step in self.follow_up.steps)
        asks = asks or inputs.prompts is not None or inputs.writes
        if not asks and not self.engine.llms_of(self._task):
            return None
        run = str(self.directory.manifest()["request"].get("run", ""))
        retry = self._request.options.retry_failed
        return self.engine.llms.account(run, self.directory.path, retry=retry)

    def _let_rows_run_again(self, opened: Opened) -> None:
        """Let rows run again that have failed, or whose answers or contexts are not kept any more,
        and forget what was decided on the results.

        Raises:
            StrictError: a bad row is known from before, under ``strict``.
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
        """Find out how many rows there are; the run does not wait for that."""
        rows, limit = None, self._task.limit
        with contextlib.suppress(VeridicalError):  # the reading says what is wrong
            rows = self._rows.count()
        if rows is not None:
            self.progress.total = rows if limit is None else min(rows, limit)

    @property
    def current(self) -> tuple[str, Progress]:
        """What is being done besides scoring the records, "" at first, and how far it is."""
        return self.follow_up.stages[-1] if self.follow_up.stages else ("", self.progress)

    def wait(self, timeout: float | None = None) -> Results:
        """The results, once every record is done.

        Raises:
            TimeoutError: not done yet; wait again.
            VeridicalError: the run could not go on. What was done is kept and resumes.
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
        """Stop; everything finished so far stays in the run directory, unless that is a temporary
        one."""
        if not self.future.done():
            self.engine.check_usable()
        self.future.cancel()
        concurrent.futures.wait([self.future])
        self._close()
        self._discard()

    def _discard(self) -> None:
        """Remove a temporary run: nobody can go on with it."""
        if self._temporary is not None:
            self._temporary.close()

    def _close(self) -> None:
        retriever, self._retriever = self._retriever, None
        if retriever is not None and retriever is not self._request.options.corpus:
            self.engine.submit(retriever.close()).result()
        if self._owns_engine:
            self.engine.close()
        if self.sampled is not None:  # the error of a run that has failed may keep its reading
            self.sampled.close()
        directory: RunDirectory | None = getattr(self, "directory", None)
        if self._account is not None and directory is not None:
            if hasattr(self, "future"):  # else nothing was called
                ledger = json.dumps(self._account.ledger.as_dict())
                with contextlib.suppress(OSError):  # the results are there nevertheless
                    write_atomic(directory.path / LEDGER, ledger + "\n", private=True)
            self.engine.llms.leave(self._account)
            self._account = None
        if directory is not None:
            directory.close()


def fingerprint(identity: Mapping[str, Any]) -> str:
    """16 hex digits that name a run by what it is made of."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def reopen(path: str | Path) -> Results:
    """The results in a run directory whose input files are where they were.

    Raises:
        UsageError: it is no run directory, or its input was in memory or has changed.
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
    # of an input that grows, each result is bound to its record
    known = rows.fingerprint() == (request.prompts or manifest["identity"].get("inputs"))
    if not request.grows and not known:
        raise UsageError(f"{path}: the input files have changed since the run")
    files.check_seals()
    inputs = Inputs(rows, top=1 if request.retrieved else None)  # nothing is looked for any more
    if request.prompts is not None:
        inputs = replace(inputs, prompts=Prompts(rows, Sampling(), ""))  # nor asked
    opened = inputs.open(files.path, key=files.key, unsealed=files.unsealed)
    return Results(files, opened.records, scorers, samples=request.samples)


class _Input(BaseModel):
    path: str


class _Request(BaseModel):
    """What a manifest says of how to open its run again."""

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
        inputs: a path or a list of paths (JSONL, JSON, CSV, Parquet), a list of dicts or
            :class:`Record`, or a pandas, polars or pyarrow frame.
        scorers: ``"cosine, ngram(n=2)"``, or a list of such; default: those of ``preset``.
        preset: ``auto`` (the few scorers that make the verdict; with an LLM one judge among
            them), ``all`` (every scorer the fields allow; those that call an LLM only if one is
            named) or ``fast`` (model-free).
        prior: the share of wrong answers to expect, over 0 and under 1: shifts the default's
            risks by odds, not its verdicts; None is 0.5.
        strictness: the operating point of the verdicts: ``low`` flags least, ``high`` flags most.
            It moves verdicts, not risks; None is the policy's, or ``balanced``.
        against: ``samples``, ``contexts`` or ``reference``, for scorers that take it.
        answer: the part of each answer that is compared, by scorers that can compare a part:
            ``regex:PATTERN``, ``number`` or ``json:FIELD`` (see ``exact_match``).
        paper_forms: set scorers to their published form where their defaults differ, but for
            parameters that are given (``docs/scorers/index.md`` has the table).
        samples: use at most this many samples a record.
        limit: stop after this many rows.
        out: run directory; the same one resumes. Default: a temporary one.
        mapping: field -> column, over the usual aliases.
        reader: name of a reader for a published data set's own format.
        strict: stop at the first bad row instead of reporting it.
        retry_failed: run records with a failed score again, and ask prompts again whose answers
            failed; replies that were of no use are asked for anew.
        fresh: score all anew in the run directory, whatever an earlier run has left there.
        claims: add the scorer ``claims``, which checks each statement of the response.
        corpus: gives records without contexts those that are found in it: a folder or file of
            the user's own documents, ``search:NAME`` for a search service of ``veridical.toml``,
            or a :class:`~veridical.retrieval.search.Retriever`. They are kept in the run directory
            (``contexts.jsonl``), and evidence refers to them by their place there.
        corpus_top: passages for each query, 3 unless said.
        corpus_query: ``sentences`` searches for each sentence of a response; ``llm`` for one
            question that the LLM writes for it, as RefChecker's retriever does.
        corpus_pages: of ``search:NAME``, how many results of a query are fetched and read, at most
            10; None fetches no page. Public addresses alone are asked (``docs/corpus.md``).
        notify: is told how far the indexing of a corpus is.
        sampling: how prompts without a response are answered by ``llm``; default: greedily, with
            10 samples (or ``samples``) besides. An error where there is no such prompt.
        policy: a TOML file (``docs/tuning.md``) that decides on every record. Results do not
            depend on it: the same ``out`` may be decided on by another one.
        select: ``best`` judges each of a response and its samples by the others, and tells the
            least risky (``selected`` of a result); ``cluster`` judges them too, and tells the one
            that stands for the most probable meaning (see ``cluster_probability``, which is then
            among the scorers).
        repair: ``drop`` takes what is unsupported out of responses, ``rewrite`` has ``llm`` write
            its sentences anew; what comes of it is scored (``repair`` of a result).
        progress: show how far it is, on standard error or in the notebook; default: on a terminal
            and in a notebook.
        engine: a warm :class:`Engine`; else one is made with the remaining options
            (``embedder``, ``token_encoder``, ``nli``, ``llm``, ``proxy``, ``budget``, ``store``,
            ``processes``, ``threads``, ``device``).

    Raises:
        UsageError: something asked for does not exist or does not fit.
        StrictError: a bad row under ``strict``.
    """
    display = display_for(progress)
    if display is None:
        return Job(inputs, scorers, **options).wait()
    with display:
        display.update("loading models", None)
        return _watched(Job(inputs, scorers, **options), display)


def _watched(job: Job, display: Display) -> Results:
    """The results of ``job``; an error that is not its own, such as an interrupt, ends it."""
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
    """:func:`check` for callers with an event loop of their own. Cancelling stops the run."""
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
        job = await starting  # a job that is being made goes on being made
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
    """What :func:`check` would do with these arguments, by the same code with null models: see
    :func:`veridical.run.dryrun.dry_run`. A ``store`` that does not exist is not made, nor is
    the run directory ``out``.

    A cascade is planned as though no record stopped early, and a repair as though every answer
    were changed, unless it is known which are; ``least`` is then the plan for when all stop at the
    first tier and none is changed, and None elsewhere. A ``policy`` asks for nothing but its
    ensemble.

    With ``records``, ``scale`` is what so many records like these would take
    (:func:`veridical.run.scale.at_scale`; ``machines``, ``hours``, ``cores``, ``price`` and
    ``deferral`` go with it); else None.
    """
    from veridical.run.plans import Plans, engine_of

    named = {n: v for n, v in options.items() if n != "engine"}
    of_scale, *_ = split(named, ScaleOptions, RunOptions, EngineOptions, also=["engine"])
    scale = ScaleOptions(**of_scale)
    keywords = cast("CheckKeywords", {n: v for n, v in options.items() if n not in of_scale})
    request = Request.of(scorers, keywords)
    rows = request.open(inputs)
    if not rows.reiterable:
        raise UsageError("plan reads its input and leaves it: give it a file, not a stream")
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
