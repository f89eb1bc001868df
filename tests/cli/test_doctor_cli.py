"""``veridical doctor``: what is here, told by looking, and what is broken."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.engine import doctor
from veridical.engine.options import EngineOptions
from veridical.models.nli import packaged
from veridical.weights import checkers, download

TOML = """
[llm.mine]
base_url = "http://127.0.0.1:9/v1"
model = "tiny"
key_env = "VERIDICAL_LLM_KEY_MINE"
supports = {logprobs = true, n = false}
"""


def call(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "VERIDICAL_CONFIG"} | variables
    command = [sys.executable, "-m", "veridical", "doctor", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_whole_installation(tmp_path: Path) -> None:
    (tmp_path / "veridical.toml").write_text(TOML)
    run = call(tmp_path, VERIDICAL_LLM_KEY_MINE="s3cret-key-of-the-test")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0] == "core" and lines[-1] == "everything required for checks works"
    for part in (
        f"ok veridical  {veridical.__version__}",
        "veridical-nli-mini  embedded",
        "checksums right",
        "entailment  judged entailment at 0.",
        "contradiction  judged contradiction at 0.",
        "mine  tiny: chat, logprobs; not n; VERIDICAL_LLM_KEY_MINE is set",
        ".veridical/store: not made yet, writable",
    ):
        assert part in run.stdout
    assert "s3cret" not in run.stdout and "!!" not in run.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["veridical.toml"]  # nothing was made


def test_as_json_with_a_store_and_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "veridical.toml").write_text(TOML)
    rows = [{"response": "It is in Paris.", "samples": ["In Paris.", "In Lyon."]}]
    veridical.check(rows, "cosine", store=tmp_path / "store")
    run = call(tmp_path, "--json", "--store", "store")
    told: dict[str, Any] = json.loads(run.stdout)
    assert run.returncode == 0 and told["ok"] is True
    found = {(f["area"], f["name"]): f for f in told["findings"]}
    store = found["store", "store"]["details"]
    assert store["entries"] == 3 and store["writable"] is True and store["path"] == "store"
    mine = found["endpoints", "mine"]
    assert mine["status"] == "absent" and mine["fix"] == "export VERIDICAL_LLM_KEY_MINE=..."
    assert mine["details"]["can"] == ["chat", "logprobs"] and mine["details"]["key_set"] is False
    assert found["extras", "corpus"]["status"] == "ok"
    assert found["pairs", "entailment"]["details"]["judged"] == "entailment"
    assert found["models", "minilm"]["details"]["checksums"] is True


def test_a_damaged_model_and_store_and_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VERIDICAL_CONFIG", raising=False)
    folder = shutil.copytree(packaged.need(packaged.MINI).folder, tmp_path / "nli")
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)
    monkeypatch.setattr(packaged, "_EMBEDDED", folder)
    (tmp_path / "veridical.toml").write_text("[llm\n")
    store = tmp_path / "store"
    store.mkdir()
    (store / "keys.sqlite").write_bytes(b"no database at all" * 100)
    findings = {(f.area, f.name): f for f in doctor.examine(EngineOptions(store=store))}
    broken = findings["models", "veridical-nli-mini"]
    assert broken.status == "broken" and "model.onnx differs from the published file" in broken.says
    assert "pip install" in broken.fix
    assert findings["store", "store"].status == "broken"
    assert findings["endpoints", "veridical.toml"].status == "broken"
    assert not doctor.works([*findings.values()])
    shutil.rmtree(folder)
    gone = {(f.area, f.name): f for f in doctor.examine(EngineOptions(store=None))}
    assert gone["models", "veridical-nli-mini"].status == "broken"
    assert gone["pairs", "entailment"].status == "broken"
    assert gone["store", "none"].status == "absent"


def test_the_exit_code_of_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "veridical.toml").write_text("[llm\n")
    run = call(tmp_path, "--store", "none")
    assert run.returncode == 1 and "broken: veridical.toml" in run.stdout
    assert all(len(line) <= 80 for line in run.stdout.splitlines())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    (finding,) = [
        f for f in doctor.examine(EngineOptions(store=tmp_path / "store")) if f.area == "store"
    ]
    assert finding.status == "broken" and "not writable" in finding.says


def test_models_that_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path))
    small, large = download.WEIGHTS["qwen-0.5b"], download.WEIGHTS["qwen-1.5b"]
    for name, size in ((small.file, small.size), (f"{large.file}.part", 600_000_000)):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, size)
    found = {f.name: f for f in doctor.examine(EngineOptions(store=None)) if "local" in f.area}
    assert list(found) == ["smollm2", "qwen-0.5b", "qwen-1.5b", "checker-0.5b", "checker-1.5b"]
    here, partly = found["qwen-0.5b"], found["qwen-1.5b"]
    assert (here.status, here.fix) == ("ok", "") and "too small to judge" in here.says
    assert (partly.status, partly.fix) == ("absent", "veridical models get qwen-1.5b")
    assert "1117 MB, writes, reads and judges: 600 MB of it fetched" in partly.says


def test_checkers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(checkers, "_installed", list)

    def finding() -> doctor.DoctorFinding:
        found = doctor.examine(EngineOptions(store=None))
        return next(f for f in found if f.name == "checker-0.5b")

    absent = finding()
    assert absent.status == "absent" and "its adapter is not installed" in absent.says
    assert absent.fix.startswith("pip install ./packages/veridical-checker")
    place = tmp_path / checkers.PACKAGE / "checker-0.5b"
    place.mkdir(parents=True)
    (place / "adapter.gguf").write_bytes(b"GGUF adapter")
    card = {
        "base": {"sha256": download.WEIGHTS["qwen-0.5b"].sha256},
        "sha256": hashlib.sha256(b"GGUF adapter").hexdigest(),
        "calibration": [0.0, 1.0],
    }
    (place / "checker.json").write_text(json.dumps(card))
    without = finding()
    assert (without.status, without.fix) == ("absent", "veridical models get checker-0.5b")
    assert "qwen-0.5b is missing" in without.says
    small = download.WEIGHTS["qwen-0.5b"]
    (tmp_path / small.file).touch()
    os.truncate(tmp_path / small.file, small.size)
    assert finding().status == "ok"
    (place / "adapter.gguf").write_bytes(b"GGUF another")
    assert finding().status == "broken" and "is damaged" in finding().says
    (place / "checker.json").write_text("[")
    assert finding().status == "broken" and "is not a valid adapter description" in finding().says
