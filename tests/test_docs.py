"""What the documents say is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_generated_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
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
    done = subprocess.run(
        [sys.executable, "shout.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1.0\n"


def test_the_readme_python_runs(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(blocks("README.md", "python")[0])
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    risks = [float(x) for x in done.stdout.split()]
    assert len(risks) == 3 and (tmp_path / "report.html").exists()


def test_the_readme_rows_are_valid_records(tmp_path: Path) -> None:
    from veridical.io import open_source
    from veridical.records import Record

    (tmp_path / "a.jsonl").write_text(blocks("README.md", "json")[0])
    assert all(isinstance(r, Record) for r in open_source(str(tmp_path / "a.jsonl")).rows())


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if "://" not in link:
            assert ((ROOT / page).parent / link).exists(), link
