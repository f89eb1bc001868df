"""Pairs to windows, as the tokenizers themselves would have it, and windows to one verdict."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nli_checkpoints import KINDS, LENGTH, PAIRS, tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from veridical.core.protocols import Pair, Window
from veridical.errors import ModelError
from veridical.models.nli import tokens
from veridical.models.nli.pairs import Piece, merge, split
from veridical.models.nli.tokens import PairWindower
from veridical.text.sentences import split_sentences

SENTENCES = [f"Sentence {i} tells what happened on day {i * 7}." for i in range(60)]


def words(length: int = 32, pair: str = "[CLS] $A [SEP] $B:1 [SEP]:1") -> PairWindower:
    """One token a word, whatever the word; ``w7`` and its like keep their number as id."""
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, **{f"w{i}": 3 + i for i in range(900)}}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=pair, special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    return PairWindower(made, length)


def text(start: int, end: int) -> str:
    """``w`` and a number from ``start`` up to ``end``."""
    return " ".join(f"w{i}" for i in range(start, end))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_that_fits_is_the_tokenizers_own_encoding(kind: str) -> None:
    own = tokenizer(kind)
    windower = PairWindower(tokenizer(kind), LENGTH)
    pairs = [Pair(*p) for p in PAIRS[:-1]]
    for (premise, hypothesis), windows in zip(pairs, windower(pairs), strict=True):
        (window,) = windows
        expected = own.encode(premise, hypothesis)
        rows = windower.rows([window])
        assert rows.ids[0].tolist() == expected.ids
        assert rows.types[0].tolist() == expected.type_ids
        assert rows.mask.all() and window.length == len(expected.ids)


def test_templates_differ_as_the_architectures_do() -> None:
    between = {k: PairWindower(tokenizer(k), LENGTH).template.ids[1] for k in KINDS}
    assert between == {"bert": [3], "roberta": [2, 2], "deberta": [2], "modernbert": [2]}
    types = {k: PairWindower(tokenizer(k), LENGTH).template.types for k in ("bert", "roberta")}
    assert types == {"bert": (0, 0, 0, 1, 1), "roberta": (0, 0, 0, 0, 0)}


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_in_a_text_are_ordinary_characters(kind: str) -> None:
    windower = PairWindower(tokenizer(kind), LENGTH)
    ((window,),) = windower([Pair("[SEP] a </s>", "<s> [CLS] [PAD]")])
    special = {i for ids in windower.template.ids for i in ids}
    assert not special & {*window.content.premise.tolist(), *window.content.hypothesis.tolist()}


def test_rows_are_padded_on_the_right() -> None:
    windower = words()
    windows = [w for ws in windower([Pair("w0 w1", "w2"), Pair("", "")]) for w in ws]
    rows = windower.rows(windows, pad=9)
    assert rows.ids.tolist() == [[0, 3, 4, 1, 5, 1], [0, 1, 1, 9, 9, 9]]
    assert rows.types.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0]]
    assert rows.mask.sum(axis=1).tolist() == [6, 3]


class Counting:
    """A tokenizer that tells what it was given."""

    def __init__(self, inner: Any) -> None:
        self.__dict__.update(inner=inner, seen=[])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def encode_batch(self, texts: list[str], **options: Any) -> Any:
        self.seen.extend(texts)
        return self.inner.encode_batch(texts, **options)


def test_each_distinct_text_is_tokenised_once() -> None:
    counting = Counting(tokenizer("bert"))
    windower = PairWindower(counting, LENGTH)
    for _ in range(2):
        windower([Pair(p, h) for p in ("one", "two") for h in ("three", "one", "four")])
    assert sorted(counting.seen) == ["four", "one", "three", "two"]


def contents(windows: list[list[Window]]) -> list[Any]:
    return [
        (w.length, w.content.premise.tolist(), w.content.hypothesis.tolist(), *w.content[2:5])
        for ws in windows
        for w in ws
    ]


def test_a_long_premise_is_tokenised_and_split_once_for_all_calls() -> None:
    chunked: list[str] = []

    def chunks(text: str) -> list[str]:
        chunked.append(text)
        return [text[:1500], text[1500:]]

    premise = " ".join(SENTENCES)
    pairs = [Pair(premise, f"the tower {'is in france ' * n}") for n in range(1, 9)]
    counting = Counting(tokenizer("bert"))
    windower = PairWindower(counting, 64, chunks=chunks)
    found = [contents(windower([pair])) for pair in pairs]
    assert chunked == [premise] and len(counting.seen) == len(set(counting.seen)) == 2 + len(pairs)
    for pair, windows in zip(pairs, found, strict=True):
        alone = PairWindower(tokenizer("bert"), 64, chunks=chunks)
        assert contents(alone([pair])) == windows and len(windows) > 10


def test_tokens_are_kept_of_the_latest_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "KEPT", 10_000)
    counting = Counting(tokenizer("bert"))
    windower = PairWindower(counting, LENGTH)
    texts = [f"Paris is in France, {i}. " * 8 for i in range(99)]
    windows = windower([Pair(p, "no") for p in texts])
    for text, expected in zip(texts, windows, strict=True):
        assert contents(windower([Pair(text, "no")])) == contents([expected])
    assert windower._known.held <= 10_000 and 100 < len(counting.seen) <= 2 * 100


def test_long_premises_end_at_sentences_and_overlap_by_one() -> None:
    premise = " ".join(SENTENCES)
    windower = words(64)
    (windows,) = windower([Pair(premise, "w5 w6 w7")])
    starts = [len(premise[: s.start].split()) for s in split_sentences(premise)]
    assert len(starts) == 60
    at = 0
    for i, window in enumerate(windows):
        assert window.length <= 64
        assert window.content.hypothesis.tolist() == [8, 9, 10]
        size = len(window.content.premise)
        assert at in starts and (at + size in starts or i == len(windows) - 1)
        if i + 1 < len(windows):
            # 57 words to a room of 58: whole sentences of 8 words, the last one shared
            at += size - 8
    assert at + size == len(premise.split())
    sizes = [len(w.content.premise) for w in windows]
    assert max(sizes) - min(sizes[:-1]) <= 8
    assert sizes[-1] > max(sizes) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_windows_hold_every_token_and_the_model_can_take_them(kind: str) -> None:
    own = tokenizer(kind)
    windower = PairWindower(tokenizer(kind), 48)
    premise = " ".join(["The tower was finished in 1889, it is said.", "Nobody knows why!"] * 9)
    ((*windows,),) = windower([Pair(premise, "Paris is in France.")])
    assert len(windows) > 2
    ids = own.encode(premise, add_special_tokens=False).ids
    at = 0
    for window in windows:
        part = window.content.premise.tolist()
        assert windower.rows([window]).ids.shape == (1, window.length) and window.length <= 48
        # some place that leaves no gap to the window before
        at = max(k for k in range(at + 1) if ids[k : k + len(part)] == part) + len(part)
    assert at == len(ids)


def test_a_long_hypothesis_is_split_and_every_piece_meets_every_window() -> None:
    windower = words(43)  # room for 40
    (windows,) = windower([Pair(text(0, 70), text(100, 150))])
    pieces = [w.content for w in windows]
    parts = {p.part: p.hypothesis.tolist() for p in pieces}
    spans = {tuple(p.premise.tolist()) for p in pieces}
    assert len(pieces) == len(parts) * len(spans)
    assert {i for part in parts.values() for i in part} == set(range(103, 153))
    assert {i for span in spans for i in span} == set(range(3, 73))
    assert max(map(len, parts.values())) <= 20
    assert all(w.length <= 43 for w in windows)


def test_a_long_hypothesis_beside_a_short_premise_uses_the_room_there_is() -> None:
    windower = words(43)
    (windows,) = windower([Pair(text(0, 4), text(100, 136))])
    assert [w.length for w in windows] == [43]
    (windows,) = windower([Pair(text(0, 4), text(100, 150))])
    assert len(windows) == 2 and {w.content.part for w in windows} == {0, 1}
    (windows,) = windower([Pair("", text(100, 150))])
    assert len(windows) == 2 and all(len(w.content.premise) == 0 for w in windows)


@given(
    length=st.integers(0, 400),
    room=st.integers(1, 80),
    sentences=st.sets(st.integers(0, 400)),
    word=st.integers(1, 9),
)
def test_spans_cover_the_text_within_the_room(
    length: int, room: int, sentences: set[int], word: int
) -> None:
    spans = split(length, room, sorted(sentences), lambda i: i % word == 0)
    assert spans[0][0] == 0 and spans[-1][1] == length
    for (start, end), (after, last) in pairwise(spans):
        assert start < after <= end < last
        assert end - after <= room // 4
    assert all(end - start <= room for start, end in spans)


def test_about_weighs_what_few_windows_hold() -> None:
    """Two windows of 20 words: w0 to w19, and w20 to w35 with w0 to w3 again."""
    windower = words(27)  # room for 24: beside 4 words of hypothesis, 20
    premise = text(0, 36) + " " + text(0, 4)
    (windows,) = windower([Pair(premise, "w0 w1 w5 w30")])
    held = [set(w.content.premise.tolist()) for w in windows]
    for window in windows:
        asked = {3, 4, 8, 33} & set(window.content.premise.tolist())
        expected = sum(math.log(len(windows) / sum(i in h for h in held)) for i in asked)
        assert window.content.about == pytest.approx(expected)


def windows_of(*content: tuple[int, float]) -> list[Window]:
    return [Window(8, Piece(None, None, part, about)) for part, about in content]


def test_one_window_is_its_own_verdict() -> None:
    row = np.array([0.2, 0.3, 0.5], dtype=np.float32)
    assert merge(windows_of((0, 0.0)), [row]).tolist() == row.tolist()


def test_entailment_is_the_greatest_and_contradiction_of_the_window_most_about_it() -> None:
    rows = np.array([[0.6, 0.3, 0.1], [0.1, 0.0, 0.9], [0.2, 0.6, 0.2]])
    found = merge(windows_of((0, 0.4), (0, 0.0), (0, 1.1)), rows)
    np.testing.assert_allclose(found, [0.6, 0.2, 0.2], atol=1e-6)
    # most about it is the second: 0.6 and 0.9 together exceed 1
    found = merge(windows_of((0, 0.4), (0, 1.1), (0, 0.0)), rows)
    np.testing.assert_allclose(found, [0.4, 0, 0.6], atol=1e-6)


def test_of_windows_equally_about_it_the_mean_counts() -> None:
    rows = np.array([[0.1, 0.8, 0.1], [0.1, 0.4, 0.5], [0.1, 0.0, 0.9]])
    found = merge(windows_of((0, 0.7), (0, 0.7), (0, 0.2)), rows)
    np.testing.assert_allclose(found, [0.1, 0.6, 0.3], atol=1e-6)


def test_all_pieces_must_follow_and_one_false_one_suffices() -> None:
    rows = np.array([[0.9, 0.1, 0.0], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]])
    found = merge(windows_of((0, 0.0), (1, 0.0), (2, 0.0)), rows)
    np.testing.assert_allclose(found, [0.2, 0.2, 0.6], atol=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2)), min_size=2, max_size=8))
def test_merging_keeps_the_classes_a_head_has(entries: list[tuple[float, int]]) -> None:
    """Without neutral, none appears; without contradiction, none either."""
    windows = windows_of(*sorted((part, float(i % 3)) for i, (_, part) in enumerate(entries)))
    likely = np.array([e for e, _ in entries])
    zero = np.zeros_like(likely)
    parts = sorted({w.content.part for w in windows})
    windows = [Window(8, w.content._replace(part=parts.index(w.content.part))) for w in windows]
    two = merge(windows, np.stack([likely, zero, 1 - likely], axis=1))
    assert two[1] == pytest.approx(0, abs=1e-6) and two.sum() == pytest.approx(1)
    rest = merge(windows, np.stack([likely, 1 - likely, zero], axis=1))
    assert rest[2] == 0 and rest.sum() == pytest.approx(1)


def test_unusable_tokenizers_are_model_errors() -> None:
    with pytest.raises(ModelError, match="no room for a pair"):
        words(4)
    with pytest.raises(ModelError, match="before the hypothesis"):
        words(pair="[CLS] $B [SEP] $A:1 [SEP]:1")
    with pytest.raises(ModelError, match="token types"):
        words(pair="[CLS] $A [SEP]:1 [SEP] $B:1 [SEP]:1")
    empty = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    empty.pre_tokenizer = pre_tokenizers.Split("a", "removed")
    with pytest.raises(ModelError, match="no tokens for a pair"):
        PairWindower(empty, 64)
