"""CI outputs of a comparison: answers that got worse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from veridical.diff.result import Diff, Flip
from veridical.diff.view import outcome_of, said
from veridical.integrations.ci.junit import Case, Outcome, write_junit
from veridical.integrations.ci.rows import VERDICTS
from veridical.integrations.ci.sarif import SarifFinding, SarifRule, write_sarif
from veridical.integrations.words import shortened

_SUITE = "veridical.diff"


def write_changes(diff: Diff, *, junit: IO[str] | None = None, sarif: IO[str] | None = None) -> int:
    """Write the CI outputs of a comparison.

    JUnit has a test case for the comparison, and one for each changed answer. Answers that got
    worse are failures if the comparison failed, and skipped if the rise may be chance. SARIF has a
    finding for each answer that got worse, at the line of its row.

    Returns:
        The number of findings that were left out.
    """
    if junit is not None:
        facts = {"a": diff.a.path, "b": diff.b.path, "pairs": str(diff.n_pairs)}
        write_junit(junit, "veridical diff", _cases(diff), facts)
    return 0 if sarif is None else write_sarif(sarif, _findings(diff))


def _cases(diff: Diff) -> Iterator[Case]:
    answer, gate = said(diff), diff.gate
    text = "\n".join([answer.sentence, *answer.meaning, *diff.notes])
    if gate is None:
        yield Case("comparison", _SUITE, "error", "nothing compared", answer.sentence, text)
    else:
        facts = {"difference": f"{gate.difference:.6g}", "p": f"{gate.p:.6g}"}
        outcome: Outcome = "failure" if gate.worse else "passed"
        yield Case(
            "comparison",
            _SUITE,
            outcome,
            "worse",
            answer.sentence,
            text,
            facts,
        )
    for flip in diff.flips:
        yield _case(flip, failed=gate is not None and gate.worse)
    hidden = sum(diff.n_flips.values()) - len(diff.flips)
    if hidden:
        text = f"{hidden} more answers changed"
        yield Case("further answers", _SUITE, "skipped", "left out", text, text)


def _case(flip: Flip, *, failed: bool) -> Case:
    facts = {"direction": flip.direction, "file": flip.b.file, "row": str(flip.b.row)}
    if flip.b.risk is not None:
        facts = {"risk": f"{flip.b.risk:.6g}", **facts}
    change = f"{outcome_of(flip.a)} -> {outcome_of(flip.b)}"
    lost = flip.b.verdict == "unchecked" and flip.b.reason != "no_statement"
    if flip.direction != "worse" and not lost:
        return Case(flip.id, _SUITE, "passed", properties=facts)
    lines = [change]
    if flip.question:
        lines.append(f"question: {shortened(flip.question)}")
    lines += [f"before: {shortened(flip.a.answer)}", f"now: {shortened(flip.b.answer)}"]
    if flip.b.sentence is not None:
        lines.append(f"worst sentence: {shortened(flip.b.sentence)}")
    lines += [f'{e.kind} {e.index + 1}: "{shortened(e.text)}"' for e in flip.b.evidence]
    outcome: Outcome = "failure" if failed and flip.direction == "worse" else "skipped"
    return Case(
        flip.id,
        _SUITE,
        outcome,
        flip.direction,
        change,
        "\n".join(lines),
        facts,
    )


def _findings(diff: Diff) -> Iterator[SarifFinding]:
    for flip in diff.flips:
        if flip.direction != "worse":
            continue
        now = flip.b
        level = VERDICTS.get(now.verdict, ("", "error"))[1]
        rule = SarifRule(f"worse/{now.verdict}", f"The answer got worse: {now.verdict} now.", level)
        text = now.sentence or now.answer
        message = f'{outcome_of(flip.a)} before, {outcome_of(now)} now: "{shortened(text, 500)}"'
        if now.evidence:
            item = now.evidence[0]
            message += f'; {item.kind} {item.index + 1}: "{shortened(item.text, 300)}"'
        facts = {"id": flip.id, "row": now.row, "risk": now.risk, "risk_before": flip.a.risk}
        about = (rule.id, flip.question or f"id {flip.id}", text)
        yield SarifFinding(rule, message, now.file, now.line, about, now.risk, facts)
