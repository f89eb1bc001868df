"""Token encoding of text pairs, window by window."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Pair, Window
from veridical.errors import ModelError
from veridical.models.nli.pairs import Measured, Piece, TokenWords, chunk_windows
from veridical.models.windows import Ordinary, readable, word_starts
from veridical.text.memo import Memo
from veridical.text.sentences import split_sentences
from veridical.text.words import lettered_spans

Integers = NDArray[np.int64]

#: Maximum characters of texts with cached tokens, about 30 bytes each.
KEPT = 1_000_000


class TokenRows(NamedTuple):
    """A batch padded on the right: ``ids``, ``mask`` and ``types`` (batch, width)."""

    ids: Integers
    mask: NDArray[np.bool_]
    types: Integers


class Template(NamedTuple):
    """Special tokens around a pair: head, premise, between, hypothesis, tail.

    Attributes:
        ids: special tokens of head, between and tail.
        types: token type of head, premise, between, hypothesis and tail.
    """

    ids: tuple[list[int], list[int], list[int]]
    types: tuple[int, int, int, int, int]

    @classmethod
    def probe(cls, tokenizer: Any) -> Template:
        """Derive the template from the encoding of a pair of letters by ``tokenizer``.

        Raises:
            ModelError: premise and hypothesis cannot be identified in it.
        """
        encoding = tokenizer.encode("a", "b")
        owners: list[int | None] = encoding.sequence_ids
        if 0 not in owners or 1 not in owners:
            raise ModelError("the tokenizer has no tokens for a pair of letters")
        first, second = owners.index(0), owners.index(1)
        stop = first + owners.count(0)
        last = second + owners.count(1)
        if not first < stop <= second < last:
            raise ModelError("the tokenizer does not put the premise before the hypothesis")
        bounds = [(0, first), (first, stop), (stop, second), (second, last), (last, len(owners))]
        types = [set(encoding.type_ids[start:end]) or {0} for start, end in bounds]
        if any(len(kinds) > 1 for kinds in types):
            raise ModelError("the tokenizer's token types are not those of a pair of texts")
        ids: list[int] = encoding.ids
        return cls(
            (ids[:first], ids[stop:second], ids[last:]),
            tuple(kinds.pop() for kinds in types),
        )

    @classmethod
    def joined(cls, tokenizer: Any) -> Template:
        """Build the template of a pair that is one text, separated by the end-of-text token.

        Raises:
            ModelError: the tokenizer adds no such token.
        """
        encoding = tokenizer.encode("a")
        inside = [i for i, special in enumerate(encoding.special_tokens_mask) if not special]
        ids: list[int] = encoding.ids
        if not inside or not ids[inside[-1] + 1 :]:
            raise ModelError("the tokenizer does not end a text with a special token")
        tail = ids[inside[-1] + 1 :]
        return cls((ids[: inside[0]], tail[-1:], tail), (0, 0, 0, 0, 0))


class PairWindower:
    """A tokeniser of pairs that splits those too long for the model.

    A pair that fits gets the tokenizer's own encoding, except that special tokens written out in a
    text (``[SEP]``, ``</s>``) are ordinary characters. Tokens of each distinct text are cached
    until later texts exceed :data:`KEPT` characters.

    Args:
        tokenizer: its truncation and padding are switched off.
        max_length: maximum tokens per window, including special tokens.
        template: special tokens around a pair; by default the tokenizer's.
        chunks: splits a premise into texts that no window crosses; by default it is not split.
        words: True to map each token of the hypothesis to its word.

    Raises:
        ModelError: special tokens leave no room for two texts, or the tokenizer is not for pairs.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_length: int,
        template: Template | None = None,
        chunks: Callable[[str], Sequence[str]] | None = None,
        words: bool = False,
    ) -> None:
        self._encode = Ordinary(tokenizer)
        self._tells_words = words
        self.template = template or Template.probe(tokenizer)
        self._chunks = chunks
        self._known: Memo[str, _Encoded] = Memo(KEPT)
        self._chunked: Memo[str, tuple[str, ...]] = Memo(KEPT)
        self._special = sum(map(len, self.template.ids))
        self.room = max_length - self._special
        if self.room < 2:
            raise ModelError(f"windows of {max_length} tokens leave no room for a pair of texts")

    def __call__(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        """Return the windows of each pair, with a :class:`Piece` of (n,) token ids each."""
        premises = dict.fromkeys(premise for premise, _ in pairs)
        split = {premise: self._split(premise) for premise in premises}
        texts = self._tokens(list(dict.fromkeys(t for p, h in pairs for t in (*split[p], h))))
        hypotheses = dict.fromkeys(h for _, h in pairs) if self._tells_words else ()
        for hypothesis in hypotheses:
            texts[hypothesis].find_words()
        return [
            chunk_windows(
                [texts[t] for t in split[premise]], texts[hypothesis], self.room, self._special
            )
            for premise, hypothesis in pairs
        ]

    def _split(self, premise: str) -> tuple[str, ...]:
        if self._chunks is None:
            return (premise,)
        found = self._chunked.find(premise)
        if found is not None:
            return found[0]
        chunks = tuple(self._chunks(premise))
        self._chunked.keep(premise, chunks, len(premise))
        return chunks

    def _tokens(self, texts: Sequence[str]) -> dict[str, _Tokens]:
        """Return the tokens of each text.

        Only the encoding is cached, as windows grow with the number of texts they are combined
        with.
        """
        kept = ((text, self._known.find(text)) for text in texts)
        known = {text: found[0] for text, found in kept if found is not None}
        missing = [text for text in texts if text not in known]
        for text, encoding in zip(missing, self._encode(missing), strict=True):
            known[text] = _Encoded(readable(text), encoding)
            self._known.keep(text, known[text], len(text))
        return {text: _Tokens(known[text]) for text in texts}

    def rows(self, batch: Sequence[Window], pad: int = 0) -> TokenRows:
        """Return the model's input arrays for ``batch``.

        Args:
            pad: id of the padding token.
        """
        width = max(w.length for w in batch)
        ids = np.full((len(batch), width), pad, dtype=np.int64)
        types = np.zeros_like(ids)
        head, between, tail = self.template.ids
        for row, kinds, window in zip(ids, types, batch, strict=True):
            piece: Piece = window.content
            at = 0
            fields = (head, piece.premise, between, piece.hypothesis, tail)
            for field, kind in zip(fields, self.template.types, strict=True):
                row[at : at + len(field)] = field
                kinds[at : at + len(field)] = kind
                at += len(field)
        lengths = np.array([w.length for w in batch])
        return TokenRows(ids, np.arange(width) < lengths[:, None], types)


class _Encoded:
    """A text and its tokens, shared by several calls."""

    def __init__(self, text: str, encoding: Any) -> None:
        self.ids = np.array(encoding.ids, dtype=np.int64)
        self.ids.flags.writeable = False
        self._text = text
        self._encoding = encoding

    @cached_property
    def sentence_starts(self) -> tuple[int, ...]:
        # A token belongs to the sentence in which it ends, as some include the space before a word.
        ends = np.maximum.accumulate([end for _, end in self._encoding.offsets])
        starts = [span.start for span in split_sentences(self._text)]
        return tuple(np.searchsorted(ends, starts, side="right").tolist())

    @cached_property
    def word_starts(self) -> tuple[bool, ...]:
        return tuple(word_starts(self._encoding))

    @cached_property
    def words(self) -> TokenWords:
        spans = lettered_spans(self._text)
        offsets = np.array(self._encoding.offsets, np.int64).reshape(-1, 2)
        ends = np.array([span.end for span in spans], np.int64)
        starts = np.array([*(span.start for span in spans), np.iinfo(np.int64).max])
        words = np.searchsorted(ends, offsets[:, 0], side="right")  # the first that ends after
        inside = (starts[words] < offsets[:, 1]) & (words < len(spans))
        of_tokens = np.where(inside, words, -1)
        of_tokens.flags.writeable = False
        return TokenWords(of_tokens, len(spans))


class _Tokens(Measured):
    """A text as tokens; its terms are token ids."""

    def __init__(self, encoded: _Encoded) -> None:
        super().__init__(len(encoded.ids))
        self._encoded = encoded
        self._words: TokenWords | None = None
        self._terms: dict[tuple[int, int], frozenset[Hashable]] = {}

    def cut(self, start: int, end: int) -> Integers:
        return self._encoded.ids[start:end]

    def terms(self, start: int, end: int) -> frozenset[Hashable]:
        terms = self._terms.get((start, end))
        if terms is None:
            terms = self._terms[start, end] = frozenset(self._encoded.ids[start:end].tolist())
        return terms

    def sentence_starts(self) -> Sequence[int]:
        return self._encoded.sentence_starts

    def starts_word(self, unit: int) -> bool:
        return self._encoded.word_starts[unit]

    def find_words(self) -> None:
        """Prepare the result of :meth:`words`."""
        self._words = self._encoded.words

    def words(self, start: int, end: int) -> TokenWords | None:
        if self._words is None:
            return None
        return TokenWords(self._words.of_tokens[start:end], self._words.total)
