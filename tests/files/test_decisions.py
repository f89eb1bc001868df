"""Decisions in whole runs: on every line, in the summary, again with another policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from places import ROOT

import veridical
from veridical.api import reopen
from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.errors import UsageError
from veridical.files.decisions import DECISIONS, decided, decisions_log
from veridical.files.rundir import RunDirectory

ROWS: list[dict[str, Any]] = [
    {"id": 1, "task": "qa", "response": "A", "samples": ["A", "A", "A", "A"]},
    {"id": 2, "task": "qa", "response": "A", "samples": ["A", "A", "A", "B"]},
    {"id": 3, "task": "chat", "response": "A", "samples": ["A", "A", "A", "B"]},
    {"id": 4, "response": "A", "samples": ["B", "C", "D", "E"]},
    {"id": 5, "response": "A"},
    {"id": 'x","decision":null,"scores":{}', "response": "A", "samples": ["A", "B"]},
]
POLICY = 'accept = 0.1\nreject = 0.9\nby = "task"\n[strata.chat]\naccept = 0.25\n'


def write(folder: Path, text: str, name: str = "policy.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_every_line_has_its_decision(tmp_path: Path) -> None:
    policy = write(tmp_path, POLICY)
    results = veridical.check(ROWS, "exact_match", policy=policy, out=tmp_path / "run")
    # shares of differing samples: 0, 1/4, 1/4, 1, none, 1/2
    found = [(r.id, r.decision, r.why) for r in results]
    assert found == [
        (1, "accept", ("risk at most 0.1",)),
        (2, "review", ("risk over 0.1",)),
        (3, "accept", ("risk at most 0.25 (task = chat)",)),
        (4, "reject", ("risk at least 0.9",)),
        (5, "review", ("risk is null",)),
        (ROWS[5]["id"], "review", ("risk over 0.1",)),
    ]
    lines = [json.loads(line) for line in results.lines()]
    assert [x["decision"] for x in lines] == [d for _, d, _ in found]
    assert [list(x) for x in lines] == [
        ["id", "row", "risk", "by", "verdict", "reason", "decision", "why", "scores"]
    ] * len(ROWS)
    summary = results.summary()
    assert summary.decisions == {"accept": 2, "review": 3, "reject": 1}
    assert summary.as_dict()["causes"][0] == ["review", "risk over 0.1", 2]
    frame = results.to_arrow()
    assert frame["decision"].to_pylist() == [d for _, d, _ in found]


def test_results_are_the_same_with_any_policy_and_with_none(tmp_path: Path) -> None:
    out = tmp_path / "run"
    veridical.check(ROWS, "exact_match", out=out)
    stored = (out / "results.jsonl").read_bytes()
    fields: list[Any] = []
    for text in (None, POLICY, "accept = 1", None):
        policy = None if text is None else write(tmp_path, text)
        results = veridical.check(ROWS, "exact_match", out=out, policy=policy)
        fields.append([r.decision for r in results])
        assert (out / "results.jsonl").read_bytes() == stored
        assert (out / DECISIONS).exists() == (text is not None)
    assert fields[0] == fields[3] == [None] * len(ROWS)
    assert fields[2] == ["accept"] * 4 + ["review", "accept"]
    assert results.summary().decisions is None
    assert results.summary().as_dict()["decisions"] is None


def test_the_report_of_a_run_made_again_has_its_decisions(tmp_path: Path) -> None:
    source = tmp_path / "answers.jsonl"
    source.write_text("".join(json.dumps(r) + "\n" for r in ROWS), encoding="utf-8")
    policy = write(tmp_path, POLICY)
    veridical.check(source, "exact_match", policy=policy, out=tmp_path / "run")
    again = reopen(tmp_path / "run")
    assert again.summary().decisions == {"accept": 2, "review": 3, "reject": 1}
    page = again.report(tmp_path / "r.html").read_text("utf-8")
    assert "Decisions" in page and "risk over 0.1" in page


def test_selected_and_repaired_answers_are_decided_on_too(tmp_path: Path) -> None:
    rows = [
        {
            "response": "The tower is 70 m tall. It opened in 1889.",
            "samples": ["The tower is 57 m tall."],
            "contexts": "The tower is 57 m tall. It opened in 1889.",
            "task": "a",
        },
    ]
    rows.append({**rows[0], "samples": []})
    policy = write(tmp_path, 'accept = 0.2\nreject = 0.6\nby = "task"\n[strata.b]\naccept = 0')
    scorers = "support(against=contexts)"
    results = veridical.check(rows, scorers, policy=policy, select="best", repair="drop")
    made, alone = results
    assert made.selected is not None and made.repair is not None
    assert made.decision != "accept"
    assert (made.selected.decision, made.repair.decision) == ("accept", "accept")
    assert made.repair.of == "selected" and made.repair.text == "The tower is 57 m tall."
    assert alone.repair is not None
    assert (alone.repair.text, alone.repair.decision) == ("It opened in 1889.", "accept")
    summary = results.summary()
    assert summary.repairs == {"changed": 1, "unchanged": 1}


def test_lines_match_the_schema_with_all_of_it(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    rows = [{**r, "contexts": "A is so. B is not."} for r in ROWS]
    policy = write(tmp_path, POLICY)
    scorers = "exact_match, support(against=contexts)"
    for line in veridical.check(rows, scorers, policy=policy, select="best", repair="drop").lines():
        validator.validate(json.loads(line))


def test_a_policy_that_does_not_fit_is_refused_before_the_run(tmp_path: Path) -> None:
    for text, message in (
        ("acept = 1", "unknown field 'acept'"),
        ('on = "cosine"\naccept = 1', "on: the run does not score it"),
    ):
        with pytest.raises(UsageError, match=message):
            veridical.check(ROWS, "exact_match", policy=write(tmp_path, text), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_decisions_of_rows_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run", {"a": 1}, {})
    for row in range(5):
        line = Result.line(row, row, 0.5, "x", ("consistent", None), {})
        directory.write(Record(row=row, response="an answer"), line)
    directory.close()
    log = decisions_log(tmp_path / "run", directory.key)
    for told in ({"row": 1, "decision": "accept"}, {"row": 3, "decision": "reject"}):
        log.append(told["row"], json.dumps(told, separators=(",", ":")).encode())
    log.close()
    found = [json.loads(told.line) for told in decided(directory.stored(), log)]
    assert [x["row"] for x in found] == list(range(5))
    assert [x["decision"] for x in found] == [None, "accept", None, "reject", None]


@pytest.mark.parametrize("kept", [0, 1, 7])
def test_what_a_killed_process_left_is_taken_up(tmp_path: Path, kept: int) -> None:
    rows = [
        {
            "response": f"It is {i + 20} m tall. It is in Mali.",
            "samples": [f"It is {i + n} m tall. It is in Mali." for n in (40, 40, 60)],
            "contexts": f"It is {i % 7} m tall and in Mali.",
        }
        for i in range(20)
    ]
    settings: dict[str, Any] = {
        "policy": write(tmp_path, "accept = 0.3\nreject = 0.7"),
        "select": "best",
        "repair": "drop",
        "out": tmp_path / "run",
    }
    scorers = "ngram_presence, support(against=contexts)"
    whole = list(veridical.check(rows, scorers, **settings).lines())
    run = tmp_path / "run"
    (run / DECISIONS).unlink()
    for file in run.glob("*/results.jsonl"):
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[:kept]) + lines[kept][:9])  # one is half written
    for draft in ("repairs.jsonl", "repairs.jsonl.tmp"):
        for folder in run.glob("repair-*"):
            (folder / draft).write_text('{"how":', "utf-8")
    assert list(veridical.check(rows, scorers, **settings).lines()) == whole


def test_retried_records_are_selected_and_repaired_anew(tmp_path: Path) -> None:
    from veridical.core.registry import REGISTRY, scorer
    from veridical.core.scores import Score

    broken = {"yes": True}

    @scorer("flaky", level="response", source="")
    async def flaky(record: Any, evidence: Any) -> Score:
        if broken["yes"]:
            raise ValueError("not now")
        return Score.of(0.9 if record.response == "A" else 0.1)

    try:
        settings: dict[str, Any] = {
            "policy": write(
                tmp_path, 'accept = 0.3\n[[rules]]\nstatus = "failed"\nthen = "reject"'
            ),
            "select": "best",
            "out": tmp_path / "run",
            "processes": 0,
        }
        first = list(veridical.check(ROWS[3:4], "flaky", **settings))
        assert first[0].decision == "reject" and first[0].selected is not None
        assert first[0].selected.kind is None
        broken["yes"] = False
        (again,) = veridical.check(ROWS[3:4], "flaky", retry_failed=True, **settings)
        assert again.decision == "review" and again.selected is not None
        assert (again.selected.kind, again.selected.text) == ("sample", "B")
        assert again.selected.decision == "accept"
    finally:
        REGISTRY._scorers.pop("flaky", None)
