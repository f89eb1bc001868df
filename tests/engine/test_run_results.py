"""Results by place and id, the worst of them, what failed, and how they are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical import Evidence, UsageError
from veridical.api import reopen
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, scorer
from veridical.core.scores import Score
from veridical.engine.failures import Failures
from veridical.files.rowlog import RowLog


def rows(n: int) -> list[dict[str, Any]]:
    samples = ["a", "b", "c", "c", "c"]
    return [
        {"id": f"r{i}", "response": "a", "samples": samples[: 1 + i % 5]} if i % 4 else {"id": i}
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> veridical.Results:
    out = tmp_path_factory.mktemp("run") / "r"
    return veridical.check(rows(40), "exact_match, ngram", out=out)


def test_places_are_those_of_the_iteration(run: veridical.Results) -> None:
    every = list(run)
    assert [run[i] for i in range(len(run))] == every and len(every) == 30
    assert run[-1] == every[-1] and run[-30] == every[0]
    assert run[3:8] == every[3:8] and run[::-7] == every[::-7] and run[50:] == []
    for place in (30, -31):
        with pytest.raises(IndexError, match="there are 30"):
            run[place]
    with pytest.raises(TypeError):
        run[1.5]  # type: ignore[call-overload]


def test_an_id_names_its_result() -> None:
    data = [{"id": name, "response": "a"} for name in ("x", "y", "x", 0)]
    results = veridical.check(data, "exact_match")
    assert results["y"].row == 1
    for name, said in [("x", "2 results have the id"), ("z", "0 results have the id")]:
        with pytest.raises(KeyError, match=said):
            results[name]


def test_a_place_has_the_newest_line_and_its_decision(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("accept = 0.5\n")
    out = tmp_path / "r"
    veridical.check(rows(9), "exact_match", out=out)
    results = veridical.check(rows(9), "exact_match", out=out, policy=policy)
    every = list(results)
    assert [results[i] for i in range(len(every))] == every
    assert {r.decision for r in every} == {"accept", "review"}


def test_an_index_sees_that_the_log_has_grown(tmp_path: Path) -> None:
    log = RowLog(tmp_path / "log.jsonl", "key", "result")
    for row in (2, 0, 1):
        log.append(row, json.dumps({"row": row}).encode())
    index = log.index()
    assert list(index.rows) == [0, 1, 2] and json.loads(index.line(1)) == {"row": 1}
    assert index.find(2) == b'{"row": 2}' and index.find(9) is None and index.current
    log.restart()
    log.append(1, b'{"row": 1, "new": true}')
    assert not index.current
    newer = log.index()
    assert newer.line(1) == b'{"row": 1, "new": true}' and len(newer) == 3
    log.close()
    path = log.files()[-1]
    path.write_bytes(path.read_bytes().replace(b"true", b"null"))
    with pytest.raises(UsageError, match="changed while it was read"):
        newer.line(1)


def test_a_run_that_nothing_vouches_for_has_places_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"response": "a", "samples": ["a"]}\n{"response": "b", "samples": ["a"]}\n')
    out = tmp_path / "r"
    before = list(veridical.check(path, "exact_match", out=out))
    log = out / "results.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    compact = [
        json.dumps({**x, "seal": "0" * len(x["seal"])}, separators=(",", ":")) for x in lines
    ]
    log.write_text("".join(line + "\n" for line in compact))
    results = reopen(out)
    assert [r.risk for r in results] == [r.risk for r in before]
    assert [results[i].risk for i in range(2)] == [r.risk for r in before]


def test_the_worst_come_first(run: veridical.Results) -> None:
    every = [r for r in run if r.risk is not None]
    order = sorted(every, key=lambda r: (-(r.risk or 0), r.row))
    assert run.worst(7) == order[:7] and len(run.worst()) == 10 and run.worst(0) == []


def test_failures_are_grouped_by_cause(tmp_path: Path) -> None:
    @scorer("fails_sometimes", level="response", needs=set(), source="a test", cost="free")
    async def fails_sometimes(record: Record, evidence: Evidence) -> Score:
        if record.response == "b":
            raise ValueError("a cause\x1b[31m")
        return Score.of(0.5)

    try:
        data = [{"response": c} for c in "abab"] + [{"response": 1}] + [{"response": "b"}]
        results = veridical.check(data, "fails_sometimes")
        score, row = results.failures()
    finally:
        del REGISTRY._scorers["fails_sometimes"]
    assert (score.kind, score.name, score.count, score.row) == ("score", "fails_sometimes", 3, 1)
    assert "a cause" in score.cause and score.example.startswith("row 1: fails_sometimes: ")
    assert (row.kind, row.name, row.count, row.row) == ("row", "response", 1, 4)
    assert "must be text, got 1" in row.example
    told = repr(results).splitlines()
    assert told[0] == "None of the 5 answers could be checked."
    assert told[1].startswith("  3 scores failed: fails_sometimes: ") and told[1].isprintable()
    assert told[2].startswith("  1 row failed: response: must be text")


def test_very_many_causes_are_bounded() -> None:
    failures = Failures()
    for i in range(500):
        failures.add("score", "x", "cause " + "i" * i, i, f"row {i}")
    ranked = failures.ranked()
    assert (ranked[0].cause, ranked[0].count, len(ranked)) == ("other causes", 300, 201)


def test_causes_that_differ_in_numbers_and_quotations_alone_are_one() -> None:
    failures = Failures()
    for i in range(3):
        failures.add("row", "response", f"must be text, got {i} in '{i}'", i, f"row {i}")
    failures.add("row", "prompt", "must be text, got 7 in 'x'", 9, "row 9")
    (most, other) = failures.ranked()
    assert (most.cause, most.count, most.row) == ("must be text, got 0 in '0'", 3, 0)
    assert (other.name, other.count) == ("prompt", 1)


def test_results_tell_the_verdicts_and_their_place(run: veridical.Results) -> None:
    told = repr(run).splitlines()
    assert told[0].startswith("None of the 30 answers could be checked because only words were")
    assert told[-1] == f"  in {run.path}" and "10 rows failed: response: is missing" in told[2]
    one = veridical.check([{"response": "a", "samples": ["a"]}], "cosine")
    assert repr(one).startswith("The only answer agrees with the model's other answers")


def test_results_whose_folder_is_gone_are_told_without_an_error(tmp_path: Path) -> None:
    import shutil

    results = veridical.check(rows(5), "exact_match", out=tmp_path / "r")
    shutil.rmtree(tmp_path / "r")
    assert "r" in repr(results)
