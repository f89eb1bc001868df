"""What a corpus's index holds is what this computer wrote, or it is made anew."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical.files.seals import SECRET_VARIABLE, forget_secret
from veridical.notices import reset_warnings
from veridical.retrieval.corpus.build import Embedder, IndexProgress, refresh
from veridical.retrieval.corpus.index import Index
from veridical.retrieval.corpus.vectors import VectorSearch

TEXTS = [
    f"Text {i} of {name}, who was born in {1800 + i}." for i in range(40) for name in ("Ada", "Bob")
]
QUERIES = ["Ada 1803", "Bob 1833", "Text 17", "born"]
asked: Counter[str] = Counter()


def vector(text: str) -> np.ndarray:
    rng = np.random.default_rng([*text.encode()])
    made = rng.normal(size=16).astype(np.float32)
    return made / np.linalg.norm(made)


def embed(texts: Any) -> Future[Any]:
    asked.update(texts)
    future: Future[Any] = Future()
    future.set_result(np.stack([vector(t) for t in texts]))
    return future


EMBEDDER = Embedder("counted@1", embed)


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[Path, Path]:
    """The documents, and their index."""
    path, folder = tmp_path / "a.jsonl", tmp_path / "index"
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS))
    refresh(path, folder, EMBEDDER)
    asked.clear()
    reset_warnings()
    return path, folder


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    forget_secret()


def results(folder: Path) -> Any:
    """All that a search can see: by words and by vectors, texts, places and content."""
    with Index(folder) as index:
        near = VectorSearch(index, "counted@1", {})
        ids = [index.by_words(q, 9) for q in QUERIES]
        ids += near.nearest(np.stack([vector(q) for q in QUERIES]), 9)
        held = index.passages(i for row in ids for i in row)
        told = [[held[i][1:] for i in row] for row in ids]
        return told, index.content(), index.counts(), len(near)


def test_no_flipped_bit_changes_a_result_in_silence(
    corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    path, folder = corpus
    expected, chance = results(folder), random.Random(1)
    files = sorted(f for f in folder.iterdir() if f.stat().st_size)
    refused: Counter[str] = Counter()
    for turn in range(300):
        place = tmp_path / "flipped"
        shutil.copytree(folder, place)
        file = place / files[turn % len(files)].name
        data = bytearray(file.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        try:
            assert results(place) == expected
        except UsageError as e:
            refused[file.name.partition("-")[0]] += 1
            assert "veridical corpus PATH" in str(e)
        if turn < 16:
            refresh(path, place, EMBEDDER)
            assert results(place) == expected
        shutil.rmtree(place)
    # of the seal the case of a digit may change, and sqlite makes its -shm file anew
    assert min(refused[name] for name in ("index.sqlite", "seal", "vectors")) > 55


def test_what_is_left_half_written_is_read_again_and_no_vector_is_lost(
    corpus: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = corpus
    expected = results(folder)
    (folder / "seal").unlink()  # as a killed process leaves it
    with pytest.raises(UsageError, match="incomplete, damaged"):
        Index(folder)
    seen: list[IndexProgress] = []
    refresh(path, folder, EMBEDDER, seen.append)
    assert seen[-1].read == 1 and not asked
    assert results(folder) == expected
    assert "documents are read again" in capsys.readouterr().err


def test_one_damaged_vector_is_made_anew_alone(corpus: tuple[Path, Path]) -> None:
    path, folder = corpus
    expected = results(folder)
    (file,) = folder.glob("vectors-*")
    data = bytearray(file.read_bytes())
    data[-3] ^= 4
    file.write_bytes(data)
    with pytest.raises(UsageError, match="is damaged or from another computer"), Index(folder) as i:
        VectorSearch(i, "counted@1", {})
    refresh(path, folder, EMBEDDER)
    assert asked == {TEXTS[-1]: 1}
    assert results(folder) == expected


def test_an_index_of_another_computer_is_made_anew(
    corpus: tuple[Path, Path], secrets: pytest.MonkeyPatch
) -> None:
    path, folder = corpus
    expected = results(folder)
    secrets.setenv(SECRET_VARIABLE, "the secret of another computer")
    forget_secret()
    with pytest.raises(UsageError, match="or from another computer"):
        Index(folder)
    refresh(path, folder, EMBEDDER)
    assert set(asked) == set(TEXTS)
    assert results(folder) == expected


def test_an_index_of_the_first_format_is_made_anew(
    corpus: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = corpus
    expected = results(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    with sqlite3.connect(folder / "index.sqlite") as db:
        db.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY)")
        db.execute("PRAGMA user_version=1")
    db.close()
    (folder / "vectors-90a9910d98f8-0.f16").write_bytes(bytes(640))
    refresh(path, folder, EMBEDDER)
    assert results(folder) == expected
    assert [f.name for f in folder.glob("*.f16")] == []
    assert "earlier version" in capsys.readouterr().err


def test_while_a_reader_is_there_the_seal_holds(corpus: tuple[Path, Path]) -> None:
    path, folder = corpus
    with Index(folder):
        path.write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS[:5]))
        refresh(path, folder, EMBEDDER)
        inside = results(folder)
    assert results(folder) == inside
    seen: list[IndexProgress] = []
    refresh(path, folder, EMBEDDER, seen.append)
    assert seen[-1].read == 0 and not asked
