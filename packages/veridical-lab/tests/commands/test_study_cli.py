"""veridical study checkembed, with a scripted model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import run_command
from study_scripts import CHUNKS, RULES, script_file


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("study", "checkembed", *arguments, cwd=folder)


SMALL = ("--limit", "1", "--n", "3", "--errors", "1,5", "--scorers", "checkembed, selfcheck_nli")


def test_all_studies_of_texts_with_json_and_reports(tmp_path: Path) -> None:
    (tmp_path / "chunks.json").write_text(json.dumps(CHUNKS))
    words = ("pairs", "errors", "terms", "--data", "chunks.json", "--llm", script_file(tmp_path))
    outputs = ("--json", "-", "--report", "r.html", "--report", "r.md", "--report", "r.txt")
    done = run(tmp_path, *words, *SMALL, *outputs)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["studies"] == ["pairs", "errors", "terms"] and told["trends"] and told["groups"]
    page = (tmp_path / "r.html").read_text()
    for part in ('class="violin', "Forced errors", "COMET-style: chunk 0", "paper (figures 4"):
        assert part in page
    assert "default-src" in page and "<script src" not in page
    assert "| checkembed | " in (tmp_path / "r.md").read_text()
    assert "Terms extracted from legal texts" in (tmp_path / "r.txt").read_text()
    assert f"studies: {told['folder']}" in done.stderr
    again = run(tmp_path, *words, *SMALL, "--json", "b.json")
    assert again.returncode == 0
    assert json.loads((tmp_path / "b.json").read_text())["values"] == told["values"]


def test_the_plan_says_calls_tokens_and_hours(tmp_path: Path) -> None:
    llm = script_file(tmp_path)
    plan = ("errors", "--llm", llm, *SMALL, "--max-tokens", "64", "--plan")
    done = run(tmp_path, *plan, "--tokens-per-second", "20")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "18 LLM calls, about" in told and "hours on this machine: at most 0." in told
    assert "the first 1 topics of 8 about scientific and legal" in told
    unknown = " ".join(run(tmp_path, *plan).stdout.split())
    assert "hours on this machine: unknown" in unknown and "--tokens-per-second X" in unknown
    assert not (tmp_path / ".veridical" / "studies").exists()


def test_running_times_are_told(tmp_path: Path) -> None:
    small = ("--ks", "2,3", "--lengths", "10", "--scorers", "checkembed")
    done = run(tmp_path, "runtime", *small, "--report", "t.html")
    assert done.returncode == 0, done.stderr
    assert "k 2" in done.stdout and "minilm" in done.stdout
    assert "Seconds, 10 words a sample" in (tmp_path / "t.html").read_text()


def test_counted_objects_are_told(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    small = ("counting", "--limit", "2", "--n", "3")
    done = run(tmp_path, *small, "--plan")
    assert done.returncode == 0, done.stderr
    assert "2 of 8 objects, one to five of each, 3 images per prompt" in " ".join(
        done.stdout.split()
    )
    assert "100 records to score" in " ".join(done.stdout.split())
    done = run(tmp_path, *small, "--report", "c.html", "--json", "c.json")
    assert done.returncode == 0, done.stderr
    assert "single image (checkembed)" in done.stdout
    assert "single image (selfcheck: cosine)" in (tmp_path / "c.html").read_text()
    assert "how many of them are wrong" in (tmp_path / "c.html").read_text()
    stored = json.loads((tmp_path / "c.json").read_text())
    assert len(stored["values"]) == 40 and "image_embedder" in stored["models"]


def test_replies_of_no_use_fail_the_coverage(tmp_path: Path) -> None:
    useless = [{"contains": "VASTLY", "text": "I would rather not."}, *RULES]
    llm = script_file(tmp_path, useless)
    small = ("--limit", "1", "--n", "3", "--scorers", "checkembed", "--min-coverage", "0.9")
    done = run(tmp_path, "pairs", "--llm", llm, *small)
    assert done.returncode == 2
    assert "replies of pairs 50.0 %" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("pears", "--llm", "fake:x"), "did you mean 'pairs'"),
        (("pairs",), "--llm NAME"),
        (("terms", "--llm", "fake:script.json"), "--data PATH"),
        (("errors", "--llm", "fake:script.json", "--errors", "11"), "--errors"),
        (("errors", "--llm", "fake:script.json", "--ks", "2,3"), "--ks requires the study"),
        (("errors", "--llm", "fake:script.json", "--report", "r.pdf"), "r.pdf"),
        (("errors", "--llm", "fake:script.json", "--plan", "--report", "r.md"), "--report"),
        (("errors", "--llm", "fake:script.json", "--tokens-per-second", "9"), "requires --plan"),
        (("errors", "--llm", "fake:script.json", "--json", "no/such/x.json"), "no/such"),
        (("runtime", "--embedders", "nowhere", "--ks", "2"), "nowhere"),
        (("counting", "--image-embedder", "nowhere"), "names no model"),
        (("counting", "--image-embedder", "./nowhere", "--plan"), "no such model folder"),
        (("counting", "--ks", "2"), "--ks requires the study 'runtime'"),
    ],
)
def test_usage(tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    script_file(tmp_path)
    done = run(tmp_path, *arguments)
    assert done.returncode == 1 and why in done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
