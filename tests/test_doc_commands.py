"""Every command line of README and docs, in a folder that has the files that they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_files import CODES, arguments, lines, needs, pages, read_to_the_end, run, write_files

from veridical.core.registry import REGISTRY

#: Pages with command lines, each a test of its own: later lines use what earlier ones have written.
PAGES = [page for page in pages() if lines(page)]


@pytest.mark.parametrize("page", PAGES)
def test_the_command_lines_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(REGISTRY, "_scorers", dict(REGISTRY._scorers))  # a page adds its own
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("VERIDICAL_CONFIG", "")
    write_files(tmp_path)
    for line in lines(page):
        last = max(Path(".veridical/runs").glob("*"), default=Path("none"))
        words = arguments(line, str(last))
        if needs(line):
            read_to_the_end(words)
            continue
        code, refusal = run(words)
        printed = capfd.readouterr()
        assert code == CODES.get(line, 0), f"{line}\n{refusal}\n{printed.err[-2000:]}"


def test_the_lines_of_the_readme_are_found_and_run() -> None:
    run_here = [line for line in lines("README.md") if needs(line) is None]
    assert len(run_here) >= 10 and run_here[0] == "veridical demo"
    assert "veridical explain RUN ROW" in run_here


@pytest.mark.parametrize(
    "line",
    [
        "veridical check answers.jsonl --smaples 3",
        "veridical check answers.jsonl --preset slow",
        "veridical check answers.jsonl --scorers ngramm",
        "veridical chekc answers.jsonl",
    ],
)
def test_a_line_that_is_only_read_is_read_to_the_end(line: str) -> None:
    with pytest.raises(
        Exception, match=r"(?i)no such option|invalid value|unknown scorer|slow|chekc"
    ):
        read_to_the_end(arguments(line))
