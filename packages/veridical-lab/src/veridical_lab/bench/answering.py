"""Answering and grading of questions for the suite ``qa``."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.api import AUTO, fingerprint
from veridical.core.messages import LlmError
from veridical.engine.judges import warn_if_small
from veridical.errors import RowError, UsageError, option_named
from veridical.files.temporary import temporary_folder
from veridical.text.display import display
from veridical.tuning.graders import Chat, Grade, Grader, load_grader
from veridical.tuning.graders.choice import CHOICES
from veridical_lab.bench.datasets.qa import marked
from veridical_lab.bench.datasets.qa_questions import PARTS, grader_of, has_questions
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite
from veridical_lab.bench.options import BenchOptions, Request
from veridical_lab.bench.protocol import Chosen, choose
from veridical_lab.bench.suite_options import QaOptions

if TYPE_CHECKING:
    from veridical.engine.engine import Engine
    from veridical.llm.cost_accounting import Account
    from veridical.sampling.sampling import Sampling

#: Samples a question unless ``--samples`` says otherwise (UQLM's default).
SAMPLES = 5
#: Alternatives a token, for scorers of token probabilities.
LOGPROBS = 5
_GRADED = "graded.jsonl"
_AT_ONCE = 256  # answers being graded

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Answering:
    """Options for answering and grading questions.

    Attributes:
        engine: its LLM, if any, answers.
        grader: for all answers; None uses each data set's own rule for unlabelled answers.
        sampling: decoding options; None for the default.
        folder: of the stored answers; its name may contain the fingerprint. None stores nothing.
        retry_failed: repeat failed requests.
        fresh: use no stored answer except those in the journal.
        tell: called with the progress.
    """

    engine: Engine
    grader: Grader | None = None
    sampling: Sampling | None = None
    folder: Path | None = None
    retry_failed: bool = False
    fresh: bool = False
    tell: Tell | None = None

    @classmethod
    def of(cls, engine: Engine, request: Request, tell: Tell | None = None) -> Answering:
        """Build the options for a benchmark by ``engine``.

        Raises:
            UsageError: the grader does not exist or lacks an LLM; or sampling options are given
                without questions to answer.
        """
        bench, options = request.bench, request.suites.get("qa")
        qa = options if isinstance(options, QaOptions) else QaOptions()
        if qa.sampling is not None and engine.llms.default is None:
            llm = option_named("llm", "NAME")
            raise UsageError(f"sampling requires the suite 'qa' with a language model ({llm})")
        grader = None if qa.grader is None else load_grader(qa.grader)
        if grader is not None and grader.needs_llm and engine.llms.default is None:
            raise UsageError(
                f"the grader {grader.name} needs a language model ({option_named('llm', 'NAME')})"
            )
        folder = None if bench.out is None else Path(bench.out)
        if folder is not None:
            folder = (folder.parent if folder.name == AUTO else folder) / "answers"
        return cls(engine, grader, qa.sampling, folder, bench.retry_failed, bench.fresh, tell)

    @property
    def has_llm(self) -> bool:
        """Return True if a language model is available."""
        return self.engine.llms.default is not None

    def chosen(self, suite: Suite, path: Path, bench: BenchOptions) -> Chosen | None:
        """Return the items to judge; None if the file's answers are graded already.

        Raises:
            UsageError: unusable data.
            LlmError: the endpoint is out of order, or the budget is spent.
        """
        if suite.questions is None:
            return None
        if self.has_llm and has_questions(path):
            return self._answered(suite, path, bench)
        if self.sampling is not None:
            raise UsageError(
                f"{display(path)} contains answers; sampling options apply to questions only"
            )
        if self.grader is None:
            return None
        chosen = _choose(suite, path, bench)
        if not self.grader.needs_llm:
            return self._graded(chosen, None)
        graded = [i.record.model_dump(mode="json") for i in chosen.items]
        name = fingerprint({"graded": graded, "grader": self.grader.name})
        with self._place(name) as folder, self._account(name, folder) as account:
            return self._graded(chosen, self.engine.llms.chat(account).chat)

    def _answered(self, suite: Suite, path: Path, bench: BenchOptions) -> Chosen:
        from veridical.io import open_source
        from veridical.sampling.sampling import Sampling
        from veridical.sampling.stream import Prompts, SampledSource

        assert suite.questions is not None
        for name in bench.splits:
            if name.removesuffix("-right") not in PARTS:
                raise UsageError(f"suite 'qa' has no split {name!r}; it has: {', '.join(PARTS)}")
        chosen = _choose(replace(suite, read=suite.questions), path, bench)
        sampling = self.sampling or Sampling(
            n=max(bench.counts, default=SAMPLES), logprobs=LOGPROBS
        )
        llms = self.engine.llms
        spec = None if sampling.decoding is None else llms.decoding(sampling.decoding)
        endpoint = llms.endpoint(spec)
        rows = [
            {k: v for k, v in i.record.model_dump(include=_KEPT).items() if v is not None}
            for i in chosen.items
        ]
        prompts = Prompts(
            open_source(rows, prompts=True),
            sampling,
            llms.identity(spec),
            {"llm": endpoint.name, "model": endpoint.model},
        )
        name = prompts.fingerprint()
        with self._place(name) as folder, self._account(name, folder) as account:
            source = SampledSource(
                prompts, folder, chat=llms.chat(account, spec), submit=self.engine.submit
            )
            if self.retry_failed or self.fresh:  # earlier answers come from the journal
                source.forget()
            self._say(
                f"qa: {len(rows)} questions to {endpoint.name}, {1 + sampling.n} answers each, "
                f"kept in {folder}"
            )
            items: list[Item] = []
            for item, row in zip(chosen.items, source.rows(), strict=True):
                if isinstance(row, RowError):
                    chosen.bad.append(BadItem(item.part, row, item.facets))
                else:
                    items.append(replace(item, record=row))
                done = len(items) + len(chosen.bad)
                if done % max(1, len(rows) // 10) == 0:
                    self._say(f"qa: {done} of {len(rows)} questions answered")
            if not items:
                raise UsageError(f"no question was answered; the last: {chosen.bad[-1].error}")
            chosen.items = items
            chosen = self._graded(chosen, llms.chat(account).chat)
            _write(chosen.items, folder / _GRADED)
        for part in {i.part for i in chosen.items}:
            chosen.notes[part].append(
                f"answers by {endpoint.name} ({endpoint.model}): {_way(sampling)}"
            )
            sampled = [i.record.meta.get("sampling", {}) for i in chosen.items if i.part == part]
            cut = [facts.get("finish_reason") == "length" for facts in sampled]
            if any(cut):
                chosen.notes[part].append(
                    f"{sum(cut)} of {len(cut)} responses end at the limit of "
                    f"{sampling.max_tokens} tokens"
                )
        return chosen

    def _graded(self, chosen: Chosen, chat: Chat | None) -> Chosen:
        """Label ``chosen`` by the grader; answers that it cannot grade are left out."""
        graders = [
            self.grader or load_grader(grader_of(i.part, i.record.meta.get(CHOICES)))
            for i in chosen.items
        ]
        if any(grader.needs_llm for grader in graders):
            warn_if_small(self.engine.llms.endpoint())
        grades = self.engine.submit(_grades(chosen.items, graders, chat)).result()
        notes: dict[str, list[str]] = defaultdict(list, chosen.notes)
        left_out, items = Counter(chosen.unlabelled), []
        why: dict[str, Counter[str]] = defaultdict(Counter)
        agreed: dict[str, list[bool]] = defaultdict(list)
        for item, grader, grade in zip(chosen.items, graders, grades, strict=True):
            if grade.correct is None:
                left_out[item.part] += 1
                why[item.part][grade.reason] += 1
                continue
            if item.record.label is not None:
                agreed[item.part].append((item.record.label >= 0.5) == (grade.correct <= 0.5))
            items.append(replace(item, record=marked(item.record, grader.name, grade)))
        if not items:
            reason = next((r for c in why.values() for r in c), "")
            raise UsageError(f"no answer could be graded: {reason}")
        for part, grader in {i.part: g for i, g in zip(chosen.items, graders, strict=True)}.items():
            notes[part].append(f"graded by {grader.name}: {grader.rule}")
            if agreed[part]:
                same, n = sum(agreed[part]), len(agreed[part])
                notes[part].append(f"the grader agrees with {same} of {n} labels of the data")
            for reason, n in why[part].most_common(1):
                notes[part].append(f"{why[part].total()} answers not graded, {n} because: {reason}")
        return replace(chosen, items=items, unlabelled=dict(left_out), notes=notes)

    @contextmanager
    def _place(self, name: str) -> Iterator[Path]:
        if self.folder is not None:
            folder = self.folder / name
            folder.mkdir(parents=True, exist_ok=True)
            yield folder
            return
        with temporary_folder("answers") as temporary:
            yield temporary

    @contextmanager
    def _account(self, run: str, folder: Path) -> Iterator[Account]:
        """Open a separate account for the calls of answering and grading."""
        llms = self.engine.llms
        account = llms.account(run, folder, retry=self.retry_failed)
        try:
            yield account
        finally:
            ledger = account.ledger
            cost = "unknown" if ledger.cost is None else f"{ledger.cost:.4f}"
            self._say(
                f"qa: {ledger.calls} calls, {ledger.journaled} answers from the journal, "
                f"{ledger.possibly_paid} lost and possibly paid, cost {cost}"
            )
            llms.leave(account)

    def _say(self, text: str) -> None:
        if self.tell is not None:
            self.tell(text)


def _way(sampling: Sampling) -> str:
    """Describe the origin of the answers."""
    decoding = sampling.decoding
    draws = decoding is not None and decoding.draws
    if sampling.response == "first":
        words = "the response is the first draw"
    else:
        words = f"the response is {'greedy' if decoding is None or draws else f'by {decoding}'}"
    if sampling.n or sampling.response == "first":
        by = f" by {decoding}" if draws else ""
        draw = f"drawn{by} at temperature {sampling.temperature:g}"
        words += f", {draw}" if not sampling.n else f", its {sampling.n} samples are {draw}"
    system = ", with a system message" if sampling.system else ""
    return f"{words}; at most {sampling.max_tokens} tokens each{system}"


_KEPT = {"id", "prompt", "reference", "meta"}


def _choose(suite: Suite, path: Path, bench: BenchOptions) -> Chosen:
    splits = [name.removesuffix("-right") for name in bench.splits]
    bench = replace(bench, split=splits, against=None, multi_sentence=False)
    return choose(suite, path, bench, labelled=False)


async def _grades(
    items: Sequence[Item], graders: Sequence[Grader], chat: Chat | None
) -> list[Grade]:
    """Return grades in order; a failed call gives no grade, except that a spent budget is
    raised.
    """
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Item, grader: Grader) -> Grade:
        async with slots:
            try:
                return await grader.grade(item.record, chat)
            except LlmError as e:
                if e.trouble == "budget":
                    raise
                return Grade(None, f"the grader's call failed: {e}")

    tasks = [asyncio.ensure_future(one(i, g)) for i, g in zip(items, graders, strict=True)]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _write(items: Sequence[Item], path: Path) -> None:
    """Write the graded records as JSON lines, which ``bench qa --data`` reads again."""
    from veridical.files.atomic import write_atomic

    lines = (
        i.record.model_dump_json(by_alias=True, exclude={"row"}, exclude_defaults=True)
        for i in items
    )
    write_atomic(path, "".join(f"{line}\n" for line in lines))
