"""NLI cross-encoders behind text-embeddings-inference."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Pair, Window
from veridical.errors import ModelError, UsageError
from veridical.models.folder import digest_of
from veridical.models.http import CHARACTERS_PER_TOKEN, MAX_CHARACTERS, MAX_ITEMS
from veridical.models.json_client import HttpBackEnd
from veridical.models.nli import pairs as pairing
from veridical.models.nli.labels import PLAIN, Order, class_of, given_order, order_of, settle
from veridical.models.nli.pairs import Measured, Piece, merge, pair_windows
from veridical.text.sentences import split_sentences

_NUMBERED = re.compile(r"(?:label[_ ]?)?(\d+)", re.IGNORECASE)
_WORD = re.compile(r"\w+")
#: Tolerance of the sum of probabilities, for a server in half precision.
_SLACK = 0.01
#: Maximum bytes of a reply: a few labels for each of 32 pairs.
_LONGEST_REPLY = 2**20


class HttpNli(HttpBackEnd):
    """Probabilities from ``/predict`` of a text-embeddings-inference server.

    Pairs longer than ``max_characters`` are windowed by characters, at the ends of sentences or
    words; truncation by the server is disabled. Redirects are not followed. Thread-safe.

    Args:
        url: base address, such as ``http://host:8080``; ``/predict`` is appended.
        labels: the model's classes in its own order, separated by commas, for servers that name
            them ``LABEL_0`` and so on. Without them the labels are tested on a few plain pairs when
            the model is loaded.
        key_variable: environment variable with the bearer token; unset sends none.
        timeout: timeout in seconds per attempt.
        attempts: attempts per request (see :class:`~veridical.models.json_client.JsonClient`).
        max_characters: maximum characters of premise and hypothesis together.

    Raises:
        UsageError: ``labels`` are not the classes of an NLI model, or the address or
            ``max_characters`` is invalid.
        ModelError: on loading and from ``run``: the server cannot be reached, refuses, or does not
            return one probability per class and pair.
    """

    def __init__(
        self,
        url: str,
        *,
        labels: str | None = None,
        key_variable: str = "TEI_API_KEY",
        timeout: float = 60.0,
        attempts: int = 5,
        max_characters: int = MAX_CHARACTERS,
        workers: int = 4,
    ) -> None:
        if max_characters < 16:
            raise UsageError("max_characters must be at least 16")
        super().__init__(
            f"{url.rstrip('/')}/predict",
            key_variable,
            timeout=timeout,
            attempts=attempts,
            longest=_LONGEST_REPLY,
        )
        self._room = max_characters
        self.name = "tei"
        self.workers = workers
        self.batch_tokens = MAX_ITEMS * max_characters // CHARACTERS_PER_TOKEN
        self._names: list[str] | None = None
        self._order = given_order(labels) if labels is not None else self._ask_order()
        self.contradicts = self._order.contradicts
        identity = (self._url, max_characters, self._order.classes, pairing.VERSION, "http-nli-1")
        self.revision = digest_of(identity)

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        known = {text: _Characters(text) for pair in pairs for text in pair}
        return [
            [
                Window(4 + w.length // CHARACTERS_PER_TOKEN, w.content)
                for w in pair_windows(known[premise], known[hypothesis], self._room)
            ]
            for premise, hypothesis in pairs
        ]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(batch), MAX_ITEMS):
            pieces: list[Piece] = [w.content for w in batch[start : start + MAX_ITEMS]]
            for scores in self._predict([(p.premise, p.hypothesis) for p in pieces]):
                rows.extend(self._order(self._in_order(scores)))
        return rows

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        return merge(windows, outputs)

    def _ask_order(self) -> Order:
        answers = self._predict([pair for pair, _ in PLAIN])
        names = sorted(answers[0], key=lambda name: (_number(name) or 0, name))
        if any(set(scores) != set(names) for scores in answers):
            raise ModelError(f"{self._url}: the server's labels differ from pair to pair")
        table = np.array([[scores[name] for name in names] for scores in answers])
        order = settle(names, table, self._url)
        self._names = names
        return order

    def _in_order(self, scores: dict[str, float]) -> NDArray[np.float64]:
        """Return (1, classes) probabilities in the model's own order."""
        if self._names is None:
            plain = order_of(list(scores))
            by_class = {
                class_of(name) if plain else self._numbered(name): score
                for name, score in scores.items()
            }
            row = [by_class.get(name) for name in self._order.classes]
        else:
            row = [scores.get(name) for name in self._names]
        if None in row or len(row) != len(scores):
            listed = ", ".join(map(repr, scores))
            raise ModelError(
                f"{self._url}: the server's labels ({listed}) are not one each for "
                f"{', '.join(self._order.classes)}"
            )
        return np.array([row], dtype=np.float64)

    def _numbered(self, name: str) -> str | None:
        number, classes = _number(name), self._order.classes
        return classes[number] if number is not None and number < len(classes) else None

    def _predict(self, texts: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
        """Request the probabilities by label of each (premise, hypothesis)."""
        reply = self._client.post(
            {"inputs": [list(pair) for pair in texts], "truncate": False, "raw_scores": False}
        )
        if not isinstance(reply, list) or len(reply) != len(texts):
            count = len(reply) if isinstance(reply, list) else 0
            raise ModelError(f"{self._url}: {count} predictions for {len(texts)} pairs")
        return [self._checked(entry) for entry in reply]

    def _checked(self, entry: object) -> dict[str, float]:
        scores: dict[str, float] = {}
        for item in entry if isinstance(entry, list) else []:
            name = item.get("label") if isinstance(item, dict) else None
            score = item.get("score") if isinstance(item, dict) else None
            if not isinstance(name, str) or isinstance(score, bool):
                raise ModelError(f"{self._url}: a prediction is not a label with its score")
            if not isinstance(score, (int, float)) or not 0 <= score <= 1 + _SLACK:
                raise ModelError(f"{self._url}: score {score!r:.40} is not a probability")
            scores[name] = float(score)
        total = sum(scores.values())
        if not isinstance(entry, list) or len(scores) != len(entry) or abs(total - 1) > _SLACK:
            raise ModelError(
                f"{self._url}: a prediction is not one probability for each class, summing to 1"
            )
        return {name: score / total for name, score in scores.items()}


def _number(name: str) -> int | None:
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match else None


class _Characters(Measured):
    """A text measured in characters; its terms are words."""

    def __init__(self, text: str) -> None:
        super().__init__(len(text))
        self._text = text

    def cut(self, start: int, end: int) -> str:
        return self._text[start:end]

    def terms(self, start: int, end: int) -> frozenset[Hashable]:
        return frozenset(_WORD.findall(self._text[start:end].casefold()))

    def sentence_starts(self) -> list[int]:
        return [span.start for span in split_sentences(self._text)]

    def starts_word(self, unit: int) -> bool:
        return self._text[unit - 1].isspace()
