"""Check of the distributions before publication: ``make release``.

    python release/check.py [--out dist] [--python 3.10,3.11,3.12,3.13] [--page PAGE.md]

Needs the ``[release]`` extra. The steps run in this order; the first error ends the check with
exit status 1:

1. Wheels and source distributions of veridical, veridical-lab and veridical-nli-base are built
   twice, from copies in two folders. The second build has other dates, time zone, locale, umask
   and hash seed. Both must be the same byte for byte, and so must the wheels from the source
   distributions.
2. ``twine check --strict``, and the files that must and must not be in them.
3. For each Python the wheel is installed in an empty environment and tried (see ``smoke.py``).
   Dependencies are the lowest that pyproject.toml allows, then the newest available.
4. A bill of materials (CycloneDX) of the newest installation, which has the core only.

``--out`` gets the distributions, SHA256SUMS, veridical.cdx.json and release.json, which has all
findings; ``--page`` gets the table of 3. SOURCE_DATE_EPOCH is the date of the last commit unless
it is set. Interpreters are found by uv, and nothing but packages is downloaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from email.parser import Parser
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SMOKE = Path(__file__).with_name("smoke.py")
BASE, LAB = "packages/veridical-nli-base", "packages/veridical-lab"
#: Folder of each project, and the folder of its package.
PROJECTS = {
    ".": "src/veridical",
    LAB: f"{LAB}/src/veridical_lab",
    BASE: f"{BASE}/src/veridical_nli_base",
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
RESOLUTIONS = ("lowest-direct", "highest")
#: Environment variables of the second build that differ from the first.
OTHER = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
#: Folders that no wheel has.
FOREIGN = {"tests", "training", "benchmarks", "examples", "docs", "release", "__pycache__"}
#: Files that a wheel must have, by the name of its package.
NEEDED = {
    "veridical": (
        "py.typed",
        "models/data/veridical-nli-mini/model.onnx",
        "models/data/all-MiniLM-L6-v2/model.onnx",
        "models/data/efficientnet-lite0/model.onnx",
        "report/static/report.css",
        "cli/demo.jsonl",
    ),
    "veridical_lab": ("py.typed", "static/bench.html"),
    "veridical_nli_base": ("model/model.onnx", "model/SHA256SUMS"),
}


class Wrong(Exception):
    """Something that must not be published."""


class Cell(NamedTuple):
    """One installation: Python, resolution, the packages' versions, what was tried, seconds."""

    python: str
    resolution: str
    installed: dict[str, str]
    tried: list[str]
    seconds: float


def run(command: Sequence[str | Path], **given: Any) -> str:
    """Run a command and return its output.

    Raises:
        Wrong: it failed; the message ends with its output.
    """
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **given)
    if done.returncode:
        told = (done.stdout + done.stderr)[-3000:]
        raise Wrong(f"{' '.join(words[:6])} ... ended with {done.returncode}:\n{told}")
    return done.stdout


def tracked() -> list[str]:
    """Return the files of the repository, without those that git ignores."""
    return run(["git", "ls-files", "-z"], cwd=ROOT).strip("\0").split("\0")


def copy(files: Iterable[str], to: Path) -> None:
    """Copy files of the repository below ``to``, with new dates."""
    for name in files:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)


def build(project: Path, out: Path, epoch: str, other: Mapping[str, str] | None = None) -> None:
    """Build the wheel and the source distribution of ``project`` in ``out``."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, **(other or {})}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", out]
    run(command, cwd=project, env=environment, umask=0o077 if other else 0o022)


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each distribution."""
    files = sorted(p for p in folder.iterdir() if p.name.endswith((".whl", ".tar.gz")))
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def same(one: Path, other: Path) -> None:
    """Compare the distributions of two folders.

    Raises:
        Wrong: a distribution is not the same in both folders; the message names its members.
    """
    a, b = digests(one), digests(other)
    if a.keys() != b.keys():
        raise Wrong(f"the two builds have different files: {sorted(a)} and {sorted(b)}")
    for name in a:
        if a[name] != b[name]:
            first, second = members(one / name), members(other / name)
            odd = sorted(k for k in first.keys() | second.keys() if first.get(k) != second.get(k))
            raise Wrong(f"{name} is not reproducible: {', '.join(odd[:5]) or 'its order or dates'}")


def members(distribution: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a distribution."""
    if distribution.suffix == ".whl":
        with zipfile.ZipFile(distribution) as archive:
            return {n: hashlib.sha256(archive.read(n)).hexdigest() for n in archive.namelist()}
    found = {}
    with tarfile.open(distribution) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            found[member.name] = "" if file is None else hashlib.sha256(file.read()).hexdigest()
    return found


def contents(wheel: Path, files: Mapping[str, bytes]) -> None:
    """Compare a wheel with the files of its package.

    Args:
        files: contents of the package's files, by their names in the wheel.

    Raises:
        Wrong: a file is missing, differs, or does not belong there.
    """
    with zipfile.ZipFile(wheel) as archive:
        inside = {n: archive.read(n) for n in archive.namelist()}
    package = wheel.name.split("-")[0]
    info = {n for n in inside if n.split("/")[0].endswith(".dist-info")}
    if odd := sorted(n for n in inside.keys() - info if FOREIGN & set(n.split("/"))):
        raise Wrong(f"{wheel.name} has {', '.join(odd[:5])}")
    if odd := sorted(inside.keys() - info - files.keys()):
        raise Wrong(f"{wheel.name} has {', '.join(odd[:5])}, which the repository has not")
    needed = {f"{package}/{name}" for name in NEEDED.get(package, ())}
    if missing := sorted((files.keys() | needed) - inside.keys()):
        raise Wrong(f"{wheel.name} is without {', '.join(missing[:5])}")
    if other := sorted(n for n in files if inside[n] != files[n]):
        raise Wrong(f"{wheel.name} has another {', '.join(other[:5])}")
    if not any("/licenses/" in n and n.endswith("LICENSE") for n in info):
        raise Wrong(f"{wheel.name} is without its licence")


def distributions(work: Path, out: Path, epoch: str) -> dict[str, str]:
    """Build everything twice and check it; the distributions are in ``out``."""
    files = tracked()
    for number, other in enumerate((None, OTHER)):
        copy(files, work / f"copy{number}")
        for project in PROJECTS:
            (work / f"built{number}").mkdir(exist_ok=True)
            build(work / f"copy{number}" / project, work / f"built{number}", epoch, other)
    same(work / "built0", work / "built1")
    for archive in sorted((work / "built0").glob("*.tar.gz")):
        with tarfile.open(archive) as packed:
            packed.extractall(work / "unpacked", filter="data")
        source = work / "unpacked" / archive.name.removesuffix(".tar.gz")
        build(source, work / "again", epoch)
    wheels = {n: d for n, d in digests(work / "built0").items() if n.endswith(".whl")}
    again = digests(work / "again")
    if wheels != {n: again.get(n) for n in wheels}:
        raise Wrong("the wheel from the source distribution is another than that of the repository")
    for project, source in PROJECTS.items():
        package = Path(source).name
        (wheel,) = (work / "built0").glob(f"{package}-*.whl")
        below = [f for f in files if f.startswith(f"{source}/")]
        contents(
            wheel, {f"{package}/{f[len(source) + 1 :]}": (ROOT / f).read_bytes() for f in below}
        )
        print(f"{project}: {wheel.name} is reproducible and has what it must", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    for path in (work / "built0").iterdir():
        shutil.copyfile(path, out / path.name)
    found = digests(work / "built0")
    run([sys.executable, "-m", "twine", "check", "--strict", *(out / n for n in found)])
    lines = [f"{digest}  {name}\n" for name, digest in found.items()]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return found


def uv(*words: str | Path) -> str:
    return run([sys.executable, "-m", "uv", *words])


def needs(wheel: Path) -> list[str]:
    """Return the dependencies of a wheel's core, from its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    found = metadata.get_all("Requires-Dist") or []
    return [need for need in found if "extra ==" not in need]


def install(wheels: Sequence[Path], python: str, resolution: str, folder: Path) -> Path:
    """Install the wheels, core only, in a new environment and return its interpreter."""
    uv("venv", "--quiet", "--no-python-downloads", "--python", python, folder)
    inside = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    words = ("--quiet", "--python", inside, "--resolution", resolution)
    # Compiled packages as wheels: a version without one for this Python is not meant for it.
    compiled = ("numpy", "onnxruntime", "pyarrow", "pydantic-core", "scipy", "tokenizers")
    wheels_only = [word for name in compiled for word in ("--only-binary", name)]
    # Only the direct dependencies have their lowest version. Indirect ones have their own bounds,
    # which are untested.
    direct = [need for wheel in wheels for need in needs(wheel)]
    uv("pip", "install", *words, *wheels_only, *wheels, *direct)
    uv("pip", "check", "--quiet", "--python", inside)
    return inside


def tried(wheels: Sequence[Path], python: str, resolution: str, folder: Path) -> Cell:
    """Install the wheels and try them."""
    started = time.monotonic()
    inside = install(wheels, python, resolution, folder)
    away = folder / "away"
    away.mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VERIDICAL"))}
    said = run([inside, "-I", SMOKE, ROOT / "examples/answers.jsonl"], cwd=away, env=clean)
    found = json.loads(said.splitlines()[-1])
    took = round(time.monotonic() - started, 1)
    return Cell(found["python"], resolution, found["installed"], found["tried"], took)


def materials(inside: Path, out: Path) -> dict[str, Any]:
    """Write and check the bill of materials of an environment.

    Raises:
        Wrong: an installed package is not in it, or has no licence.
    """
    words = ["environment", "--output-reproducible", "--of", "JSON", "--validate"]
    command = [sys.executable, "-m", "cyclonedx_py", *words, "--pyproject", ROOT / "pyproject.toml"]
    run([*command, "--mc-type", "library", "--gather-license-texts", "-o", out, inside])
    found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    listed = {c["name"].lower().replace("_", "-") for c in found["components"]}
    there = json.loads(uv("pip", "list", "--quiet", "--format", "json", "--python", inside))
    names = {p["name"].lower().replace("_", "-") for p in there} - {"veridical"}
    if missing := sorted(names - listed):
        raise Wrong(f"the bill of materials is without {', '.join(missing)}")
    if bare := sorted(c["name"] for c in found["components"] if not c.get("licenses")):
        raise Wrong(f"no licence is known of {', '.join(bare)}")
    return found


def table(cells: Sequence[Cell], shown: Sequence[str]) -> str:
    """Return a Markdown table: one row per installation, with the versions of ``shown``."""
    head = ["Python", "dependencies", *shown, "seconds"]
    rows = [
        [c.python, c.resolution, *(c.installed.get(n, "") for n in shown), f"{c.seconds:.0f}"]
        for c in cells
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", default=",".join(PYTHONS), help="versions or interpreters")
    parser.add_argument(
        "--resolution", default=",".join(RESOLUTIONS), help="resolution modes of uv"
    )
    parser.add_argument("--page", type=Path, help="write the table of installations here")
    given = parser.parse_args()
    given.out = given.out.resolve()
    last = run(["git", "log", "-1", "--format=%ct"], cwd=ROOT).strip()
    epoch = os.environ.get("SOURCE_DATE_EPOCH", last)
    with tempfile.TemporaryDirectory(prefix="veridical-release-") as temporary:
        work = Path(temporary)
        found = distributions(work, given.out, epoch)
        wheels = sorted(given.out / n for n in found if n.endswith(".whl"))
        core = next(w for w in wheels if w.name.startswith("veridical-"))
        cells = []
        for python in given.python.split(","):
            for resolution in given.resolution.split(","):
                cells.append(tried([core], python, resolution, work / f"env{len(cells)}"))
                print(f"Python {cells[-1].python}, {resolution}: works", flush=True)
        inside = install([core], given.python.split(",")[-1], "highest", work / "bill")
        bill = materials(inside, given.out / "veridical.cdx.json")
        print(f"bill of materials: {len(bill['components'])} packages", flush=True)
        cells.append(tried(wheels, given.python.split(",")[0], "highest", work / "base"))
        print(
            f"Python {cells[-1].python} with veridical-lab and veridical-nli-base: works",
            flush=True,
        )
    told = {"epoch": epoch, "files": found, "installed": [c._asdict() for c in cells]}
    (given.out / "release.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    if given.page:
        given.page.write_text(page(cells), encoding="utf-8")


#: Dependencies whose versions the table shows.
SHOWN = ("numpy", "scipy", "pyarrow", "onnxruntime", "tokenizers", "pydantic", "httpx", "typer")

PAGE = """# Installations

This page records the environments in which the release was installed and tested.

Made by `make release` (`python release/check.py`) on Linux, x86-64: the core of the wheel in an
empty environment. Dependencies are the lowest that `pyproject.toml` allows (`lowest-direct`) or the
newest available (`highest`). In each these worked:

{tried}

The last row has the wheels of `veridical-lab` and `veridical-nli-base` in addition.

{table}"""


def page(cells: Sequence[Cell]) -> str:
    """Return the page of the documentation."""
    tried = "\n".join(f"- {what}" for what in cells[0].tried)
    return PAGE.format(tried=tried, table=table(cells, SHOWN))


if __name__ == "__main__":
    try:
        main()
    except Wrong as e:
        sys.exit(f"error: {e}")
