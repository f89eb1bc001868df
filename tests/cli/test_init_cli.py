"""``veridical init``: what it writes runs, and takes nobody's place unasked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

VERIDICAL = [sys.executable, "-m", "veridical"]
PROMPTFOO = os.environ.get("PROMPTFOO") or shutil.which("promptfoo")


def init(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*VERIDICAL, "init", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose ``veridical`` on the path is this one."""
    script = tmp_path / "bin" / "veridical"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m veridical "$@"\n')
    script.chmod(0o755)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def steps(folder: Path) -> list[str]:
    """The commands of the workflow that run here, as a shell gets them."""
    lines = (folder / ".github/workflows/veridical.yml").read_text().splitlines()
    found: list[str] = []
    for i, line in enumerate(lines):
        key, _, value = line.strip().partition(": ")
        if key == "run" and value == ">":
            indent = len(line) - len(line.lstrip())
            folded = []
            for more in lines[i + 1 :]:
                if len(more) - len(more.lstrip()) <= indent:
                    break
                folded.append(more.strip())
            found.append(" ".join(folded))
        elif key == "run":
            found.append(value)
    return found


def test_the_workflow_compares_with_the_base(folder: Path) -> None:
    """An answer that was wrong before does not fail; one that got worse does."""
    done = init("ci", cwd=folder)
    assert done.returncode == 0 and "wrote .github/workflows/veridical.yml" in done.stdout
    assert "next: veridical check evals/answers.jsonl" in done.stdout
    install, *work, show = steps(folder)
    assert install == 'pip install "${VERIDICAL:-./veridical}"'
    answers = folder / "evals/answers.jsonl"
    environment = {
        **os.environ,
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout

    def run(base: str) -> tuple[int, str]:
        for place in ("answers-before", "answers-now"):
            shutil.rmtree(folder / place, ignore_errors=True)
        told = ""
        for command in work:
            step = subprocess.run(
                command, shell=True, cwd=folder, env={**environment, "BASE": base}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            told += step.stdout
            if step.returncode:
                return step.returncode, told
        return 0, told

    git("init", "--quiet")
    assert run("0" * 40)[0] == 0  # no base has answers yet
    right = answers.read_text("utf-8")
    rows = [json.loads(line) for line in right.splitlines()]
    for row in rows:
        row["answer"] = re.sub(r"\d+", lambda number: str(int(number[0]) + 300), row["answer"])
    wrong = "".join(json.dumps(row) + "\n" for row in rows)
    git("add", "evals")
    git("commit", "--quiet", "-m", "right")
    answers.write_text(wrong, "utf-8")
    code, told = run("HEAD")
    assert code == 4, told
    named = re.findall(r"next: veridical explain (\S+) \d+\n", told)
    assert named and all((folder / place).is_dir() for place in named)
    subprocess.run(show, shell=True, cwd=folder, env=environment, check=True)
    summary = (folder / "summary.md").read_text("utf-8")
    assert summary.startswith("**Worse; ") and "next:" not in summary
    assert summary.index("worse: `How long is the bridge?`") < summary.index("### Figures")
    assert "- before: `The bridge is 420 m long.`\n- now: `The bridge is 720 m long.`" in summary
    suites = ElementTree.parse(folder / "answers-junit.xml").getroot()
    assert list(suites.iter("failure"))
    git("commit", "--quiet", "-am", "wrong")
    assert run("HEAD")[0] == 0  # red once, not for ever


def test_the_workflow_is_yaml(folder: Path) -> None:
    yaml = pytest.importorskip("yaml")
    init("ci", cwd=folder)
    workflow = yaml.safe_load((folder / ".github/workflows/veridical.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [s["run"].strip() for s in job["steps"] if "run" in s] == steps(folder)
    assert workflow["permissions"] == {"contents": "read"}


def test_the_tests_pass_and_fail_where_they_should(folder: Path) -> None:
    done = init("pytest", cwd=folder)
    assert done.returncode == 0 and "next: pytest tests/test_answers.py" in done.stdout
    plugin = "veridical.integrations.pytest_plugin"
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "tests/test_answers.py"]
    good = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert good.returncode == 0 and "3 passed" in good.stdout, good.stdout
    module = folder / "tests/test_answers.py"
    module.write_text(module.read_text().replace("You have 30 days from", "You have 90 days from"))
    bad = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert bad.returncode == 1 and "1 failed" in bad.stdout and "90 days" in bad.stdout


@pytest.mark.skipif(PROMPTFOO is None, reason="promptfoo is not here")
def test_the_promptfoo_files_run(folder: Path) -> None:
    done = init("promptfoo", cwd=folder)
    assert done.returncode == 0 and "next: npx promptfoo eval" in done.stdout
    environment = {
        **os.environ,
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(folder / "config"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }
    command = [str(PROMPTFOO), "eval", "--no-cache", "-o", "out.json"]
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    stats = json.loads((folder / "out.json").read_text())["results"]["stats"]
    assert (stats["successes"], stats["failures"], stats["errors"]) == (2, 0, 0)


@pytest.mark.parametrize("what", ["ci", "pytest", "promptfoo"])
def test_nothing_takes_the_place_of_a_file(what: str, folder: Path) -> None:
    assert init(what, cwd=folder).returncode == 0
    written = sorted(p for p in folder.rglob("*") if p.is_file())
    last = written[-1]
    fresh = last.read_text()
    last.write_text("mine")
    written[0].unlink() if len(written) > 1 else None
    again = init(what, cwd=folder)
    assert again.returncode == 1 and "already exists" in again.stderr
    assert last.read_text() == "mine" and (len(written) == 1 or not written[0].exists())
    assert init(what, "--force", cwd=folder).returncode == 0
    assert last.read_text() == fresh and written[0].exists()


def test_what_is_refused(folder: Path) -> None:
    assert "'jenkins' is not one of" in " ".join(init("jenkins", cwd=folder).stderr.split())
    (folder / "tests").write_text("a file")
    done = init("pytest", cwd=folder)
    assert done.returncode == 1 and "cannot write tests/test_answers.py" in done.stderr
    (folder / "promptfooconfig.yaml").symlink_to("nowhere")
    assert "already exists" in init("promptfoo", cwd=folder).stderr
    (folder / "promptfooconfig.yaml").unlink()
    (folder / "promptfooconfig.yaml").mkdir()
    done = init("promptfoo", "--force", cwd=folder)
    assert done.returncode == 1 and "cannot write promptfooconfig.yaml" in done.stderr
