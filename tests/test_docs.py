"""What the documents say is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_command, run_script
from doc_files import write_files
from docs_modules import docs_module
from places import ROOT
from printed import assert_printed


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def fences(page: str) -> list[str]:
    """All fenced blocks of a page, whatever their language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def unnamed(text: str) -> str:
    """A text without the names of run folders."""
    return re.sub(r"runs/[0-9a-f]{16}", "runs/RUN", text)


def test_generated_pages_are_up_to_date() -> None:
    generate = docs_module("generate")
    for name, page in generate.PAGES.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page(), (
            f"docs/{name} is out of date: run python docs/generate.py"
        )


@pytest.mark.data
def test_the_reproduction_page_is_up_to_date(shared_data: Path) -> None:
    """Every figure of docs/reproduction.md, computed anew."""
    command = [sys.executable, str(ROOT / "docs" / "reproduction.py"), "--check"]
    done = subprocess.run(
        [*command, "--data", str(shared_data)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_new_scorer_of_the_docs_runs(tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(blocks("docs/new-scorer.md", "python")[0])
    done = run_script(tmp_path / "shout.py", tmp_path)
    assert done.stdout == "1.0\n", done.stderr


def test_the_readme_python_runs(tmp_path: Path) -> None:
    (tmp_path / "demo.jsonl").write_bytes((ROOT / "src/veridical/cli/demo.jsonl").read_bytes())
    (tmp_path / "example.py").write_text(blocks("README.md", "python")[0])
    done = run_script(tmp_path / "example.py", tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("contradicted 0."), done.stderr
    assert ">>> It is 70 m tall." in done.stdout and (tmp_path / "report.html").exists()


def test_readme_and_first_page_show_what_the_demo_prints(tmp_path: Path) -> None:
    command, shown = fences("README.md")[:2]
    assert command.splitlines()[-1] == "veridical demo"
    done = run_command("demo", cwd=tmp_path, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert_printed(unnamed(done.stdout + done.stderr), unnamed(shown))
    run = str(next((tmp_path / ".veridical" / "runs").iterdir()))
    done = run_command("explain", run, "0", cwd=tmp_path, env={"COLUMNS": "80"})
    assert_printed(done.stdout, blocks("docs/index.md", "text")[0])


def test_the_guide_shows_what_explain_prints() -> None:
    import veridical

    page = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    shown = re.findall(r"```json\n([^\n]+)\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 2
    with veridical.Engine(store=None, nli="mini") as engine:
        for row, text in shown:
            (result,) = veridical.check([json.loads(row)], engine=engine)
            without_question = re.sub(r"^Question: .*\n", "", text, flags=re.MULTILINE)
            assert_printed(result.explain(), without_question)


def test_the_ci_page_shows_what_diff_prints(tmp_path: Path) -> None:
    write_files(tmp_path)
    for answers, results in (("before", "base"), ("after", "head")):
        done = run_command("check", f"{answers}.jsonl", "--json", f"{results}.jsonl", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = run_command("diff", "base.jsonl", "head.jsonl", cwd=tmp_path, env={"COLUMNS": "80"})
    assert done.returncode == 4, done.stderr
    (shown,) = blocks("docs/ci.md", "text")[:1]
    printed = " ".join(done.stdout.split())
    for part in shown.split("...\n"):
        part = " ".join(part.split())
        start = printed.index(part[:10])
        assert_printed(printed[start : start + len(part)], part)


@pytest.mark.parametrize(
    ("page", "number"),
    [("corpus", 0), ("llm", 0), ("tuning", 0)],
)
def test_the_python_of_other_pages_runs(page: str, number: int, tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "example.py").write_text(blocks(f"docs/{page}.md", "python")[number])
    done = run_script(tmp_path / "example.py", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, ">>> It was founded"), (1, "1 row failed"), (2, "contradicted"), (3, "is null")],
)
def test_the_python_page_runs(number: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(blocks("docs/python.md", "python")[number])
    done = run_script(tmp_path / "example.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout and (tmp_path / ".veridical" / "store").is_dir()


def test_the_readme_rows_are_valid_records(tmp_path: Path) -> None:
    from veridical.core.records import Record
    from veridical.io import open_source

    (tmp_path / "a.jsonl").write_text(blocks("README.md", "json")[0])
    assert all(isinstance(r, Record) for r in open_source(str(tmp_path / "a.jsonl")).rows())


@pytest.mark.parametrize(
    "page", ["README.md", *(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if "://" not in link:
            assert ((ROOT / page).parent / link).exists(), link
