"""The page on LLMs: its commands, and the calls of each judge."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from llm_evidence import FixedReplies
from places import ROOT

from veridical.cli.app import app
from veridical.core.evidence import guarded
from veridical.core.messages import ChatRequest, Reply
from veridical.core.model_names import ModelName
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.models.nli.llm import LlmNli
from veridical.prompts import load_prompt

PAGE = "llm.md"


def text() -> str:
    return (ROOT / "docs" / PAGE).read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """The command lines of the page's blocks."""
    joined = text().replace("\\\n", " ")
    fenced = "\n".join(re.findall(r"```sh\n(.*?)```", joined, re.DOTALL))
    lines = re.findall(r"^veridical (.*)$", fenced, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_every_command_is_one_of_the_tool() -> None:
    group: Any = typer.main.get_command(app)
    found = commands()
    assert found
    for words in found:
        command = group
        while hasattr(command, "commands") and words[0] in command.commands:
            command, words = command.commands[words[0]], words[1:]
        assert not hasattr(command, "commands"), words
        known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
        named = {
            re.match(r"-+[a-z-]+", w.lstrip("["))[0] for w in words if w.lstrip("[")[:2] == "--"
        }  # type: ignore[index]
        assert named <= known, (named - known, words)


def test_every_scorer_of_a_command_is_read() -> None:
    for words in commands():
        if "--scorers" in words:
            spec = words[words.index("--scorers") + 1]
            if "model=" not in spec:  # a file that the reader trains
                proxy = words[words.index("--proxy") + 1] if "--proxy" in words else None
                assert resolve(spec, llm=True, proxy=proxy)
        if "--nli" in words:
            assert LlmNli.from_name(ModelName.parse(words[words.index("--nli") + 1])).llm


def test_what_joins_in_with_an_llm() -> None:
    def joined(preset: str) -> set[str]:
        with_llm, without = resolve(None, preset, llm=True), resolve(None, preset)
        return {b.scorer.name for b in with_llm} - {b.scorer.name for b in without}

    assert joined("auto") == {"statement_judge"}
    assert joined("all") == {"statement_judge", "judge", "verbalized", "p_true", "bsdetector"}
    listed = " ".join(text().split())
    assert re.search(r"adds `judge`, `verbalized`, `p_true` and[ ,a-z]* `bsdetector`", listed)


def test_the_template_of_the_page_is_one(tmp_path: Path) -> None:
    (mine,) = re.findall(r"```toml\n(title.*?)```", text(), re.DOTALL)
    (tmp_path / "mine.toml").write_text(mine, encoding="utf-8")
    prompt = load_prompt(str(tmp_path / "mine.toml"))
    assert prompt.parts == {"answer"} and prompt.scale is not None


def answer(request: ChatRequest, llm: str | None) -> Reply | str:
    said = "\n".join(str(m["content"]) for m in request.messages)
    if "multiple-choice questions" in said:
        count = request.schema["properties"]["questions"]["minItems"]  # type: ignore[index]
        made = re.search(r"<sentence-[0-9a-f]+>\n(.*)", said)
        assert made is not None
        rows = [
            {"question": f"{made[1]} {i}?", "answer": "yes", "wrong": ["no", "so", "lo"]}
            for i in range(count)
        ]
        return json.dumps({"questions": rows})
    schema = request.schema
    field = next(iter(schema["properties"].values())) if schema else {}
    if "explanation" in (schema or {}).get("properties", {}):
        return json.dumps({"explanation": "x", "answer": "A"})
    if schema:
        (key,) = schema["properties"]
        value = field["enum"][0] if "enum" in field else field["minimum"]
        return json.dumps({key: value})
    return "True"


S, N, D, Q = 3, 4, 20, 5
RECORD = Record(
    prompt="Who?",
    response="Ann sings. Bob runs. Cid naps.",
    samples=[f"Sample {i}." for i in range(N)],
    contexts=["A context."],
)
#: The table of the page with s = 3, n = 4, q = 5 a sentence.
CALLS = {
    "statement_judge": 2 * S,
    "judge": 1,
    "judge(template=checkembed_descriptions)": N,
    "verbalized": 1,
    "p_true": 1,
    "bsdetector": 2,
    "panel(judges='self, other, self|likert')": 3,
    "g_eval": 1 + D,
    "selfcheck_prompt": S * N,
    "selfcheck_qa(backend=llm)": S + S * Q * (2 * N + 1),
    "selfcheck_qa(backend=llm, method=counting)": S + 2 * S * Q * (N + 1),
    "selfcheck_qa(backend=llm, method=bayes, questions=1)": S + 2 * S * (N + 1),
    "selfcheck_qa(backend=llm, method=kl)": S + S * Q * (N + 1),
}


class LlmVerdicts(FixedReplies):
    """Pairs are judged by the LLM, as with ``--nli llm:NAME``."""

    def __init__(self, record: Record) -> None:
        super().__init__(record, answer)
        self.pairs = 0

    async def nli(self, pairs):  # type: ignore[no-untyped-def]
        async def chat(requests):  # type: ignore[no-untyped-def]
            self.pairs += len(requests)
            return [Reply('{"answer": "neutral"}', "stop") for _ in requests]

        return await LlmNli().judge(pairs, chat)


@pytest.mark.parametrize("spec", CALLS)
async def test_calls_are_as_the_table_says(spec: str) -> None:
    (bound,) = REGISTRY.parse(spec)
    evidence = LlmVerdicts(RECORD)
    found = await guarded(bound, RECORD, evidence)
    assert found.status == "scored", found.reason
    assert sum(len(requests) for _, requests in evidence.asked) == CALLS[spec]


@pytest.mark.parametrize(
    ("spec", "pairs"),
    [("noncontradiction", 2 * N), ("selfcheck_nli", S * N), ("semantic_sets", N * (N + 1))],
)
async def test_pairs_are_as_the_table_says(spec: str, pairs: int) -> None:
    (bound,) = REGISTRY.parse(spec)
    evidence = LlmVerdicts(RECORD)
    found = await guarded(bound, RECORD, evidence)
    assert found.status == "scored", found.reason
    assert evidence.pairs == pairs
