"""Answer in flight: its sentences, findings and released text."""

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

#: Maximum characters of one answer.
LONGEST_ANSWER = 500_000
TOO_LONG = f"the answer is over {LONGEST_ANSWER:,} characters"
#: Characters that are split into sentences at a time, and sentences that are judged concurrently:
#: text after a rejected sentence is judged in vain.
_STEP = 10_000
_TOGETHER = 64

_SEVERITY: tuple[Decision, ...] = ("accept", "review", "reject")
#: Decisions from worst to best, for several sentences.
_VERDICTS = WORST_FIRST


@dataclass(frozen=True)
class AnswerStep:
    """Piece of an answer with its outcome.

    Attributes:
        finding: None for a blank piece.
        out: text released instead of it.
        retry: number of the regenerated answer that it belongs to; 0: the first answer.
    """

    piece: str
    finding: Finding | None
    action: Action
    out: str
    retry: int = 0


@dataclass(frozen=True)
class ReleasedText:
    """Released text.

    Attributes:
        tokens: its log-probabilities, in a record's format; empty if the text was changed or no
            tokens spell it.
    """

    text: str
    tokens: tuple[dict[str, Any], ...] = ()


@dataclass
class RejectionHandling:
    """Handling of rejected sentences.

    Attributes:
        rewrite: returns the replacement of a sentence; None to leave it out.
        again: regenerates the rest of an answer after its released text.
    """

    rules: GuardRules
    rewrite: Callable[[Finding], Awaitable[str | None]]
    again: Callable[[str], Awaitable[str | None]]


@dataclass
class Answer:
    """Channel of an answer.

    Attributes:
        enforce: whether rejected sentences are withheld.
        whole: whether text is released only at the end.
        failed: reason that the rest could not be checked.
    """

    judge: Judge
    handling: RejectionHandling
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
    _at: int = 0  # offset of the next piece, and its first token
    _token_at: int = 0
    _held: list[ReleasedText] = field(default_factory=list)
    _replaced: bool = False

    @property
    def over(self) -> bool:
        """Return True if no more text will be released."""
        return self.blocked or self.retried

    async def take(
        self, text: str, tokens: Sequence[dict[str, Any]] = (), *, last: bool = False
    ) -> list[ReleasedText]:
        """Add text as received, ``last`` with its end; return the text that may be released."""
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
                await asyncio.sleep(0)  # lets other tasks run
        return out

    async def end(self) -> list[ReleasedText]:
        """End the text; return the rest that may be released."""
        out = [] if self.over else await self._settle(self._cutter.end())
        if not self.whole:
            return out
        held, self._held = [] if self.blocked else self._held, []
        self.delivered += "".join(part.text for part in held)
        return held

    async def _settle(self, pieces: Sequence[str]) -> list[ReleasedText]:
        """Return the text of pieces that may be released, settled in order."""
        out = []
        for at in range(0, len(pieces), _TOGETHER):
            out += await self._settle_some(pieces[at : at + _TOGETHER])
            if self.over:
                break
        return out

    async def _settle_some(self, pieces: Sequence[str]) -> list[ReleasedText]:
        """Return the text that may be released of pieces that are judged concurrently."""
        out = []
        tokens = [self._tokens_of(piece) for piece in pieces]
        judging = [
            asyncio.ensure_future(self.judge.find(piece, known))
            for piece, known in zip(pieces, tokens, strict=True)
        ]
        try:
            for piece, known, finding in zip(pieces, tokens, judging, strict=True):
                let_out = await self._one(piece, await finding)
                part = ReleasedText(let_out, tuple(known) if let_out == piece else ())
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
        """Return the tokens that spell a piece, and consume them.

        Empty if they do not, for example if a token spans two pieces.
        """
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
        # a sentence that could not be judged is not repaired
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
        """Return the sentence as rewritten by the upstream with the evidence, if that passes; else
        "".
        """
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
        """Regenerate the rest of the answer; end the answer if any sentence of it fails."""
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
        """Record that the rest cannot be checked: it is not released if answers are held."""
        self.failed = why
        self.blocked = self.enforce


def joined(parts: Sequence[ReleasedText]) -> list[ReleasedText]:
    """Merge adjacent parts of a text, separately with and without log-probabilities."""
    found: list[ReleasedText] = []
    for part in parts:
        if not part.text:
            continue
        if found and bool(found[-1].tokens) == bool(part.tokens):
            last = found.pop()
            part = ReleasedText(last.text + part.text, last.tokens + part.tokens)
        found.append(part)
    return found


def _cut(text: str) -> list[str]:
    cutter = Cutter()
    return [*cutter.feed(text), *cutter.end()]


@dataclass(frozen=True)
class AnswerSummary:
    """Summary of an answer, for headers, bodies and its record."""

    decision: Decision
    verdict: str
    risk: float | None
    status: Status
    sentences: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "decision": self.decision,
            "verdict": self.verdict,
            "risk": self.risk,
            "status": self.status,
            "sentences": list(self.sentences),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def headers(self) -> dict[str, str]:
        """Return it as headers, which contain no text of the answer."""
        return {
            "x-veridical-decision": self.decision,
            "x-veridical-risk": json.dumps(self.risk),
            "x-veridical-status": self.status,
        }


def described(step: AnswerStep, start: int, end: int) -> dict[str, Any]:
    """Return a sentence with its offsets in the original (or regenerated) answer."""
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
    """Return the summary of an answer of several channels."""
    spans: list[dict[str, Any]] = []
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
                spans.append(described(step, span.start, span.end))
                findings.append(step.finding)
        base += len(answer.received)
    failed = [answer.failed for answer in answers if answer.failed]
    found = of_findings(findings, spans, [*notes, *failed])
    return replace(found, decision="reject", status="failed") if failed else found


def of_findings(
    findings: Sequence[Finding], spans: Sequence[dict[str, Any]], notes: Sequence[str] = ()
) -> AnswerSummary:
    """Return the worst of the findings; ``unchecked`` if nothing was judged."""
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
    return AnswerSummary(decision, verdict, risk, status, tuple(spans), tuple(dict.fromkeys(notes)))
