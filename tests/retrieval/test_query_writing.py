"""Queries that a language model writes: what becomes one, and what fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeNli

import veridical
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Record
from veridical.llm.fake import FakeLlm
from veridical.retrieval.query_writing import PROMPTS, QueryWriter
from veridical.retrieval.search import Found


class Chat:
    def __init__(self, *said: Reply | LlmError | str) -> None:
        self.said = [Reply(s, "stop") if isinstance(s, str) else s for s in said]
        self.asked: list[ChatRequest] = []

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        self.asked += requests
        return self.said[: len(requests)]


async def written(*said: Reply | LlmError | str) -> Any:
    records = [Record(row=i, response=f"Ada was born in {i}.") for i in range(len(said))]
    return await QueryWriter(Chat(*said)).write(records)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("When was Ada born?", "When was Ada born?"),
        ("  Output: When was Ada  born?\n\nBecause ...", "When was Ada born?"),
        ('\n"When was Ada born?"', "When was Ada born?"),
        ("\u201cWann?\u201d", "Wann?"),
        ("---\nWhen?", "When?"),
        ("a\tb\x0bc", "a b"),
        ("x" * 1000, "x" * 400),
    ],
)
async def test_one_line_is_the_query(text: str, query: str) -> None:
    assert await written(text) == [[query]]


async def test_what_is_asked() -> None:
    chat = Chat("a", "b")
    records = [
        Record(response="It was London.", prompt="Where was Ada born?"),
        Record(row=1, response=" "),
        Record(row=2, response="She wrote."),
    ]
    assert await QueryWriter(chat).write(records) == [["a"], [], ["b"]]
    one, two = (repr(r.messages) for r in chat.asked)
    assert "Where was Ada born?" in one and "It was London." in one
    assert "She wrote." in two and "Where was Ada" not in two
    assert [r.temperature for r in chat.asked] == [0.0, 0.0]  # as in the released code
    assert await QueryWriter(Chat()).write([]) == []
    assert len(PROMPTS) == 2


async def test_what_is_wrong_with_one_reply_is_that_records() -> None:
    found = await written("?!", "When?", LlmError("length", "cut"), LlmError("refused", "no"))
    assert found[0] == "no query was written: the reply has no words"
    assert found[1] == ["When?"]
    assert found[2:] == ["no query was written: cut", "no query was written: no"]
    assert (await written("When?", LlmError("rejected", "too long")))[1].endswith("too long")


@pytest.mark.parametrize("trouble", ["connection", "timeout", "server", "budget", "rejected"])
async def test_a_model_that_cannot_be_asked_stops_the_run(trouble: Any) -> None:
    with pytest.raises(LlmError, match="gone"):
        await written(LlmError(trouble, "gone"))


class Finds:
    name = "finds"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def identity(self) -> dict[str, Any]:
        return {}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        self.asked += queries
        return [[Found("x", "Ada was born in London.", "x")] for _ in queries]

    async def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeNli()
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)


ROWS = [{"response": "Ada was born in London."}, {"response": "Bob was born in Rome."}]


def check(out: Path, llm: FakeLlm, retriever: Finds, **options: Any) -> Any:
    settings = {"corpus": retriever, "corpus_query": "llm", "llm": llm, "processes": 0, **options}
    return veridical.check(ROWS, "nli_grounding", out=out, **settings)


def test_a_run_is_charged_resumed_and_told_apart(tmp_path: Path) -> None:
    llm, retriever = FakeLlm({"Ada": "Where was Ada born?", "Bob": "!"}), Finds()
    results = check(tmp_path / "run", llm, retriever)
    (error,) = results.errors()
    assert error.row == 1
    assert error.error.endswith("no query was written: the reply has no words")
    assert retriever.asked == ["Where was Ada born?"]
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text())
    assert ledger["calls"] == 2
    asked = llm.asked.total()
    check(tmp_path / "run", llm, retriever)
    assert llm.asked.total() == asked and len(retriever.asked) == 1
    with pytest.raises(veridical.errors.UsageError, match="another run"):
        check(tmp_path / "run", llm, retriever, corpus_query="sentences")
    with pytest.raises(veridical.errors.UsageError, match="another run"):
        check(tmp_path / "run", FakeLlm("x", name="other"), retriever)


def test_the_plan_counts_calls_and_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = FakeLlm("Where?")
    plan = veridical.plan(
        ROWS, "nli_grounding", corpus=Finds(), corpus_query="llm", llm=llm, processes=0
    )
    assert plan["llm"]["calls"] == 2 and not llm.asked
    config = tmp_path / "veridical.toml"
    config.write_text('[search.web]\nurl = "https://search.test/"\nresults = "r"\ntext = "t"\n')
    monkeypatch.setenv("VERIDICAL_CONFIG", str(config))
    plan = veridical.plan(ROWS, "nli_grounding", corpus="search:web", corpus_pages=3, processes=0)
    assert plan["retrieval"] == {"by": "search:web", "queries": 2, "pages": 6}


def test_an_llm_that_only_a_scorer_names_is_no_reason_to_ask_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "Entailment"}]')
    config = tmp_path / "veridical.toml"
    config.write_text(f'[llm.other]\nbase_url = "fake:{script}"\nmodel = "m"\n')
    monkeypatch.setenv("VERIDICAL_CONFIG", str(config))
    scorer = "claims(checker='nli, llm|other', extractor=sentences)"
    settings: dict[str, Any] = {"corpus": Finds(), "processes": 0, "store": tmp_path / "store"}
    results = veridical.check(ROWS, scorer, out=tmp_path / "run", **settings)
    assert [next(iter(r.scores.values())).status for r in results] == ["scored", "scored"]
    with pytest.raises(veridical.errors.UsageError, match="writing queries requires an LLM"):
        veridical.check(ROWS, scorer, corpus_query="llm", **settings)
