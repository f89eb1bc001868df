"""The files that the command lines of README and docs name, small, and what runs those lines."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from image_files import POINT
from places import ROOT
from typer.main import get_command

from veridical.cli.app import app
from veridical.core.registry import REGISTRY
from veridical.errors import VeridicalError

CAPITALS = {
    "Australia": "Canberra",
    "Peru": "Lima",
    "Norway": "Oslo",
    "Morocco": "Rabat",
    "Vietnam": "Hanoi",
    "Ecuador": "Quito",
    "Ghana": "Accra",
    "Qatar": "Doha",
    "Latvia": "Riga",
    "Bulgaria": "Sofia",
    "Ukraine": "Kyiv",
    "Fiji": "Suva",
    "Chile": "Santiago",
    "Kenya": "Nairobi",
    "Nepal": "Kathmandu",
    "Cuba": "Havana",
    "Iran": "Tehran",
    "Iraq": "Baghdad",
    "Egypt": "Cairo",
    "Japan": "Tokyo",
    "Malta": "Valletta",
}

#: Every call to an LLM in the docs is answered by a script: (a part of the prompt, the answer).
SCRIPT = [
    {"contains": 'object and nothing else: {"score": "Correct"', "text": '{"score": "Correct"}'},
    {"contains": "scale from 1 to 5", "text": '{"score": 5}'},
    {"contains": "Answer Yes or No", "text": '{"answer": "Yes"}'},
    {"contains": "Answer No or Yes", "text": "Yes"},
    {
        "contains": "single choice from A, B, C, D, or E",
        "text": '{"explanation": "It says the same.", "choice": "C"}',
    },
    {"contains": "Answer with its letter", "text": '{"answer": "A"}'},
    {"contains": "Answer entailment, contradiction or", "text": '{"answer": "entailment"}'},
    {"contains": "whether the claim can be entailed", "text": '{"answer": "Entailment"}'},
    {
        "contains": "multiple-choice questions about",
        "text": '{"questions": [{"question": "What is the capital?", "answer": "Canberra", '
        '"wrong": ["Lima", "Oslo", "Rabat"]}]}',
    },
    {
        "contains": "You correct single sentences",
        "text": '{"sentences": [{"id": 1, "text": "The capital is another."}]}',
    },
    {"contains": "capital of Australia", "text": "Canberra is the capital of Australia."},
    {"text": "It is Lima."},
]

SETTINGS = """\
[llm.mini]
base_url = "fake:script.json"
model = "m"
price_in = 0
price_out = 0
"""

POLICY = """\
accept = 0.3

[[rules]]
then = "reject"
verdict = "contradicted"
"""

#: What stands for something of the reader's own, and what this folder has in its place.
PLACEHOLDERS = {
    "http://127.0.0.1:8000/v1#Qwen/Qwen2.5-1.5B-Instruct": "mini",
    "openai:gpt-4o-mini": "mini",
    "ollama:llama3.2": "mini",
    "--llm NAME": "--llm mini",
    "llama=run3/answers.jsonl": "llama=llama.jsonl",
    "--temperature 1.0 --out answers.jsonl": "--temperature 1.0 --out drawn.jsonl",
    "--text guide.pdf": "--text Peru.md",
    "--keep 0.99": "--keep 0.99 --scorers 'support, nli_grounding'",
    '"..."': "support",
}

#: Commands that go on until somebody ends them, and what they wait for: read to the end, not run.
GOING_ON = {
    "serve": "a server that goes on until it is stopped",
    "guard": "a server that goes on until it is stopped",
    "view": "a page that goes on until it is stopped",
    "review": "a page that goes on until it is stopped",
    "watch": "somebody who ends it",
    "mcp": "a client of MCP",
    "hook": "an agent",
}
#: Options with which some of them end by themselves.
ENDING = {"--once", "--export", "--import"}

#: Lines that need what a test run does not have, by a part of the line: read to the end, not run.
NOT_HERE = {
    "s3://": "an object store",
    "search:web": "a search service",
    "/shared/": "a folder that the nodes of a cluster share",
    "models get": "a download",
    "models convert": "a download and PyTorch",
    "alignscore": "a download",
    "--nli hhem": "a download",
    "--embedder": "a download or a server",
    "torch:": "PyTorch",
    "--nli microsoft/": "a download",
    "--nli potsawee/": "a download",
    "precision=int8": "a package",
    "--precision fast": "a package",
    "--proxy": "a proxy model",
    "--llm local": "a model of an extra",
    "--llm mini --n 5 --report table1": "a data set of questions",
    "DATA/": "a published data set",
    "bench wikibio": "a published data set",
    "bench grounded": "a published data set",
    "--suite": "a published data set",
    "--study": "a table of a study",
    "--grid": "models of the reader's own",
    "train repc": "a proxy model",
    "train checker": "PyTorch",
    "study checkembed": "texts by a language model",
    "study refchecker": "data sets",
    "train spans": "PyTorch",
    "train extractor": "dozens of answers with an LLM's triplets",
    "trained|": "a trained model",
    "--spans mine": "a trained model",
    "train halludetect": "hundreds of labelled answers",
    "--nli my-checker": "a trained model",
    "mine.jsonl": "graded extractions",
    "runs/0123456789abcdef": "a run of that name",
    "runs/guard-": "a run of that name",
}

#: Exit codes other than 0.
CODES = {
    "veridical diff base.jsonl head.jsonl --html changes.html --markdown summary.md": 4,
    "veridical check answers.jsonl --fail-on contradicted,unsupported --max-share 5%": 3,
    "veridical check answers.jsonl --fail-on contradicted,unsupported": 3,
    'veridical check rag.jsonl --scorers "nli_grounding, citations"': 2,  # none of these cites
    "veridical check answers.jsonl --fail-on contradicted --max-share 5%": 3,
    "veridical check answers.jsonl --fail-on contradicted,unsupported --max-share 5% "
    "--junit report.xml": 3,
    "veridical check answers.jsonl --fail-over 0.65 --allow-unchecked 5%": 3,
    "veridical redteam --llm NAME --template likert --limit 30": 1,  # the script is not a judge
    "veridical check answers.jsonl --policy policy.toml --fail-on reject": 3,
    "veridical check answers.jsonl --scorers \"ensemble(file='ensemble.json')\" "
    "--policy policy.toml --fail-over 0.9 --json decided.jsonl --report report.html": 3,
}


#: What readers of conversations read.
CONVERSATION = {
    "messages": [
        {"role": "user", "content": "Where is the Nile?"},
        {"role": "tool", "name": "atlas", "content": "The Nile is a river in Africa."},
        {"role": "assistant", "content": "The Nile is in Africa."},
    ]
}
AGENT = {
    "messages": [
        {"role": "user", "content": "Please email Ann when the pool opens."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "send_email", "arguments": '{"to": "Ann"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "Sent to Ann: the pool opens on May 4."},
        {"role": "assistant", "content": "I emailed Ann. The pool opens on May 4."},
    ]
}
SPAN = {
    "name": "chat",
    "attributes": {
        "gen_ai.input.messages": CONVERSATION["messages"][:2],
        "gen_ai.output.messages": CONVERSATION["messages"][2:],
    },
}


def graded() -> Iterator[dict[str, Any]]:
    """A right and a wrong answer to each of a few questions, with all that can be checked."""
    names = list(CAPITALS.values())
    for i, (land, capital) in enumerate(CAPITALS.items()):
        for wrong in (0, 1):
            named = names[(i + 1) % len(names)] if wrong else capital
            yield {
                "id": f"{land} {wrong}",
                "model": ("gpt4", "llama")[wrong],
                "task": ("qa", "summary")[i % 2],
                "question": f"What is the capital of {land}?",
                "answer": f"The capital of {land} is {named}.",
                "contexts": [f"{capital} is the capital of {land}."],
                "samples": [f"The capital of {land} is {capital}.", f"It is {capital}."],
                "label": wrong,
            }


SUM = {"prompt": "How much is 6 * 7?", "response": "It is 42.", "samples": ["42", "I get 41."]}
TESTED = [
    {"task_id": task, "completion": f"    return {body}", "passed": passed}
    for task in ("add", "sum")
    for body, passed in (("a + b", True), ("(a + b)  # both", True), ("a - b", False))
]


#: Wrong answers of the two files that docs/ci.md compares.
BEFORE, AFTER = 1, 8


def prompted(wrong: int) -> Iterator[dict[str, Any]]:
    """Answers to ten questions, the first ``wrong`` of them wrong."""
    lands = list(CAPITALS.items())[:10]
    for i, (land, capital) in enumerate(lands):
        named = lands[(i + 1) % len(lands)][1] if i < wrong else capital
        yield {
            "id": land.lower(),
            "question": f"What is the capital of {land}?",
            "answer": f"The capital of {land} is {named}.",
            "contexts": [f"{capital} is the capital of {land}."],
        }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_files(folder: Path) -> None:
    """Every file that a command line of the docs reads."""
    rows = list(graded())
    prompts = [{"prompt": r["question"]} for r in rows[:4:2]]
    unlabelled = [{k: v for k, v in r.items() if k != "label"} for r in rows]
    for name in ("graded.jsonl", "my_answers.jsonl", "labelled.jsonl"):
        write_rows(folder / name, rows)
    for name in ("answers.jsonl", "rag.jsonl", "sampled.jsonl"):
        write_rows(folder / name, unlabelled[:6])
    write_rows(folder / "before.jsonl", list(prompted(BEFORE)))
    write_rows(folder / "after.jsonl", list(prompted(AFTER)))
    for name in ("gpt4", "llama"):
        write_rows(folder / f"{name}.jsonl", [r for r in unlabelled[:6] if r["model"] == name])
    write_rows(folder / "prompts.jsonl", prompts)
    gold = [{**row, "reference": row["contexts"][0]} for row in unlabelled[:4]]
    write_rows(folder / "gold.jsonl", gold)
    write_rows(folder / "log.jsonl", [CONVERSATION])
    write_rows(folder / "agent.jsonl", [AGENT])
    write_rows(folder / "spans.json", [SPAN])
    write_rows(folder / "sums.jsonl", [SUM])
    (folder / "shots").mkdir()
    for n in range(3):
        (folder / f"shots/{n}.png").write_bytes(POINT)
    shots = [{"image": f"shots/{n}.png"} for n in range(3)]
    write_rows(folder / "pictures.jsonl", [{"response": shots[0], "samples": shots[1:]}])
    write_rows(folder / "tested.jsonl", TESTED)
    own = (ROOT / "docs" / "new-scorer.md").read_text("utf-8")
    (folder / "shout.py").write_text(own.split("```python\n")[1].split("```")[0])
    (folder / "policy.toml").write_text(POLICY)
    (folder / "veridical.toml").write_text(SETTINGS)
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    for name in ("documents", "docs"):
        (folder / name).mkdir()
        for land, capital in CAPITALS.items():
            text = f"# {land}\n\n{capital} is the capital of {land}.\n"
            (folder / name / f"{land}.md").write_text(text)


def pages() -> list[str]:
    """README, the manual, and evidence pages with commands, as paths from the root."""
    evidence = [f"docs/evidence/{name}.md" for name in ("benchmarks", "paper-studies")]
    return ["README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")), *evidence]


def lines(page: str) -> list[str]:
    """The command lines of a page: those of its blocks, and in README those in its text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    fenced = "".join(block for language, block in blocks if language in ("", "sh"))
    indented = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    fenced += "\n".join(re.findall(r"^    (veridical .*)$", indented, re.MULTILINE))
    one_a_line = fenced.replace("\\\n", " ").splitlines()
    if page == "README.md":
        one_a_line += re.findall(r"`(veridical [^`]+)`", text)
    told = [" ".join(line.split()) for line in one_a_line if line.startswith("veridical ")]
    synopses = [line for line in told if " [--" in line]
    return [line for line in dict.fromkeys(told) if line not in synopses]


def arguments(line: str, run: str = "") -> list[str]:
    """The arguments of a command line, with what this folder has in the place of what readers have.

    Args:
        run: the folder of a run, for ``RUN``.
    """
    for name, here in PLACEHOLDERS.items():
        line = line.replace(name, here)
    words = shlex.split(re.sub(r"\s#\s.*", "", line))[1:]
    return [{"RUN": run, "ROW": "0"}.get(word, word) for word in words]


def needs(line: str) -> str | None:
    """What a line needs that is not here; None where it runs."""
    _, command, *rest = line.split()
    if command in GOING_ON and not ENDING & set(rest):
        return GOING_ON[command]
    for name, here in PLACEHOLDERS.items():
        if "--proxy" not in line:
            line = line.replace(name, here)
    return next((what for part, what in NOT_HERE.items() if part in line), None)


def read_to_the_end(words: list[str]) -> None:
    """Read a command line without running it: commands, options, values and scorers."""
    command: Any = get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    context = command.make_context(command.name, rest)
    scorers = context.params.get("scorers")
    trained = scorers and ("model='" in scorers or "trained|" in scorers)
    if scorers and command.name != "bench" and not trained:
        REGISTRY.parse(scorers)


def run(words: list[str]) -> tuple[int, str]:
    """Run a command line in this process: exit code, and what a refusal says."""
    try:
        return int(app(words, standalone_mode=False) or 0), ""
    except typer.Exit as e:
        return e.exit_code, ""
    except VeridicalError as e:
        return 1, str(e)
