"""The house: an import goes down only, also inside functions."""

from __future__ import annotations

import ast
import graphlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

SOURCE = ROOT / "src" / "veridical"
pytest.importorskip("importlinter")


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"),
        *("--no-cache", "--config", str(root / "pyproject.toml")),
    ]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root)


def test_every_import_goes_down():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("text/spans.py", "import veridical.core.records\n"),
        ("engine/run.py", "\n\ndef planted() -> None:\n    from veridical.report import html\n"),
        ("scorers/consistency/ngram.py", "\n\ndef planted() -> None:\n    import veridical.api\n"),
        ("core/records.py", "from veridical import cli\n"),
    ],
)
def test_a_planted_upward_import_is_found(tmp_path: Path, module: str, planted: str):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    with (tmp_path / "src/veridical" / module).open("a", encoding="utf-8") as file:
        file.write(planted)
    done = lint(tmp_path)
    place = "veridical." + module.removesuffix(".py").replace("/", ".")
    assert done.returncode == 1 and place in done.stdout


def circle(root: Path) -> list[str]:
    """Modules of which each imports the next, also inside functions; none where there is none."""
    code = (
        "import grimp, json; "
        "graph = grimp.build_graph('veridical', exclude_type_checking_imports=True, cache_dir=None)"
        "; print(json.dumps({m: sorted(graph.find_modules_directly_imported_by(m))"
        " for m in graph.modules}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment, cwd=root
    )
    imports = {module: set(names) for module, names in json.loads(printed.stdout).items()}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as e:
        return list(e.args[1])
    return []


def test_no_package_has_a_circle_among_its_modules():
    assert circle(ROOT) == []


def test_a_planted_circle_is_found(tmp_path: Path):
    ignored = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    with (tmp_path / "src/veridical/io/lines.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef planted() -> None:\n    from veridical.io import cells\n")
    assert {"veridical.io.lines", "veridical.io.cells"} <= set(circle(tmp_path))


def test_a_new_package_must_be_given_a_floor(tmp_path: Path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    (tmp_path / "src/veridical/attic.py").touch()
    done = lint(tmp_path)
    assert done.returncode == 1 and "attic" in done.stdout + done.stderr


HOUSE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PAGES = [
    HOUSE,
    *((ROOT / "docs" / f"{n}.md").read_text("utf-8") for n in ("new-scorer", "storage")),
]


def floors_drawn(page: str) -> list[str]:
    """Floors of the diagram, from top to bottom and from left to right."""
    drawn = page.partition("```text\n")[2].partition("```")[0]
    return [f for line in drawn.splitlines() for f in re.split("  +", line)[1].split(" → ")]


def code_in(page: str) -> list[str]:
    """What stands between single backticks in the text."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M))


def members_of_classes() -> dict[str, set[str]]:
    """Class of the package -> names that it, or a class that it is made of, defines."""
    classes: dict[str, tuple[set[str], list[str]]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                names, bases = classes.setdefault(node.name, (set(), []))
                bases += [b.id for b in node.bases if isinstance(b, ast.Name)]
                for part in node.body:
                    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        names.add(part.name)
                    elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                        names.add(part.target.id)

    def members(name: str) -> set[str]:
        names, bases = classes.get(name, (set(), []))
        return names.union(*(members(base) for base in bases if base != name))

    return {name: members(name) for name in classes}


def nowhere(pages: list[str]) -> list[str]:
    """Files, folders, modules, classes and their parts that the pages name and that are not."""
    missing = []
    classes = members_of_classes()
    for code in (code for page in pages for code in code_in(page)):
        if re.fullmatch(r"\w[\w/]*(/|\.py)", code):
            there = any((base / code).exists() for base in (SOURCE, ROOT))
        elif re.fullmatch(r"veridical(\.\w+)+", code):
            there = pkgutil.resolve_name(code) is not None
        elif re.fullmatch(r"[A-Z]\w*[a-z]\w*(\.\w+)?", code) and code != "TypedDict":
            name, _, part = code.partition(".")
            there = name in classes and (not part or part in classes[name])
        else:
            asked = re.match(r"(?:await )?(evidence|record)\.(\w+)", code)
            there = asked is None or asked[2] in classes[asked[1].title()]
        if not there:
            missing.append(code)
    return missing


def test_the_page_of_the_house_names_what_there_is():
    assert nowhere(PAGES) == []
    assert len(HOUSE.splitlines()) <= 200


def test_a_name_on_the_page_that_is_nowhere_is_found():
    wrong = ["engine/attic.py", "attic/", "Attic", "Request.attic", "evidence.attic(x)"]
    assert nowhere([f"As `{name}` says." for name in wrong]) == wrong
    with pytest.raises(AttributeError):
        nowhere(["As `veridical.attic` says."])


def test_the_page_of_the_house_has_every_floor_in_its_order():
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    stated = re.findall(
        r'^  "(\w+)",$', settings.partition("\nlayers = [")[2].partition("]")[0], re.M
    )
    house = HOUSE.partition("## The layers")[2].partition("\n## ")[0]
    floors = re.findall(r"^\| `(\w+)` \|", house, re.M)
    assert floors == floors_drawn(house) == [floor for floor in stated if floor != "__main__"]
    found = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert found - {"__init__"} == set(stated)


def test_tests_lie_where_what_they_test_lies():
    apart = {"attack", "examples", "helpers", "replay", "stories", "training"}
    for folder in (ROOT / "tests").rglob("*/"):
        place = folder.relative_to(ROOT / "tests")
        if place.parts and place.parts[0] not in apart and any(folder.glob("test_*.py")):
            assert (SOURCE / place / "__init__.py").is_file(), place
