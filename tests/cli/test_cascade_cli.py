"""``tune --cascade``, ``check --cascade`` and ``plan --cascade`` as a user runs them."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from commands import run_command

CITIES = ("Rome", "Bern", "Riga", "Oslo", "Cairo", "Lima", "Paris", "Delhi")
SCORERS = "ngram_presence, cosine"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 graded answers: right ones are those that the samples repeat."""
    folder = tmp_path_factory.mktemp("cascade")
    rng = random.Random(0)
    with (folder / "graded.jsonl").open("w", encoding="utf-8") as file:
        for i in range(60):
            city, wrong = rng.choice(CITIES), i % 2
            samples = [f"The fair {i} was held in {city}."] * 2
            said = rng.choice(CITIES) if wrong else city
            row = {
                "prompt": f"Where was fair {i}?",
                "response": f"The fair {i} was held in {said}.",
            }
            file.write(json.dumps(row | {"samples": samples, "label": wrong}) + "\n")
    return folder


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder)


@pytest.fixture(scope="module")
def cascade(folder: Path) -> Path:
    done = call(
        *(folder, "tune", "graded.jsonl", "--scorers", SCORERS, "--bootstrap", "20"),
        *("--cascade", "cascade.json", "--keep", "0.9", "--json", "tuned.json"),
    )
    assert done.returncode == 0, done.stderr
    assert "cascade:" in done.stdout and "out of fold it keeps" in done.stdout
    return folder / "cascade.json"


def test_tune_learns_one_and_saves_it(folder: Path, cascade: Path) -> None:
    made = json.loads(cascade.read_text("utf-8"))
    assert made["veridical_cascade"] == 1 and made["keep"] == 0.9
    assert made["tiers"][0]["name"] == "model-free"
    assert made["fitted_on"]["file"] == "graded.jsonl" and made["fitted_on"]["n"] == 60
    for tier in made["tiers"]:
        for cost in tier["costs"].values():
            assert cost["seconds"] > 0 and cost["money"] == 0
    assert json.loads((folder / "tuned.json").read_text("utf-8"))["cascade"] == made


def test_check_says_where_records_stopped(folder: Path, cascade: Path) -> None:
    done = call(
        *(folder, "check", "graded.jsonl", "--cascade", "cascade.json", "--json", "-"),
        *("--report", "r.html"),
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == 60 and {r["by"] for r in results} == {"cascade"}
    (key,) = results[0]["scores"]
    assert all(r["risk"] == r["scores"][key]["risk"] for r in results)
    stopped = [r["scores"][key]["raw"]["tier"] for r in results]
    n = stopped.count("model-free")
    assert f"stopped at: model-free {n} " in done.stderr
    page = (folder / "r.html").read_text("utf-8")
    assert "Where the cascade stopped" in page


def test_plan_gives_a_range(folder: Path, cascade: Path) -> None:
    done = call(folder, "plan", "graded.jsonl", "--cascade", "cascade.json", "--json", "p.json")
    assert done.returncode == 0, done.stderr
    several = len(json.loads(cascade.read_text("utf-8"))["tiers"]) > 1
    assert (json.loads((folder / "p.json").read_text("utf-8"))["least"] is not None) == several
    assert ("no record stops early" in done.stdout) == several


def test_what_does_not_go_together_is_said(folder: Path, cascade: Path) -> None:
    done = call(folder, "check", "graded.jsonl", "--cascade", "cascade.json", "--scorers", "ngram")
    assert done.returncode == 1 and "cannot be combined with --scorers" in done.stderr
    done = call(folder, "check", "graded.jsonl", "--cascade", "graded.jsonl")
    assert done.returncode == 1 and "is not a valid cascade model" in done.stderr
    done = call(folder, "tune", "graded.jsonl", "--cascade", "c.json", "--level", "sentence")
    assert done.returncode == 1 and "level response" in done.stderr
    done = call(folder, "tune", "graded.jsonl", "--cascade", "c.json", "--keep", "2")
    assert done.returncode == 1 and "Traceback" not in done.stderr
