"""``veridical diff`` and the files for CI as a user runs them, with the embedded models."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from ci_schemas import JUNIT, SARIF
from commands import run_command
from doc_files import CAPITALS
from result_lines import line, write_lines

from veridical.diff import Diff

PAIRS = list(CAPITALS.items())[:12]
HOSTILE = "<script>alert(1)</script> @everyone [x](https://evil.example) `a` | \x1b[31m"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder)


def rows(wrong: int) -> list[dict[str, Any]]:
    found = []
    for i, (country, capital) in enumerate(PAIRS):
        said = PAIRS[i - 1][1] if i < wrong else capital
        found.append({
            "question": f"What is the capital of {country}?",
            "response": f"The capital of {country} is {said}.",
            "contexts": [f"{capital} is the capital of {country}."],
            "topic": "even" if i % 2 == 0 else "odd",
        })  # fmt: skip
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 12 answers, of which 9 are wrong in the second; its file has a bad row too."""
    path = tmp_path_factory.mktemp("runs")
    write_lines(path / "base.jsonl", rows(0))
    refusal = {"response": "I do not know.", "question": HOSTILE, "contexts": ["It is so."]}
    write_lines(path / "head.jsonl", [*rows(9), {"question": HOSTILE}, refusal])
    done = run(path, "check", "base.jsonl", "--json", "base.r.jsonl", "--out", "base")
    assert done.returncode == 0, done.stderr
    done = run(path, "check", "head.jsonl", "--json", "head.r.jsonl", "--out", "head",
               "--junit", "head.xml", "--sarif", "head.sarif", "--markdown", "head.md",
               "--fail-on", "contradicted")  # fmt: skip
    assert done.returncode == 3, done.stderr
    return path


@pytest.fixture(scope="module")
def verdicts(folder: Path) -> list[str]:
    lines = (folder / "head.r.jsonl").read_text("utf-8").splitlines()
    return [json.loads(x)["verdict"] for x in lines]


@pytest.fixture(scope="module")
def contradicted(verdicts: list[str]) -> int:
    """The wrong answers that the embedded model calls contradicted; it depends on the model."""
    count = verdicts.count("contradicted")
    assert 1 <= count <= 9
    return count


@pytest.fixture(scope="module")
def found(verdicts: list[str], contradicted: int) -> int:
    """The wrong answers that it finds: all."""
    assert contradicted + verdicts.count("unsupported") == 9
    return 9


def test_check_writes_its_files_although_a_gate_fails(
    folder: Path, found: int, contradicted: int
) -> None:
    etree = pytest.importorskip("lxml.etree")
    etree.XMLSchema(etree.fromstring(JUNIT)).assertValid(etree.parse(folder / "head.xml"))
    root = ElementTree.parse(folder / "head.xml").getroot()
    cases = list(root.iter("testcase"))
    assert len(cases) == 14  # one a record, and one for the bad row
    assert len(list(root.iter("failure"))) == contradicted
    assert [e.get("type") for e in root.iter("error")] == ["invalid-row"]
    assert [s.get("type") for s in root.iter("skipped")] == ["no statement"]
    failure = next(root.iter("failure"))
    assert "sentence: The capital of Australia is" in (failure.text or "")
    assert '"Canberra is the capital of Australia."' in (failure.text or "")
    content = json.loads((folder / "head.sarif").read_text("utf-8"))
    jsonschema.Draft202012Validator(SARIF).validate(content)
    results = content["runs"][0]["results"]
    assert len(results) == found + 1
    invalid = next(r for r in results if r["ruleId"] == "invalid-row")
    place = invalid["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("head.jsonl", 13)
    page = (folder / "head.md").read_text("utf-8")
    assert page.startswith(
        f"**{contradicted} of 13 answers contain a statement that the sources contradict"
    )
    assert "gate failed" in page and "### The worst answers" in page
    assert f"| contradicted | {contradicted} |" in page


def test_runs_compared(folder: Path, found: int) -> None:
    done = run(folder, "diff", "base", "head", "--json", "diff.json", "--html", "diff.html",
               "--markdown", "diff.md", "--junit", "diff.xml", "--sarif", "diff.sarif",
               "--split-by", "topic")  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("Worse; unsupported, contradicted or inconsistent answers")
    assert "could have shown" in done.stdout and "topic = even" in done.stdout
    made = Diff.model_validate_json((folder / "diff.json").read_text("utf-8"))
    assert made.gate is not None and made.gate.worse and made.gate.n == 12
    assert (made.paired_by, made.n_only_b, made.b.n_row_errors) == ("prompt", 1, 1)
    assert made.n_flips == {"worse": found, "better": 0, "other": 0}
    flip = made.flips[0]
    assert flip.a.whole and flip.b.whole and flip.a.answer != flip.b.answer
    assert flip.question is not None and flip.b.evidence
    assert flip.b.file == "head.jsonl" and flip.b.line == flip.b.row + 1
    assert [(s.value, s.n_pairs) for s in made.strata] == [("even", 6), ("odd", 6)]
    assert all(e.p_holm is not None for s in made.strata for e in s.endpoints)
    assert {e.kind for e in made.endpoints} >= {"bad_share", "risk", "verdict", "scorer", "claims"}
    assert "Content-Security-Policy" in (folder / "diff.html").read_text("utf-8")
    assert "| bad answers |" in (folder / "diff.md").read_text("utf-8")
    sarif = json.loads((folder / "diff.sarif").read_text("utf-8"))
    assert {r["ruleId"] for r in sarif["runs"][0]["results"]} <= {
        "worse/contradicted",
        "worse/unsupported",
    }
    assert len(list(ElementTree.parse(folder / "diff.xml").getroot().iter("failure"))) == found + 1


def test_the_other_way_round_is_better(folder: Path, found: int) -> None:
    done = run(folder, "diff", "head", "base", "--json", "-")
    assert done.returncode == 0, done.stderr
    made = Diff.model_validate_json(done.stdout)  # nothing but JSON
    assert made.gate is not None and not made.gate.worse and made.n_flips["better"] == found
    assert "No rise" in done.stderr


def test_result_files_compared(folder: Path) -> None:
    done = run(folder, "diff", "base.r.jsonl", "head.r.jsonl")
    assert done.returncode == 4, done.stderr
    assert "A: The capital of" in done.stdout
    assert run(folder, "diff", "base.r.jsonl", "head.r.jsonl", "--tolerate", "0.9").returncode == 0


def test_a_run_whose_input_has_changed_is_still_compared(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "base", tmp_path / "base")
    write_lines(tmp_path / "base.jsonl", rows(3))
    shutil.copytree(folder / "head", tmp_path / "head")
    shutil.copy(folder / "head.jsonl", tmp_path / "head.jsonl")
    done = run(tmp_path, "diff", "base", "head")
    assert done.returncode == 4, done.stderr
    assert "only its results are read" in done.stdout.replace("\n", " ")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    a = [line(i, text=HOSTILE, id=f"{i} {HOSTILE}") for i in range(8)]
    b = [line(i, "contradicted", 0.9, text=HOSTILE, id=f"{i} {HOSTILE}") for i in range(8)]
    write_lines(tmp_path / "a", a)
    write_lines(tmp_path / "b", b)
    done = run(tmp_path, "diff", "a", "b", "--html", "d.html", "--markdown", "d.md",
               "--junit", "d.xml", "--sarif", "d.sarif")  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "\x1b" not in done.stdout
    page = (tmp_path / "d.html").read_text("utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    text = (tmp_path / "d.md").read_text("utf-8")
    assert "\x1b" not in text
    for part in (p for p in text.splitlines() if "@everyone" in p):
        assert part.count("``") >= 2, part  # within a fence that its own backticks do not end
    ElementTree.parse(tmp_path / "d.xml")
    jsonschema.Draft202012Validator(SARIF).validate(json.loads((tmp_path / "d.sarif").read_text()))


def test_nothing_compared_is_exit_code_2(tmp_path: Path) -> None:
    write_lines(tmp_path / "a", [line(0, "unchecked")])
    done = run(tmp_path, "diff", "a", "a")
    assert done.returncode == 2 and "Nothing could be compared" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a"], "Missing argument"),
        (["a", "none"], "No such file"),
        (["a", "a", "--json", "a"], "it is an input"),
        (["a", "a", "--json", "-", "--markdown", "-"], "two outputs to standard output"),
        (["a", "a", "--junit", "x", "--sarif", "x"], "two outputs have that name"),
        (["a", "a", "--html", "no/x.html"], "folder must exist"),
        (["a", "a", "--tolerate", "2"], "tolerate must be a fraction"),
        (["a", "a", "--tolerate", "x"], "Invalid value"),
        (["a", "a", "--split-by", "topic"], "to split by"),
        (["a", "a", "--pair-by", "prompt"], "--pair-by id"),
        (["a", "b"], "--allow-different"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    write_lines(tmp_path / "a", [line(0)])
    write_lines(tmp_path / "b", [line(0, signature="nli_grounding|v2")])
    done = run(tmp_path, "diff", *arguments)
    assert done.returncode == 1, done.stdout
    assert said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--junit", "answers.jsonl"], "it is an input"),
        (["--sarif", "no/x.sarif"], "folder must exist"),
        (["--markdown", "x", "--junit", "x"], "two outputs have that name"),
        (["--json", "-", "--sarif", "-"], "two outputs to standard output"),
    ],
)
def test_check_refuses_its_files_before_it_loads_a_model(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    write_lines(tmp_path / "answers.jsonl", [{"response": "Yes."}])
    done = run(tmp_path, "check", "answers.jsonl", "--nli", "no/such/model", *arguments)
    assert done.returncode == 1 and said in " ".join(done.stderr.split()), done.stderr


def test_files_are_written_where_no_row_is_valid(tmp_path: Path) -> None:
    write_lines(tmp_path / "answers.jsonl", [{"id": 1}, {"id": 2}])
    done = run(tmp_path, "check", "answers.jsonl", "--preset", "fast", "--junit", "x.xml",
               "--sarif", "x.sarif", "--markdown", "-")  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert len(list(ElementTree.parse(tmp_path / "x.xml").getroot().iter("error"))) == 2
    assert len(json.loads((tmp_path / "x.sarif").read_text())["runs"][0]["results"]) == 2
    assert done.stdout.startswith("**No answer could be read.**")


def test_bench_writes_markdown(tmp_path: Path) -> None:
    graded = [{"response": r["response"], "contexts": r["contexts"], "label": int(i < 9)}
              for i, r in enumerate(rows(9))]  # fmt: skip
    write_lines(tmp_path / "graded.jsonl", graded)
    done = run(tmp_path, "bench", "graded", "--data", "graded.jsonl", "--scorers", "support",
               "--bootstrap", "20", "--markdown", "bench.md", "--report", "same.md")  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "bench.md").read_text("utf-8")
    assert "| support |" in page.replace("`", "")
    assert page == (tmp_path / "same.md").read_text("utf-8")
