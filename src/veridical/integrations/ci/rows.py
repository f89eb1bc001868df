"""Rows of a run as test cases and findings, including invalid ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from veridical.core.prompt_text import question_text
from veridical.core.verdict_cuts import FLAGGED
from veridical.decide.gates import NO_STATEMENT
from veridical.integrations.ci.junit import Case, Outcome
from veridical.integrations.ci.sarif import Level, SarifFinding, SarifRule
from veridical.integrations.words import headline, lines_of, shortened
from veridical.io.source import RowPlace

if TYPE_CHECKING:
    from veridical.core.explain import ShownPiece
    from veridical.core.records import Record
    from veridical.core.scores import Result, ResultSummary
    from veridical.decide.gates import Tally
    from veridical.errors import RowError
    from veridical.report.results import Results

#: Description and severity of each verdict.
VERDICTS: dict[str, tuple[str, Level]] = {
    "contradicted": ("A source contradicts it.", "error"),
    "unsupported": ("The sources do not support it.", "warning"),
    "inconsistent": ("The model's other answers disagree.", "warning"),
    "unclear": ("The evidence against it is not conclusive.", "note"),
    "unchecked": ("The answer could not be checked.", "note"),
}
INVALID = SarifRule("invalid-row", "The row is not a valid record.", "error")


class CiRow(NamedTuple):
    """Row of the input with its outcome: a record with its result, or an error."""

    place: RowPlace
    record: Record | None
    result: Result | None
    error: RowError | None


def rows(results: Results) -> Iterator[CiRow]:
    """Yield every row that the run has read, in input order."""
    pairs, errors = results.pairs(), results.errors()
    pair, error = next(pairs, None), next(errors, None)
    for place in results.given.places():
        if pair is None and error is None:
            return
        if pair is not None and pair[0].row == place.row:
            yield CiRow(place, *pair, None)
            pair = next(pairs, None)
        elif error is not None and error.row == place.row:
            yield CiRow(place, None, None, error)
            error = next(errors, None)


def case(row: CiRow, tally: Tally) -> Case:
    """Return the test case of a row.

    An invalid row is an error. With gates, an answer that fails them is a failure. An answer that
    they cannot judge is an error, or skipped within the allowance. Without gates an answer with a
    negative verdict is a failure, and an unchecked one is skipped. An answer without statements is
    skipped. An unclear one passes, with a note.
    """
    suite = f"veridical.{row.place.file.replace('.', '_')}"
    where = {"file": row.place.file, "row": str(row.place.row)}
    if row.place.line is not None:
        where["line"] = str(row.place.line)
    if row.error is not None:
        return Case(
            f"row {row.place.row}",
            suite,
            "error",
            INVALID.id,
            row.error.error,
            str(row.error),
            where,
        )
    assert row.result is not None and row.record is not None
    record, result = row.record, row.result
    name = f"row {result.row}" if result.id == result.row else str(result.id)
    facts = {"verdict": result.verdict, **where}
    if result.risk is not None:
        facts = {"risk": f"{result.risk:.6g}", **facts}
    if result.decision is not None:
        facts["decision"] = result.decision
    kind, outcome = _outcome(result, tally)
    worst = result.shown().worst_text(record.response)
    if outcome == "passed":
        if result.verdict == "unclear":
            facts["note"] = f"{VERDICTS['unclear'][0]} {shortened(worst, 300)}"
        return Case(name, suite, "passed", properties=facts)
    lines = list(lines_of(result, record.response, question_text(record.prompt) or None))
    message = f"{kind}: {worst}"
    if outcome == "skipped":
        message = f"{kind}: {lines[1]}" if len(lines) > 1 else kind
    return Case(name, suite, outcome, kind, message, "\n".join(lines), facts)


def _outcome(result: Result, tally: Tally) -> tuple[str, Outcome]:
    gates = tally.gates
    line = cast("ResultSummary", result)  # `result` has all fields of a summary
    causes = list(gates.causes(line))
    if causes:
        return ", ".join(causes), "error" if causes == ["unchecked"] else "failure"
    if result.reason == NO_STATEMENT:
        return "no statement", "skipped"
    if gates.any:
        if gates.missed(line):
            return "missed answer", "error"
        if gates.unchecked(line):
            return "unchecked", "error" if tally.too_many_unchecked else "skipped"
        return result.verdict, "passed"
    if result.verdict == "unchecked":
        return "unchecked", "skipped"
    return result.verdict, "failure" if result.verdict in FLAGGED else "passed"


def findings(row: CiRow, tally: Tally) -> Iterator[SarifFinding]:
    """Yield the code scanning findings of a row.

    These are sentences with a negative verdict, an unchecked answer or one that fails a gate, and
    an invalid row.
    """
    if row.error is not None:
        yield SarifFinding(
            INVALID,
            row.error.error,
            row.place.file,
            row.place.line,
            (INVALID.id, row.place.file, str(row.place.row)),
            None,
            {"row": row.place.row},
        )
        return
    assert row.result is not None and row.record is not None
    result, shown = row.result, row.result.shown()
    found = False
    if result.verdict in VERDICTS and result.reason != NO_STATEMENT:
        judged = shown.sentences if result.verdict != "unchecked" else ()
        wrong: list[ShownPiece | None] = [piece for piece in judged if piece.verdict in VERDICTS]
        for piece in wrong or [None]:
            found = True
            yield _finding(row, piece, result.verdict)
    causes = list(tally.gates.causes(cast("ResultSummary", result)))
    if causes and not found:
        rule = SarifRule("gate", "The answer fails a gate.", "error")
        yield _finding(row, shown.worst, "gate", rule, ", ".join(causes))


def _finding(
    row: CiRow, piece: ShownPiece | None, verdict: str, rule: SarifRule | None = None, why: str = ""
) -> SarifFinding:
    assert row.result is not None and row.record is not None
    record, result = row.record, row.result
    judged = verdict if piece is None else piece.verdict
    about = "" if rule is None else rule.id
    if rule is None:
        description, level = VERDICTS[judged]
        by = (result.by or "").partition("(")[0]
        about = f"{judged}/{by}" if by else judged
        kind = None if piece is None else piece.kind
        if kind is None:
            rule = SarifRule(about, description, level)
        else:
            rule = SarifRule(f"{about}/{kind}", f"{description} Kind: {kind}.", level)
        why = judged if kind is None else f"{judged}, {kind}"
    text = record.response if piece is None else piece.text
    risk = result.risk if piece is None else piece.risk
    message = f'{why}{"" if risk is None else f", risk {risk:.2f}"}: "{shortened(text, 500)}"'
    if piece is not None and piece.evidence:
        item = piece.evidence[0]
        place = f"closest passage, {item.source}" if item.closest else item.source
        message += f'; {place}: "{shortened(item.text, 300)}"'
        if item.computed is not None:
            message += f"; computed: {shortened(item.computed, 300)}"
    if piece is None and result.reason is not None:
        message = f"{headline(result)} ({result.reason}): {shortened(text, 500)}"
    prompt = question_text(record.prompt) or ("" if result.id == result.row else f"id {result.id}")
    facts = {"id": result.id, "row": result.row, "risk": risk, "verdict": result.verdict}
    if piece is not None and piece.kind is not None:
        facts["kind"] = piece.kind
    return SarifFinding(
        rule, message, row.place.file, row.place.line, (about, prompt, text), risk, facts
    )
