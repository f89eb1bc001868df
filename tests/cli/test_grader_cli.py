"""``veridical tune --grader ...`` and ``--method famd`` as a user runs them, to the check after."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from commands import run_command
from graded_answers import answers

SCORERS = "ngram_presence, ngram, exact_match"
GRADERS = ("exact", "numeric", "choice")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(
        *arguments,
        "--processes",
        "0",
        cwd=folder,
        env={"XDG_CONFIG_HOME": str(folder), "VERIDICAL_CONFIG": ""},
    )


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "graded.jsonl").write_text(text, encoding="utf-8")


def said_as(grader: str, row: dict[str, Any], i: int) -> dict[str, Any]:
    """A graded answer in the words of a kind of question, its label taken away."""
    wrong = bool(row["label"])
    row = {k: v for k, v in row.items() if k != "label"}
    if grader == "numeric":
        row |= {"response": f"So there are {i + wrong}.", "reference": str(i)}
    elif grader == "choice":
        row |= {
            "prompt": f"Question {i}?\nA) one\nB) two",
            "response": "The answer is B." if wrong else "The answer is A.",
            "reference": "A",
        }
    return row


def tuned(folder: Path, *arguments: str) -> dict[str, Any]:
    made = run(
        *(folder, "tune", "graded.jsonl", "--scorers", SCORERS, "--bootstrap", "0"),
        *("--out", "ensemble.json", "--json", "tuned.json", *arguments),
    )
    assert made.returncode == 0, made.stderr
    return json.loads((folder / "tuned.json").read_text("utf-8"))


class Server(ThreadingHTTPServer):
    """Grades by the words of a prompt; counts what it is asked."""

    calls = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Chat(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.calls += 1
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        said = "I cannot know" if " unclear" in asked else "Yes" if " good" in asked else "No"
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(400 if " failing" in asked else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("grader", GRADERS)
def test_a_rule_makes_the_labels(tmp_path: Path, grader: str) -> None:
    rows = answers()
    write(tmp_path, [said_as(grader, row, i) for i, row in enumerate(rows)])
    told = tuned(tmp_path, "--grader", grader)
    fitted_on = told["ensemble"]["fitted_on"]
    assert fitted_on["labels"].startswith(f"grader {grader}")
    assert (fitted_on["n"], fitted_on["positive"]) == (80, sum(row["label"] for row in rows))
    checked = run(
        *(tmp_path, "check", "graded.jsonl", "--scorers", "ensemble(file='ensemble.json')"),
        *("--json", "-"),
    )
    assert checked.returncode == 0, checked.stderr
    assert len(checked.stdout.splitlines()) == 80


def test_an_llm_makes_the_labels_and_what_it_cannot_grade_is_counted(
    tmp_path: Path, server: Server
) -> None:
    """The model says yes where a response holds a mark; of one it says nothing clear, at one
    it fails."""
    rows = answers()
    for row, mark in zip(rows, ["unclear", "failing"] + [""] * 78, strict=True):
        row["response"] += f" {mark or ('bad' if row['label'] else 'good')}"
    truth = [row.pop("label") for row in rows]
    write(tmp_path, rows)
    (tmp_path / "veridical.toml").write_text(
        f'[llm.mine]\nbase_url = "{server.url}"\nmodel = "m"\n'
    )
    told = tuned(tmp_path, "--grader", "llm", "--llm", "mine")
    fitted_on = told["ensemble"]["fitted_on"]
    assert fitted_on["labels"].startswith("grader llm")
    assert (fitted_on["n"], fitted_on["positive"]) == (78, sum(truth[2:]))
    notes = " | ".join(told["notes"])
    assert "not graded, 1 times, first row 0: " in notes and "I cannot know" in notes
    assert "not graded, 1 times, first row 1: the grader's call failed" in notes
    asked = server.calls
    again = tuned(tmp_path, "--grader", "llm", "--llm", "mine")
    assert again["ensemble"] == told["ensemble"]
    assert server.calls < asked + 10  # what has an answer is in the journal


def test_famd_is_tuned_and_then_a_scorer(tmp_path: Path) -> None:
    pytest.importorskip("prince")
    write(tmp_path, answers())
    told = tuned(tmp_path, "--method", "famd")
    assert told["ensemble"]["method"] == "famd"
    checked = run(
        *(tmp_path, "check", "graded.jsonl", "--json", "-"),
        *("--scorers", f"famd(file='ensemble.json'), {SCORERS}"),
    )
    assert checked.returncode == 0, checked.stderr
    results = [json.loads(line) for line in checked.stdout.splitlines()]
    famd = told["ensemble"]["fit"]["parameters"]
    (key,) = (k for k in results[0]["scores"] if k.startswith("famd"))
    for result in results:
        risks = [result["scores"][c["scorer"]]["risk"] for c in told["ensemble"]["components"]]
        cut = [
            float(r >= 0.5) if binary else r
            for r, binary in zip(risks, famd["binary"], strict=True)
        ]
        at = famd["intercept"] + sum(a * b for a, b in zip(famd["coefficients"], cut, strict=True))
        score = result["scores"][key]
        assert score["raw"]["components"] == pytest.approx(
            dict(zip([c["scorer"] for c in told["ensemble"]["components"]], risks, strict=True))
        )
        nearest = min(range(len(famd["values"])), key=lambda i: abs(famd["values"][i] - at))
        assert score["risk"] == pytest.approx(famd["quantiles"][nearest], abs=1e-3)
