"""Five people with a question, what they type, and what they read, at 80 columns.

A story is a list of steps. A step is a command line, ``| head -N`` for its first lines, or a
statement of Python after ``>>> ``. ``RUN`` stands for the last run's folder.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from doc_files import graded, write_rows
from places import ROOT

FOLDER = ROOT / "tests" / "stories"

RAG: list[dict[str, Any]] = [
    {
        "id": "tower",
        "question": "How tall is the tower, and when was it built?",
        "answer": "The tower is 70 m tall. It was built in 1912.",
        "contexts": ["The tower is 57 m tall. It was built in 1912."],
    },
    {
        "id": "library",
        "question": "When does the library open?",
        "answer": "It opens at nine.",
        "contexts": ["The library opens at nine in the morning."],
    },
    {
        "id": "book",
        "question": "Who wrote the book?",
        "answer": "The book was written by Ada Bell.",
        "contexts": ["The book was published in Leeds in 1931."],
    },
    {
        "id": "ferry",
        "question": "Does the ferry run on Sundays?",
        "answer": "No, there is no ferry on Sundays.",
        "contexts": ["The ferry runs from Monday to Saturday. There is no ferry on Sundays."],
    },
]


@dataclass(frozen=True)
class Story:
    """Who, and what they type."""

    name: str
    about: str
    steps: Sequence[str]


STORIES = (
    Story(
        "notebook",
        "An engineer of a retrieval system, in a notebook: which of my answers is wrong?",
        (
            ">>> import pandas, veridical",
            '>>> frame = pandas.read_json("rag.jsonl", lines=True)',
            ">>> results = veridical.check(frame)",
            ">>> results",
            ">>> results.worst(1)",
            ">>> print(*results.to_pandas().columns)",
            ">>> print(results[0].explain())",
        ),
    ),
    Story(
        "pipeline",
        "An engineer of quality, in a build: fail where an answer is contradicted. The file calls "
        "the sources ctx.",
        (
            "veridical check ctx.jsonl",
            "veridical check ctx.jsonl --fail-on contradicted",
            "veridical check ctx.jsonl --map contexts=ctx --fail-on contradicted --max-share 10%",
            "veridical check ctx.jsonl --map contexts=ctx --fail-on contradicted --max-share 25%",
        ),
    ),
    Story(
        "researcher",
        "A researcher: which methods are there, and how good are they on my labels?",
        (
            "veridical scorers | head -12",
            "veridical scorers nli_grounding | head -5",
            "veridical bench graded --data graded.jsonl | head -12",
        ),
    ),
    Story(
        "developer",
        "A developer with prompts and an endpoint: is my model sure of what it says?",
        (
            "veridical check prompts.jsonl",
            "veridical check prompts.jsonl --llm locked --samples 3",
            "veridical check prompts.jsonl --llm mine --samples 3",
            "veridical explain RUN 1",
        ),
    ),
    Story(
        "sentence",
        "Somebody with one wrong answer: which sentence is it, and what says so?",
        (
            "veridical check rag.jsonl | head -6",
            "veridical explain RUN 0",
            "veridical explain RUN 9",
        ),
    ),
)

_ANSWERS = {
    "Australia": ["Canberra is the capital of Australia."],
    "harbour bridge": [
        "The harbour bridge was opened in 1931.",
        "The harbour bridge was opened in 1945.",
        "It was opened in 1962.",
        "The bridge opened in 1928.",
    ],
}


class _Handler(BaseHTTPRequestHandler):
    """An endpoint that answers two questions: one always alike, one otherwise each time. Under
    ``/locked`` it knows nobody's key."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/locked"):
            return self._send(401, {"error": {"message": "Incorrect API key provided."}})
        text = asked["messages"][-1]["content"]
        texts = next(said for part, said in _ANSWERS.items() if part in text)
        if "is the whole statement true?" in text:
            texts = ["Yes" if "Canberra" in text else "No"]
        drawn = int(asked.get("temperature", 0) > 0)
        said = [texts[(i + drawn) % len(texts)] for i in range(asked.get("n", 1))]
        choices = [
            {"index": i, "message": {"content": text}, "finish_reason": "stop"}
            for i, text in enumerate(said)
        ]
        usage = {"prompt_tokens": 10, "completion_tokens": 10 * len(said)}
        self._send(200, {"model": "m", "choices": choices, "usage": usage})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of a running endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def transcript(story: Story, folder: Path) -> str:
    """What is typed and what is printed, both streams together, without names that differ."""
    with endpoint() as address:
        _write(folder, address)
        told = [f"# {story.about}\n"]
        python = [step for step in story.steps if step.startswith(">>> ")]
        if python:
            told.append(_python(python, folder))
        told += [_command(step, folder) for step in story.steps if not step.startswith(">>> ")]
    text = re.sub(r"runs/[0-9a-f]{16}", "runs/RUN", "\n".join(told))
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _write(folder: Path, address: str) -> None:
    write_rows(folder / "rag.jsonl", RAG)
    write_rows(
        folder / "ctx.jsonl",
        [{"ctx" if k == "contexts" else k: v for k, v in r.items()} for r in RAG],
    )
    write_rows(folder / "graded.jsonl", list(graded()))
    questions = ("What is the capital of Australia?", "When was the harbour bridge opened?")
    write_rows(folder / "prompts.jsonl", [{"prompt": question} for question in questions])
    tables = [
        f'[llm.{name}]\nbase_url = "{address}{path}"\nmodel = "m"\nprice_in = 0\nprice_out = 0\n'
        for name, path in (("mine", "/v1"), ("locked", "/locked/v1"))
    ]
    (folder / "veridical.toml").write_text("\n".join(tables))


def _command(step: str, folder: Path) -> str:
    line, _, head = step.partition(" | head -")
    runs = sorted((folder / ".veridical" / "runs").glob("*"), key=lambda p: p.stat().st_mtime)
    words = [str(runs[-1].relative_to(folder)) if w == "RUN" else w for w in shlex.split(line)]
    done = _run([sys.executable, "-m", "veridical", *words[1:]], folder)
    lines = done.stdout.splitlines()[: int(head) if head else None]
    return "\n".join([f"$ {step}", *lines, f"[exit code {done.returncode}]", ""])


_INTERPRETER = """\
import code, json, sys
console = code.InteractiveConsole()
for line in json.load(open(sys.argv[1])):
    print(">>> " + line, flush=True)
    console.push(line)
"""


def _python(steps: Sequence[str], folder: Path) -> str:
    (folder / "steps.json").write_text(json.dumps([s.removeprefix(">>> ") for s in steps]))
    return _run([sys.executable, "-c", _INTERPRETER, "steps.json"], folder).stdout


def _run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={
            **os.environ,
            "COLUMNS": "80",
            "XDG_CONFIG_HOME": str(folder),
            "VERIDICAL_CONFIG": "",
            "PYTHONUNBUFFERED": "1",
        },
    )
