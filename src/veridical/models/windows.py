"""Token windows of texts: long texts are split with overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models.pooling import Ids

#: Share of a window that is repeated in the next, and tolerance for moving a cut to a word's end.
OVERLAP = 8
#: Change it whenever the same text would be windowed differently; part of a model's revision.
VERSION = "windows-1"


class Windower:
    """A tokeniser of texts that splits those too long for the model.

    Nothing is truncated. Special tokens written out in a text (``[SEP]``, ``</s>``) are ordinary
    characters.

    Args:
        tokenizer: a ``tokenizers.Tokenizer``; its truncation and padding are disabled.
        max_length: maximum tokens per window, including special tokens and prefix.
        prefix: text prepended to every window, for models trained with instructions.
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
            raise ModelError("the tokenizer has no token for the letter 'a'")
        self._head: list[int] = probe.ids[: ordinary[0]]
        self._tail: list[int] = probe.ids[ordinary[-1] + 1 :]
        if eos is not None and self._tail[-1:] != [eos]:
            self._tail.append(eos)
        self.room = max_length - len(self._head) - len(self._tail)
        if self.room - self._prefix_length("a") < 1:
            raise ModelError(f"prefix {prefix!r} leaves no room in windows of {max_length} tokens")

    def __call__(self, texts: Sequence[str]) -> list[list[Window]]:
        """Return the windows of each text; an empty text has one window of special tokens."""
        full = [self._prefix + (t.lower() if self._lower else t) for t in texts]
        try:
            encodings = self._tokenizer.encode_batch(full, add_special_tokens=False)
        except (TypeError, UnicodeError):  # the tokenizer rejects lone surrogates
            full = list(map(readable, full))
            encodings = self._tokenizer.encode_batch(full, add_special_tokens=False)
        return [self._split(e) for e in encodings]

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return the (t, 2) offsets of each text's own tokens, in order.

        Offsets are code points with exclusive ends, and cover the tokens of all windows.
        """
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
        """Count the tokens entirely within the prefix."""
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
    """Return, for each token, True if it begins a word.

    Words are those of the pre-tokeniser, or marked by byte-pair models.
    """
    words, tokens = encoding.word_ids, encoding.tokens
    return [
        i == 0 or words[i] != words[i - 1] or tokens[i].startswith(("\u2581", "\u0120"))
        for i in range(len(words))
    ]


def spans(encoding: Any, room: int, skip: int = 0) -> list[tuple[int, int]]:
    """Return overlapping windows of similar size, at most ``room`` tokens each.

    They cover the encoding after its first ``skip`` tokens and begin with words.
    """
    total = len(encoding.ids) - skip
    starts = word_starts(encoding)[skip:] if total > room else []
    slack = room // OVERLAP
    windows, start = [], 0
    while total - start > room:
        remaining = total - start
        # Windows of a text are equally long, so that the last is not short.
        count = math.ceil((remaining - slack) / (room - slack))
        size = min(room, math.ceil((remaining + (count - 1) * slack) / count))
        end = _last_start(starts, start + size, start + size - slack)
        windows.append((start, end))
        start = _last_start(starts, end - slack, max(end - 2 * slack, start + 1))
    return [*windows, (start, total)]


def _last_start(starts: Sequence[bool], at: int, lowest: int) -> int:
    """Return the last word start in ``lowest..at``, else ``at``."""
    return next((i for i in range(at, lowest - 1, -1) if starts[i]), at)


def readable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer accepts, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Ordinary:
    """An encoder that treats written-out special tokens as ordinary characters.

    Args:
        tokenizer: a ``tokenizers.Tokenizer``; its truncation and padding are disabled.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder().values()
        self._names = {t.content for t in added if t.special and len(t.content) > 2}

    def __call__(self, texts: Sequence[str]) -> list[Any]:
        """Return each text's ``Encoding`` without special tokens; offsets are into the text."""
        plain = list(map(readable, texts))
        encodings = self._tokenizer.encode_batch(plain, add_special_tokens=False)
        for i, (text, encoding) in enumerate(zip(plain, encodings, strict=True)):
            if any(name in text for name in self._names) and self._names & set(encoding.tokens):
                # A unigram vocabulary has them as pieces: same length, so that offsets stay.
                for name in self._names:
                    text = text.replace(name, f"({name[1:-1]})")
                encodings[i] = self._tokenizer.encode(text, add_special_tokens=False)
        return list(encodings)


def padded(
    rows: Sequence[Sequence[int] | NDArray[np.int64]], pad: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Pad token ids on the right to (rows, longest); return them and their mask."""
    lengths = np.array([len(row) for row in rows])
    ids = np.full((len(rows), lengths.max()), pad, np.int64)
    for target, row in zip(ids, rows, strict=True):
        target[: len(row)] = row
    return ids, np.arange(ids.shape[1]) < lengths[:, None]
