"""The larger NLI model of this project: found where it is, taken out of its wheel, used if here."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from veridical.engine.engine import Engine
from veridical.errors import ModelError, UsageError
from veridical.models import load_nli
from veridical.models.catalog import list_models, trained_on
from veridical.models.nli import packaged

MINI = packaged.need(packaged.MINI).folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a machine without the package."""
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packaged, "_installed", lambda: [])
    return tmp_path / "cache"


def wheel(path: Path, **changed: bytes | None) -> Path:
    """A wheel whose model is the embedded one, but for the files that are ``changed``."""
    files: dict[str, bytes | None] = {p.name: p.read_bytes() for p in MINI.iterdir()}
    files |= changed
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if content is not None:
                archive.writestr(f"veridical_nli_base/model/{name}", content)
    return path


def test_taken_out_of_its_wheel_it_is_the_default(cache: Path, tmp_path: Path) -> None:
    assert packaged.full_name("auto") == packaged.full_name("") == packaged.MINI
    assert [row.name for row in list_models()] == [
        "minilm",
        "efficientnet-lite0",
        packaged.MINI,
    ]
    folder = packaged.take(wheel(tmp_path / "model.whl"))
    assert folder == cache / packaged.BASE
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    for digest, name in map(str.split, sums):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert packaged.full_name("auto") == packaged.BASE
    assert packaged.full_name("mini?precision=int8") == f"{packaged.MINI}?precision=int8"
    assert packaged.full_name("org/model") == "org/model"
    assert load_nli().name == load_nli("base").name == packaged.BASE
    assert load_nli("mini").name == packaged.MINI
    with Engine(store=None) as engine:
        assert engine.own("nli") == packaged.BASE
    with Engine(store=None, nli="mini") as engine:
        assert engine.own("nli") == packaged.MINI
    row = list_models()[-1]
    assert (row.name, row.kind) == (packaged.BASE, "nli") and str(folder) in row.where
    assert trained_on(packaged.BASE) == trained_on(packaged.MINI) == {"halueval": ("qa",)}


def test_an_installed_package_goes_first(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged.take(wheel(tmp_path / "model.whl"))
    shutil.copytree(MINI, tmp_path / "site/model")
    monkeypatch.setattr(
        packaged, "_installed", lambda: [tmp_path / "none", tmp_path / "site/model"]
    )
    assert packaged.need(packaged.BASE).folder == tmp_path / "site/model"


def test_without_it(cache: Path) -> None:
    with pytest.raises(
        ModelError, match=r"is not installed; run: pip install \./packages/veridical-nli-base"
    ):
        load_nli("base")
    with pytest.raises(UsageError, match="no option 'labels'"):
        load_nli("base?labels=a,b")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"tokenizer.json": b"{}"}, "tokenizer.json is damaged; nothing was kept"),
        ({"SHA256SUMS": None}, "is not a wheel of veridical-nli-base"),
        ({"config.json": None}, "is not a wheel of veridical-nli-base"),
        ({"SHA256SUMS": b"0 ../../evil"}, "'../../evil' is not a file name"),
        ({"SHA256SUMS": b"one two three"}, "is not a wheel of veridical-nli-base"),
        ({"SHA256SUMS": b"\xff"}, "is not a wheel of veridical-nli-base"),
    ],
)
def test_a_wheel_that_is_not_right(
    changed: dict[str, Any], why: str, cache: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=why):
        packaged.take(wheel(tmp_path / "bad.whl", **changed))
    assert not cache.exists()


def test_from_the_command_line(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environment = {**os.environ, "VERIDICAL_CACHE": str(cache), "COLUMNS": "200"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "veridical", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env=environment,
        )

    if packaged._installed():
        pytest.skip("veridical-nli-base is installed here")
    unnamed = run("models", "get", "nli-base")
    assert unnamed.returncode == 1 and "--file WHEEL" in unnamed.stderr
    absent = run("models", "get", "nli-base", "--file", "no.whl")
    assert absent.returncode == 1 and "no.whl: no such file" in absent.stderr
    rows = [{"response": "Ada was born in Rome.", "contexts": ["Ada was born in London."]}]
    (tmp_path / "in.jsonl").write_text(json.dumps(rows[0]) + "\n")
    check = ("check", "in.jsonl", "--scorers", "nli_grounding", "--json", "-", "--store", "none")
    missing = run(*check, "--nli", "base")
    assert missing.returncode == 1 and "veridical-nli-base is not installed" in missing.stderr
    assert "|nli:veridical-nli-mini@" in run(*check).stdout
    done = run("models", "get", "nli-base", "--file", str(wheel(tmp_path / "model.whl")))
    assert done.returncode == 0 and str(cache / packaged.BASE) in done.stderr
    assert "|nli:veridical-nli-base@" in run(*check).stdout  # used when it is here
    assert "|nli:veridical-nli-mini@" in run(*check, "--nli", "mini").stdout
    listed = json.loads(run("models", "--json").stdout)
    assert packaged.BASE in {row["name"] for row in listed}
    found = json.loads(run("doctor", "--json").stdout)
    assert f"'name': '{packaged.BASE}'" in str(found)
