"""``veridical sample`` as a user runs it, and kills it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commands import run_command
from places import HELPERS

SLOW = HELPERS / "slow_sampling.py"
SCRIPT = [
    {"contains": "capital", "text": ["Paris", "Lyon", "Paris"]},
    {"contains": "number", "text": "42"},
    {"text": "I do not know."},
]
PROMPTS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "the capital?", "contexts": ["France"], "reference": "Paris"},
    {"id": "b", "prompt": "a number?"},
    {"id": "c", "prompt": ""},
    {"id": "d", "prompt": [{"role": "user", "content": "who?"}]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(SCRIPT))
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(p) + "\n" for p in PROMPTS))
    return tmp_path


def run(
    folder: Path, *arguments: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder, stdin=stdin, env={"COLUMNS": "160"})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in path.read_text("utf-8").splitlines()]


def test_end_to_end_and_refusals(folder: Path) -> None:
    command = ["sample", "p.jsonl", "--llm", "fake:s.json", "--n", "3", "--out", "a.jsonl"]
    done = run(folder, *command)
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" and "3 of 4 rows are answered" in done.stderr
    records = lines(folder / "a.jsonl")
    assert [r["id"] for r in records] == ["a", "b", "d"]
    assert records[0]["response"] == "Paris"
    assert [s["text"] for s in records[0]["samples"]] == ["Paris", "Lyon", "Paris"]
    assert records[0]["contexts"] == ["France"] and records[0]["reference"] == ["Paris"]
    assert records[0]["meta"]["sampling"]["llm"] == "fake:s.json"
    (error,) = lines(folder / "a.jsonl.errors.jsonl")
    assert (error["row"], error["line"], error["field"]) == (2, 3, "prompt")
    before = (folder / "a.jsonl").read_bytes()
    again = run(folder, *command, "--min-coverage", "0.5")
    assert again.returncode == 0 and "3 of them before" in again.stderr
    assert (folder / "a.jsonl").read_bytes() == before
    other = run(folder, *command[:-4], "--n", "2", "--out", "a.jsonl")
    assert other.returncode == 1 and "n (file: 3, this run: 2)" in other.stderr
    mine = run(folder, *command[:-1], "p.jsonl")
    assert mine.returncode == 1 and "it is an input" in mine.stderr
    assert (folder / "a.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--out", "a.jsonl"], "--llm"),
        (["--llm", "fake:s.json", "--out", "a.jsonl", "--decoding", "beam:3"], "beam search"),
        (["--llm", "fake:s.json", "--out", "a.jsonl", "--n", "9:3"], "LEAST:MOST"),
        (["--llm", "fake:s.json", "--out", "a.jsonl", "--table", "t.csv"], "--grid"),
        (["--llm", "fake:none.json", "--out", "a.jsonl"], "none.json"),
    ],
)
def test_usage(folder: Path, arguments: list[str], why: str) -> None:
    done = run(folder, "sample", "p.jsonl", *arguments)
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_check_samples_and_scores_in_one_go(folder: Path) -> None:
    done = run(
        folder,
        *["check", "p.jsonl", "--llm", "fake:s.json", "--samples", "3", "--json", "-"],
        *["--scorers", "exact_match, rouge_l", "--min-coverage", "0", "--processes", "0"],
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(x) for x in done.stdout.splitlines()]
    assert [f["id"] for f in found] == ["a", "b", "d"]
    assert found[0]["scores"]["exact_match"]["raw"] == pytest.approx(2 / 3)
    assert found[0]["scores"]["rouge_l"]["raw"] == 1.0


def test_check_draws_as_many_samples_as_the_decision_needs(folder: Path) -> None:
    command = ["check", "p.jsonl", "--llm", "fake:s.json", "--scorers", "exact_match"]
    command += ["--min-coverage", "0", "--processes", "0", "--store", "none"]
    done = run(folder, *command, "--n", "2:8", "--alpha", "0.2", "--out", "run")
    assert done.returncode == 0, done.stderr
    records = lines(folder / "run" / "answers.jsonl")
    drawn = {r["id"]: len(r["samples"]) for r in records}
    assert drawn["b"] == drawn["d"] < 8, "they all agree"
    assert records[0]["meta"]["sampling"]["adaptive"]["most"] == 8
    saved = 24 - sum(drawn.values())
    assert f"adaptive sampling drew {24 - saved} samples and saved {saved}" in done.stderr
    sampled = run(
        folder,
        *["sample", "p.jsonl", "--llm", "fake:s.json", "--n", "2:8", "--alpha", "0.2"],
        *["--store", "none", "--min-coverage", "0", "--out", "a.jsonl"],
    )
    assert f"adaptive sampling drew {24 - saved} samples and saved {saved}" in sampled.stderr
    few = run(folder, *command, "--n", "4", "--samples", "2", "--out", "few")
    assert few.returncode == 0, few.stderr
    assert [len(r["samples"]) for r in lines(folder / "few" / "answers.jsonl")] == [4] * 3
    warm = run(folder, *command, "--temperature", "0.5", "--samples", "2", "--out", "warm")
    assert warm.returncode == 0, warm.stderr
    told = [r["meta"]["sampling"] for r in lines(folder / "warm" / "answers.jsonl")]
    assert [(t["n"], t["temperature"]) for t in told] == [(2, 0.5)] * 3


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["p.jsonl", "--n", "3"], "--llm NAME"),
        (["p.jsonl", "--temperature", "0.5"], "--llm NAME"),
        (["own.jsonl", "--n", "3", "--llm", "fake:s.json"], "every record has a response"),
        (["p.jsonl", "--n", "x", "--llm", "fake:s.json"], "LEAST:MOST"),
        (["p.jsonl", "--n", "3", "--alpha", "0.1", "--llm", "fake:s.json"], "LEAST:MOST"),
        (["p.jsonl", "--n", "3:9", "--adaptive", "x", "--llm", "fake:s.json"], "THRESHOLD"),
        (["p.jsonl", "--n", "3:9", "--adaptive", "cosine:0.5", "--llm", "fake:s.json"], "model"),
        (["p.jsonl", "--temperature", "0", "--llm", "fake:s.json"], "temperature 0"),
    ],
)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_usage_of_sampling_in_check(
    folder: Path, command: str, arguments: list[str], why: str
) -> None:
    (folder / "own.jsonl").write_text('{"prompt": "a", "response": "b"}\n')
    done = run(folder, command, *arguments, "--processes", "0")
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not (folder / ".veridical" / "runs").exists()


def test_check_asks_failed_prompts_again(folder: Path) -> None:
    command = ["check", "p.jsonl", "--llm", "fake:s.json", "--samples", "2", "--json", "-"]
    command += ["--scorers", "exact_match", "--processes", "0", "--min-coverage", "0"]
    (folder / "s.json").write_text(json.dumps(SCRIPT[:2]))  # has no answer to "who?"
    poor = run(folder, *command, "--out", "run")
    assert [json.loads(x)["id"] for x in poor.stdout.splitlines()] == ["a", "b"]
    assert "1 prompt has no answer" in poor.stderr and "1 row is no valid record" in poor.stderr
    (folder / "s.json").write_text(json.dumps(SCRIPT))
    later = run(folder, *command, "--out", "run")
    assert later.stdout == poor.stdout
    again = run(folder, *command, "--out", "run", "--retry-failed")
    whole = run(folder, *command, "--out", "whole", "--store", "none")
    assert again.stdout == whole.stdout and len(whole.stdout.splitlines()) == 3
    assert "1 row is no valid record" in again.stderr
    assert (folder / "run/errors.jsonl").read_text() == (folder / "whole/errors.jsonl").read_text()


def test_grid_and_table_from_one_command(folder: Path) -> None:
    grid = ['decodings = ["greedy", "ancestral"]']
    for name, tuning in [("tiny-1B", "base"), ("tiny-1B-it", "instruct")]:
        grid.append(
            f'[[model]]\nname = "{name}"\nllm = "fake:s.json"\nsize = 1\ntuning = "{tuning}"'
        )
    (folder / "g.toml").write_text("\n".join(grid))
    command = ["sample", "p.jsonl", "--grid", "g.toml", "--out", "a.jsonl", "--table", "t.csv"]
    done = run(folder, *command, "--scorers", "rouge_l", "--min-coverage", "0.5")
    assert done.returncode == 0, done.stderr
    records = lines(folder / "a.jsonl")
    assert [r["meta"]["sampling"]["row"] for r in records] == [
        4 * leg + row for leg in range(4) for row in (0, 1, 3)
    ]
    told = [(r["meta"]["model"], r["meta"]["decoding"], r["meta"]["item"]) for r in records]
    assert told[0] == ("tiny-1B", "greedy", "a") and told[-1] == ("tiny-1B-it", "ancestral", "d")
    assert records[3]["meta"]["sampling"]["response"] == "first" and records[3]["samples"] == []
    table = (folder / "t.csv").read_text().splitlines()
    assert table[0] == "dataset,model,family,size,tuning,decoding,item,scorer,value"
    assert (
        len(table) == 1 + 4 and table[1] == "all,tiny-1B,tiny,1.0,pretrained,greedy,a,rouge_l,1.0"
    )


@pytest.mark.parametrize(
    ("llm", "why"),
    [
        ("openai:m", "OPENAI_API_KEY"),
        ("local:none.gguf", "none.gguf"),
        ("local:none", "unknown local model 'none'"),
        ("torch:none.gguf", "none.gguf"),
        ("torch:./none", "no such model folder"),
        ("fake:none.json", "none.json"),
    ],
)
def test_a_grids_last_model_is_refused_before_its_first_is_asked(
    llm: str, why: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "g.toml").write_text(
        "".join(
            f'[[model]]\nname = "{name}-1B"\nllm = "{spec}"\nsize = 1\n'
            f'tuning = "base"\ndecodings = ["greedy"]\n'
            for name, spec in [("a", "fake:s.json"), ("b", llm)]
        )
    )
    command = ["sample", "p.jsonl", "--grid", "g.toml", "--out", "a.jsonl"]
    done = run(folder, *command)
    assert done.returncode == 1 and "stopped: " in done.stderr and why in done.stderr
    assert lines(folder / "a.jsonl") == []


def test_a_grid_that_is_answered_needs_its_models_no_more(folder: Path) -> None:
    (folder / "g.toml").write_text(
        '[[model]]\nname = "a-1B"\nllm = "fake:s.json"\nsize = 1\ntuning = "base"\n'
    )
    command = ["sample", "p.jsonl", "--grid", "g.toml", "--out", "a.jsonl"]
    command += ["--min-coverage", "0.5"]
    assert run(folder, *command).returncode == 1  # beam search is not the fake's
    (folder / "g.toml").write_text(
        (folder / "g.toml").read_text() + 'decodings = ["greedy", "ancestral"]\n'
    )
    assert run(folder, *command).returncode == 0
    (folder / "s.json").unlink()
    again = run(folder, *command)
    assert again.returncode == 0 and "6 of them before" in again.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_again_and_again_it_asks_nothing_answered_twice(tmp_path: Path) -> None:
    rng = random.Random(5)
    (tmp_path / "s.json").write_text('[{"text": "x"}]')
    n, samples = 60, 3
    rows = [{"id": f"é{i}", "prompt": f"question {i}"} for i in range(n)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    command = f"sample p.jsonl --llm fake:s.json --n {samples} --store store --out".split()

    def start(log: str, out: str, seconds: str) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, str(SLOW), log, seconds, *command, out]
        return subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE)

    kills = 0
    while True:
        log = tmp_path / f"life{kills}.log"
        child = start(log.name, "broken.jsonl", "0.4")
        if kills < 3:
            goal = rng.randint(10, 100)
            while child.poll() is None and (
                not log.exists() or log.read_bytes().count(b"end") < goal
            ):
                time.sleep(0.005)
            child.send_signal(signal.SIGKILL)
            child.communicate()
            kills += 1
            continue
        _, errors = child.communicate(timeout=600)
        assert child.returncode == 0, errors
        break
    child = start("whole.log", "whole.jsonl", "0")
    child.communicate(timeout=600)

    broken, whole = lines(tmp_path / "broken.jsonl"), lines(tmp_path / "whole.jsonl")
    assert broken == whole and [r["id"] for r in whole] == [r["id"] for r in rows]
    for i, record in enumerate(whole):
        texts = [record["response"], *(s["text"] for s in record["samples"])]
        assert texts == [f"question {i} / 0.0 / 0"] + [
            f"question {i} / 1.0 / {k}" for k in range(samples)
        ]
    ended: Counter[str] = Counter()
    begun: Counter[str] = Counter()
    for k in range(kills + 1):
        text = (tmp_path / f"life{k}.log").read_text()
        for line in text.splitlines():
            what, *name = json.loads(line)
            (begun if what == "begin" else ended)[json.dumps(name)] += 1
    # An answer that was there for a moment and not yet written down may be asked for again.
    again = sum(c - 1 for c in ended.values())
    assert again <= kills * 8, again
    assert sum(c - 1 for c in begun.values()) <= kills * 64, "at most what was under way"
