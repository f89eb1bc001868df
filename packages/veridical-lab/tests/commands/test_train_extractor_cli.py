"""``veridical train extractor`` as a command, from an LLM's triplets to a score."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import triplet_data
from commands import run_command


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=cwd)


def test_train_then_score(tmp_path: Path) -> None:
    rows = triplet_data.rows(60)
    rows += [
        {"prompt": "What?", "response": "I do not know.", "claims": [["It", "is", "unknown"]]},
        {"prompt": "Who?", "response": "Ann sang.", "claims": []},
        {"prompt": "Who?", "response": "Ann sang.", "claims": ["Ann sang."]},
        {"prompt": "Who?", "response": "Ann sang.", "claims": [["Ann", "sang"]]},
        {"prompt": "Who?", "response": "Ann sang a song.", "claims": [["Bob", "sang", "a song"]]},
    ]
    triplet_data.write(tmp_path / "answers.jsonl", rows)
    done = run(
        *("train", "extractor", "answers.jsonl", "--out", "extractor.json", "--json", "-"),
        *("--held-out", "0.3", "--bootstrap", "200"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["triplets"], told["aligned"]) == (181, 180)
    assert told["n_train"] + told["n_held_out"] == 61
    assert list(told["unaligned"].values()) == [1]
    reasons = set(told["missing"])
    assert {
        "no claims",
        "its claims are statements, not triplets",
        "the response declines to answer",
    } < reasons
    (bad,) = [r for r in reasons if "answers.jsonl:64" in r]
    assert "row 63" in bad and "'claims'" in bad
    methods = {r["method"] for r in told["rows"]}
    assert methods == {
        *("trained", "triplets", "clauses"),
        *("trained - triplets", "trained - clauses"),
    }
    for reason in reasons:
        assert reason in done.stderr.replace("\n", " ") or reason == bad
    for row in told["rows"]:
        assert -1 <= row["low"] <= row["value"] + 1e-9 <= 1 + 1e-9

    triplet_data.write(
        tmp_path / "new.jsonl",
        [{"response": rows[3]["response"], "contexts": ["Dan Frost was born in Oslo."]}],
    )
    scored = run(
        *("check", "new.jsonl", "--json", "-"),
        *("--scorers", "claims(extractor='trained|extractor.json')"),
        cwd=tmp_path,
    )
    assert scored.returncode == 0, scored.stderr
    (score,) = json.loads(scored.stdout)["scores"].values()
    assert score["status"] == "scored"
    assert any(c["triplet"] for c in score["raw"]["claims"])


def test_the_bench_takes_it(tmp_path: Path) -> None:
    triplet_data.write(tmp_path / "answers.jsonl", triplet_data.rows(60))
    done = run(
        *("train", "extractor", "answers.jsonl", "--out", "x.safetensors", "--bootstrap", "0"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    bench = run(
        *("bench", "extraction", "--data", "answers.jsonl", "--limit", "8", "--json", "-"),
        *("--scorers", "clauses, trained|x.safetensors"),
        cwd=tmp_path,
    )
    assert bench.returncode == 0, bench.stderr
    scorers = {r["scorer"] for r in json.loads(bench.stdout)["rows"]}
    assert "clauses" in scorers and any(s.startswith("trained|x.safetensors@") for s in scorers)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], (), "no response with triplets in a.jsonl (no rows)"),
        ([{"response": "A b."}], (), "no response with triplets"),
        ([{"response": "A b.", "claims": ["A b."]}], (), "statements, not triplets"),
        ([{"response": "A b.", "claims": [["A", "is"]]}], (), "a.jsonl:1: row 0: field 'claims'"),
        (triplet_data.rows(5), (), "too little to train on: the first half has"),
        (triplet_data.rows(5), ("--out", "x.pkl"), "must end in .json or .safetensors"),
        (triplet_data.rows(5), ("--held-out", "0.9"), "held-out"),
        (triplet_data.rows(5), ("--token-encoder", "no/such/model"), "no/such/model"),
        (triplet_data.rows(5), ("--out", "a.jsonl"), "must end in"),
        (triplet_data.rows(5), ("--json", "x.json"), "x.json"),
    ],
)
def test_wrong_input_is_a_clear_error(rows, options, message, tmp_path: Path) -> None:
    triplet_data.write(tmp_path / "a.jsonl", rows)
    out = () if "--out" in options else ("--out", "x.json")
    done = run("train", "extractor", "a.jsonl", *out, *options, cwd=tmp_path)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert not (tmp_path / "x.json").exists()


def test_an_absent_file(tmp_path: Path) -> None:
    done = run("train", "extractor", "absent.jsonl", "--out", "x.json", cwd=tmp_path)
    assert done.returncode == 1 and "absent.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.data
def test_claude_2s_triplets(tmp_path: Path, shared_data: Path) -> None:
    """On prompts held out it is nearer to Claude 2's claims than the rules are.

    Of the answers of two models; ``VERIDICAL_TRIPLETS=all`` takes those of all seven, whose figures
    ``docs/evidence/claim-methods.md`` has, and four times as long.
    """
    data, aligned, trained, clauses, gain = shared_data / "refchecker", 6974, 0.407, 0.357, 0.068
    if os.environ.get("VERIDICAL_TRIPLETS") != "all":
        (tmp_path / "some").mkdir()
        for name in ("claims.jsonl", "responses.jsonl"):
            lines = (data / name).read_text("utf-8").splitlines(keepends=True)
            some = [x for x in lines if json.loads(x)["model"] in ("chatgpt", "gpt4")]
            (tmp_path / "some" / name).write_text("".join(some), "utf-8")
        data, aligned, trained, clauses, gain = tmp_path / "some", 1661, 0.449, 0.407, 0.036
    done = run("train", "extractor", data, "--out", "x.json", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["aligned"] == aligned
    figures = {(r["method"], r["metric"]): r for r in told["rows"]}
    assert figures["trained", "f1"]["value"] == pytest.approx(trained, abs=0.02)
    assert figures["clauses", "f1"]["value"] == pytest.approx(clauses, abs=0.001)
    assert figures["trained - triplets", "f1"]["value"] == pytest.approx(gain, abs=0.02)
    assert figures["trained - triplets", "f1"]["low"] > (0.02 if aligned == 6974 else -0.05)
