"""Finding passages: fusion, equal texts, and what the engine's embedder adds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fake_models import FakeEncoder

import veridical
from veridical.errors import UsageError
from veridical.retrieval.corpus.build import refresh
from veridical.retrieval.corpus.index import Index
from veridical.retrieval.corpus.opening import Corpus, open_retriever
from veridical.retrieval.corpus.retriever import CorpusRetriever, fuse


def write(path: Path, *texts: str) -> Path:
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    return path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    model = FakeEncoder()
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: model)
    return model


def test_fusion_by_hand() -> None:
    scores = fuse([["a", "b", "c"], ["c", "a"]])
    assert scores == {
        "a": pytest.approx(1 / 61 + 1 / 62),
        "b": pytest.approx(1 / 62),
        "c": pytest.approx(1 / 63 + 1 / 61),
    }
    assert fuse([]) == {}


async def test_of_equal_texts_one_is_found(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("c", "a", "b"):
        (root / f"{name}.txt").write_text("Ada was born in London.")
        refresh(root, tmp_path / "index", None)
    (root / "d.txt").write_text("Ada died.")
    refresh(root, tmp_path / "index", None)
    retriever = CorpusRetriever(Index(tmp_path / "index"))
    ((first, second), none) = await retriever.search(["Where was Ada born?", "zzz"], 5)
    assert first.id == "a.txt#char=0,23"
    assert (first.source, first.start, first.end, first.page) == ("a.txt", 0, 23, None)
    assert first.text == "Ada was born in London."
    assert second.id == "d.txt#char=0,9"
    assert none == []
    await retriever.close()


async def test_passages_of_a_pdf_say_their_page(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    from corpus_files import pdf

    (tmp_path / "a.pdf").write_bytes(pdf("Intro. " * 200, "Ada was born in London.", title="T"))
    refresh(tmp_path / "a.pdf", tmp_path / "index", None)
    retriever = CorpusRetriever(Index(tmp_path / "index"))
    ((best, *_),) = await retriever.search(["Where was Ada born?"], 3)
    whole = retriever.index.text("a.pdf")
    assert whole is not None and whole[best.start : best.end] == best.text
    assert best.title == "T"
    assert best.page is not None
    assert best.id == f"a.pdf#page={best.page}&char={best.start},{best.end}"
    await retriever.close()


async def test_vectors_find_what_words_do_not(tmp_path: Path) -> None:
    """Two directions: the query lies along the second text, with which it shares no word."""
    path = write(tmp_path / "a.jsonl", "Cats sleep.", "Dogs bark.", "Birds sing.")
    axes = dict(zip(["Cats sleep.", "Dogs bark.", "Birds sing."], np.eye(3), strict=True))

    class Now:
        def __init__(self, value):
            self.value = value

        def result(self):
            return self.value

    from veridical.retrieval.corpus.build import Embedder

    embedder = Embedder("axes@1", lambda texts: Now(np.float32([axes[t] for t in texts])))
    refresh(path, tmp_path / "index", embedder)

    async def embed(queries):
        return np.float32([[0.1, 0.99, 0.05]] * len(queries))

    index = Index(tmp_path / "index")
    both = CorpusRetriever(index, "axes@1", embed)
    ((first, second, third),) = await both.search(["Cats sing, hounds howl."], 3)
    # Dogs: first by vector alone. Cats and Birds: both by words; Cats second by vector
    assert {first.text, second.text} == {"Cats sleep.", "Birds sing."}
    assert third.text == "Dogs bark."
    assert first.score > third.score == pytest.approx(1 / 61)
    latin = CorpusRetriever(index, "axes@1", embed, frozenset({"Cyrillic"}))
    assert [f.text for f in (await latin.search(["hounds howl"], 3))[0]] == []
    assert both.identity()["embedder"] == "axes@1"


def test_a_corpus_by_the_engine(tmp_path: Path, fake: FakeEncoder) -> None:
    root = tmp_path / "root"
    root.mkdir()
    write(root / "a.jsonl", "Ada was born in London.", "Bob was born in Eltham.")
    with veridical.Engine(store=tmp_path / "store", processes=0) as engine:
        corpus = Corpus(root, engine)
        assert corpus.counts == (1, 2, 2, 0)
        names = corpus.index.execute("SELECT name FROM documents ORDER BY name")
        assert names == [("a.jsonl:1",), ("a.jsonl:2",)]
        ((best,),) = engine.submit(corpus.search(["Bob Eltham"], 1)).result()
        assert best.text == "Bob was born in Eltham."
        identity = corpus.identity()
        asked = fake.calls
        engine.submit(corpus.close()).result()
        again = Corpus(root, engine)
        assert again.identity() == identity and fake.calls == asked
        engine.submit(again.close()).result()
    assert (tmp_path / "store" / "corpus").is_dir()
    with veridical.Engine(processes=0) as engine:  # without a store
        corpus = Corpus(root, engine)
        folder = corpus.index.path
        assert corpus.identity() == identity
        engine.submit(corpus.close()).result()
        del corpus
        assert not folder.exists()


def test_requests_from_elsewhere_name_no_path(tmp_path: Path) -> None:
    with (
        veridical.Engine(named_only=True, processes=0) as engine,
        pytest.raises(UsageError, match="must be search:NAME"),
    ):
        open_retriever(str(tmp_path), engine)
