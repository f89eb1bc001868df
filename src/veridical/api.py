"""``check`` and ``plan``: from inputs to results, resumably."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from veridical.decide.after import After
from veridical.engine import Engine
from veridical.errors import StrictError, UsageError, unknown_name
from veridical.evidence.rundir import SPOOLED, RunDirectory, RunFiles, write_atomic
from veridical.io import open_source
from veridical.records import Record
from veridical.registry import BoundScorer, resolve
from veridical.results import LEDGER, Results
from veridical.run import Progress, Task
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.claims.corpus.build import Notify
    from veridical.claims.retrieved import RetrievedSource
    from veridical.claims.search import Retriever
    from veridical.decide.policy import Policy
    from veridical.decide.repair import How
    from veridical.decide.selection import Select
    from veridical.decide.steps import Step
    from veridical.io import Source
    from veridical.llm.sampling import Sampling
    from veridical.llm.service import Account
    from veridical.llm.stream import SampledSource
    from veridical.run import Service

_PEEK = 64  # rows that tell whether the input's prompts are still to be answered
#: Alternatives a token asked for with answers that are to be scored.
ANSWER_LOGPROBS = 5

#: Where runs go by default, under the current folder.
RUNS = Path(".veridical") / "runs"


class Job:
    """A run under way. ``progress`` may be read at any time; ``wait`` gives the results.

    Takes the arguments of :func:`check`.

    Attributes:
        sampled: the prompts that are being answered, with their own ``progress``; None where the
            records are scored as they come.
    """

    def __init__(
        self,
        inputs: Any,
        scorers: str | Iterable[str | BoundScorer] | None = None,
        *,
        preset: str = "auto",
        against: str | None = None,
        samples: int | None = None,
        limit: int | None = None,
        out: str | Path | None = None,
        mapping: Mapping[str, str] | None = None,
        reader: str | None = None,
        strict: bool = False,
        retry_failed: bool = False,
        claims: bool = False,
        corpus: str | Path | Retriever | None = None,
        corpus_top: int | None = None,
        notify: Notify | None = None,
        sampling: Sampling | None = None,
        policy: str | Path | None = None,
        select: Select | None = None,
        repair: How | None = None,
        engine: Engine | None = None,
        **options: Any,
    ) -> None:
        llm = _has_llm(engine, options, sampling)
        bound = resolve(scorers, preset, against, llm, _proxy(engine, options), claims)
        decide: Policy | None = None
        if policy is not None:
            from veridical.decide.policy import Policy

            decide, bound = Policy.read(policy, bound)
        task = Task(bound, samples=samples, limit=limit, strict=strict)
        opened: Source = open_source(
            inputs, mapping=dict(mapping or {}) or None, reader=reader, prompts=llm
        )
        self._own = engine is None
        self.engine = Engine(**options) if engine is None else engine
        self.progress = Progress()
        self._account: Account | None = None
        self.sampled: SampledSource | None = None
        self._retriever: Retriever | None = None
        spool: Path | None = None
        try:
            self.after = After(decide, _steps(select, repair, self.engine))
            if not opened.reiterable:
                spool = Path(tempfile.mkdtemp(prefix="veridical-")) / "input"
                opened = opened.spool(spool)
            if llm and _asks(opened, sampling, limit):
                self.sampled = sampled_source(opened, sampling, samples, self.engine)
            sampled = self.sampled
            source: Any = opened if sampled is None else sampled
            retrieved: RetrievedSource | None = None
            retrieval: dict[str, Any] = {}
            if corpus is not None:
                retrieved, retrieval = self._retrieval(source, corpus, corpus_top, notify)
                source = retrieved
            identity = {
                "inputs": source.fingerprint(),
                "scorers": [b.signature() for b in bound],
                "models": self.engine.models(task),
                "parameters": {
                    "samples": samples,
                    "limit": limit,
                    "reader": reader,
                    "mapping": dict(mapping or {}),
                    **retrieval,
                },
            }
            temporary = out is None
            path = Path(tempfile.mkdtemp(prefix="veridical-run-")) if out is None else Path(out)
            if path.name == AUTO:
                path = path.with_name(fingerprint(identity))
            request = {
                "veridical": __version__,
                "inputs": source.describe(),
                "scorers": [b.spec for b in bound],
                "samples": samples,
                "reader": reader,
                "mapping": dict(mapping or {}),
                "spooled": spool is not None,
                "prompts": None if sampled is None else opened.fingerprint(),
                "retrieved": retrieved is not None,
                "run": uuid.uuid4().hex,
            }
            self.directory = RunDirectory(path, identity, request)
            if spool is not None:
                opened.move(path / SPOOLED)
                spool.parent.rmdir()
            if retry_failed:
                self.directory.retry_failed(None if sampled is None else sampled.failed(path))
            self.after.clear(path, again=retry_failed)
            if strict:
                for error in self.directory.errors():
                    raise StrictError(str(error))
            self.progress.resumed = self.directory.resumed
            self.results = Results(
                self.directory, source, bound, samples=samples, temporary=temporary
            )
            services = self.engine.services(task)
            asks = any(step.asks for step in self.after.steps)
            if sampled is not None or asks or self.engine.llms_of(task):
                run = str(self.directory.manifest()["request"].get("run", ""))
                self._account = self.engine.llms.account(run, path, retry=retry_failed)
            if sampled is not None and self._account is not None:
                chat = self.engine.llms.chat(self._account)
                done = self.directory.done if retry_failed else None
                sampled.attach(path, chat, self.engine.submit, limit=limit, again=done)
            if retrieved is not None:
                retrieved.attach(path, self._retriever, self.engine.submit, limit=limit)
            self.future = self.engine.submit(self._work(source, task, services))
        except BaseException:
            self._close()
            raise

    async def _work(self, source: Any, task: Task, services: Mapping[str, Service]) -> None:
        account, progress = self._account, self.progress
        await self.engine.run(source, task, self.directory, progress, services, account)
        await self.after(self.engine, task, self.results, services, account)

    @property
    def current(self) -> tuple[str, Progress]:
        """What is being done besides scoring the records, "" at first, and how far it is."""
        return self.after.stages[-1] if self.after.stages else ("", self.progress)

    def _retrieval(
        self,
        source: Source | SampledSource,
        corpus: str | Path | Retriever,
        top: int | None,
        notify: Notify | None,
    ) -> tuple[RetrievedSource, dict[str, Any]]:
        """``source`` with what is found for its records, and what that depends on."""
        from veridical.claims.corpus.opening import open_retriever
        from veridical.claims.retrieved import TOP, RetrievedSource, identity

        found = RetrievedSource(source, TOP if top is None else top)
        self._retriever = open_retriever(corpus, self.engine, notify)
        self._closes = self._retriever is not corpus
        return found, {"corpus": identity(self._retriever, found.top)}

    def wait(self, timeout: float | None = None) -> Results:
        """The results, once every record is done.

        Raises:
            TimeoutError: not done yet; wait again.
            VeridicalError: the run could not go on. What was done is kept and resumes.
        """
        try:
            self.future.result(timeout)
        except (TimeoutError, concurrent.futures.TimeoutError):
            if not self.future.done():
                raise TimeoutError from None
            self._close()
            raise
        except BaseException:
            self.cancel()
            raise
        self._close()
        return self.results

    def cancel(self) -> None:
        """Stop; everything finished so far stays in the run directory."""
        self.future.cancel()
        concurrent.futures.wait([self.future])
        self._close()

    def _close(self) -> None:
        retriever, self._retriever = self._retriever, None
        if retriever is not None and self._closes:
            self.engine.submit(retriever.close()).result()
        if self._own:
            self.engine.close()
        if self.sampled is not None:  # the error of a run that has failed may keep its reading
            self.sampled.close()
        directory = getattr(self, "directory", None)
        if self._account is not None and directory is not None:
            ledger = json.dumps(self._account.ledger.as_dict())
            with contextlib.suppress(OSError):  # the results are there nevertheless
                write_atomic(directory.path / LEDGER, ledger + "\n")
            self.engine.llms.leave(self._account)
            self._account = None
        if directory is not None:
            directory.close()


def _has_llm(engine: Engine | None, options: Mapping[str, Any], sampling: Sampling | None) -> bool:
    named = options.get("llm") if engine is None else engine.llms.default
    if named is None and sampling is not None:
        raise UsageError("only an LLM can answer prompts: name one (--llm NAME)")
    return named is not None


def _steps(select: Select | None, repair: How | None, engine: Engine) -> list[Step]:
    """What is done to the records after they are scored.

    Raises:
        UsageError: there is no such way, or an LLM is to rewrite and none was named.
    """
    from veridical.decide.repair import How, Repairing
    from veridical.decide.selection import Best, Select

    if select not in (None, *get_args(Select)):
        raise unknown_name("way to select", str(select), get_args(Select))
    if repair not in (None, *get_args(How)):
        raise unknown_name("way to repair", str(repair), get_args(How))
    best = None if select is None else Best()
    steps: list[Step] = [] if best is None else [best]
    if repair is not None:
        llm = engine.llms.identity() if repair == "rewrite" else ""
        steps.append(Repairing(repair, llm, best))
    return steps


def _proxy(engine: Engine | None, options: Mapping[str, Any]) -> str | None:
    named: str | None = options.get("proxy") if engine is None else engine.proxy
    return named


def unanswered(source: Source) -> bool:
    """Whether one of the first rows is a prompt without a response."""
    from veridical.io.prompts import Unanswered

    return any(isinstance(row, Unanswered) for row in itertools.islice(source.rows(), _PEEK))


def _asks(source: Source, sampling: Sampling | None, limit: int | None) -> bool:
    """Whether prompts of ``source`` are to be answered.

    Raises:
        UsageError: they are, by ``sampling``, and every record has a response.
    """
    from veridical.io.prompts import Unanswered

    if sampling is None:
        return unanswered(source)
    answered = False
    for row in itertools.islice(source.rows(), limit):
        if isinstance(row, Unanswered):
            return True
        answered = answered or isinstance(row, Record)
    if answered:
        raise UsageError(
            "every record has a response, so there is nothing to sample; "
            "'veridical sample --response given' draws samples besides responses"
        )
    return True


def sampled_source(
    prompts: Source, sampling: Sampling | None, samples: int | None, engine: Engine
) -> SampledSource:
    """``prompts`` with the answers of the engine's LLM."""
    from veridical.llm.sampling import Sampling
    from veridical.llm.stream import SampledSource

    if sampling is None:
        sampling = Sampling(n=samples or Sampling.n, logprobs=ANSWER_LOGPROBS)
    endpoint = engine.llms.endpoint()
    told = {"llm": endpoint.name, "model": endpoint.model}
    return SampledSource(prompts, sampling, engine.llms.identity(), told)


#: Last part of ``out`` that stands for the run's own fingerprint.
AUTO = "<fingerprint>"


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
    request = manifest.get("request", {})
    try:
        paths = [entry["path"] for entry in request["inputs"]]
        if request["spooled"]:
            paths = [str(files.path / SPOOLED)]
        prompts = request.get("prompts")
        source: Any = open_source(
            paths,
            mapping=request["mapping"] or None,
            reader=request["reader"],
            prompts=prompts is not None,
        )
        scorers = resolve(request["scorers"])
    except (KeyError, TypeError) as e:
        raise UsageError(f"{path}: the run's input cannot be opened again ({e})") from None
    if source.fingerprint() != (prompts or manifest["identity"].get("inputs")):
        raise UsageError(f"{path}: the input files have changed since the run")
    if prompts is not None:
        from veridical.llm.sampling import Sampling
        from veridical.llm.stream import SampledSource

        source = SampledSource(source, Sampling(), "")  # nothing is asked any more
        source.attach(files.path)
    if request.get("retrieved"):
        from veridical.claims.retrieved import RetrievedSource

        source = RetrievedSource(source)
        source.attach(files.path)
    return Results(files, source, scorers, samples=request["samples"])


def _rounds(bound: Sequence[BoundScorer], count: int | None) -> list[BoundScorer]:
    """``bound`` with the scorers of their first ``count`` rounds (None: of all) in the place of
    those that have several."""
    found: dict[str, BoundScorer] = {}
    for b in bound:
        parts = [p for asked in b.rounds[:count] for p in asked]
        found |= {p.key: p for p in (parts if len(b.rounds) > 1 else [b])}
    return list(found.values())


def check(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None = None,
    **settings: Any,
) -> Results:
    """Score every record of ``inputs``.

    Args:
        inputs: a path or a list of paths (JSONL, JSON, CSV, Parquet), a list of dicts or
            :class:`Record`, or a pandas, polars or pyarrow frame.
        scorers: ``"cosine, ngram(n=2)"``, or a list of such; default: those of ``preset``.
        preset: ``auto`` (all the fields allow, those that call an LLM only if one is named) or
            ``fast`` (model-free).
        against: ``samples``, ``contexts`` or ``reference``, for scorers that take it.
        samples: use at most this many samples a record.
        limit: stop after this many rows.
        out: run directory; the same one resumes. Default: a temporary one.
        mapping: field -> column, over the usual aliases.
        reader: name of a reader for a published data set's own format.
        strict: stop at the first bad row instead of reporting it.
        retry_failed: run records with a failed score again, and ask prompts again whose answers
            failed; replies that were of no use are asked for anew.
        claims: add the scorer ``claims``, which checks each statement of the response.
        corpus: gives records without contexts those that are found in it: a folder or file of
            the user's own documents, ``search:NAME`` for a search service of ``veridical.toml``,
            or a :class:`~veridical.claims.search.Retriever`. They are kept in the run directory
            (``contexts.jsonl``), and evidence refers to them by their place there.
        corpus_top: passages for each sentence of a response, 3 unless said.
        notify: is told how far the indexing of a corpus is.
        sampling: how prompts without a response are answered by ``llm``; default: greedily, with
            10 samples (or ``samples``) besides. An error where there is no such prompt.
        policy: a TOML file (``docs/policy.md``) that decides on every record. Results do not
            depend on it: the same ``out`` may be decided on by another one.
        select: ``best`` judges each of a response and its samples by the others, and tells the
            least risky (``selected`` of a result).
        repair: ``drop`` takes what is unsupported out of responses, ``rewrite`` has ``llm`` write
            its sentences anew; what comes of it is scored (``repair`` of a result).
        engine: a warm :class:`Engine`; else one is made with the remaining settings
            (``embedder``, ``token_encoder``, ``nli``, ``llm``, ``proxy``, ``budget``, ``store``,
            ``processes``, ``threads``, ``device``).

    Raises:
        UsageError: something asked for does not exist or does not fit.
        StrictError: a bad row under ``strict``.
    """
    return Job(inputs, scorers, **settings).wait()


async def acheck(
    inputs: Any, scorers: str | Iterable[str | BoundScorer] | None = None, **settings: Any
) -> Results:
    """:func:`check` for callers with an event loop of their own. Cancelling stops the run."""
    starting = asyncio.ensure_future(asyncio.to_thread(lambda: Job(inputs, scorers, **settings)))
    try:
        job = await asyncio.shield(starting)
        await asyncio.wrap_future(job.future)
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
    *,
    preset: str = "auto",
    against: str | None = None,
    samples: int | None = None,
    limit: int | None = None,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
    claims: bool = False,
    corpus: str | Path | Retriever | None = None,
    corpus_top: int | None = None,
    sampling: Sampling | None = None,
    policy: str | Path | None = None,
    select: Select | None = None,
    repair: How | None = None,
    engine: Engine | None = None,
    store: str | Path | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What :func:`check` would do, by the same code with null models: see
    :func:`veridical.dryrun.dry_run`. A ``store`` that does not exist is not made.

    A cascade is planned as though no record stopped early, and a repair as though every answer
    were changed, unless it is known which are; ``least`` is then the plan for when all stop at the
    first tier and none is changed, and None elsewhere. A ``policy`` asks for nothing but its
    ensemble.
    """
    from veridical.dryrun import dry_run

    llm = _has_llm(engine, options, sampling)
    bound = resolve(scorers, preset, against, llm, _proxy(engine, options), claims)
    if policy is not None:
        from veridical.decide.policy import Policy

        _, bound = Policy.read(policy, bound)
    source = open_source(inputs, mapping=dict(mapping or {}) or None, reader=reader, prompts=llm)
    if not source.reiterable:
        raise UsageError("plan reads its input and leaves it: give it a file, not a stream")
    there = store if store is not None and Path(store).is_dir() else None
    own = Engine(store=there, **options) if engine is None else engine
    stores = store is not None if engine is None else engine.store is not None

    staged = any(len(b.rounds) > 1 for b in bound)

    def counted(scorers: Sequence[BoundScorer]) -> dict[str, Any]:
        task = Task(scorers, samples=samples, limit=limit)
        steps = _steps(select, repair, own)
        made: Any = source
        if llm and _asks(source, sampling, limit):
            made = sampled_source(source, sampling, samples, own)
        if corpus is None:
            return dry_run(own, made, task, stores, steps=steps, true=not staged)
        from veridical.claims.corpus.planning import PlannedRetriever
        from veridical.claims.retrieved import TOP, RetrievedSource

        made = RetrievedSource(made, TOP if corpus_top is None else corpus_top)
        retriever = PlannedRetriever(corpus, own)
        return dry_run(own, made, task, stores, retriever, steps, not staged)

    try:
        if not staged:
            return counted(bound)
        least, most = (counted(_rounds(bound, count)) for count in (1, None))
        return {**most, "least": least["least"] or least}
    finally:
        if engine is None:
            own.close()
