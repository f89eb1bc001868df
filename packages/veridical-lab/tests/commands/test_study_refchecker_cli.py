"""veridical study refchecker, from the references to the hard cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_command
from refchecker_sources import dolly, ms_marco, natural_question, write_lines
from study_scripts import script_file


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("study", "refchecker", *arguments, cwd=folder)


def test_from_corpora_to_prompts(tmp_path: Path) -> None:
    write_lines(tmp_path / "nq.jsonl", natural_question(1), natural_question(2))
    write_lines(tmp_path / "ms.jsonl", ms_marco(3))
    write_lines(tmp_path / "dolly.jsonl", dolly())
    corpora = ("--nq", "nq.jsonl", "--msmarco", "ms.jsonl", "--dolly", "dolly.jsonl")
    done = run(tmp_path, "references", *corpora, "--sample", "5", "--out", "r.jsonl")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "2 zero_context, 1 noisy_context, 1 accurate_context; written: r.jsonl" in told
    llm = script_file(tmp_path, [{"contains": "next year", "text": "Yes"}, {"text": "No"}])
    words = ("filter", "r.jsonl", "--out", "kept.jsonl", "--llm", llm, "--json", "-")
    done = run(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["asked"], figures["kept"], figures["passed_by"]) == (2, 0, 2)
    assert "2 dropped: its answer changes with time" in done.stderr
    done = run(tmp_path, "prompts", "kept.jsonl", "--out", "prompts.jsonl")
    assert done.returncode == 0 and "2 prompts" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    assert {row["setting"] for row in rows} == {"noisy_context", "accurate_context"}


def test_ids_without_a_row_are_told_and_end_in_2(tmp_path: Path) -> None:
    (tmp_path / "nq_example_ids.json").write_text('["1", "9"]')
    write_lines(tmp_path / "nq.jsonl", natural_question(1), {"example_id": 9})
    words = ("--ids", "nq_example_ids.json", "--nq", "nq.jsonl", "--out", "r.jsonl")
    done = run(tmp_path, "references", *words)
    assert done.returncode == 2
    assert "bad row: nq.jsonl:2" in done.stderr and "nq: no row of 1 ids: 9" in done.stderr


def test_copying_and_masked_of_plain_records(tmp_path: Path) -> None:
    rows = [
        {"response": f"{who} was born in {where}.", "contexts": [f"{who} was born in London."]}
        for who, where in (("Ada Lovelace", "London"), ("Ada Lovelace", "Rome"))
    ]
    write_lines(tmp_path / "a.jsonl", *rows)
    done = run(tmp_path, "copying", "a.jsonl", "--nli", "mini", "--json", "-")
    assert done.returncode == 0, done.stderr
    (part,) = json.loads(done.stdout)["parts"]
    assert part["n"] == 2 and part["auroc"] == 1.0
    assert "labels by claims(" in done.stderr and "an entailed claim copies more" in done.stderr
    done = run(tmp_path, "masked", "a.jsonl", "--nli", "mini", "--limit", "1", "--json", "m.json")
    assert done.returncode == 0, done.stderr
    (one,) = json.loads((tmp_path / "m.json").read_text())["checkers"]
    assert (one["n"], one["whole"]["entailment"], one["masked"]["entailment"]) == (1, 1.0, 0.0)
    assert "not neutral when masked" in done.stdout
    write_lines(tmp_path / "mapped.jsonl", {"said": rows[0]["response"], "text": ["Nothing."]})
    words = ("--map", "response=said", "--map", "contexts=text", "--nli", "mini")
    done = run(tmp_path, "copying", "mapped.jsonl", *words)
    assert done.returncode == 0 and "1 claims of 1 responses" in done.stdout, done.stderr


def test_plans_ask_and_write_nothing(tmp_path: Path) -> None:
    rows = [{"id": "1", "question": "who?", "references": ["She."], "setting": "zero_context"}]
    write_lines(tmp_path / "r.jsonl", *rows)
    write_lines(
        tmp_path / "a.jsonl",
        {"response": "Ada was born in Rome.", "contexts": ["Ada was born in London."]},
    )
    llm = script_file(tmp_path, [{"text": "No"}])
    words = ("filter", "r.jsonl", "--out", "kept.jsonl", "--llm", llm)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run(tmp_path, *words, "--plan", "--tokens-per-second", "20", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["calls"] == 6
    assert "1 questions; 1 records to score" in done.stderr and "6 LLM calls, about" in done.stderr
    done = run(tmp_path, *words, "--plan")
    assert (
        "--tokens-per-second X" in done.stdout and "hours on this machine: unknown" in done.stdout
    )
    done = run(tmp_path, "copying", "a.jsonl", "--nli", "mini", "--plan")
    assert "1 claims; 1 records to score\n0 LLM calls" in done.stdout, done.stderr
    masked = ("masked", "a.jsonl", "--nli", "mini", "--checkers", "llm", "--llm", llm, "--plan")
    done = run(tmp_path, *masked)
    assert "1 claims, 1 masked; 3 records to score\n2 LLM calls" in done.stdout, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    run(tmp_path, *words)
    again = run(tmp_path, *words, "--plan")
    assert "0 LLM calls (6 more are journaled)" in again.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("references", "--out", "r.jsonl", "--sample", "3"), "at least one corpus"),
        (("filter", "a.jsonl", "--out", "k.jsonl"), "--llm NAME"),
        (("filter", "a.jsonl", "--out", "k.jsonl", "--plan"), "--llm NAME"),
        (("filter", "a.jsonl", "--out", "none/k.jsonl", "--plan"), "none"),
        (
            ("filter", "a.jsonl", "--out", "k.jsonl", "--tokens-per-second", "2"),
            "--tokens-per-second requires --plan",
        ),
        (("copying", "a.jsonl", "--plan", "--tokens-per-second", "-1"), "above 0"),
        (("copying", "a.jsonl", "--plan"), "no claim has contexts"),
        (("copying", "claims.jsonl", "--plan", "--map", "response=said"), "they take no --map"),
        (("masked", "a.jsonl", "--plan", "--checkers", "llm"), "--llm NAME"),
        (("masked", "a.jsonl", "--plan", "--json", "a.jsonl"), "it is an input"),
        (("masked", "c.jsonl", "--plan", "--nli", "nowhere"), "nowhere"),
        (("masked", "a.jsonl", "--checkers", "llm"), "--llm NAME"),
        (("masked", "a.jsonl", "--checkers", "guess"), "guess"),
        (("masked", "none.jsonl"), "none.jsonl"),
        (("copying", "a.jsonl"), "no claim has contexts"),
        (("copying", "claims.jsonl", "--map", "response=said"), "they take no --map"),
        (("masked", "a.jsonl", "--reader", "guess"), "guess"),
        (("hard", "a"), "at least 2 runs"),
        (("prompts", "a.jsonl", "--out", "p.jsonl"), "question"),
        (("prompts", "a.jsonl", "--out", "none/p.jsonl"), "none"),
    ],
)
def test_what_does_not_fit_is_refused(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", {"id": 1, "response": "It is red."})
    write_lines(tmp_path / "c.jsonl", {"response": "Ada sang in Rome.", "contexts": ["She did."]})
    write_lines(tmp_path / "claims.jsonl", {"human_label": "Neutral"})
    done = run(tmp_path, *words)
    assert done.returncode == 1, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


def test_hard_reads_runs(tmp_path: Path) -> None:
    row = {"id": "a", "response": "Ada was born in Rome.", "contexts": ["Ada was born in London."]}
    write_lines(tmp_path / "a.jsonl", row)
    for out in ("one", "two"):
        subprocess.run(
            [sys.executable, "-m", "veridical", "check", "a.jsonl", "--nli", "mini", "--out", out],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
    done = run(tmp_path, "hard", "one", "two", "--json", "h.json")
    assert done.returncode == 0, done.stderr
    (case,) = json.loads((tmp_path / "h.json").read_text())["chosen"]
    assert (case["id"], case["hardness"], case["judged"]) == ("a", 1.0, 2)
    assert "1 of 1 questions over 2 runs" in done.stdout
