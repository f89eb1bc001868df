"""Tokenisation of prompt and text into windows of a causal model."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import ModelError
from veridical.models.windows import readable

#: Change it whenever the same text would be tokenised or windowed differently.
VERSION = "reading-1"
_MARK = "\u2581"  # SentencePiece's mark for a space, also before a text's first word


@dataclass(frozen=True, slots=True, eq=False)
class WindowTokens:
    """Content of a window.

    Attributes:
        ids: (length,) token ids.
        first: index of the first token to score; those before it are its context. ``len(ids)`` if
            none is scored.
        starts, ends: offsets into the text of the tokens from ``first`` on.
    """

    ids: NDArray[np.int64]
    first: int
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class _Tokens(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]  # into prompt + text


class ReadWindower:
    """A tokeniser of prompt and text together, as a model would continue the prompt.

    Rules:

    - A token across the boundary belongs to the text if its part of the prompt is white space, and
      its offset is then 0. Example: "Answer: " and "Paris" make the token " Paris". Otherwise
      prompt and text are tokenised separately.
    - Special tokens written out in the prompt are special, as chat templates need. In the text they
      are ordinary characters, and such a text is tokenised separately.
    - The tokenizer's initial token (BOS) comes first, unless the prompt begins with it. The
      first token of a text without a prompt needs a context. It gets the model's BOS, or else EOS,
      even if the tokenizer adds none.
    - White space outside the tokenizer's offsets belongs to the next token.
    - A text longer than ``max_length`` has several windows. Each except the first scores at most
      half a window, after the start token and as much context as fits.

    Thread-safe.

    Args:
        tokenizer: a ``tokenizers.Tokenizer``; its truncation, padding and post-processor are
            switched off.
        max_length: maximum tokens per window.
        bos: id of the start token if the tokenizer adds none.

    Raises:
        ModelError: ``max_length`` is too small.
    """

    def __init__(self, tokenizer: Any, max_length: int, bos: int | None) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        probe = tokenizer.encode("a")
        ordinary = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        if not ordinary:
            raise ModelError("the tokenizer has no token for the letter 'a'")
        self._head: list[int] = probe.ids[: ordinary[0]]
        self._marks = probe.tokens[ordinary[0]].startswith(_MARK)
        tokenizer.post_processor = None  # it adds tokens and trims offsets
        self._tokenizer = tokenizer
        self._bos = self._head or ([] if bos is None else [bos])
        added = tokenizer.get_added_tokens_decoder()
        self._special: dict[int, str] = {i: t.content for i, t in added.items() if t.special}
        self._lock = threading.Lock()  # the tokenizer is switched between two modes
        self._before: int = probe.ids[ordinary[0]]  # a token that precedes others for spelling them
        self._spelled: dict[int, str] = {}
        self.max_length = max_length
        if max_length < len(self._bos) + 2:
            raise ModelError(f"windows of {max_length} tokens are too short")

    def __call__(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        """Return the windows of each text.

        Raises:
            ModelError: a text has no prompt, and the model has no start token.
        """
        plain = [GivenText(readable(t.prompt), readable(t.text)) for t in texts]
        with self._lock:
            joint = self._encode([t.prompt + t.text for t in plain], special=True)
            return [self._windows(t, tokens) for t, tokens in zip(plain, joint, strict=True)]

    def spell(self, token: int) -> str:
        """Return the text that a token adds, with white space before a word.

        Parts of a character give U+FFFD.
        """
        text = self._spelled.get(token)
        if text is None:
            # decoders drop initial white space
            alone, both = (
                self._tokenizer.decode([self._before, *more], skip_special_tokens=False)
                for more in ((), (token,))
            )
            text = both[len(alone) :] if both.startswith(alone) else both
            self._spelled[token] = text
        return text

    def whole(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        """Return one window with all (length,) token ids of each text.

        A text has alternating pieces of template and quotation. Special tokens written out in the
        template are special; if a quotation contains one, the pieces are tokenised separately and
        its characters are ordinary.

        Raises:
            ModelError: a text has more tokens than the model's context, or none.
        """
        plain = [tuple(map(readable, pieces)) for pieces in texts]
        with self._lock:
            joint = self._encode(["".join(pieces) for pieces in plain], special=True)
            return [[self._one(p, tokens)] for p, tokens in zip(plain, joint, strict=True)]

    def _one(self, pieces: tuple[str, ...], joint: _Tokens) -> Window:
        ids = joint.ids
        if self._quotes_special(pieces, joint):
            ids = []
            for i, piece in enumerate(pieces):
                tokens = self._alone(piece) if i % 2 else self._encode([piece], special=True)[0]
                ids = ids + tokens.ids
        if ids[: len(self._head)] != self._head:  # otherwise a chat template has added it already
            ids = self._head + ids
        if not 0 < len(ids) <= self.max_length:
            raise ModelError(
                f"a text has {len(ids)} tokens, but the model takes 1 to {self.max_length}"
            )
        return Window(len(ids), np.array(ids, np.int64))

    def _quotes_special(self, pieces: tuple[str, ...], joint: _Tokens) -> bool:
        ends = np.cumsum([len(piece) for piece in pieces])
        quoted = [(ends[i] - len(pieces[i]), ends[i]) for i in range(1, len(pieces), 2)]
        return any(
            begin < end and start < stop
            for token, (begin, stop) in zip(joint.ids, joint.offsets, strict=True)
            if token in self._special
            for start, end in quoted
        )

    def _encode(self, texts: list[str], *, special: bool) -> list[_Tokens]:
        self._tokenizer.encode_special_tokens = not special
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [_Tokens(e.ids, e.offsets) for e in encodings]

    def _windows(self, text: GivenText, joint: _Tokens) -> list[Window]:
        join = len(text.prompt)
        tokens, first = self._joined(text, joint)
        starts, ends = _tiled(tokens.offsets[first:], join, join + len(text.text))
        before, scored = tokens.ids[:first], tokens.ids[first:]
        head = self._head if before else self._bos
        if head and before[: len(head)] == head:  # a chat template has added it already
            before = before[len(head) :]
        if scored and not head and not before:
            raise ModelError("the model has no start token, so it needs a prompt before the text")
        return list(self._cut(head, before, scored, starts - join, ends - join))

    def _joined(self, request: GivenText, joint: _Tokens) -> tuple[_Tokens, int]:
        """Return the tokens of prompt and text, and the index of the text's first."""
        join = len(request.prompt)
        first = next((i for i, (_, end) in enumerate(joint.offsets) if end > join), len(joint.ids))
        whole = request.prompt + request.text
        spelled = any(
            whole[slice(*joint.offsets[i])].strip() == self._special.get(joint.ids[i])
            for i in range(first, len(joint.ids))
        )
        if not spelled:
            start = joint.offsets[first][0] if first < len(joint.ids) else join
            if start >= join or not request.prompt[start:].strip():
                return joint, first
        (prompt,) = self._encode([request.prompt], special=True)
        text = self._alone(request.text)
        offsets = [(s + join, e + join) for s, e in text.offsets]
        return _Tokens(prompt.ids + text.ids, prompt.offsets + offsets), len(prompt.ids)

    def _alone(self, text: str) -> _Tokens:
        """Return the tokens of a continuation, without SentencePiece's initial space."""
        if self._marks:
            (tokens,) = self._encode(["\n" + text], special=False)
            first = next((i for i, (_, e) in enumerate(tokens.offsets) if e > 1), len(tokens.ids))
            if all(start >= 1 for start, _ in tokens.offsets[first:]):
                offsets = [(s - 1, e - 1) for s, e in tokens.offsets[first:]]
                return _Tokens(tokens.ids[first:], offsets)
        return self._encode([text], special=False)[0]

    def _cut(
        self,
        head: list[int],
        before: list[int],
        scored: list[int],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> Iterator[Window]:
        body = before + scored
        room = self.max_length - len(head)
        stride = max(room // 2, 1)
        scored_to = len(before)
        while True:
            if len(body) <= room:
                stop = len(body)
            elif scored_to < room - stride:  # the first window, if the prompt leaves enough room
                stop = room
            else:
                stop = min(scored_to + stride, len(body))
            begin = max(stop - room, 0)
            ids = np.array(head + body[begin:stop], np.int64)
            first = len(head) + scored_to - begin
            some = slice(scored_to - len(before), stop - len(before))
            yield Window(
                max(len(ids), 1), WindowTokens(ids, first, starts[some], ends[some]), first
            )
            scored_to = stop
            if scored_to >= len(body):
                return


def assembled(windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
    """Merge the windows of one text to its tokens.

    Each window has a (tokens, 3 + 2k) array: log-probability, entropy, minimum log-probability, the
    k largest, and the ids of their tokens.
    """
    pieces: list[WindowTokens] = [w.content for w in windows]
    table = np.concatenate(list(outputs)).astype(np.float64)
    top, ids = np.split(table[:, 3:], 2, axis=1)
    return TokenProbabilities(
        starts=np.concatenate([p.starts for p in pieces]),
        ends=np.concatenate([p.ends for p in pieces]),
        logprobs=table[:, 0],
        entropy=table[:, 1],
        lowest=table[:, 2],
        top=top,
        top_ids=ids.astype(np.int64),  # exact below 2^24, more than any vocabulary
    )


def _tiled(
    offsets: Sequence[tuple[int, int]], begin: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends of tokens within ``begin..end``, without gaps before any of them."""
    starts = np.array([s for s, _ in offsets], np.int64).clip(begin, end)
    ends = np.array([e for _, e in offsets], np.int64).clip(begin, end)
    ends = np.maximum.accumulate(ends) if len(ends) else ends
    reached = np.concatenate([[begin], ends[:-1]]) if len(ends) else ends
    return np.minimum(starts, reached), ends
