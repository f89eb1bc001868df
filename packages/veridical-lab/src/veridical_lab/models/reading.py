"""Token ids of contexts and questions, as in MQAG's training.

The answering system reads ``<s> context <s> question </s></s> option </s>``, one row per option.
The answerability system reads ``<s> question </s> context </s>`` (Manakul et al. 2023, MQAG). Texts
are ordinary text: a special token written in one is not interpreted. A context too long for the
model is read in overlapping windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veridical.errors import ModelError
from veridical.models.nli.tokens import Template
from veridical.models.windows import OVERLAP, Ordinary, spans

VERSION = "reading-1"


class Rows:
    """Builds rows of token ids with a ``tokenizers.Tokenizer``. Not thread-safe.

    Args:
        tokenizer: its truncation and padding are switched off.
        max_length: tokens of the longest row, special tokens included.
    """

    def __init__(self, tokenizer: Any, max_length: int) -> None:
        self._encode = Ordinary(tokenizer)
        self._max_length = max_length
        self._head, self._between, self._tail = Template.probe(tokenizer).ids
        if not self._head or not self._between:
            raise ModelError("the tokenizer puts no special tokens around a pair of texts")

    def choices(self, context: str, question: str, options: Sequence[str]) -> list[list[list[int]]]:
        """Build a row per option for each window of the context."""
        question_ids = [self._head[-1], *self._ids(f" {question}"), *self._between]
        ends = [[*self._ids(option), *self._tail] for option in options]
        room = self._max_length - len(self._head) - len(question_ids) - max(map(len, ends))
        windows = self._windows(f"{context} ", room)
        return [[[*self._head, *w, *question_ids, *end] for end in ends] for w in windows]

    def question(self, context: str, question: str) -> list[list[int]]:
        """Build the row of each window that asks if it contains the answer."""
        start = [*self._head, *self._ids(f"{question} "), self._between[0]]
        room = self._max_length - len(start) - len(self._tail)
        return [[*start, *w, *self._tail] for w in self._windows(f" {context}", room)]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._encode([text])[0].ids
        return ids

    def _windows(self, text: str, room: int) -> list[list[int]]:
        (encoding,) = self._encode([text])
        if len(encoding.ids) > room < OVERLAP:
            raise ModelError("question and options leave no room for the context")
        return [encoding.ids[start:end] for start, end in spans(encoding, room)]
