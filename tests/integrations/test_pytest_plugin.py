"""The pytest plugin in sessions of its own, with the embedded models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from places import ROOT

PLUGIN = "veridical.integrations.pytest_plugin"
TESTS = """
import pytest

SOURCES = ["The tower is 70 m tall.", "It was built in 1901."]

def test_right(veridical):
    result = veridical.assert_supported("The tower is 70 m tall.", SOURCES, question="How tall?")
    assert result.verdict == "supported"

def test_wrong(veridical):
    answer = "It was built in 1901. The tower is 90 m tall."
    veridical.assert_supported(answer, SOURCES, "How tall?")

def test_refusal(veridical):
    veridical.assert_supported("I do not know.", SOURCES)

def test_agrees(veridical):
    veridical.assert_consistent("Paris is the capital.", ["Paris is the capital."] * 3)

@pytest.mark.veridical(preset="fast")
def test_options(veridical):
    veridical.assert_supported("The tower is 70 m tall.", SOURCES)

def test_without():
    pass
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_answers.py").write_text(TESTS, "utf-8")
    return tmp_path


def test_assertions_and_what_they_say(folder: Path) -> None:
    done = run(folder, "--junit-xml", "report.xml", "--strict-markers", "-q")
    assert done.returncode == 1
    assert "3 failed, 3 passed" in done.stdout
    assert "the answer is not supported:" in done.stdout
    assert "sentence: The tower is 90 m tall." in done.stdout
    assert 'context 1, characters 0-23: "The tower is 70 m tall."' in done.stdout
    assert "The answer states nothing" in done.stdout  # a refusal is never a pass
    assert "Only words were compared" in done.stdout  # the marker's options were used
    assert "pytest_plugin.py" not in done.stdout  # no frames of ours
    cases = {
        c.get("name"): {p.get("name"): p.get("value") for p in c.iter("property")}
        for c in ElementTree.parse(folder / "report.xml").iter("testcase")
    }
    assert cases["test_right"]["veridical_verdict"] == "supported"
    assert float(cases["test_right"]["veridical_risk"] or "1") < 0.5
    assert cases["test_wrong"]["veridical_verdict"] == "contradicted"
    assert cases["test_without"] == {}


def test_the_tests_of_the_page_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    blocks = page.partition("## Test with pytest")[2].split("```python\n")[1:]
    text = "\n\n".join(block.partition("```")[0] for block in blocks)
    (tmp_path / "test_page.py").write_text(text.replace('nli="base"', 'nli="mini"'), "utf-8")
    done = run(tmp_path, "-q", "--strict-markers")
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


def test_tests_with_the_fixture_are_marked(folder: Path) -> None:
    done = run(folder, "--collect-only", "-q", "-m", "veridical")
    assert "5/6 tests collected" in done.stdout
    assert "veridical(**options)" in run(folder, "--markers").stdout


def test_workers_of_xdist(folder: Path) -> None:
    pytest.importorskip("xdist")
    done = run(folder, "-n", "2", "-q", "--junit-xml", "report.xml", "-k", "right or agrees")
    assert done.returncode == 0, done.stdout
    properties = [p.get("name") for p in ElementTree.parse(folder / "report.xml").iter("property")]
    assert properties.count("veridical_risk") == 2


def test_it_is_silent_and_loads_nothing_before_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text(
        "import sys\n\ndef test_none():\n"
        "    loaded = [m for m in sys.modules if m.startswith('veridical')]\n"
        "    assert not {'numpy', 'onnxruntime', 'pydantic'} & set(sys.modules)\n"
        "    assert 'veridical.single' not in loaded and 'veridical.api' not in loaded, loaded\n",
        "utf-8",
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n", "utf-8"
    )
    done = run(tmp_path, "-q", "-p", "no:langsmith_plugin")  # which loads pydantic
    assert done.returncode == 0, done.stdout
    assert "veridical" not in done.stdout
    assert done.stderr == ""


def test_the_import_takes_less_than_5_ms(tmp_path: Path) -> None:
    code = (
        "import pytest, time; t = time.process_time()\n"
        f"import {PLUGIN}\n"
        "print(1000 * (time.process_time() - t))"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}  # compiled, as installed
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code]
    times = [
        float(
            subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            ).stdout
        )
        for _ in range(6)
    ]
    assert min(times[1:]) < 5, times


def test_the_entry_point_has_the_name_of_its_module() -> None:
    """So that ``-p`` with that name, which the tests here use, never loads it twice."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    section = text.partition("[project.entry-points.pytest11]\n")[2].partition("\n[")[0]
    assert f'"{PLUGIN}" = "{PLUGIN}"' in section
