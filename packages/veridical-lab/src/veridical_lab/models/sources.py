"""Tokenised sources and targets of an encoder-decoder, windowed if too long.

Windows are cut in the text, not among its tokens, so that each is tokenised like a short text, with
any tokenizer. The rule is that of :func:`veridical.models.nli.pairs.split`: about equally long,
overlapping by whole sentences or an eighth, ending at sentences or words. Targets are cut likewise
without overlap: their pieces are consecutive, and each is read after the source as if it were the
first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from veridical.errors import ModelError
from veridical.models.nli.pairs import split
from veridical.models.windows import OVERLAP, readable
from veridical.text.sentences import split_sentences

VERSION = "sources-1"
_LEAST = 16  # characters of a window, under which no text can be made to fit


class SourceWindow(NamedTuple):
    """Token ids of a source, or of it with a window ``[start:end]`` of its last text."""

    ids: list[int]
    start: int
    end: int


class Tokens:
    """Fills, tokenises and cuts texts with a tokenizer of transformers. Not thread-safe.

    Args:
        name: of the model, for errors.
        longest: tokens of a source or target that the model takes at most.
    """

    def __init__(self, tokenizer: Any, name: str, longest: int) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self.longest = longest
        added = tokenizer.added_tokens_decoder.values()
        special = {
            *map(str, tokenizer.all_special_tokens),
            *(t.content for t in added if t.special),
        }
        marks = sorted((re.escape(s) for s in special if len(s) > 1), key=len, reverse=True)
        self._marks = re.compile("|".join(marks))
        self._special = {*tokenizer.convert_tokens_to_ids(sorted(special))}
        self._special.discard(tokenizer.unk_token_id)
        self._bare: dict[tuple[str, ...], list[int]] = {}

    def speak(self, language: str | None) -> None:
        """Mark texts from now on as being in ``language``.

        Raises:
            ModelError: the tokenizer does not know it, or marks no languages.
        """
        if language is None:
            return
        if not hasattr(self._tokenizer, "src_lang"):
            raise ModelError(f"{self._name} is not multilingual: its tokenizer marks no languages")
        try:
            self._tokenizer.src_lang = self._tokenizer.tgt_lang = language
            known = self.language_id(language) is not None
        except Exception:  # each tokenizer has its own error
            known = False
        if not known:
            raise ModelError(f"{self._name} does not support the language {language!r}")

    def language_id(self, language: str) -> int | None:
        """Return the id of the token that marks ``language``."""
        mark = language
        if hasattr(self._tokenizer, "get_lang_token"):
            mark = self._tokenizer.get_lang_token(language)
        token = self._tokenizer.convert_tokens_to_ids(mark)
        return None if token is None or token == self._tokenizer.unk_token_id else int(token)

    def plain(self, text: str) -> str:
        """Break up special tokens in ``text`` by a space, so that none is interpreted."""
        text = readable(text)
        while self._marks.search(text):
            text = self._marks.sub(lambda m: f"{m[0][0]} {m[0][1:]}", text)
        return text

    def filled(self, source: tuple[str, ...]) -> str:
        """Return the tokenizer's input for ``source``."""
        return "".join(self.plain(s) if i % 2 else readable(s) for i, s in enumerate(source))

    def sources(self, sources: Sequence[tuple[str, ...]], longest: int) -> list[list[SourceWindow]]:
        """Return the windows of each source, of at most ``longest`` tokens.

        Raises:
            ModelError: the text around the last one leaves no room for it.
        """
        windows = []
        for source, ids in zip(sources, self._sources(sources), strict=True):
            if len(ids) > longest:
                windows.append(self._windows(source, len(ids), longest))
            else:
                windows.append([SourceWindow(ids, 0, len(_last(source)))])
        return windows

    def targets(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """Token ids of each text, in one piece or in as many as the model needs."""
        return [
            [ids] if len(ids) <= self.longest else self._pieces(text, len(ids))
            for text, ids in zip(texts, self._targets(texts), strict=True)
        ]

    def whole(self, sources: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Token ids of each source.

        Raises:
            ModelError: one is longer than the model takes.
        """
        rows = self._sources(sources)
        longest = max(map(len, rows), default=0)
        if longest > self.longest:
            raise ModelError(
                f"{self._name} reads {self.longest} tokens at most; a text has {longest}"
            )
        return rows

    def _windows(self, source: tuple[str, ...], tokens: int, longest: int) -> list[SourceWindow]:
        text = _last(source)
        before, after = source[: _place(source)], source[_place(source) + 1 :]

        def rows(spans: Sequence[tuple[int, int]]) -> list[list[int]]:
            return self._sources([(*before, text[a:b], *after) for a, b in spans])

        bare = len(rows([(0, 0)])[0])
        room = longest - bare
        if room < longest // OVERLAP:
            raise ModelError(
                f"{self._name}: what stands around the text takes {bare} of {longest} tokens"
            )
        fitting = self._fitting(text, rows, len(text) * room // (tokens - bare), longest)
        return [SourceWindow(ids, a, b) for (a, b), ids in fitting]

    def _pieces(self, text: str, tokens: int) -> list[list[int]]:
        def consecutive(spans: Sequence[tuple[int, int]]) -> list[list[int]]:
            ends = [*(start for start, _ in spans[1:]), len(text)]
            cut = [text[start:end] for (start, _), end in zip(spans, ends, strict=True)]
            return self._targets(cut)

        size = len(text) * self.longest // tokens
        return [ids for _, ids in self._fitting(text, consecutive, size, self.longest)]

    def _fitting(
        self, text: str, rows: Any, size: int, longest: int
    ) -> list[tuple[tuple[int, int], list[int]]]:
        """Return spans of ``text`` whose ``rows`` have at most ``longest`` tokens each.

        Spans have about ``size`` characters, or fewer if necessary.
        """
        sentences = [s.start for s in split_sentences(text)]
        while size >= _LEAST:
            spans = split(len(text), size, sentences, lambda i: text[i - 1 : i].isspace())
            fitted: list[list[int]] = rows(spans)
            if max(map(len, fitted)) <= longest:
                return list(zip(spans, fitted, strict=True))
            size = size * 9 // 10
        raise ModelError(f"{self._name} cannot read a text in windows of {longest} tokens")

    def _sources(self, sources: Sequence[tuple[str, ...]]) -> list[list[int]]:
        rows = self._ids([self.filled(s) for s in sources])
        for source, ids in zip(sources, rows, strict=True):
            unfilled = tuple("" if i % 2 else s for i, s in enumerate(source))
            if unfilled not in self._bare:
                (self._bare[unfilled],) = self._ids([self.filled(unfilled)])
            self._refuse_marks(ids, self._bare[unfilled])
        return rows

    def _targets(self, texts: Sequence[str]) -> list[list[int]]:
        bare, *rows = self._ids(["", *map(self.plain, texts)], target=True)
        for ids in rows:
            self._refuse_marks(ids, bare)
        return rows

    def _refuse_marks(self, ids: Sequence[int], bare: Sequence[int]) -> None:
        """Refuse texts in which the tokenizer's normalisation creates special tokens."""
        if sum(i in self._special for i in ids) > sum(i in self._special for i in bare):
            raise ModelError(f"{self._name} reads a part of this text as a special token")

    def _ids(self, texts: Sequence[str], target: bool = False) -> list[list[int]]:
        if not texts:
            return []
        inputs = list(texts)
        encoded = self._tokenizer(text_target=inputs) if target else self._tokenizer(inputs)
        rows: list[list[int]] = encoded["input_ids"]
        return rows


def _place(source: tuple[str, ...]) -> int:
    """Return the position of the last text of ``source``."""
    return len(source) - 1 - len(source) % 2


def _last(source: tuple[str, ...]) -> str:
    return source[_place(source)]
