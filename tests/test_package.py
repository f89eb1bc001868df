"""The wheel and the source distribution: what is in them, and what is not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from places import ROOT

#: Bytes of a distribution: what a user downloads. PyPI takes 100 MB.
MOST = 80_000_000
SOURCES = ROOT / "src" / "veridical"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def tracked() -> set[str]:
    """The files of the package, as the wheel names them."""
    found = (p for p in SOURCES.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {f"veridical/{p.relative_to(SOURCES).as_posix()}" for p in found}


def test_the_wheel_has_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    assert built["wheel"].stat().st_size < MOST
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = set(archive.namelist())
        (info,) = {n.split("/")[0] for n in names if ".dist-info/" in n}
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entries = archive.read(f"{info}/entry_points.txt").decode()
    assert {n for n in names if not n.startswith(f"{info}/")} == tracked()
    assert metadata["License-Expression"] == "Apache-2.0"
    licences = {n for n in names if n.startswith(f"{info}/licenses/")}
    for folder in ("", "veridical-nli-mini/", "all-MiniLM-L6-v2/", "efficientnet-lite0/"):
        assert any(n.endswith(f"{folder}LICENSE") for n in licences), folder
    assert "veridical = veridical.cli:main" in entries
    assert "veridical = veridical.integrations.inspect_ai" in entries
    for name in ("py.typed", "report/static/report.css", "integrations/starters/workflow.yml.txt"):
        assert f"veridical/{name}" in names


def test_the_wheel_of_the_laboratory_has_its_package_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    lab = ROOT / "packages" / "veridical-lab"
    done = subprocess.run(command, cwd=lab, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if ".dist-info/" not in n}
    found = (p for p in (lab / "src").rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    assert names == {p.relative_to(lab / "src").as_posix() for p in found}
    assert {"veridical_lab/py.typed", "veridical_lab/static/bench.html"} <= names


def test_the_wheel_of_the_checkers_has_sound_adapters_of_limited_size(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    package = ROOT / "packages" / "veridical-checker"
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert any(n.endswith("licenses/LICENSE") for n in names)
        assert "veridical_checker/__init__.py" in names
        for name, most in (("checker-0.5b", 20_000_000), ("checker-1.5b", 40_000_000)):
            folder = f"veridical_checker/{name}"
            if f"{folder}/adapter.gguf" in names:  # not each has one yet
                adapter = archive.read(f"{folder}/adapter.gguf")
                card = json.loads(archive.read(f"{folder}/checker.json"))
                assert len(adapter) <= most
                assert hashlib.sha256(adapter).hexdigest() == card["sha256"]


def test_the_source_distribution_builds_what_the_tests_need(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    for name in (
        *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "docs/guide.md"),
        *("src/veridical/__init__.py", "conftest.py", "tests/helpers/places.py"),
    ):
        assert name in names, name
    assert built["sdist"].stat().st_size < MOST
    assert not [n for n in names if n.startswith(("packages/", "training/", "benchmarks/"))]
    odd = (".git/", ".venv", "__pycache__", ".pyc", ".mypy_cache", ".veridical", "node_modules")
    assert not [n for n in names if any(part in n for part in odd)]


def test_an_index_would_take_them(built: dict[str, Path]) -> None:
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.values())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_of_weights_has_its_licence_and_is_listed() -> None:
    page = (ROOT / "docs/models.md").read_text("utf-8")
    folders = [p.parent for p in SOURCES.rglob("model.onnx")]
    folders += [p.parents[3] for p in (ROOT / "packages").rglob("model.onnx")]
    assert len(folders) >= 3
    for folder in folders:
        assert "Apache License" in (folder / "LICENSE").read_text("utf-8")
        assert "Apache-2.0" in (folder / "README.md").read_text("utf-8")
        assert f"`{folder.name}`" in page, folder


def test_llms_txt_leads_somewhere() -> None:
    import re

    text = (ROOT / "llms.txt").read_text("utf-8")
    assert text.startswith("# veridical\n\n> ")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10 and all((ROOT / link.partition("#")[0]).exists() for link in links)
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for link in re.findall(r"\]\(([^)]+)\)", contributing):
        assert (ROOT / link.partition("#")[0]).exists(), link
