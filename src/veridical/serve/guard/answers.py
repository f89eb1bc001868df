"""One answer in flight: its sentences, what was found of each, and what was let out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.verdict_cuts import WORST_FIRST
from veridical.serve.guard.checking import Finding, Judge, Status, spans_of
from veridical.serve.guard.cutting import Cutter

if TYPE_CHECKING:
    from veridical.core.scores import Decision
    from veridical.decide.policy_file import GuardRules

Mode = Literal["monitor", "annotate", "hold", "buffer"]
Action = Literal["released", "blocked", "dropped", "replaced", "repaired", "retried"]

#: Characters of one answer.
LONGEST_ANSWER = 500_000
TOO_LONG = f"the answer is over {LONGEST_ANSWER:,} characters"
#: Characters that are cut into sentences at a time, and sentences that are judged side by side:
#: what comes after a rejected one is judged in vain.
_STEP = 10_000
_TOGETHER = 64

_SEVERITY: tuple[Decision, ...] = ("accept", "review", "reject")
#: From the worst to the best, of several sentences.
_VERDICTS = WORST_FIRST


@dataclass(frozen=True)
class AnswerStep:
    """A piece of an answer, and what was done about it.

    Attributes:
        finding: None of a blank piece, which there is nothing to find out about.
        out: what was let out in its place.
        retry: which of the answers that were asked for anew it is of; 0: the first one.
    """

    piece: str
    finding: Finding | None
    action: Action
    out: str
    retry: int = 0


@dataclass(frozen=True)
class Out:
    """Text that is let out.

    Attributes:
        tokens: its log-probabilities, in a record's terms; none where it is not as it came, or
            no tokens spell it.
    """

    text: str
    tokens: tuple[dict[str, Any], ...] = ()


@dataclass
class Handling:
    """How rejected sentences are handled.

    Attributes:
        rewrite: the text to put in the place of a sentence; None where there is none.
        again: the rest of an answer after what was let out, asked for anew.
    """

    rules: GuardRules
    rewrite: Callable[[Finding], Awaitable[str | None]]
    again: Callable[[str], Awaitable[str | None]]


@dataclass
class Answer:
    """One channel of an answer.

    Attributes:
        enforce: whether rejected sentences are held back.
        whole: nothing is let out before the end.
        failed: why the rest of it could not be checked.
    """

    judge: Judge
    handling: Handling
    enforce: bool = True
    whole: bool = False
    steps: list[AnswerStep] = field(default_factory=list)
    blocked: bool = False
    failed: str = ""
    retried: bool = False
    delivered: str = ""
    received: str = ""
    notes: list[str] = field(default_factory=list)
    _cutter: Cutter = field(default_factory=Cutter)
    _tokens: list[dict[str, Any]] = field(default_factory=list)
    _at: int = 0  # where the next piece begins, and the first of the tokens
    _token_at: int = 0
    _held: list[Out] = field(default_factory=list)
    _replaced: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing more of it is let out."""
        return self.blocked or self.retried

    async def take(
        self, text: str, tokens: Sequence[dict[str, Any]] = (), *, last: bool = False
    ) -> list[Out]:
        """More of the text as it came, ``last`` with its end; what of it may be let out now."""
        too_long = len(self.received) + len(text) > LONGEST_ANSWER
        self.received += text
        self._tokens += tokens
        if self.over:
            return []
        if too_long:
            self.fail(TOO_LONG)
            self.delivered += "" if self.enforce else text
            return []
        out = []
        for at in range(0, max(len(text), 1), _STEP):
            pieces = self._cutter.feed(text[at : at + _STEP])
            if last and at + _STEP >= len(text):
                pieces += self._cutter.end()
            out += await self._settle(pieces)
            if self.over:
                break
            if len(text) > _STEP:
                await asyncio.sleep(0)  # others have their turn
        return out

    async def end(self) -> list[Out]:
        """The text is complete; what of the rest may be let out."""
        out = [] if self.over else await self._settle(self._cutter.end())
        if not self.whole:
            return out
        held, self._held = [] if self.blocked else self._held, []
        self.delivered += "".join(part.text for part in held)
        return held

    async def _settle(self, pieces: Sequence[str]) -> list[Out]:
        """Yield the pieces that may leave, settled in order."""
        out = []
        for at in range(0, len(pieces), _TOGETHER):
            out += await self._settle_some(pieces[at : at + _TOGETHER])
            if self.over:
                break
        return out

    async def _settle_some(self, pieces: Sequence[str]) -> list[Out]:
        """Yield the pieces that may leave, of a few that are judged side by side."""
        out = []
        tokens = [self._tokens_of(piece) for piece in pieces]
        judging = [
            asyncio.ensure_future(self.judge.find(piece, known))
            for piece, known in zip(pieces, tokens, strict=True)
        ]
        try:
            for piece, known, finding in zip(pieces, tokens, judging, strict=True):
                let_out = await self._one(piece, await finding)
                part = Out(let_out, tuple(known) if let_out == piece else ())
                if self.whole:
                    self._held.append(part)
                else:
                    self.delivered += let_out
                    out.append(part)
                if self.over:
                    break
        finally:
            for finding in judging:
                finding.cancel()
            await asyncio.gather(*judging, return_exceptions=True)
        return out

    async def _one(self, piece: str, finding: Finding | None) -> str:
        if finding is None or not finding.rejected or not self.enforce:
            self.steps.append(AnswerStep(piece, finding, "released", piece))
            if finding is not None:
                self._replaced = False
            return piece
        return await self._reject(piece, finding)

    def _tokens_of(self, piece: str) -> list[dict[str, Any]]:
        """The tokens that spell a piece, which are used up; none where they do not, as where one
        is also of the next piece."""
        begin, self._at = self._at, self._at + len(piece)
        taken: list[dict[str, Any]] = []
        while self._tokens and self._token_at < self._at:
            token = self._tokens.pop(0)
            if self._token_at >= begin:
                taken.append(token)
            self._token_at += len(token["token"])
        return taken if "".join(t["token"] for t in taken) == piece else []

    async def _reject(self, piece: str, finding: Finding) -> str:
        lead = piece[: len(piece) - len(piece.lstrip())]
        # a sentence that nobody could judge is not one to mend
        how = "block" if finding.status == "failed" else self.handling.rules.on_reject
        if how == "drop":
            self.steps.append(AnswerStep(piece, finding, "dropped", ""))
            return ""
        if how == "replace":
            out = "" if self._replaced else lead + self.handling.rules.replacement
            self._replaced = True
            self.steps.append(AnswerStep(piece, finding, "replaced", out))
            return out
        if how == "repair":
            return await self._repair(piece, lead, finding)
        if how == "retry":
            return await self._retry(piece, finding)
        self._block(piece, finding)
        return ""

    def _block(self, piece: str, finding: Finding) -> None:
        self.steps.append(AnswerStep(piece, finding, "blocked", ""))
        self.blocked = True

    async def _repair(self, piece: str, lead: str, finding: Finding) -> str:
        """The sentence as the upstream writes it by the evidence, where that passes; else none."""
        text = await self.handling.rewrite(finding)
        if text and text.strip():
            again = [await self.judge.find(part) for part in _cut(text.strip())]
            if not any(f is not None and f.rejected for f in again):
                out = lead + text.strip()
                self.steps.append(AnswerStep(piece, finding, "repaired", out))
                return out
        self.steps.append(AnswerStep(piece, finding, "dropped", ""))
        return ""

    async def _retry(self, piece: str, finding: Finding) -> str:
        """The rest of the answer anew, if every sentence of it passes; else the answer ends."""
        said = "" if self.whole else self.delivered
        self.steps.append(AnswerStep(piece, finding, "retried", ""))
        for attempt in range(1, self.handling.rules.retries + 1):
            text = await self.handling.again(said)
            if text is None:
                continue
            pieces = _cut((" " if said and not text[:1].isspace() else "") + text)
            steps = []
            for part in pieces:
                found = await self.judge.find(part)
                steps.append(AnswerStep(part, found, "released", part, attempt))
                if found is not None and found.rejected:
                    break
            if steps and not any(s.finding is not None and s.finding.rejected for s in steps):
                self.steps += steps
                self.retried = True
                if self.whole:
                    self._held = []
                return "".join(pieces)
        self.steps[-1] = AnswerStep(piece, finding, "blocked", "")
        self.blocked = True
        return ""

    def fail(self, why: str) -> None:
        """Note that the rest cannot be checked: it is not let out where answers are held."""
        self.failed = why
        self.blocked = self.enforce


def joined(parts: Sequence[Out]) -> list[Out]:
    """Fewer parts of the same text: those with log-probabilities apart from those without."""
    found: list[Out] = []
    for part in parts:
        if not part.text:
            continue
        if found and bool(found[-1].tokens) == bool(part.tokens):
            last = found.pop()
            part = Out(last.text + part.text, last.tokens + part.tokens)
        found.append(part)
    return found


def _cut(text: str) -> list[str]:
    cutter = Cutter()
    return [*cutter.feed(text), *cutter.end()]


@dataclass(frozen=True)
class AnswerSummary:
    """What is said of an answer, in headers, in bodies and in its record."""

    decision: Decision
    verdict: str
    risk: float | None
    status: Status
    sentences: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "decision": self.decision,
            "verdict": self.verdict,
            "risk": self.risk,
            "status": self.status,
            "sentences": list(self.sentences),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def headers(self) -> dict[str, str]:
        """As headers, which hold no text of the answer."""
        return {
            "x-veridical-decision": self.decision,
            "x-veridical-risk": json.dumps(self.risk),
            "x-veridical-status": self.status,
        }


def described(step: AnswerStep, start: int, end: int) -> dict[str, Any]:
    """A sentence with its place in the answer as it came (of one asked for anew, in that one)."""
    finding = step.finding
    assert finding is not None
    return {
        "start": start,
        "end": end,
        "decision": finding.decision,
        "verdict": finding.verdict,
        "risk": finding.risk,
        "status": finding.status,
        "action": step.action,
        **({"retry": step.retry} if step.retry else {}),
        **({"reason": finding.reason} if finding.reason else {}),
    }


def summary(answers: Sequence[Answer]) -> AnswerSummary:
    """What is said of an answer of several channels."""
    told: list[dict[str, Any]] = []
    findings: list[Finding] = []
    notes: list[str] = []
    base = 0
    for answer in answers:
        notes += answer.notes
        at: dict[int, int] = {}
        for step in answer.steps:
            start = at.setdefault(step.retry, base if step.retry == 0 else 0)
            at[step.retry] = start + len(step.piece)
            if step.finding is not None:
                (span,) = spans_of([step.piece], start)
                told.append(described(step, span.start, span.end))
                findings.append(step.finding)
        base += len(answer.received)
    failed = [answer.failed for answer in answers if answer.failed]
    found = of_findings(findings, told, [*notes, *failed])
    return replace(found, decision="reject", status="failed") if failed else found


def of_findings(
    findings: Sequence[Finding], told: Sequence[dict[str, Any]], notes: Sequence[str] = ()
) -> AnswerSummary:
    """The worst of the findings; where nothing was judged, that nothing was."""
    telling = [f for f in findings if f.reason != "no_statement"]
    review: Decision = "review"
    decision = max((f.decision for f in findings), key=_SEVERITY.index, default=review)
    verdict = min((f.verdict for f in telling), key=_VERDICTS.index, default="unchecked")
    risk = max((f.risk for f in telling if f.risk is not None), default=None)
    status: Status = "checked" if telling else "unchecked"
    if any(f.status == "failed" for f in findings):
        status = "failed"
    elif any(f.status == "unchecked" for f in telling):
        status = "unchecked"
    return AnswerSummary(decision, verdict, risk, status, tuple(told), tuple(dict.fromkeys(notes)))
