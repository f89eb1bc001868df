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
LAB = ROOT / "packages" / "veridical-lab"
PACKAGES = {"veridical": SOURCE, "veridical_lab": LAB / "src" / "veridical_lab"}
#: Groups of entry points, which are named like modules.
GROUPS = {f"veridical.{group}" for group in ("commands", "scorers", "models", "results", "names")}
pytest.importorskip("importlinter")


def environment(root: Path) -> dict[str, str]:
    sources = root / "src", root / "packages" / "veridical-lab" / "src"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sources))}


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"),
        *("--no-cache", "--config", str(root / "pyproject.toml")),
    ]
    return subprocess.run(command, capture_output=True, text=True, env=environment(root), cwd=root)


def copied(root: Path) -> Path:
    """Both packages and the contracts, in a folder to plant things in."""
    shutil.copy(ROOT / "pyproject.toml", root)
    ignored = shutil.ignore_patterns("__pycache__", "data")
    for place in ("src", "packages/veridical-lab/src"):
        shutil.copytree(ROOT / place, root / place, ignore=ignored)
    return root


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
        ("cli/report.py", "\n\ndef planted() -> None:\n    import veridical_lab.bench.result\n"),
        ("veridical_lab/bench/result.py", "import veridical_lab.commands.bench\n"),
    ],
)
def test_a_planted_upward_import_is_found(tmp_path: Path, module: str, planted: str):
    folder = "packages/veridical-lab/src" if module.startswith("veridical_lab") else "src/veridical"
    with (copied(tmp_path) / folder / module).open("a", encoding="utf-8") as file:
        file.write(planted)
    done = lint(tmp_path)
    place = module.removesuffix(".py").replace("/", ".")
    assert done.returncode == 1 and place in done.stdout


def circle(root: Path) -> list[str]:
    """Modules of which each imports the next, also inside functions and for types alone;
    none where there is none."""
    code = (
        "import grimp, json; "
        "graph = grimp.build_graph('veridical', 'veridical_lab', "
        "exclude_type_checking_imports=False, cache_dir=None); "
        "print(json.dumps({m: sorted(graph.find_modules_directly_imported_by(m))"
        " for m in graph.modules}))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env=environment(root),
        cwd=root,
    )
    imports = {module: set(names) for module, names in json.loads(printed.stdout).items()}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as e:
        return list(e.args[1])
    return []


def test_no_package_has_a_circle_among_its_modules():
    assert circle(ROOT) == []


@pytest.mark.parametrize(
    "planted",
    [
        "def planted() -> None:\n    from veridical.io import cells\n",
        "if TYPE_CHECKING:\n    from veridical.io import cells\n",
    ],
)
def test_a_planted_circle_is_found(tmp_path: Path, planted: str):
    with (copied(tmp_path) / "src/veridical/io/lines.py").open("a", encoding="utf-8") as file:
        file.write(f"\n\n{planted}")
    assert {"veridical.io.lines", "veridical.io.cells"} <= set(circle(tmp_path))


def floors(package: str) -> list[str]:
    """The floors of a package in the contracts, from top to bottom."""
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    contract = settings.partition(f'containers = ["{package}"]')[2]
    return re.findall(
        r'^  "(\w+)",$', contract.partition("\nlayers = [")[2].partition("]")[0], re.M
    )


def named_above(source: Path) -> list[str]:
    """Texts in the code that name a module, or an object of one, of a floor above their own;
    not those by which a package has its public names."""
    order, found = floors("veridical"), []
    for file in (file for file in source.rglob("*.py") if file.name != "__init__.py"):
        floor = file.relative_to(source).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text("utf-8"))) if floor in order else ():
            text = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(text, str) or not re.fullmatch(r"[a-z_][\w.]*\.\w+(:\w+)?", text):
                continue
            parts = text.partition(":")[0].removeprefix("veridical.").split(".")
            place = source.joinpath(*parts)
            there = place.with_name(f"{place.name}.py").is_file() or place.is_dir()
            if there and text not in GROUPS and order.index(parts[0]) < order.index(floor):
                found.append(f"{file.relative_to(source)}: {text}")
    return found


def test_no_text_names_a_module_of_a_floor_above():
    assert named_above(SOURCE) == []


def test_a_planted_name_of_a_module_above_is_found(tmp_path: Path):
    source = copied(tmp_path) / "src" / "veridical"
    planted = ["veridical.models.catalog:load_nli", "engine.service:Service", "veridical.cli"]
    with (source / "core" / "kinds.py").open("a", encoding="utf-8") as file:
        file.writelines(f"\n_PLANTED = {text!r}\n" for text in planted)
    assert named_above(source) == [f"core/kinds.py: {text}" for text in planted]


def test_a_new_package_must_be_given_a_floor(tmp_path: Path):
    (copied(tmp_path) / "src/veridical/attic.py").touch()
    done = lint(tmp_path)
    assert done.returncode == 1 and "attic" in done.stdout + done.stderr


HOUSE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PAGES = [
    HOUSE,
    *((ROOT / "docs" / f"{n}.md").read_text("utf-8") for n in ("new-scorer",)),
]


#: Classes that pages call so.
ASKED = {"record": ("Record",), "evidence": ("Evidence", "CheckpointEvidence")}


def floors_drawn(page: str) -> list[str]:
    """Floors of the page's first diagram, from top to bottom and from left to right."""
    drawn = page.partition("```text\n")[2].partition("```")[0]
    return [f for line in drawn.splitlines() for f in re.split("  +", line)[1].split(" → ")]


def code_in(page: str) -> list[str]:
    """What stands between single backticks in the text."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M))


def members_of_classes() -> dict[str, set[str]]:
    """Class of the package -> names that it, or a class that it is made of, defines."""
    classes: dict[str, tuple[set[str], list[str]]] = {}
    for file in (file for source in PACKAGES.values() for file in source.rglob("*.py")):
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
            there = any((base / code).exists() for base in (SOURCE, ROOT, LAB / "src"))
        elif re.fullmatch(r"veridical(\.\w+)+", code) and code not in GROUPS:
            there = pkgutil.resolve_name(code) is not None
        elif re.fullmatch(r"[A-Z]\w*[a-z]\w*(\.\w+)?", code) and code != "TypedDict":
            name, _, part = code.partition(".")
            there = name in classes and (not part or part in classes[name])
        else:
            asked = re.match(r"(?:await )?(evidence|record)\.(\w+)", code)
            there = asked is None or any(asked[2] in classes[name] for name in ASKED[asked[1]])
        if not there:
            missing.append(code)
    return missing


def test_the_page_of_the_house_names_what_there_is():
    assert nowhere(PAGES) == []
    assert len(HOUSE.splitlines()) <= 240


def test_a_name_on_the_page_that_is_nowhere_is_found():
    wrong = ["engine/attic.py", "attic/", "Attic", "Request.attic", "evidence.attic(x)"]
    assert nowhere([f"As `{name}` says." for name in wrong]) == wrong
    with pytest.raises(AttributeError):
        nowhere(["As `veridical.attic` says."])


#: Prints the files of the package of which a function runs in a check of one record.
FOLLOWED = """
import inspect, json, sys, threading
ran = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        ran.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
from veridical.cli import main
try:
    main()
finally:
    sys.setprofile(None)
    json.dump(sorted(ran), open("ran.json", "w"))
"""


def test_the_files_in_which_a_record_is_followed_run(tmp_path: Path):
    record = {
        "question": "Who wrote Hamlet?",
        "response": "Hamlet was written by Marlowe.",
        "contexts": ["Hamlet is a play by William Shakespeare."],
    }
    (tmp_path / "records.jsonl").write_text(json.dumps(record), "utf-8")
    command = [sys.executable, "-c", FOLLOWED, "check", "records.jsonl", "--store", "none"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment(ROOT)
    )
    assert done.returncode == 0 and "unsupported" in done.stderr, done.stderr
    table = HOUSE.partition("## One record")[2].partition("\n## ")[0]
    followed = [code for code in code_in(table) if code.endswith(".py")]
    assert 10 < len(followed) <= 20
    ran = {Path(file) for file in json.loads((tmp_path / "ran.json").read_text("utf-8"))}
    assert [file for file in followed if SOURCE / file not in ran] == []


@pytest.mark.parametrize(
    ("package", "heading"),
    [("veridical", "## The layers"), ("veridical_lab", "## The laboratory")],
)
def test_the_page_of_the_house_has_every_floor_in_its_order(package: str, heading: str):
    stated = floors(package)
    house = HOUSE.partition(heading)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", house, re.M)
    assert rows == floors_drawn(house) == [floor for floor in stated if floor != "__main__"]
    source = PACKAGES[package]
    found = {p.stem for p in source.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert found - {"__init__"} == set(stated)


def test_no_text_in_the_core_names_a_module_of_the_laboratory():
    named = [
        f"{file.relative_to(SOURCE)}:{number}"
        for file in SOURCE.rglob("*.py")
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if "veridical_lab" in line
    ]
    assert named == []


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_lie_where_what_they_test_lies(package: str):
    apart = {"attack", "examples", "helpers", "replay", "stories", "training"}
    tests = ROOT / "tests" if package == "veridical" else LAB / "tests"
    for folder in tests.rglob("*/"):
        place = folder.relative_to(tests)
        if place.parts and place.parts[0] not in apart and any(folder.glob("test_*.py")):
            assert (PACKAGES[package] / place / "__init__.py").is_file(), place


def test_no_test_of_the_core_imports_the_laboratory():
    importing = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("veridical_lab"))
        or (isinstance(node, ast.Import) and any("veridical_lab" in n.name for n in node.names))
    ]
    assert importing == []
