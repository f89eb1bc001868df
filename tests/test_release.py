"""The release check refuses what must not be published; ``make release`` runs all of it."""

from __future__ import annotations

import importlib.util
import io
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from places import ROOT

from veridical.files.toml import read_toml


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_check", ROOT / "release" / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


INFO = "tiny-1.0.dist-info"
PACKAGE = {"tiny/__init__.py": b"", "tiny/py.typed": b""}


def wheel(path: Path, **more: bytes) -> Path:
    """A wheel of the package ``tiny``; ``more`` are other files, by names with ``__`` for ``/``."""
    files = PACKAGE | {f"{INFO}/licenses/LICENSE": b"", f"{INFO}/METADATA": b"Name: tiny\n"}
    files |= {name.replace("__", "/"): content for name, content in more.items()}
    with zipfile.ZipFile(path / "tiny-1.0-py3-none-any.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path / "tiny-1.0-py3-none-any.whl"


def test_a_wheel_has_its_package_and_nothing_else(release: ModuleType, tmp_path: Path) -> None:
    release.contents(wheel(tmp_path), PACKAGE)
    for more, said in (
        ({"tests__test_a.py": b""}, "tests/test_a.py"),
        ({"tiny__notes.txt": b""}, "which the repository has not"),
        ({"tiny__py.typed": b"other"}, "another tiny/py.typed"),
    ):
        with pytest.raises(release.Wrong, match=said):
            release.contents(wheel(tmp_path, **more), PACKAGE)
    with pytest.raises(release.Wrong, match=r"without tiny/other\.py"):
        release.contents(wheel(tmp_path), PACKAGE | {"tiny/other.py": b""})


def test_a_model_that_is_left_out_is_missed(
    release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is not in the repository any more."""
    monkeypatch.setitem(release.NEEDED, "tiny", ("model.onnx",))
    with pytest.raises(release.Wrong, match=r"without tiny/model\.onnx"):
        release.contents(wheel(tmp_path), PACKAGE)
    for package, names in release.NEEDED.items():
        folders = [ROOT / f for f in release.PROJECTS.values() if f.endswith(package)]
        assert [n for f in folders for n in names if not (f / n).is_file()] == []


def test_builds_that_differ_are_named_by_what_differs(release: ModuleType, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        wheel(folder, tiny__made=b"at noon")
        with tarfile.open(folder / "tiny-1.0.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo("tiny-1.0/a")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"a"))
    (other / "tiny-1.0.tar.gz").write_bytes((one / "tiny-1.0.tar.gz").read_bytes())
    release.same(one, other)
    wheel(other, tiny__made=b"at night")
    with pytest.raises(release.Wrong, match="not reproducible: tiny/made"):
        release.same(one, other)
    (other / "tiny-1.0.tar.gz").unlink()
    with pytest.raises(release.Wrong, match="different files"):
        release.same(one, other)


def test_two_builds_of_a_project_are_the_same(release: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    for number, other in enumerate((None, release.OTHER)):
        project = tmp_path / f"copy{number}"
        (project / "tiny").mkdir(parents=True)
        (project / "tiny" / "__init__.py").write_text("NAME = 'tiny'\n")
        (project / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
            '[project]\nname = "tiny"\nversion = "1.0"\n'
        )
        release.build(project, tmp_path / f"built{number}", "1700000000", other)
    release.same(tmp_path / "built0", tmp_path / "built1")
    assert len(release.digests(tmp_path / "built0")) == 2


def test_the_lowest_versions_are_asked_for_by_name(release: ModuleType, tmp_path: Path) -> None:
    """uv takes the lowest version of what is named itself, not of what that needs."""
    metadata = b'Name: tiny\nRequires-Dist: numpy>=1.26\nRequires-Dist: torch; extra == "torch"\n'
    made = wheel(tmp_path, **{f"{INFO}__METADATA": metadata})
    assert release.needs(made) == ["numpy>=1.26"]


def test_every_python_that_is_named_is_tried(release: ModuleType) -> None:
    project = read_toml(ROOT / "pyproject.toml")["project"]
    prefix = "Programming Language :: Python :: "
    named = [c.removeprefix(prefix) for c in project["classifiers"] if c.startswith(prefix)]
    assert tuple(v for v in named if "." in v) == release.PYTHONS
    assert project["requires-python"] == f">={release.PYTHONS[0]}"
    page = (ROOT / "docs/evidence/release.md").read_text("utf-8")
    for version in release.PYTHONS:
        for resolution in release.RESOLUTIONS:
            assert any(
                line.startswith(f"| {version}.") and f"| {resolution} |" in line
                for line in page.splitlines()
            ), (version, resolution)
