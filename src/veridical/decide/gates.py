"""CI gates: limits on failing and unchecked records."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from veridical.core.registry import REGISTRY
from veridical.core.scores import Decision
from veridical.core.verdict_cuts import Strictness, Verdict
from veridical.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.core.scores import ResultSummary

#: Reason of an unchecked record that has nothing to check, which is not a failure.
NO_STATEMENT = "no_statement"
#: Reason of an unchecked record that says nothing although a source has the answer: never passes.
MISSED_ANSWER = "missed_answer"

_STEP = r"[^\W\d][\w-]*|\[(?:\d+|\*)\]|\[\"(?:[^\"\\]|\\.)*\"\]"
_PATH = re.compile(rf"(?:{_STEP})(?:\.[^\W\d][\w-]*|\[(?:\d+|\*)\]|\[\"(?:[^\"\\]|\\.)*\"\])*")


@dataclass(frozen=True)
class FieldGate:
    """Verdicts that a field of a structured answer may not have.

    Attributes:
        path: as in ``Result.fields``; ``[*]`` matches any index.
        verdicts: the verdicts that fail.
    """

    path: str
    verdicts: frozenset[str]

    @classmethod
    def parse(cls, text: str, strictness: Strictness = "balanced") -> FieldGate:
        """Parse the gate ``--fail-on-field PATH=VERDICT|VERDICT``.

        Raises:
            UsageError: the path is missing, or a verdict is unknown.
        """
        path, mark, listed = text.rpartition("=")
        path = path.strip()
        names = [name.strip().lower() for name in listed.split("|") if name.strip()]
        if not mark or not path or not names:
            raise UsageError(
                f"--fail-on-field takes PATH=VERDICT, not {text!r}; for example "
                "--fail-on-field 'items[*].price=contradicted|unsupported'"
            )
        known = get_args(Verdict)
        for name in names:
            if name not in known:
                raise unknown_name("verdict in --fail-on-field", name, list(known))
            if name in ("supported", "consistent"):
                raise UsageError(
                    f"--fail-on-field {path}={name}: that is a good outcome; name bad ones"
                )
        if not _is_path(path):
            raise UsageError(
                f"--fail-on-field: {path!r} is not a path; write it as invoice.total, "
                'items[*].name, row[0].Price or ["a.b"]'
            )
        verdicts = frozenset(names)
        if strictness == "high" and verdicts & {"contradicted", "unsupported", "inconsistent"}:
            verdicts |= {"unclear"}
        return cls(path, verdicts)

    def fails(self, path: str, verdict: str) -> bool:
        """Return True if the field at ``path`` may not have ``verdict``."""
        return verdict in self.verdicts and self._pattern.fullmatch(path) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.path).replace(r"\[\*\]", r"\[\d+\]"))


def _is_path(path: str) -> bool:
    return _PATH.fullmatch(path) is not None


@dataclass(frozen=True)
class Gates:
    """Conditions under which a build fails; without any, every run passes.

    Attributes:
        over: the largest risk that passes; None ignores risks.
        scorer: key of the scorer of that risk; None for the record's own.
        verdicts, decisions: those that fail.
        reasons: reasons of unchecked records that fail.
        fields: gates on fields of structured answers.
        max_share: share of valid records that may fail, in [0, 1].
        allow_unchecked: share of all rows that may be unchecked, in [0, 1].
    """

    over: float | None = None
    scorer: str | None = None
    verdicts: frozenset[str] = frozenset()
    decisions: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    fields: tuple[FieldGate, ...] = ()
    max_share: float = 0.0
    allow_unchecked: float = 0.0

    @property
    def any(self) -> bool:
        """True if there is a gate."""
        named = self.verdicts or self.decisions or self.reasons or self.fields
        return self.over is not None or bool(named)

    @classmethod
    def parse(
        cls,
        fail_on: str | None = None,
        fail_over: str | None = None,
        max_share: str | None = None,
        allow_unchecked: str | None = None,
        policy: bool = False,
        strictness: Strictness = "balanced",
        fail_on_field: Sequence[str] = (),
    ) -> Gates:
        """Parse the gates in the options of ``veridical check``.

        Args:
            fail_on: verdicts and decisions, comma-separated.
            fail_over: ``X`` or ``NAME:X``, X in [0, 1].
            max_share, allow_unchecked: shares, as ``5%`` or ``0.05``.
            policy: whether the run has one: decisions need it.
            strictness: of the run; ``high`` adds ``unclear`` to a gate on verdicts.
            fail_on_field: each ``PATH=VERDICT`` or ``PATH=VERDICT|VERDICT``.

        Raises:
            UsageError: one of them is no such thing, or they do not go together.
        """
        scorer, over = _risk(fail_over)
        verdicts, decisions, reasons = _outcomes(fail_on)
        if strictness == "high" and verdicts:
            verdicts |= {"unclear"}
        if decisions and not policy:
            raise UsageError(
                f"--fail-on {','.join(sorted(decisions))} is a decision and requires a policy; "
                "add --policy FILE"
            )
        fields = tuple(FieldGate.parse(text, strictness) for text in fail_on_field)
        gates = cls(over, scorer, verdicts, decisions, reasons, fields)
        for flag, share in (("--max-share", max_share), ("--allow-unchecked", allow_unchecked)):
            if share is not None and not gates.any:
                raise UsageError(
                    f"{flag} requires a gate; add --fail-on LIST, --fail-over X or "
                    "--fail-on-field PATH=VERDICT"
                )
        return cls(
            over,
            scorer,
            verdicts,
            decisions,
            reasons,
            fields,
            _share("--max-share", max_share),
            _share("--allow-unchecked", allow_unchecked),
        )

    def check_names(self, scorers: Sequence[BoundScorer]) -> None:
        """Check that the run has the scorer of ``--fail-over``.

        Raises:
            UsageError: the run does not have the scorer.
        """
        keys = [s.key for s in scorers]
        if self.scorer is not None and self.scorer not in keys:
            raise unknown_name("scorer in --fail-over", self.scorer, keys)

    def causes(self, result: ResultSummary) -> Iterator[str]:
        """Yield the causes for which the record fails; nothing if it passes."""
        risk = self._risk_of(result)
        if self.over is not None and risk is not None and risk > self.over:
            yield f"{self.scorer or 'risk'} over {self.over:g}"
        if result.verdict in self.verdicts:
            yield result.verdict
        if result.reason is not None and result.reason in self.reasons:
            yield result.reason
        if result.decision is not None and result.decision in self.decisions:
            yield result.decision
        for gate in self.fields:
            found = (f for f in result.fields if gate.fails(f.path, f.verdict))
            if (first := next(found, None)) is not None:
                yield f"{first.path} {first.verdict}"

    def missed(self, result: ResultSummary) -> bool:
        """Return True if the answer says nothing although a source has the answer.

        It is False if a gate names this reason: ``--allow-unchecked`` does not cover such answers.
        """
        return result.reason == MISSED_ANSWER and MISSED_ANSWER not in self.reasons

    def unchecked(self, result: ResultSummary) -> bool:
        """Return True if no gate can be applied for lack of a verdict. Empty answers and refusals
        do not count."""
        if result.reason in (NO_STATEMENT, MISSED_ANSWER):
            return False
        if result.verdict == "unchecked" and self._needs_verdict(result):
            return True
        return self.over is not None and self._risk_of(result) is None

    def _needs_verdict(self, result: ResultSummary) -> bool:
        """Return False if a named scorer's risk is all that the gates need."""
        only_risk = self.scorer is not None and not (
            self.verdicts or self.decisions or self.reasons or self.fields
        )
        return not only_risk or self._risk_of(result) is None

    def _risk_of(self, result: ResultSummary) -> float | None:
        return result.risk if self.scorer is None else result.scores[self.scorer].risk


@dataclass
class Tally:
    """Counts of records at gates.

    Attributes:
        records: valid records.
        row_errors: invalid rows, which count as unchecked too.
        failing: records that fail.
        unchecked: records without the required verdict.
        missed: records that say nothing although a source has the answer.
        causes: causes of failing records; a record may have several.
    """

    gates: Gates
    records: int = 0
    row_errors: int = 0
    failing: int = 0
    unchecked: int = 0
    missed: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    def add(self, result: ResultSummary) -> None:
        """Count a record."""
        self.records += 1
        causes = list(self.gates.causes(result))
        self.failing += bool(causes)
        self.causes.update(causes)
        self.unchecked += self.gates.unchecked(result)
        self.missed += self.gates.missed(result)

    @property
    def failed(self) -> bool:
        """True if a gate failed: too many records fail, or were not checked."""
        return bool(self.lines())

    @property
    def too_many_unchecked(self) -> bool:
        """True if the gates fail because of rows that were not checked."""
        rows = self.records + self.row_errors
        unchecked = self.unchecked + self.row_errors
        return self.gates.any and _exceeds(unchecked, self.gates.allow_unchecked, rows)

    def lines(self) -> list[str]:
        """Return a sentence for each failed limit; an empty list if all passed, or without a
        gate."""
        gates = self.gates
        lines: list[str] = []
        if not gates.any:
            return lines
        if _exceeds(self.failing, gates.max_share, self.records):
            causes = ", ".join(f"{n} {cause}" for cause, n in self.causes.most_common())
            allowed = f"; allowed: {100 * gates.max_share:.4g}%" if gates.max_share else ""
            lines.append(
                f"gate failed: {self.failing} of {self.records} answers ({causes}{allowed})"
            )
        unchecked, rows = self.unchecked + self.row_errors, self.records + self.row_errors
        if self.too_many_unchecked:
            bad = f", {self.row_errors} of them bad rows" if self.row_errors else ""
            lines.append(
                f"gate failed: {unchecked} of {rows} rows could not be checked{bad} "
                "(raise --allow-unchecked P% to let some pass)"
            )
        if self.missed:
            lines.append(
                f"gate failed: {self.missed} of {self.records} answers say that the sources lack "
                "the answer, although one has it (missed_answer)"
            )
        return lines


def _exceeds(count: int, share: float, total: int) -> bool:
    """Return True if ``count`` is more than that share of ``total``, beyond rounding errors."""
    return count > share * total + 1e-9


def _risk(fail_over: str | None) -> tuple[str | None, float | None]:
    if fail_over is None:
        return None, None
    name, _, number = fail_over.rpartition(":")
    try:
        over = float(number)
    except ValueError:
        over = math.nan
    if not 0 <= over <= 1:
        raise UsageError(f"--fail-over must be X or NAME:X with X from 0 to 1, not {fail_over!r}")
    return (REGISTRY.parse(name)[0].key if name else None), over


def _outcomes(fail_on: str | None) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the verdicts, decisions and reasons of a comma-separated list."""
    if fail_on is None:
        return frozenset(), frozenset(), frozenset()
    verdicts, decisions, reasons = get_args(Verdict), get_args(Decision), (MISSED_ANSWER,)
    known = [*verdicts, *decisions, *reasons]
    names = [name.strip().lower() for name in fail_on.split(",") if name.strip()]
    if not names:
        raise UsageError("--fail-on takes verdicts and decisions, such as contradicted,unsupported")
    for name in names:
        if name not in known:
            raise unknown_name("verdict or decision in --fail-on", name, known)
    chosen = frozenset(names)
    for good in ("supported", "consistent", "accept"):
        if good in chosen:
            raise UsageError(f"--fail-on {good}: that is a good outcome; name bad ones")
    return (
        chosen & frozenset(verdicts),
        chosen & frozenset(decisions),
        chosen & frozenset(reasons),
    )


def _share(flag: str, text: str | None) -> float:
    """Parse a share in [0, 1] from ``5%`` or ``0.05``."""
    if text is None:
        return 0.0
    number = text.strip()
    percent = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = math.nan
    share = value / 100 if percent else value
    if not 0 <= share <= 1:
        raise UsageError(f"{flag} must be a share such as 5% or 0.05, not {text!r}")
    return share
