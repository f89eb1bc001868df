"""The index of a corpus: what it holds after its files changed, and after it was stopped."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import Counter
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from veridical.claims.bm25 import Bm25
from veridical.errors import ModelError, UsageError
from veridical.retrieval.corpus import index as index_module
from veridical.retrieval.corpus.build import Embedder, IndexProgress, folder_of, refresh
from veridical.retrieval.corpus.index import Index
from veridical.retrieval.corpus.vectors import VectorSearch, VectorWriter
from veridical.retrieval.corpus.words import index_terms, rarest
from veridical.retrieval.corpus.writer import Writer


class Counted:
    """Vectors from a hash of the text, and how often each text was asked for."""

    def __init__(self, width: int = 8, fail_after: int | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self.width = width
        self.fail_after = fail_after

    def embedder(self, name: str = "counted@1") -> Embedder:
        return Embedder(name, self.embed)

    def embed(self, texts) -> Future:
        future: Future = Future()
        if self.fail_after is not None and sum(self.asked.values()) >= self.fail_after:
            future.set_exception(ModelError("no more"))
            return future
        self.asked.update(texts)
        future.set_result(np.stack([self.vector(t) for t in texts]))
        return future

    def vector(self, text: str) -> np.ndarray:
        rng = np.random.default_rng([*text.encode()])
        found = rng.normal(size=self.width).astype(np.float32)
        return found / np.linalg.norm(found)


def names(folder: Path) -> list[str]:
    with Index(folder) as index:
        return [n for (n,) in index.execute("SELECT name FROM documents ORDER BY name")]


def found(folder: Path, query: str, k: int = 5) -> list[str]:
    with Index(folder) as index:
        ids = index.by_words(query, k)
        held = index.passages(ids)
        return [held[i].text for i in ids]


def test_changed_files_are_read_again_and_others_not(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "index"
    root.mkdir()
    (root / "a.txt").write_text("Ada was born in London.")
    (root / "b.md").write_text("Bob was born in Eltham.")
    (root / "rows.jsonl").write_text('{"id": 1, "text": "Cleo reigned."}\n{"id": 2, "text": "Z"}\n')
    counted = Counted()
    seen: list[IndexProgress] = []
    counts = refresh(root, folder, counted.embedder(), seen.append)
    assert counts == (3, 4, 4, 0)
    assert names(folder) == ["a.txt", "b.md", "rows.jsonl:1", "rows.jsonl:2"]
    assert seen[-1].read == 3 and seen[-1].embedded == 4
    assert set(counted.asked.values()) == {1}
    with Index(folder) as index:
        first = index.content()

    seen.clear()
    refresh(root, folder, counted.embedder(), seen.append)
    assert seen[-1].read == 0 and sum(counted.asked.values()) == 4
    with Index(folder) as index:
        assert index.content() == first

    (root / "a.txt").write_text("Ada was born in Paris.")
    (root / "b.md").unlink()
    (root / "rows.jsonl").write_text('{"id": 2, "text": "Z"}\n{"id": 3, "text": "Dora sang."}\n')
    seen.clear()
    assert refresh(root, folder, counted.embedder(), seen.append) == (2, 3, 3, 0)
    assert seen[-1].read == 2
    assert names(folder) == ["a.txt", "rows.jsonl:2", "rows.jsonl:3"]
    assert found(folder, "Where was Ada born?") == ["Ada was born in Paris."]
    assert found(folder, "London Eltham reigned") == []
    assert counted.asked["Z"] == 1  # unchanged rows keep what they have
    with Index(folder) as index:
        assert index.content() != first
        text = index.text("a.txt")
        assert text == "Ada was born in Paris."
        assert index.text("b.md") is None


def test_the_same_files_make_the_same_content_in_any_order(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in "ba":
        (root / f"{name}.txt").write_text(f"{name} was here.")
        refresh(root, tmp_path / "grown", None)
    refresh(root, tmp_path / "whole", None)
    with Index(tmp_path / "grown") as grown, Index(tmp_path / "whole") as whole:
        assert grown.content() == whole.content()


def test_places_are_exact(tmp_path: Path) -> None:
    text = "\ufeffÀ la carte — it is.\r\n\r\n" + "Some words follow here, and then some. " * 90
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    refresh(tmp_path / "a.txt", tmp_path / "index", None)
    with Index(tmp_path / "index") as index:
        whole = index.text("a.txt")
        assert whole == text[1:]  # the byte-order mark is no text
        ids = [i for (i,) in index.execute("SELECT id FROM passages")]
        held = index.passages(ids)
        assert len(held) > 3
        for passage in held.values():
            assert passage.document == "a.txt"
            assert whole[passage.start : passage.end] == passage.text


def test_words_are_ranked_by_bm25(tmp_path: Path) -> None:
    """Against our own in-memory BM25, which is checked against a public library elsewhere: FTS5's
    inverse document frequency differs in that it is ln((n - df + 1/2) / (df + 1/2))."""
    texts = [
        "the cat sat on the mat",
        "the dog sat on the log with the cat",
        "a cat, a cat, my kingdom for a cat",
        "dogs and logs",
        "nothing of the kind is said here at all",
        "the harbour in the evening",
    ]
    rows = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    (tmp_path / "rows.jsonl").write_text(rows)
    refresh(tmp_path / "rows.jsonl", tmp_path / "index", None)
    documents = [index_terms(t) for t in texts]
    query = "kingdom mat log"
    scores = Bm25(documents).scores([index_terms(query)])[0]
    expected = [texts[i] for i in np.argsort(-scores, kind="stable") if scores[i] > 0]
    assert found(tmp_path / "index", query) == expected
    with Index(tmp_path / "index") as index:
        ((score,),) = index.execute("SELECT bm25(words) FROM words WHERE words MATCH 'kingdom'")
    n, length = len(texts), len(documents[2])
    mean = sum(map(len, documents)) / n
    idf = math.log((n - 1 + 0.5) / (1 + 0.5))
    assert -score == pytest.approx(idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / mean)))


def test_terms_of_any_script_are_found(tmp_path: Path) -> None:
    texts = ["Émile Zola wrote.", "東京は日本の首都です。", "हिन्दी भाषा है।", "U.S. GDP rose 3.5%."]
    rows = "".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts)
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    refresh(tmp_path / "rows.jsonl", tmp_path / "index", None)
    for query, text in zip(["EMILE", "首都", "हिन्दी", "3.5"], texts, strict=True):
        assert found(tmp_path / "index", query) == [text]
    for query in ["", "?", '"', 'a" OR "b', "NEAR(x y)", "terms : x", "*", "\x00", "\ud800"]:
        assert len(found(tmp_path / "index", query)) <= 4  # hostile queries are words


def test_the_rarest_words_are_asked_for() -> None:
    frequency = {"the": 90_000, "of": 80_000, "cat": 10, "mat": 40_000, "log": 20_000}
    asked = ["the", "cat", "of", "mat", "log", "cat", "unknown"]
    assert rarest(asked, lambda t: frequency.get(t, 0)) == ["cat", "log", "mat"]
    assert rarest(["the", "of"], lambda t: frequency.get(t, 0)) == ["of", "the"]
    assert rarest(["unknown"], lambda t: 0) == []


def test_one_process_writes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ada.")
    folder = tmp_path / "index"
    with (
        Writer(folder),
        pytest.raises(UsageError, match="being written by another process"),
    ):
        refresh(tmp_path / "a.txt", folder, None)
    refresh(tmp_path / "a.txt", folder, None)


def test_a_reader_keeps_what_it_found(tmp_path: Path) -> None:
    path, folder, counted = tmp_path / "a.jsonl", tmp_path / "index", Counted()
    path.write_text("".join(json.dumps({"text": f"Text {i} of Ada."}) + "\n" for i in range(9)))
    refresh(path, folder, counted.embedder())
    with Index(folder) as index:
        vectors = VectorSearch(index, "counted@1", {})
        ((number,),) = vectors.nearest(counted.vector("Text 8 of Ada.")[None], 1)
        path.write_text(json.dumps({"text": "Bob came."}) + "\n")
        refresh(path, folder, counted.embedder())  # nearly all is gone: the file is written anew
        assert len(list(folder.glob("vectors-*"))) == 1
        assert len(index.by_words("Ada", 20)) == 9
        ((again,),) = vectors.nearest(counted.vector("Text 8 of Ada.")[None], 1)
        assert again == number
        assert index.passages([again])[again].text == "Text 8 of Ada."
    assert found(folder, "Ada") == []
    with Index(folder) as index:
        vectors = VectorSearch(index, "counted@1", {})
        assert len(vectors) == 1
        ((number,),) = vectors.nearest(counted.vector("Bob came.")[None], 5)
        assert index.passages([number])[number].text == "Bob came."


def test_embedding_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.jsonl", tmp_path / "index"
    texts = [f"Text {i} of Ada." for i in range(1500)]
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in [*texts, texts[3]]))
    counted = Counted(fail_after=1000)
    with pytest.raises(ModelError, match="no more"):
        refresh(path, folder, counted.embedder())
    counted.fail_after = None
    seen: list[IndexProgress] = []
    refresh(path, folder, counted.embedder(), seen.append)
    assert seen[-1].read == 0
    assert set(counted.asked) == set(texts)
    # what was under way when it failed may be asked again, what was kept is not
    assert sum(counted.asked.values()) <= 1500 + 512
    with Index(folder) as index:
        vectors = VectorSearch(index, "counted@1", {})
        for t in (texts[0], texts[777], texts[-1]):
            ((number,),) = vectors.nearest(counted.vector(t)[None], 1)
            assert index.passages([number])[number].text == t


def test_vectors_agree_with_exact_cosines(tmp_path: Path) -> None:
    path, folder, counted = tmp_path / "a.jsonl", tmp_path / "index", Counted(16)
    texts = [f"Text {i} of Ada." for i in range(400)]
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    refresh(path, folder, counted.embedder())
    matrix = np.stack([counted.vector(t) for t in texts])
    queries = np.stack([counted.vector(f"query {i}") for i in range(20)])
    with Index(folder) as index:
        ranked = VectorSearch(index, "counted@1", {}).nearest(queries, 10)
        held = index.passages(i for row in ranked for i in row)
    for row, cosines in zip(ranked, queries @ matrix.T, strict=True):
        near = [cosines[texts.index(held[i].text)] for i in row]
        assert near == pytest.approx(np.sort(cosines)[::-1][:10], abs=2e-3)  # float16


def test_embedders_have_vectors_of_their_own(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.txt", tmp_path / "index"
    path.write_text("Ada was born.")
    one, two = Counted(8), Counted(12)
    refresh(path, folder, one.embedder("one@1"))
    refresh(path, folder, two.embedder("two@1"))
    refresh(path, folder, one.embedder("one@1"))
    assert sum(one.asked.values()) == sum(two.asked.values()) == 1
    with Index(folder) as index:
        assert len(VectorSearch(index, "one@1", {})) == 1
        none = VectorSearch(index, "none@1", {})
        assert none.nearest(np.zeros((2, 3), np.float32), 4) == [[], []]


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_vectors_are_made_again(tmp_path: Path, damage: str) -> None:
    path, folder, counted = tmp_path / "a.txt", tmp_path / "index", Counted()
    path.write_text("Ada was born.")
    refresh(path, folder, counted.embedder())
    (file,) = folder.glob("vectors-*")
    if damage == "cut":
        file.write_bytes(b"\x00")
    else:
        file.unlink()
    refresh(path, folder, counted.embedder())
    assert counted.asked["Ada was born."] == 2
    with Index(folder) as index:
        assert len(VectorSearch(index, "counted@1", {})) == 1


@pytest.mark.parametrize("damage", ["garbage", "format", "empty"])
def test_a_damaged_or_foreign_index_is_made_again(tmp_path: Path, damage: str) -> None:
    path, folder = tmp_path / "a.txt", tmp_path / "index"
    path.write_text("Ada was born.")
    refresh(path, folder, None)
    file = folder / "index.sqlite"
    if damage == "garbage":
        file.write_bytes(b"no database " * 999)
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        with sqlite3.connect(file) as db:
            db.execute("PRAGMA user_version=99")
    assert refresh(path, folder, None) == (1, 1, 1, 0)
    assert found(folder, "Ada") == ["Ada was born."]


def test_problems_are_counted_and_told(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "index"
    root.mkdir()
    (root / "good.txt").write_text("Ada was born.")
    (root / "bad.txt").write_bytes(b"\xff\xfe\xfd")
    (root / "x.png").write_bytes(b"png")
    (root / "rows.jsonl").write_text(
        '{"id": 1, "text": "Bob."}\n{"id": 1, "text": "Bill."}\nnot json\n'
    )
    assert refresh(root, folder, None) == (2, 2, 2, 4)
    with Index(folder) as index:
        told = {s.name: s.reason for s in index.skipped()}
    assert set(told) == {"bad.txt", "x.png", "rows.jsonl:1", "rows.jsonl, line 3"}
    assert "has the same name" in told["rows.jsonl:1"]
    (root / "bad.txt").write_text("Now it can be read.")
    (root / "rows.jsonl").unlink()
    (root / "x.png").unlink()
    assert refresh(root, folder, None) == (2, 2, 2, 0)
    (root / "good.txt").write_bytes(b"\x00")
    assert refresh(root, folder, None) == (1, 1, 1, 1)
    assert found(folder, "Ada") == []


def test_without_fts5_the_error_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Without:
        def execute(self, sql: str) -> None:
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self) -> None:
            pass

    monkeypatch.setattr(index_module.sqlite3, "connect", lambda *_: Without())
    with pytest.raises(UsageError, match=r"FTS5.*no such module"):
        Index(tmp_path)


def test_a_killed_indexing_goes_on(tmp_path: Path) -> None:
    root, store = tmp_path / "root", tmp_path / "store"
    root.mkdir()
    for i in range(30):
        (root / f"{i:02}.txt").write_text("".join(f"Text {i}.{j} of Ada. " for j in range(300)))
    script = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from veridical.retrieval.corpus.build import refresh
        def tell(p):
            if p.read:
                print(p.read, flush=True)
        refresh(Path({str(root)!r}), Path({str(store)!r}), None, tell)
    """)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= 5:
            break
    child.kill()
    child.wait()
    time.sleep(0.1)
    seen: list[IndexProgress] = []
    counts = refresh(root, store, None, seen.append)
    assert counts.files == counts.documents == 30
    assert seen[-1].read == 30  # what was half written has no seal
    refresh(root, tmp_path / "whole", None)
    with Index(store) as resumed, Index(tmp_path / "whole") as whole:
        assert resumed.content() == whole.content()
        assert resumed.counts() == whole.counts()


def test_where_an_index_lies(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    one = folder_of(tmp_path, tmp_path / "x")
    assert one == folder_of(tmp_path, tmp_path / "link" / "x") != folder_of(tmp_path, tmp_path)
    with pytest.raises(UsageError, match="no corpus index"):
        Index(tmp_path / "absent")


def test_sweeping_keeps_what_is_shared(tmp_path: Path) -> None:
    root, folder, counted = tmp_path / "root", tmp_path / "index", Counted()
    root.mkdir()
    (root / "a.txt").write_text("Ada was born.")
    (root / "b.txt").write_text("Ada was born.")
    refresh(root, folder, counted.embedder())
    (root / "a.txt").unlink()
    refresh(root, folder, counted.embedder())
    assert counted.asked["Ada was born."] == 1
    with Writer(folder) as index:
        assert VectorWriter(index, "counted@1").missing() == 0
