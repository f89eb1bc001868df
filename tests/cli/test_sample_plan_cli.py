"""``veridical sample --plan``: what the run then asks of a server, and nothing asked or written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import run_command
from paid_chat import PRICE, Paid

PROMPTS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "the capital?", "response": "Lyon"},
    {"id": "b", "prompt": "a number?"},
    {"id": "c", "prompt": ""},
    {"id": "d", "prompt": "who?"},
]
GRID = """
decodings = ["greedy", "ancestral"]
[[model]]
name = "small"
llm = "paid"
size = 1
tuning = "base"
[[model]]
name = "twin"
llm = "paid"
size = 1
tuning = "instruct"
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Paid]:
    made = Paid()
    (tmp_path / "veridical.toml").write_text(
        f'[llm.paid]\nbase_url = "{made.url}"\nmodel = "m"\n'
        f"price_in = {PRICE}\nprice_out = {PRICE}\n"
        f'[llm.unpriced]\nbase_url = "{made.url}"\nmodel = "m"\n'
    )
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(p) + "\n" for p in PROMPTS))
    (tmp_path / "g.toml").write_text(GRID)
    yield made
    made.close()


def sample(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("sample", "p.jsonl", *arguments, cwd=folder, env={"VERIDICAL_CONFIG": ""})


def plan(folder: Path, *arguments: str) -> dict[str, Any]:
    """The plan, which leaves the folder as it was."""
    before = {path: path.stat().st_size for path in folder.iterdir()}
    done = sample(folder, *arguments, "--plan", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_size for path in folder.iterdir()} == before
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("how", "calls"),
    [
        (("--llm", "paid", "--n", "2"), 3 * 3),
        (("--llm", "paid", "--n", "0"), 3),
        (("--llm", "paid", "--n", "2", "--decoding", "ancestral"), 3 * 3),
        (("--llm", "paid", "--n", "2", "--response", "given"), 2),
        (("--grid", "g.toml"), 2 * 3),
    ],
)
def test_as_many_calls_are_made_as_were_planned(
    server: Paid, tmp_path: Path, how: tuple[str, ...], calls: int
) -> None:
    command = (*how, "--out", "a.jsonl", "--min-coverage", "0")
    planned = plan(tmp_path, *command, "--tokens-per-second", "10")
    assert planned["calls"] == planned["least"]["calls"] == calls
    assert planned["hours"] == pytest.approx(calls * 512 / 10 / 3600)
    assert planned["tokens_out"] == calls * 512 and planned["cost"] > calls * 512 * PRICE / 1e6
    assert not server.asked and planned["answered"] == 0

    assert sample(tmp_path, *command).returncode == 0
    assert sum(server.asked.values()) == calls

    after = plan(tmp_path, *command)
    assert (after["calls"], after["prompts"], after["answered"]) == (0, 0, planned["prompts"])
    assert after["hours"] == 0.0, "nothing is left to write, however slow it is"
    elsewhere = plan(tmp_path, *command, "--out", "b.jsonl")
    assert (elsewhere["calls"], elsewhere["answered"]) == (0, 0)
    assert elsewhere["journaled"] == calls + planned["journaled"]
    assert plan(tmp_path, *command, "--out", "b.jsonl", "--store", "none")["calls"] == calls
    assert sum(server.asked.values()) == calls


def test_each_leg_of_a_grid_is_told_and_what_is_scored(server: Paid, tmp_path: Path) -> None:
    command = ("--grid", "g.toml", "--out", "a.jsonl", "--table", "t.csv", "--scorers", "rouge_l")
    planned = plan(tmp_path, *command)
    told = [(leg["name"], leg["decoding"], leg["calls"]) for leg in planned["legs"]]
    assert told == [
        ("small", "greedy", 3),
        ("small", "ancestral", 3),
        ("twin", "greedy", 0),  # the same model: its answers are there by then
        ("twin", "ancestral", 0),
    ]
    assert [leg["journaled"] for leg in planned["legs"]] == [0, 0, 3, 3]
    assert planned["records"] == planned["prompts"] == 12 and planned["bad_rows"] == 4
    assert planned["hours"] is None and planned["tokens_per_second"] is None
    done = sample(tmp_path, *command, "--plan")
    assert "twin, ancestral: 3 prompts, 1 bad rows" in done.stdout
    assert "in all: 12 prompts" in done.stdout and "12 records to score" in done.stdout
    assert done.stdout.count("bad rows are skipped; the first: p.jsonl:3: row 2:") == 1
    assert done.stdout.count("the speed of paid is unknown: give --tokens-per-second X") == 1
    assert sample(tmp_path, *command, "--min-coverage", "0").returncode == 0
    after = plan(tmp_path, *command)
    assert [leg["answered"] for leg in after["legs"]] == [3, 3, 3, 3]
    assert (after["calls"], after["prompts"], after["records"]) == (0, 0, 12)


def test_what_is_left_is_planned(server: Paid, tmp_path: Path) -> None:
    command = ("--llm", "paid", "--n", "1", "--out", "a.jsonl", "--min-coverage", "0")
    assert sample(tmp_path, *command, "--limit", "1").returncode == 0
    left = plan(tmp_path, *command)
    assert (left["answered"], left["prompts"], left["calls"]) == (1, 2, 4)
    assert sample(tmp_path, *command).returncode == 0
    first, second, third = (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text(first + third)
    lost = plan(tmp_path, *command)
    assert (lost["answered"], lost["prompts"], lost["calls"], lost["journaled"]) == (2, 1, 0, 2)
    half = first + second + third[:20]
    (tmp_path / "a.jsonl").write_text(half)
    assert plan(tmp_path, *command)["prompts"] == 1
    assert (tmp_path / "a.jsonl").read_text() == half


def test_adaptive_sampling_has_a_range_that_holds_the_run(server: Paid, tmp_path: Path) -> None:
    command = ("--llm", "paid", "--n", "2:6", "--out", "a.jsonl", "--min-coverage", "0")
    planned = plan(tmp_path, *command)
    assert (planned["least"]["calls"], planned["calls"]) == (3 * 3, 3 * 7)
    assert planned["least"]["cost"] < planned["cost"]
    assert "9 to 21 LLM calls" in sample(tmp_path, *command, "--plan").stdout
    assert sample(tmp_path, *command).returncode == 0
    assert 9 <= sum(server.asked.values()) < 21


def test_failed_prompts_are_planned_where_they_are_asked_again(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(p) + "\n" for p in PROMPTS))
    (tmp_path / "s.json").write_text('[{"contains": "capital", "text": "Paris"}]')
    command = ("--llm", "fake:s.json", "--n", "1", "--out", "a.jsonl", "--min-coverage", "0")
    assert sample(tmp_path, *command).returncode == 0
    assert plan(tmp_path, *command)["prompts"] == 0
    again = plan(tmp_path, *command, "--retry-failed")
    assert (again["prompts"], again["calls"], again["answered"]) == (2, 4, 1)


def test_an_input_without_a_prompt_is_refused(server: Paid, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"prompt": ""}\n')
    done = sample(tmp_path, "--llm", "paid", "--out", "a.jsonl", "--plan")
    assert done.returncode == 1 and "no prompt in the input: p.jsonl:1: row 0" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--llm", "paid", "--json", "f.json"), "--json requires --plan"),
        (("--llm", "paid", "--tokens-per-second", "3"), "--tokens-per-second requires --plan"),
        (("--llm", "paid", "--plan", "--tokens-per-second", "0"), "above 0"),
        (("--llm", "paid", "--plan", "--json", "a.jsonl"), "two outputs have that name"),
        (("--llm", "paid", "--plan", "--json", "p.jsonl"), "it is an input"),
        (("--llm", "paid", "--plan", "--out", "none/a.jsonl"), "its folder must exist"),
        (("--llm", "paid", "--plan", "--out", "p.jsonl"), "it is an input"),
        (("--llm", "paid", "--plan", "--out", "mine.jsonl"), "not a file of sampled answers"),
        (("--llm", "paid", "--plan", "--decoding", "beam:3"), "beam search"),
        (("--llm", "unpriced", "--plan", "--budget", "1"), "price_in"),
        (("--llm", "nobody", "--plan"), "nobody"),
        (("--plan",), "--llm"),
        (("--grid", "g.toml", "--plan", "--scorers", "rouge_l"), "--scorers requires --table"),
        (("--grid", "g.toml", "--table", "t.csv", "--scorers", "rouge"), "unknown scorer"),
        (
            ("--grid", "g.toml", "--plan", "--table", "t.csv", "--scorers", "judge"),
            "without an LLM",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_asked(
    server: Paid, tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    (tmp_path / "mine.jsonl").write_text('{"mine": 1}\n')
    out = () if "--out" in arguments else ("--out", "a.jsonl")
    done = sample(tmp_path, *arguments, *out)
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
    assert not server.asked and not (tmp_path / "a.jsonl").exists()
