"""Texts to windows of token ids. Long texts are split with overlap; nothing is ever cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models.pooling import Ids

#: Share of a window that is repeated in the next, and that a cut may move to reach a word's end.
OVERLAP = 8
#: Changed whenever the same text would be windowed in another way; part of a model's revision.
VERSION = "windows-1"


class Windower:
    """Tokenises texts with a ``tokenizers.Tokenizer`` and splits what does not fit the model.

    Special tokens written out in a text (``[SEP]``, ``</s>``) are read as ordinary characters.

    Args:
        tokenizer: its truncation and padding are switched off.
        max_length: tokens a window may have, special tokens and prefix included.
        prefix: put before every window, as models trained with instructions want.
        eos: id appended to every window if the tokenizer does not add it itself.
        lower: lower-case the text first (old sentence-transformers configurations).

    Raises:
        ModelError: prefix and special tokens leave no room for text.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_length: int,
        *,
        prefix: str = "",
        eos: int | None = None,
        lower: bool = False,
    ) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._prefix = prefix
        self._lower = lower
        probe = tokenizer.encode("a")
        ordinary = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        if not ordinary:
            raise ModelError("the tokenizer gives no token for the letter 'a'")
        self._head: list[int] = probe.ids[: ordinary[0]]
        self._tail: list[int] = probe.ids[ordinary[-1] + 1 :]
        if eos is not None and self._tail[-1:] != [eos]:
            self._tail.append(eos)
        self.room = max_length - len(self._head) - len(self._tail)
        if self.room - self._prefix_length("a") < 1:
            raise ModelError(f"prefix {prefix!r} leaves no room in windows of {max_length} tokens")

    def __call__(self, texts: Sequence[str]) -> list[list[Window]]:
        """Windows of each text; an empty text gives one window of special tokens."""
        full = [self._prefix + (t.lower() if self._lower else t) for t in texts]
        try:
            encodings = self._tokenizer.encode_batch(full, add_special_tokens=False)
        except (TypeError, UnicodeError):  # lone surrogates cannot be handed to the tokenizer
            full = list(map(readable, full))
            encodings = self._tokenizer.encode_batch(full, add_special_tokens=False)
        return [self._split(e) for e in encodings]

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """(t, 2) places in each text of its own tokens, those that its windows cover, in order:
        code points, ends exclusive."""
        return [self._places(text) for text in texts]

    def _places(self, text: str) -> NDArray[np.int64]:
        shown = readable(text)
        full = self._prefix + (shown.lower() if self._lower else shown)
        encoding = self._tokenizer.encode(full, add_special_tokens=False)
        places = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        places = places[self._tokens_within_prefix(encoding) :] - len(self._prefix)
        return places.clip(0, len(text))

    def _prefix_length(self, text: str) -> int:
        if not self._prefix:
            return 0
        encoding = self._tokenizer.encode(self._prefix + text, add_special_tokens=False)
        return self._tokens_within_prefix(encoding)

    def _tokens_within_prefix(self, encoding: Any) -> int:
        """Tokens that lie wholly inside the prefix."""
        if not self._prefix:
            return 0
        stop, count = len(self._prefix), 0
        for _, end in encoding.offsets:
            if end > stop:
                break
            count += 1
        return count

    def _split(self, encoding: Any) -> list[Window]:
        prefix = self._tokens_within_prefix(encoding)
        ids: list[int] = encoding.ids
        head, body = self._head + ids[:prefix], ids[prefix:]
        windows, previous = [], 0
        for start, end in spans(encoding, max(self.room - prefix, 1), prefix):
            windows.append(self._window(head, body[start:end], previous - start))
            previous = end
        return windows

    def _window(self, head: list[int], body: list[int], overlap: int) -> Window:
        ids = np.array(head + body + self._tail, dtype=np.int64)
        return Window(len(ids), Ids(ids, len(head), len(self._tail)), overlap)


def word_starts(encoding: Any) -> list[bool]:
    """Which tokens begin a word, by the pre-tokeniser or by the mark byte-pair models use."""
    words, tokens = encoding.word_ids, encoding.tokens
    return [
        i == 0 or words[i] != words[i - 1] or tokens[i].startswith(("\u2581", "\u0120"))
        for i in range(len(words))
    ]


def spans(encoding: Any, room: int, skip: int = 0) -> list[tuple[int, int]]:
    """Overlapping windows of about equal size, at most ``room`` tokens each, that cover what
    follows the first ``skip`` tokens of an encoding and begin with words."""
    total = len(encoding.ids) - skip
    starts = word_starts(encoding)[skip:] if total > room else []
    slack = room // OVERLAP
    windows, start = [], 0
    while total - start > room:
        remaining = total - start
        # Windows of a text are made equally long, so that the last is not a stub.
        count = math.ceil((remaining - slack) / (room - slack))
        size = min(room, math.ceil((remaining + (count - 1) * slack) / count))
        end = _last_start(starts, start + size, start + size - slack)
        windows.append((start, end))
        start = _last_start(starts, end - slack, max(end - 2 * slack, start + 1))
    return [*windows, (start, total)]


def _last_start(starts: Sequence[bool], at: int, lowest: int) -> int:
    """The last word start in ``lowest..at``; ``at`` itself where there is none."""
    return next((i for i in range(at, lowest - 1, -1) if starts[i]), at)


def readable(text: str) -> str:
    """``text`` with question marks for lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Ordinary:
    """Encodes texts with a ``tokenizers.Tokenizer`` so that special tokens written out in one
    (``[SEP]``, ``</s>``) are read as ordinary characters.

    Args:
        tokenizer: its truncation and padding are switched off.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder().values()
        self._names = {t.content for t in added if t.special and len(t.content) > 2}

    def __call__(self, texts: Sequence[str]) -> list[Any]:
        """The ``Encoding`` of each text, without special tokens; offsets are into the text."""
        plain = list(map(readable, texts))
        encodings = self._tokenizer.encode_batch(plain, add_special_tokens=False)
        for i, (text, encoding) in enumerate(zip(plain, encodings, strict=True)):
            if any(name in text for name in self._names) and self._names & set(encoding.tokens):
                # A unigram vocabulary holds them as pieces: same length, so that places stay.
                for name in self._names:
                    text = text.replace(name, f"({name[1:-1]})")
                encodings[i] = self._tokenizer.encode(text, add_special_tokens=False)
        return list(encodings)


def padded(
    rows: Sequence[Sequence[int] | NDArray[np.int64]], pad: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Token ids (rows, longest) padded on the right, and their mask, False for padding."""
    lengths = np.array([len(row) for row in rows])
    ids = np.full((len(rows), lengths.max()), pad, np.int64)
    for target, row in zip(ids, rows, strict=True):
        target[: len(row)] = row
    return ids, np.arange(ids.shape[1]) < lengths[:, None]
