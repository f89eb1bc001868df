"""A comparison for CI: what is a failure, what is shown, and where."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from ci_schemas import JUNIT, SARIF
from result_lines import line, write_lines

from veridical.diff import Diff, diff
from veridical.integrations.ci.changes import write_changes


def compared(folder: Path, bad: int, lost: int = 0) -> Diff:
    n = 20
    a = write_lines(folder / "a.jsonl", [line(i, text="Old.") for i in range(n)])
    verdicts = ["contradicted"] * bad + ["unchecked"] * lost + ["supported"] * (n - bad - lost)
    lines = [line(i, v, 0.9 if v == "contradicted" else 0.1) for i, v in enumerate(verdicts)]
    return diff(a, write_lines(folder / "b.jsonl", lines))


def cases(made: Diff) -> dict[str, tuple[str, str]]:
    out = io.StringIO()
    write_changes(made, junit=out)
    etree = pytest.importorskip("lxml.etree")
    etree.XMLSchema(etree.fromstring(JUNIT)).assertValid(etree.fromstring(out.getvalue().encode()))
    found = {}
    for case in ElementTree.fromstring(out.getvalue()).iter("testcase"):
        last = list(case)[-1]
        outcome = "passed" if last.tag == "properties" else last.tag
        found[str(case.get("name"))] = (outcome, last.text or "")
    return found


def test_a_worse_run_fails_with_its_answers(tmp_path: Path) -> None:
    found = cases(compared(tmp_path, 6))
    assert found["comparison"][0] == "failure" and "Worse" in found["comparison"][1]
    outcome, text = found["0"]
    assert outcome == "failure"
    assert "before: Old." in text and "now: It is so." in text and '"So it is."' in text
    assert len(found) == 7


def test_what_may_be_chance_is_skipped_not_failed(tmp_path: Path) -> None:
    found = cases(compared(tmp_path, 2, lost=1))
    assert found["comparison"][0] == "passed"
    assert [found[i][0] for i in "012"] == ["skipped"] * 3


def test_nothing_compared_is_an_error(tmp_path: Path) -> None:
    assert cases(compared(tmp_path, 0, lost=20))["comparison"][0] == "error"


def test_findings_are_at_the_line_of_the_second_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    assert write_changes(compared(tmp_path, 6), sarif=out) == 0
    content = json.loads(out.getvalue())
    jsonschema.Draft202012Validator(SARIF).validate(content)
    results = content["runs"][0]["results"]
    assert [r["ruleId"] for r in results] == ["worse/contradicted"] * 6
    place = results[2]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "b.jsonl"
    assert place["region"]["startLine"] == 3
