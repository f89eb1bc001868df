"""Scripted models for tests: real enough to batch and window, cheap and exactly predictable."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats32
from veridical.core.protocols import Encoded, Pair, Window
from veridical.errors import ModelError
from veridical.models.nli.pairs import Measured, merge, pair_windows
from veridical.models.pooling import Ids, Output, join, l2
from veridical.text.sentences import split_sentences

_WORD = re.compile(r"\w+|[^\w\s]")
_NEGATIONS = frozenset({"not", "no", "never", "nothing", "nobody", "t"})  # the t of "isn't"
_START, _END, _FAIL = 0, 1, 2  # _FAIL stands in for _END in texts that must fail


class _Counted:
    """Keeps count of its forwards."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens_run = 0
        self.batches: list[int] = []
        self._lock = threading.Lock()

    def _count(self, batch: Sequence[Window]) -> None:
        with self._lock:
            self.calls += 1
            self.tokens_run += sum(w.length for w in batch)
            self.batches.append(len(batch))


class FakeEncoder(_Counted):
    """Words are tokens and every word has one vector, drawn from a hash of its lower-cased form.

    A text's vector is the mean of its words' vectors, so texts that share words are alike and
    equal texts are equal. Thread-safe.

    Args:
        dimensions: width of the vectors.
        max_length: words per window, the two special tokens included.
        fail_on: texts for which this is true make ``run`` raise :class:`ModelError`.

    Attributes:
        calls: forwards run so far.
        tokens_run: tokens that went through ``run`` so far, special tokens included.
        batches: number of windows of each forward.
    """

    scripts: frozenset[str] | None = None
    languages: frozenset[str] | None = None

    def __init__(
        self,
        *,
        dimensions: int = 16,
        max_length: int = 64,
        batch_tokens: int = 256,
        workers: int = 1,
        has_tokens: bool = True,
        fail_on: Callable[[str], bool] | None = None,
    ) -> None:
        if max_length < 3:
            raise ValueError("max_length must be at least 3: two special tokens and a word")
        super().__init__()
        self.name = "fake"
        self.revision = f"fake-{dimensions}-{max_length}"
        self.has_tokens = has_tokens
        self.batch_tokens = batch_tokens
        self.workers = workers
        self._dimensions = dimensions
        self._room = max_length - 2
        self._fail_on = fail_on

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return [self._windows(text) for text in texts]

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        spans = ([m.span() for m in _WORD.finditer(text.lower())] for text in texts)
        return [np.array(s, np.int64).reshape(-1, 2) for s in spans]

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        self._count(batch)
        if any(w.content.ids[-1] == _FAIL for w in batch):
            raise ModelError("the fake encoder was told to fail on this text")
        outputs = []
        for window in batch:
            rows = np.stack([self.word_vector(i) for i in window.content.ids])
            inner = rows[1:-1] if len(rows) > 2 else rows
            outputs.append(Output(inner.mean(axis=0), l2(rows) if tokens else None))
        return outputs

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        return join(windows, outputs, tokens)

    def word_vector(self, token_id: int) -> Floats32:
        """The (dimensions,) standard normal vector of a token id."""
        return np.random.default_rng(int(token_id)).standard_normal(
            self._dimensions, dtype=np.float32
        )

    def _windows(self, text: str) -> list[Window]:
        words = [_word_id(w) for w in _WORD.findall(text.lower())]
        step = max(self._room - self._room // 8, 1)
        starts = range(0, max(len(words) - self._room // 8, 1), step)
        end = _FAIL if self._fail_on is not None and self._fail_on(text) else _END
        windows = []
        for start in starts:
            ids = np.array([_START, *words[start : start + self._room], end], dtype=np.int64)
            content = Ids(ids, 1, 1)
            windows.append(Window(len(ids), content, self._room // 8 if start else 0))
        return windows


def _word_id(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=4).digest()
    return 3 + int.from_bytes(digest, "little")


class FakeNli(_Counted):
    """Words are tokens, and verdicts are scripted.

    A pair that is not in ``answers`` is judged by its words: P = 0.01 + 0.97 c, where c is the
    share of the hypothesis' distinct words that the premise has (1 for an empty hypothesis), is
    the probability of entailment, or of contradiction if just one of the two has a negation
    (which is no word in this count). The other of the two has 0.01, and neutral the rest.
    Thread-safe.

    Args:
        answers: (entailment, neutral, contradiction), summing to 1, by (premise, hypothesis).
        max_length: words per window, the three special tokens included.
        contradicts: whether contradiction is a class of its own; otherwise it stands in neutral.
        fail_on: pairs for which this is true make ``run`` raise :class:`ModelError`.

    Attributes:
        calls: forwards run so far.
        tokens_run: tokens that went through ``run`` so far, special tokens included.
        batches: number of windows of each forward.
    """

    languages: frozenset[str] | None = None

    def __init__(
        self,
        answers: Mapping[tuple[str, str], Sequence[float]] | None = None,
        *,
        max_length: int = 64,
        batch_tokens: int = 256,
        workers: int = 1,
        contradicts: bool = True,
        fail_on: Callable[[Pair], bool] | None = None,
    ) -> None:
        if max_length < 5:
            raise ValueError("max_length must be at least 5: three special tokens and two words")
        super().__init__()
        self.name = "fake-nli"
        self._answers = {tuple(pair): tuple(row) for pair, row in (answers or {}).items()}
        script = repr((sorted(self._answers.items()), max_length, contradicts))
        digest = hashlib.blake2b(script.encode("utf-8", "replace"), digest_size=8)
        self.revision = f"fake-nli-{digest.hexdigest()}"
        self.batch_tokens = batch_tokens
        self.workers = workers
        self.contradicts = contradicts
        self._room = max_length - 3
        self._fail_on = fail_on

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        return [self._windows(Pair(*pair)) for pair in pairs]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._count(batch)
        if any(w.content.premise is None for w in batch):
            raise ModelError("the fake model was told to fail on this pair")
        return [np.array(w.content.premise, dtype=np.float32) for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Floats32:
        return merge(windows, outputs)

    def _windows(self, pair: Pair) -> list[Window]:
        """Windows that hold their verdict in place of the premise: None where they must fail."""
        windows = []
        fails = self._fail_on is not None and self._fail_on(pair)
        for window in pair_windows(_Words(pair.premise), _Words(pair.hypothesis), self._room, 3):
            piece = window.content
            row = self._answers.get(pair) or _verdict(set(piece.premise), set(piece.hypothesis))
            if not self.contradicts:
                row = (row[0], row[1] + row[2], 0.0)
            content = piece._replace(premise=None if fails else row)
            windows.append(Window(window.length, content))
        return windows


def _verdict(premise: set[str], hypothesis: set[str]) -> tuple[float, ...]:
    words = hypothesis - _NEGATIONS
    likely = 0.01 + 0.97 * (len(words & premise) / len(words) if words else 1.0)
    if bool(premise & _NEGATIONS) != bool(hypothesis & _NEGATIONS):
        return (0.01, 0.99 - likely, likely)
    return (likely, 0.99 - likely, 0.01)


class _Words(Measured):
    def __init__(self, text: str) -> None:
        self._found = list(_WORD.finditer(text.lower()))
        super().__init__(len(self._found))
        self._text = text

    def cut(self, start: int, end: int) -> list[str]:
        return [m[0] for m in self._found[start:end]]

    def terms(self, start: int, end: int) -> frozenset[Hashable]:
        return frozenset(self.cut(start, end))

    def sentence_starts(self) -> list[int]:
        starts = {span.start for span in split_sentences(self._text.lower())}
        return [i for i, m in enumerate(self._found) if m.start() in starts]

    def starts_word(self, unit: int) -> bool:
        return True
