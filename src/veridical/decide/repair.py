"""Repair of responses: unsupported statements removed, changes listed, scored again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from veridical.core.messages import LlmError
from veridical.core.scores import Change, Repair, Result, ResultSummary
from veridical.decide.rewriting import PROMPT, Rewriting, read_rewriting, rewrite_request
from veridical.decide.steps import Answers, Asking, Outcome, with_answer
from veridical.decide.unsupported import Flaw, as_sentences, count, flaws, scorer_of
from veridical.errors import NotApplicable
from veridical.files.atomic import replacing
from veridical.files.rundir import RunFiles

if TYPE_CHECKING:
    from veridical.core.messages import ChatRequest, Reply
    from veridical.core.records import Record
    from veridical.decide.selection import Best
    from veridical.engine.results import RunResults

How = Literal["drop", "rewrite"]
Of = Literal["response", "selected"]

#: Repair of each record of the run, in order; in the step's folder.
_REPAIRS = "repairs.jsonl"
_AT_ONCE = 64  # records whose sentences an LLM rewrites in one round


@dataclass(frozen=True)
class Repairing:
    """The step of ``--repair``.

    Attributes:
        how: ``drop`` removes a sentence with unsupported statements, and keeps its supported ones
            if a scorer split it in its own words. ``rewrite`` lets an LLM write it again.
        llm: identity of that LLM.
        best: the step that selected the answers to repair; None repairs the responses.
    """

    how: How
    llm: str = ""
    best: Best | None = None

    key: ClassVar = "repair"
    doing: ClassVar = "scoring repaired answers"

    @property
    def asks(self) -> bool:
        """True if it needs an LLM."""
        return self.how == "rewrite"

    def identity(self) -> Mapping[str, Any]:
        """Return the kind and object of the repair; for rewriting also the LLM and its prompt."""
        from veridical.prompts import prompt_identity

        identity: dict[str, Any] = {"repair": self.how}
        if self.best is not None:
            identity["of"] = dict(self.best.identity())
        if self.asks:
            identity |= {"llm": self.llm, "prompt": prompt_identity(PROMPT)}
        return identity

    def source(self, results: RunResults, folder: Path, asking: Asking | None) -> Repaired:
        """Return the changed answers."""
        of: Of = "response" if self.best is None else "selected"
        return Repaired(self._answers(results), self.how, folder, asking, of)

    def _answers(self, results: RunResults) -> Answers:
        return results if self.best is None else self.best.answers(results)

    def outcomes(self, results: RunResults, folder: Path) -> Iterator[Outcome]:
        """Yield the repair of each record, and the score of its new answer."""
        scored = RunFiles(folder).lines()
        row, line = next(scored, (-1, b""))
        with (folder / _REPAIRS).open("rb") as file:
            for repair_line, (at, line_before) in zip(
                file, self._answers(results).numbered(), strict=True
            ):
                repair = Repair.model_validate_json(repair_line)
                while 0 <= row < at:
                    row, line = next(scored, (-1, b""))
                if repair.status == "unchanged":
                    before = ResultSummary.model_validate_json(line_before)
                    yield Outcome(at, _scored(repair, before, 0), line_before)
                elif repair.status == "changed" and row == at:
                    result = Result.model_validate_json(line)
                    score = result.scores.get(repair.scorer or "")
                    flawed = None if score is None else count(score)
                    yield Outcome(at, _scored(repair, result, flawed), line)
                else:
                    yield Outcome(at, repair, None)


class Repaired:
    """The changed answers of a run, as records: an :class:`~veridical.engine.run.Input`.

    Reading repairs them, and writes the repairs to a file of ``folder``. A second reading repeats
    this with the same LLM replies, which its journal holds.
    """

    read = 8

    def __init__(
        self,
        answers: Answers,
        how: How,
        folder: Path,
        asking: Asking | None,
        of: Of = "response",
    ) -> None:
        self._answers = answers
        self._fields: dict[str, Any] = {"how": how, "of": of}
        self._how = how
        self._path = folder / _REPAIRS
        self._asking = asking

    def rows(self, start: int = 0) -> Iterator[Record]:
        """Yield repaired answers, under their rows in the run, from row ``start``."""
        pairs = self._answers.pairs()
        with replacing(self._path, private=True) as file:
            while some := list(islice(pairs, _AT_ONCE)):
                for record, repair in self._repaired(some):
                    file.write(repair.model_dump_json() + "\n")
                    if repair.status == "changed" and record.row >= start:
                        yield changed(record, repair.text or "")

    def fraction(self) -> float | None:
        """Return the share of the run's input read in the latest pass."""
        return self._answers.fraction()

    def _repaired(self, pairs: Sequence[tuple[Record, Result]]) -> Iterator[tuple[Record, Repair]]:
        plans = [_plan(record, result) for record, result in pairs]
        rewrites: list[Rewriting | NotApplicable | None] = [None] * len(plans)
        replies: dict[int, Reply | LlmError] = {}
        if self._how == "rewrite":
            rewrites = [
                rewrite_request(record, plan) if plan else None
                for (record, _), (_, plan) in zip(pairs, plans, strict=True)
            ]
            replies = self._ask(
                {i: a.request for i, a in enumerate(rewrites) if isinstance(a, Rewriting)}
            )
        for i, ((record, _), (scorer, plan)) in enumerate(zip(pairs, plans, strict=True)):
            yield record, self._one(record, scorer, plan, rewrites[i], replies.get(i))

    def _ask(self, requests: Mapping[int, ChatRequest]) -> dict[int, Reply | LlmError]:
        assert self._asking is not None
        replies = self._asking(list(requests.values())) if requests else []
        return dict(zip(requests, replies, strict=True))

    def _one(
        self,
        record: Record,
        scorer: str | None,
        plan: list[Flaw],
        rewriting: Rewriting | NotApplicable | None,
        reply: Reply | LlmError | None,
    ) -> Repair:
        if scorer is None:
            why = "no scorer of the run judges claims or sentences"
            return Repair(**self._fields, status="not_applicable", reason=why)
        if not plan:
            return Repair(**self._fields, status="unchanged", scorer=scorer, text=record.response)
        if isinstance(rewriting, NotApplicable):
            reason = str(rewriting)
            return Repair(**self._fields, status="not_applicable", scorer=scorer, reason=reason)
        try:
            if rewriting is None:
                written = [as_sentences(f.supported, f.sentence.text) for f in plan]
            else:
                written = read_rewriting(reply, rewriting)
        except LlmError as e:
            if e.text is not None and rewriting is not None and self._asking is not None:
                self._asking.reject(rewriting.request)
            return Repair(**self._fields, status="failed", scorer=scorer, reason=str(e)[:300])
        changes = changes_of(record.response, plan, written)
        text = apply(record.response, changes)
        status: Literal["changed", "unchanged"] = "changed" if changes else "unchanged"
        return Repair(**self._fields, status=status, scorer=scorer, text=text, changes=changes)


def _plan(record: Record, result: Result) -> tuple[str | None, list[Flaw]]:
    scorer = scorer_of(result)
    return scorer, [] if scorer is None else flaws(record, result.scores[scorer])


def changes_of(response: str, plan: Sequence[Flaw], written: Sequence[str]) -> tuple[Change, ...]:
    """Return a change for each sentence of ``plan``, with its new text in ``written``, in order.

    Adjacent removed sentences are one change. They include the white space after them or, at the
    end of a line, before them, so that the line break stays. Unchanged sentences yield no change.
    """
    changes: list[Change] = []
    at = 0  # text before it is processed
    for i, (flaw, text) in enumerate(zip(plan, written, strict=True)):
        start, end = flaw.sentence.start, flaw.sentence.end
        new = text.strip()
        if start < at or new == response[start:end]:
            continue
        why = flaw.unsupported
        if not new:
            more = list(why)
            for later, words in zip(plan[i + 1 :], written[i + 1 :], strict=True):
                if words.strip() or response[end : later.sentence.start].strip():
                    break
                end = later.sentence.end
                more += later.unsupported
            why = tuple(more)
            start, end = _with_space(response, start, end)
        old = response[start:end]
        changes.append(Change(start=start, end=end, text=old, new=new, unsupported=why))
        at = end
    return tuple(changes)


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of a sentence including the white space that would remain without it."""
    before, after = start, end
    while before > 0 and text[before - 1].isspace():
        before -= 1
    while after < len(text) and text[after].isspace():
        after += 1
    alone = before == 0 or "\n" in text[before:start]
    if after == len(text):
        return before, after
    if "\n" not in text[end:after] or alone:
        return start, after
    return before, end


def apply(response: str, changes: Sequence[Change]) -> str:
    """Apply ``changes``, which are in order and do not overlap, to ``response``."""
    pieces, at = [], 0
    for change in changes:
        pieces += [response[at : change.start], change.new]
        at = change.end
    return "".join([*pieces, response[at:]])


def changed(record: Record, text: str) -> Record:
    """Return ``record`` with a repaired answer, to be scored."""
    return with_answer(record, text, row=record.row, id=record.row, samples=record.samples)


def _scored(repair: Repair, result: Result | ResultSummary, remaining: int | None) -> Repair:
    fields = {"risk": result.risk, "by": result.by, "remaining": remaining}
    return repair.model_copy(update=fields)
