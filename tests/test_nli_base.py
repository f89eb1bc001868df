"""The package ``veridical-nli-base``: built, taken from its wheel, installed, and what it says."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

PACKAGE = ROOT / "packages/veridical-nli-base"
MODEL = PACKAGE / "src/veridical_nli_base/model"
MOST = 90_000_000  # bytes of its weights
CONTEXT = "Ada Byron was born in London in 1815. She died in 1852 of cancer."
ROWS = [
    {"id": "wrong", "response": "Ada was born in Paris in 1815.", "contexts": [CONTEXT]},
    {"id": "right", "response": "Ada Byron died in 1852.", "contexts": [CONTEXT]},
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(PACKAGE)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def check(folder: Path, environment: dict[str, str], *options: str) -> list[dict[str, Any]]:
    """The results of ROWS by the command line."""
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    command = [sys.executable, "-m", "veridical", "check", "in.jsonl", "--json", "-"]
    done = subprocess.run(
        [*command, "--store", "none", *options],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def models(results: list[dict[str, Any]]) -> set[str]:
    return {
        part.split("@")[0]
        for result in results
        for score in result["scores"].values()
        for part in score["signature"].split("|")
        if part.startswith("nli:")
    }


def test_the_files_are_what_was_published() -> None:
    lines = [line.split() for line in (MODEL / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {p.name for p in MODEL.iterdir()} - {"SHA256SUMS"}
    for digest, name in lines:
        assert hashlib.sha256((MODEL / name).read_bytes()).hexdigest() == digest, name
    assert (MODEL / "model.onnx").stat().st_size <= MOST


def test_the_wheel_holds_the_model_and_nothing_else_runs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert {f"veridical_nli_base/model/{p.name}" for p in MODEL.iterdir()} <= set(names)
    assert [n for n in names if n.endswith(".py")] == ["veridical_nli_base/__init__.py"]
    assert "Requires-Dist" not in metadata and "License-Expression: Apache-2.0" in metadata


def test_taken_from_its_wheel_it_judges_by_default(wheel: Path, tmp_path: Path) -> None:
    environment = {"VERIDICAL_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "veridical", "models", "get", "nli-base", "--file", str(wheel)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    wrong, right = check(tmp_path, environment)
    assert models([wrong, right]) - {"nli:none"} == {"nli:veridical-nli-base"}
    assert (wrong["verdict"], right["verdict"]) == ("contradicted", "supported")
    assert wrong["risk"] > 0.6 > 0.4 > right["risk"]
    units = wrong["scores"]["ensemble"]["units"]
    assert [u["text"] for u in units if u["level"] == "span"] == ["Paris"]
    assert not [u for u in right["scores"]["ensemble"]["units"] if u["level"] == "span"]
    small = check(tmp_path, environment, "--nli", "mini")
    assert models(small) - {"nli:none"} == {"nli:veridical-nli-mini"}


def test_installed_it_judges_by_default(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(site), str(wheel)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    environment = {"PYTHONPATH": str(site), "VERIDICAL_CACHE": str(tmp_path / "cache")}
    results = check(tmp_path, environment, "--scorers", "spans, nli_grounding")
    assert models(results) == {"nli:veridical-nli-base"}
    pieces = [
        [u["text"] for u in r["scores"]["spans"]["units"] if u["level"] == "span"] for r in results
    ]
    assert pieces == [["Paris"], []]


def test_eight_bits_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    from veridical.models import load_nli
    from veridical.models.nli import int8, packaged

    monkeypatch.setattr(packaged, "_installed", lambda: [MODEL])
    quick: Any = load_nli("base?precision=int8")
    exact: Any = load_nli("base")
    assert quick.name == packaged.BASE and quick.revision != exact.revision
    pairs = int8.agreement_pairs()[::4]
    int8.require_agreement("base", exact._judge(pairs), quick._judge(pairs))


def test_the_wrong_words_are_told_to_people(wheel: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "VERIDICAL_CACHE": str(tmp_path / "cache"), "COLUMNS": "80"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "veridical", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("models", "get", "nli-base", "--file", str(wheel))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    run("check", "in.jsonl", "--out", "run", "--report", "report.html")
    told = run("explain", "run", "0")
    assert 'wrong words: "Paris"' in told and "CONTRADICTED" in told
    assert "wrong words" not in run("explain", "run", "1")
