"""Replies of judges, each with its right reading: honest ones are read, and one that quotes a
planted verdict, refuses, takes its word back or says two things has none.

``verdict_corpus.jsonl`` was written by hand. ``reading`` is the verdict's name or number, null
where there is none to read; ``honest`` replies must be read.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from growing import MOST, growth
from hostile_texts import repeated

import veridical
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import TokenLogprob
from veridical.llm.fake import FakeLlm
from veridical.llm.statements import stated
from veridical.llm.verdicts import read_verdict
from veridical.prompts import Choices, Prompt, load_prompt

HERE = Path(__file__).parent
ROWS = [json.loads(line) for line in (HERE / "verdict_corpus.jsonl").read_text().splitlines()]


def template(name: str) -> Prompt:
    return load_prompt(str(HERE / name) if name.endswith(".toml") else name)


def reading(row: dict[str, Any], **more: Any) -> str | float | None:
    prompt = template(row["template"])
    try:
        found = read_verdict(Reply(row["reply"], "stop", **more), prompt)
    except LlmError as e:
        assert e.trouble == "malformed" and e.text == row["reply"]
        return None
    return found.answer if isinstance(prompt.scale, Choices) else found.value


def test_the_corpus_is_large_and_varied() -> None:
    assert len(ROWS) >= 300 and sum(r["honest"] for r in ROWS) >= 120
    assert len({(r["template"], r["reply"]) for r in ROWS}) == len(ROWS)
    assert len({r["template"] for r in ROWS}) >= 15
    assert all(r["reading"] is not None for r in ROWS if r["honest"])
    assert Counter(type(r["reading"]) for r in ROWS)[type(None)] >= 250


def test_no_reply_is_misread() -> None:
    found = [(r, reading(r)) for r in ROWS]
    wrong = [
        (r["template"], r["reply"], got) for r, got in found if got not in (None, r["reading"])
    ]
    lost = [(r["template"], r["reply"]) for r, got in found if r["honest"] and got is None]
    assert (wrong, lost) == ([], [])


def spelled(text: str, p: float = 0.97) -> tuple[TokenLogprob, ...]:
    """Tokens of ``text``, word by word, each all but certain."""
    words = [w for w in text.replace("\n", "\n\0").replace(" ", "\0 ").split("\0") if w]
    other = {"token": "~", "logprob": math.log(1 - p)}
    return tuple(
        TokenLogprob.model_validate(
            {
                "token": word,
                "logprob": math.log(p),
                "top": [{"token": word, "logprob": math.log(p)}, other],
            }
        )
        for word in words
    )


def test_token_probabilities_of_a_mention_are_no_verdict() -> None:
    """The first word of "Correct! On reflection: Incorrect" is certain, and is not the verdict."""
    unclear = [r for r in ROWS if r["reading"] is None]
    read = [
        r
        for r in unclear
        if stated(r["reply"], template(r["template"]).scale, template(r["template"]).key).why
        and reading(r, logprobs=spelled(r["reply"])) is not None
    ]
    assert not read


def test_the_probability_read_is_that_of_the_verdict_given() -> None:
    """Not of its mention in the reasons before it."""
    prompt = template("correct_incorrect")
    text = "It says it is a correct one, which is wrong of it.\nScore: Incorrect"
    tokens = list(spelled(text))
    at = next(i for i, t in enumerate(tokens) if t.token.endswith("Incorrect"))
    top = [{"token": " Incorrect", "logprob": -0.2}, {"token": " Correct", "logprob": -1.8}]
    tokens[at] = TokenLogprob.model_validate({"token": " Incorrect", "logprob": -0.2, "top": top})
    found = read_verdict(Reply(text, "stop", tuple(tokens)), prompt)
    right = math.exp(-1.8) / (math.exp(-0.2) + math.exp(-1.8))
    assert found.how == "probability" and found.value == pytest.approx(right)


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        ("<think>\nCorrect\n</think>\n\n", "<|im_end|>", "probability"),
        ("```\n", "\n```", "probability"),
        ("He said: ", "", "text"),  # what is told of is not what was said
        ("", " would be a lie", "text"),
    ],
)
def test_tokens_that_spell_more_than_the_reply(before: str, after: str, how: str) -> None:
    top = [{"token": "Correct", "logprob": -0.1}, {"token": "Incorrect", "logprob": -2.5}]
    said = TokenLogprob.model_validate({"token": "Correct", "logprob": -0.1, "top": top})
    tokens = (*spelled(before), said, *spelled(after))
    found = read_verdict(Reply("Correct", "stop", tokens), template("correct_incorrect"))
    assert (found.answer, found.how) == ("Correct", how)


def test_whole_runs_read_as_the_reader_does() -> None:
    """Each reply through the scorer: read at once, or asked for once more and then failed."""
    rows = [r for r in ROWS if r["template"] == "correct_incorrect"]
    asked: Counter[int] = Counter()

    def script(request: ChatRequest) -> str:
        case = int(request.messages[-1]["content"].rpartition("Case ")[2].split(":")[0])
        asked[case] += 1
        return rows[case]["reply"]

    given = [{"prompt": f"Case {i}: who?", "response": "Paris"} for i in range(len(rows))]
    with veridical.Engine(llm=FakeLlm(script), store=None, processes=0) as engine:
        results = veridical.check(given, "judge(form=text)", engine=engine)
        lines = [json.loads(line) for line in results.lines()]
    risks = {"Correct": 0.0, "Incorrect": 1.0, "I am not sure": 0.5, None: None}
    for i, (row, line) in enumerate(zip(rows, lines, strict=True)):
        (score,) = line["scores"].values()
        assert score["risk"] == risks[row["reading"]], row["reply"]
        assert score["status"] == ("failed" if row["reading"] is None else "scored")
        assert asked[i] == (2 if row["reading"] is None else 1)


UNITS = [
    "a ",
    '"',
    "\n",
    "<",
    "score: ",
    "- ",
    "1. x\n",
    "so, ",
    "my ",
    "ok  ",
    ". ",
    "yes, ",
    "5\n",
]
UNITS += [
    "correct. ",
    "**",
    "_",
    "> ",
    "`",
    "```\n",
    ".not",
    "<p>",
    "wait ",
    ": ",
    "\u2014",
    "says: ",
]


@pytest.mark.parametrize("name", ["correct_incorrect", "likert"])
def test_reading_takes_time_in_proportion(name: str) -> None:
    prompt = template(name)

    def read(text: str) -> object:
        return [stated(t, prompt.scale, prompt.key) for t in (f"{text} x", f"Yes {text} x")]

    assert [unit for unit in UNITS if growth(read, repeated(unit)) > MOST] == []


def test_a_reply_that_is_no_verdict_by_its_length() -> None:
    prompt = template("correct_incorrect")
    assert stated("x " * 500_000 + "\nScore: Correct", prompt.scale, prompt.key).statement is None
    thought = f"<think>{'hm ' * 400_000}</think>\nCorrect"
    found = stated(thought, prompt.scale, prompt.key).statement
    assert found is not None and found.name == "Correct"
