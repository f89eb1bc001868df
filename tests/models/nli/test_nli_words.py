"""Which words of a hypothesis are wrong: from tokens to words, through engine and store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import FakeNli
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import veridical
from veridical.core.protocols import LABELS, Pair, Window
from veridical.engine.engine import Engine
from veridical.models.nli.pairs import Piece, TokenWords, merge_words
from veridical.models.nli.tokens import PairWindower
from veridical.text.words import lettered_spans


def pieces_tokenizer() -> Tokenizer:
    """One token a character or a run of known letters; marks are tokens of their own."""
    vocabulary = ["[UNK]", "[CLS]", "[SEP]", "un", "known", "Ada", "'", "s", "in", "1815", ".", "x"]
    made = Tokenizer(models.WordPiece({t: i for i, t in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.add_tokens(["##known"])
    made.model = models.WordPiece(
        {t: i for i, t in enumerate([*vocabulary, "##known"])}, unk_token="[UNK]"
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return made


def test_each_token_is_of_its_word() -> None:
    windower = PairWindower(pieces_tokenizer(), 64, words=True)
    ((window,),) = windower([Pair("x", "Ada's unknown, in 1815.")])
    text = [s.text for s in lettered_spans("Ada's unknown, in 1815.")]
    assert text == ["Ada", "'s", "unknown", "in", "1815"]
    # Ada | ' s | un ##known | , | in | 1815 | .
    assert window.content.words.of_tokens.tolist() == [0, 1, 1, 2, 2, -1, 3, 4, -1]
    assert window.content.words.total == 5
    plain = PairWindower(pieces_tokenizer(), 64)
    assert plain([Pair("x", "Ada")])[0][0].content.words is None
    ((empty,),) = windower([Pair("x", "")])
    assert empty.content.words.total == 0 and not len(empty.content.words.of_tokens)


def test_a_word_is_as_wrong_as_its_worst_token_where_it_is_best_supported() -> None:
    def window(places: list[int]) -> Window:
        return Window(9, Piece([], [], words=TokenWords(np.array(places), 4)))

    # two windows of the premise for words 0 to 2; word 3 has no token
    found = merge_words(
        [window([0, 0, 1, -1]), window([0, 0, 1, -1]), window([1, 2])],
        [np.array([0.2, 0.9, 0.4, 1.0]), np.array([0.6, 0.1, 0.5, 1.0]), np.array([0.3, 0.7])],
    )
    np.testing.assert_allclose(found, [0.6, 0.3, 0.7, 0.0], rtol=1e-6)


class WordNli(FakeNli):
    """Words that the premise lacks are wrong."""

    tells_words = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._premises: dict[int, Pair] = {}
        self.revision += "-words"

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        found = super().windows(pairs)
        for pair, windows in zip(pairs, found, strict=True):
            for window in windows:
                self._premises[id(window)] = Pair(*pair)
        self._kept = [*getattr(self, "_kept", []), found]  # ids stay those of these windows
        return found

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Any:
        premise, hypothesis = self._premises[id(windows[0])]
        words = lettered_spans(hypothesis)
        risks = [0.1 if w.text.lower() in premise.lower() else 0.9 for w in words]
        return np.array([*super().assemble(windows, outputs), *risks], np.float32)


ROWS = [
    {"response": "Ada was born in Paris. She died.", "contexts": ["Ada was born in London."]},
    {
        "response": "Ada lived in London. Ada was born in London.",
        "contexts": ["Ada was born in London."],
    },
]


def test_words_come_with_the_verdicts_and_stay_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = WordNli()
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)

    def run() -> list[Any]:
        with Engine(store=tmp_path / "store") as engine:
            return list(veridical.check(ROWS, "spans, nli_grounding", engine=engine))

    first = run()
    calls = model.calls
    assert calls == 1  # what judges a pair tells its words
    spans = [[u.text for u in r.scores["spans"].units if u.level == "span"] for r in first]
    assert spans == [["Paris", "She died"], ["lived"]]
    assert "nli:fake-nli@" in first[0].scores["spans"].signature
    again = run()
    assert model.calls == calls  # all of the second run is in the store
    assert [r.scores for r in again] == [r.scores for r in first]


def test_a_model_that_tells_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: FakeNli())
    with Engine(store=None) as engine:
        (first, _) = veridical.check(ROWS, "spans", engine=engine)
    score = first.scores["spans"]
    assert score.status == "not_applicable"
    assert "fake-nli does not report wrong words; --spans MODEL" in (score.reason or "")


@pytest.mark.parametrize(
    "answer", [[0.2, 0.3, 0.5, 1.5], [0.2, 0.3, 0.5, -0.1], [0.2, 0.3, 0.5, float("nan")]]
)
def test_risks_of_words_are_checked(answer: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(WordNli):
        def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Any:
            return np.array(answer, np.float32)

    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: Wrong())
    with Engine(store=None) as engine:
        (first, _) = veridical.check(ROWS, "nli_grounding", engine=engine)
    score = first.scores["nli_grounding"]
    assert score.status == "failed" and "instead of probabilities" in (score.reason or "")
    assert len(LABELS) == 3
