"""One context with a hundred answers, one answer with twenty samples: each text is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import veridical
import veridical.models
from veridical.claims import select
from veridical.core.protocols import Window
from veridical.engine.engine import Engine
from veridical.models.nli.onnx import OnnxNli, _Read
from veridical.text import passages, relevance, same_matter, sentences, words
from veridical.text.memo import TEXTS, Memo

PLACES = ["Mali", "Niger", "Chad", "Ghana", "Benin", "Togo", "Gabon"]
NAMES = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hope", "Ida", "Jon", "Kim"]
#: What reads a text, or the words of several.
READERS = [
    (sentences, "split_anew"),
    (passages, "passages"),
    (words, "words"),
    (select, "Bm25"),
    (relevance, "MostAbout"),
    (relevance, "Rarity"),
    (same_matter, "_compared"),
]
CONTEXT = " ".join(
    f"{NAMES[i % 11]} lives in {PLACES[i % 7]} at number {i}. The house was built in {1800 + i}."
    for i in range(200)
)
ANSWERS = [
    f"{NAMES[i % 11]} lives in {PLACES[i % 5]}. It is house {i}, as is known." for i in range(100)
]
Reads = Counter[tuple[str, Any]]


@pytest.fixture(scope="module")
def embedded() -> OnnxNli:
    model = veridical.models.load_nli(threads=1)
    assert isinstance(model, OnnxNli)
    return model


def judged(batch: Sequence[Window]) -> list[Any]:
    """In the place of forwards: verdicts by the length of a window."""
    shares = [w.length % 97 / 97 for w in batch]
    rows = [np.array([s, 0.9 * (1 - s), 0.1 * (1 - s)], np.float32) for s in shares]
    risks = [np.full(len(w.content.hypothesis), 0.5) for w in batch]
    return [_Read(row, of_tokens) for row, of_tokens in zip(rows, risks, strict=True)]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, embedded: OnnxNli) -> Iterator[Reads]:
    """How often each reader, and the tokenizer, was given which text."""
    counts: Reads = Counter()
    for module, name in READERS:
        monkeypatch.setattr(module, name, counted(getattr(module, name), name, counts))
    windower = embedded._windower
    encode = windower._encode

    def counted_encode(texts: Sequence[str]) -> list[Any]:
        counts.update(("tokens", text) for text in texts)
        return encode(texts)

    monkeypatch.setattr(windower, "_encode", counted_encode)
    monkeypatch.setattr(embedded, "run", judged)
    monkeypatch.setattr("veridical.models.load_nli", lambda *_, **__: embedded)
    windower._known.clear()
    TEXTS.clear()
    yield counts
    TEXTS.clear()


def counted(inner: Callable[..., Any], name: str, counts: Reads) -> Callable[..., Any]:
    def reader(read: Any, *more: Any) -> Any:
        read = read if isinstance(read, str) else tuple(map(tuple, read))
        counts[name, (read, *more)] += 1
        return inner(read, *more)

    return reader


def run(rows: list[dict[str, Any]], scorers: str) -> list[bytes]:
    with Engine(store=None, processes=0) as engine:
        lines = list(veridical.check(rows, scorers, engine=engine).lines())
    assert not any(b'"failed"' in line for line in lines)
    return lines


def test_one_context_with_many_answers(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    # each row has a copy of its own, as those that are read from a file do
    rows = [{"response": answer, "contexts": "".join(list(CONTEXT))} for answer in ANSWERS[:30]]
    scorers = "nli_grounding, claims, spans, context_precision(of=response)"
    lines = run(rows, scorers)
    assert not {read: times for read, times in reads.items() if times > 1}
    kinds = Counter(name for name, _ in reads)
    assert kinds["passages"] == kinds["Bm25"] == kinds["Rarity"] == 1 and kinds["tokens"] > 30
    assert reads["split_anew", (CONTEXT,)] == 1

    monkeypatch.setattr(Memo, "keep", lambda *_: None)
    TEXTS.clear()
    reads.clear()
    assert run(rows[:2], scorers) == lines[:2]  # nothing but the work differs
    assert reads["split_anew", (CONTEXT,)] >= 6


def test_one_answer_with_twenty_samples(reads: Reads) -> None:
    row = {"response": ANSWERS[0], "samples": ANSWERS[1:21]}
    scorers = (
        "nli_grounding(against=samples), claims(against=samples), spans(against=samples), "
        "selfcheck_nli, luq, semantic_entropy, degree"
    )
    run([row], scorers)
    assert not {read: times for read, times in reads.items() if times > 1}
    assert {text for name, text in reads if name == "tokens"} >= set(ANSWERS[:21])
