"""Runs over records without contexts: what is retrieved, kept, resumed and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeEncoder, FakeNli

import veridical
from veridical.core.records import Record
from veridical.errors import ModelError, UsageError
from veridical.files.rowlog import Distrusted, Rows
from veridical.io import open_source
from veridical.report.payload import detail
from veridical.retrieval.query_writing import queries_of
from veridical.retrieval.retrieved import MOST, RetrievedSource
from veridical.retrieval.search import Found, RefusedQuery

LONDON, PARIS = "Ada was born in London.", "Bob was born in Paris."


class Scripted:
    """A retriever that finds what it is told; counts what it is asked."""

    name = "scripted"

    def __init__(self, found: Mapping[str, Sequence[str]] | None = None) -> None:
        self.found = found
        self.asked: list[str] = []
        self.broken: Exception | None = None
        self.refused: str | None = None
        self.closed = False

    def identity(self) -> dict[str, Any]:
        return {"kind": "scripted", "found": self.found}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        if self.broken is not None:
            raise self.broken
        if any(self.refused is not None and self.refused in q for q in queries):
            raise RefusedQuery("not that")
        self.asked += queries
        texts = self.found or {}
        return [
            [Found(f"{t[:3]}#char=0,{len(t)}", t, t[:3]) for t in texts.get(q, [LONDON, PARIS])][:k]
            for q in queries
        ]

    async def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeNli:
    model, encoder = FakeNli(), FakeEncoder()
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: encoder)
    return model


ROWS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "Where?", "response": "Ada was born in London. Bob was not."},
    {"id": "b", "response": "Bob was born in Rome.", "contexts": ["Bob was born in Rome."]},
    {"id": "c", "response": ""},
    {"id": "d", "response": "Bob was born in Paris.", "contexts": []},
]


def write(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def check(path: Path, out: Path, corpus: Any, **settings: Any) -> Any:
    scorers = settings.pop("scorers", "nli_grounding, claims(extractor=sentences), knowledge_f1")
    return veridical.check(path, scorers, out=out, corpus=corpus, processes=0, **settings)


def test_records_without_contexts_are_given_some(tmp_path: Path) -> None:
    retriever = Scripted()
    results = check(write(tmp_path / "in.jsonl"), tmp_path / "run", retriever)
    assert retriever.asked == [
        "Where? Ada was born in London.",
        "Where? Bob was not.",
        "Bob was born in Paris.",
    ]
    assert not retriever.closed  # it is the caller's
    kept = {
        told["row"]: told for told in map(json.loads, (tmp_path / "run" / "contexts.jsonl").open())
    }
    assert sorted(kept) == [0, 2, 3]
    assert [c["text"] for c in kept[0]["contexts"]] == [LONDON, PARIS]
    assert kept[0]["id"] == "a" and kept[2]["contexts"] == []
    found = {r.id: r for r in results}
    for row, name in ((0, "a"), (3, "d")):
        for score in found[name].scores.values():
            assert score.status == "scored"
            for unit in score.units:
                for e in unit.evidence:  # exactly what a reader of the file finds
                    assert e.kind == "context"
                    text = kept[row]["contexts"][e.index]["text"]
                    assert text[e.start : e.end] == e.text
    assert found["c"].scores["nli_grounding"].status == "not_applicable"
    (unit,) = found["b"].scores["nli_grounding"].units
    assert unit.evidence[0].text == "Bob was born in Rome."  # its own context


def test_the_report_shows_what_was_retrieved(tmp_path: Path) -> None:
    results = check(write(tmp_path / "in.jsonl"), tmp_path / "run", Scripted())
    page = results.report(tmp_path / "r.html").read_text()
    again = veridical.api.reopen(tmp_path / "run").report(tmp_path / "again.html").read_text()
    dated = re.compile(r"\d\d:\d\d:\d\d")
    assert dated.sub("", page) == dated.sub("", again)
    shown = [detail(record, result) for record, result in results.pairs()]
    assert shown[0]["contexts"] == [
        {"id": "Ada#char=0,23", "text": LONDON},
        {"id": "Bob#char=0,22", "text": PARIS},
    ]
    meta = [dict(s["meta"]) for s in shown]
    assert json.loads(meta[0]["retrieval"]) == {"by": "scripted", "passages": 2, "left_out": 0}
    assert "retrieval" not in meta[1]


def test_a_run_goes_on_without_asking_again(tmp_path: Path) -> None:
    rows = [{"response": f"Ada was born in year {i}."} for i in range(200)]
    path = write(tmp_path / "in.jsonl", rows)
    retriever = Scripted()
    whole = [*check(path, tmp_path / "whole", retriever).lines()]
    assert len(retriever.asked) == 200

    first = Scripted()
    first.refused = None

    class Breaks(Scripted):
        async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
            if len(self.asked) >= 128:
                raise ModelError("the service is gone")
            return await super().search(queries, k)

    broken = Breaks()
    with pytest.raises(ModelError, match="the service is gone"):
        check(path, tmp_path / "run", broken)
    assert len(broken.asked) == 128
    with (tmp_path / "run" / "contexts.jsonl").open("ab") as file:
        file.write(b'{"row": 128, "id"')  # half a line of a killed process
    after = Scripted()
    resumed = check(path, tmp_path / "run", after)
    assert len(after.asked) == 72
    assert [*resumed.lines()] == whole
    assert len((tmp_path / "run" / "contexts.jsonl").read_text().splitlines()) == 200
    finished = Scripted()
    assert [*check(path, tmp_path / "run", finished).lines()] == whole
    assert finished.asked == []


def test_another_corpus_is_another_run(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl")
    check(path, tmp_path / "run", Scripted())
    with pytest.raises(UsageError, match=r"another run; differences: parameters.*scripted"):
        check(path, tmp_path / "run", Scripted({"x": ["y"]}))
    with pytest.raises(UsageError, match="another run"):
        check(path, tmp_path / "run", Scripted(), corpus_top=2)
    with pytest.raises(UsageError, match="another run"):
        veridical.check(path, "knowledge_f1", out=tmp_path / "run")
    with pytest.raises(UsageError, match="at least 1"):
        check(path, tmp_path / "other", Scripted(), corpus_top=0)


def test_a_refused_record_is_a_row_error(tmp_path: Path) -> None:
    retriever = Scripted()
    retriever.refused = "Paris"
    results = check(write(tmp_path / "in.jsonl"), tmp_path / "run", retriever)
    assert [r.id for r in results] == ["a", "b", "c"]
    (error,) = results.errors()
    assert error.row == 3 and error.error == "no contexts could be retrieved: not that"
    assert results.summary().scorers["knowledge_f1"].coverage == pytest.approx(2 / 3)


def test_the_limit_is_kept(tmp_path: Path) -> None:
    retriever = Scripted()
    check(write(tmp_path / "in.jsonl"), tmp_path / "run", retriever, limit=2)
    assert all("Paris" not in q for q in retriever.asked)


def test_the_best_of_every_statement_come_first(tmp_path: Path) -> None:
    sentences = [f"Sentence number {i} is here." for i in range(60)]
    found = {s: [f"{s} best", "shared", f"{s} third"] for s in sentences}
    retriever = Scripted(found)
    row = {"response": " ".join(sentences)}
    path = write(tmp_path / "in.jsonl", [row])
    check(path, tmp_path / "run", retriever, scorers="knowledge_f1")
    (told,) = map(json.loads, (tmp_path / "run" / "contexts.jsonl").open())
    texts = [c["text"] for c in told["contexts"]]
    assert texts[:61] == [*(f"{s} best" for s in sentences), "shared"]
    assert len(texts) == len(set(texts)) == MOST
    assert told["retrieval"] == {"by": "scripted", "passages": MOST, "left_out": 121 - MOST}


def test_what_is_asked_for() -> None:
    record = Record(prompt="p" * 400 + "?", response="One is here. Two is there. One is here.")
    assert queries_of(record) == ["p" * 299 + "? One is here.", "p" * 299 + "? Two is there."]
    chat = [
        {"role": "system", "content": "no"},
        {"role": "user", "content": [{"type": "text", "text": "Who?"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "no"},
    ]
    assert queries_of(Record(prompt=chat, response="Ada.")) == ["Who? Ada."]
    assert queries_of(Record(prompt=[{"role": "user"}], response="Ada.")) == ["Ada."]
    assert queries_of(Record(response=" ")) == []


@pytest.mark.parametrize("line", [b"garbage\n", b"7\n", b'{"row": "0"}\n', b'{"row": 0}\n'])
def test_a_line_that_is_not_of_the_log_is_not_used(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "contexts.jsonl").write_bytes(line)
    source = RetrievedSource(open_source([{"response": "Ada."}]), tmp_path)
    assert list(source.rows()) == []
    distrusted, done = Distrusted(), Rows()
    done.add(0)
    assert list(source.lost(done, distrusted)) == [0] and distrusted.count == 1


def test_a_broken_line_of_a_run_that_is_only_shown_is_said(tmp_path: Path) -> None:
    (tmp_path / "contexts.jsonl").write_bytes(b'{"row": 0}\n')
    source = RetrievedSource(open_source([{"response": "Ada."}]), tmp_path, unsealed=True)
    with pytest.raises(UsageError, match="not a line of retrieved contexts"):
        list(source.rows())


def test_a_corpus_of_files(tmp_path: Path, fakes: FakeNli) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "ada.md").write_text("# Ada\n\nAda was born in London. She wrote.\n")
    (root / "bob.txt").write_text("Bob was born in Paris.")
    (root / "bad.pdf").write_bytes(b"no")
    path, told = write(tmp_path / "in.jsonl"), []
    settings = {"store": tmp_path / "store", "notify": told.append}
    results = check(path, tmp_path / "run", root, **settings)
    assert told[-1].counts == (2, 2, 2, 1)
    assert [s.name for s in told[-1].skipped] == ["bad.pdf"]
    kept = {t["row"]: t for t in map(json.loads, (tmp_path / "run" / "contexts.jsonl").open())}
    best = kept[3]["contexts"][0]
    assert best["id"] == "bob.txt#char=0,22" and best["source"] == "bob.txt"
    for told_of in kept.values():
        for c in told_of["contexts"]:  # the place in the file itself
            whole = (root / c["source"]).read_text()
            assert whole[c["start"] : c["end"]] == c["text"]
    lines = [*results.lines()]
    assert [*check(path, tmp_path / "run", root, **settings).lines()] == lines
    (root / "bob.txt").write_text("Bob was born in Rome.")
    with pytest.raises(UsageError, match="differences: parameters"):
        check(path, tmp_path / "run", root, **settings)


def test_the_plan_embeds_and_asks_nothing(tmp_path: Path, fakes: FakeNli) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "ada.md").write_text("Ada was born in London. She wrote.")
    path, store = write(tmp_path / "in.jsonl"), tmp_path / "store"
    plan = veridical.plan(path, "nli_grounding", corpus=root, processes=0, store=store)
    assert not store.exists()
    assert plan["retrieval"] == {
        **{"by": "corpus", "queries": 3},
        **{"files": 1, "documents": 1, "passages": 1, "skipped": 0},
    }
    by_role = {m["roles"][0]: m for m in plan["models"]}
    assert by_role["corpus"]["requests"] == 1 + 3  # passages and queries
    results = check(path, tmp_path / "run", root, scorers="nli_grounding", store=store)
    assert by_role["nli"]["requests"] > 0
    assert plan["scorers"][0]["applicable"] == 3
    assert sum(r.scores["nli_grounding"].status == "scored" for r in results) == 3
    retriever = Scripted()
    plan = veridical.plan(path, "nli_grounding", corpus=retriever, processes=0)
    assert retriever.asked == [] and plan["retrieval"] == {"by": "scripted", "queries": 3}
    assert plan["scorers"][0]["applicable"] == 3


def test_ground_takes_a_corpus(tmp_path: Path) -> None:
    found = veridical.claims.ground(
        [{"response": "Ada was born in London."}], corpus=Scripted(), processes=0
    )
    (result,) = found
    (score,) = result.scores.values()
    assert score.units[0].evidence[0].text == LONDON
