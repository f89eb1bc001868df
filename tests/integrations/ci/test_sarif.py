"""SARIF 2.1.0: valid, capped, and with fingerprints that survive another run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ci_schemas import SARIF
from hostile import TEXTS

from veridical.integrations.ci.sarif import MOST, SarifFinding, SarifRule, write_sarif

BAD = SarifRule("contradicted/ensemble", "A source says otherwise.", "error")
DOUBT = SarifRule("unsupported/ensemble", "No source says so.", "warning")


def finding(
    rule: SarifRule = BAD, line: int | None = 3, text: str = "x", risk: float = 0.5
) -> SarifFinding:
    return SarifFinding(rule, text, "answers.jsonl", line, ("q", text), risk, {"id": text})


def written(*found: SarifFinding) -> tuple[int, dict[str, Any]]:
    out = io.StringIO()
    omitted = write_sarif(out, found)
    content = json.loads(out.getvalue())
    jsonschema.Draft202012Validator(SARIF).validate(content)
    return omitted, content["runs"][0]


def test_a_finding_is_at_the_line_of_its_row() -> None:
    _, run = written(finding(), finding(DOUBT, 7), finding(line=9))
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == [BAD.id, DOUBT.id]
    assert [r["ruleIndex"] for r in run["results"]] == [0, 1, 0]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "answers.jsonl", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }


def test_where_there_are_no_lines_it_is_the_first() -> None:
    _, run = written(finding(line=None))
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_the_same_finding_has_the_same_fingerprint() -> None:
    """Whatever its line, its risk and the rows before it."""
    _, one = written(finding(line=3, risk=0.5))
    _, other = written(finding(text="y"), finding(line=40, risk=0.7))
    assert one["results"][0]["partialFingerprints"] == other["results"][1]["partialFingerprints"]
    prints = [r["partialFingerprints"]["promptAndText/v1"] for r in other["results"]]
    assert len(set(prints)) == 2


def test_of_too_many_the_worst_are_listed_and_the_rest_counted() -> None:
    mild = [finding(DOUBT, i + 1, f"{i}", risk=i / 6_000) for i in range(MOST)]
    omitted, run = written(*mild, *(finding(line=i + 1, text=f"b{i}") for i in range(20)))
    assert omitted == 20 and len(run["results"]) == MOST
    assert run["properties"] == {"omitted": 20}
    told = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert told.startswith("20 findings are left out")
    assert sum(r["level"] == "error" for r in run["results"]) == 20
    assert run["results"][0]["properties"]["id"] == "20"  # the mildest are left out


def test_hostile_text_makes_no_link(tmp_path: Path) -> None:
    texts = [t or " " for t in TEXTS] + ["[click](https://evil.example)"]
    _, run = written(*(finding(text=t) for t in texts))
    assert not any("](" in r["message"]["text"] for r in run["results"])


def test_a_file_elsewhere_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    outside = finding()._replace(file="../a b.jsonl")
    _, run = written(outside)
    (place,) = run["results"][0]["locations"]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///") and uri.endswith("/a%20b.jsonl")
