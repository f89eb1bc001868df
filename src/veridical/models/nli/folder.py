"""Settings of an NLI model folder, and the local back ends' base."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Pair, Window
from veridical.errors import ModelError
from veridical.models import windows
from veridical.models.folder import digest_of, max_length, read_json
from veridical.models.nli import pairs
from veridical.models.nli.labels import (
    PLAIN,
    Order,
    config_names,
    confirm,
    given_order,
    settle,
)
from veridical.models.nli.pairs import merge
from veridical.models.nli.tokens import PairWindower, TokenRows


class PairJudge(ABC):
    """Base of local NLI back ends: token windows of pairs, and class order.

    Attributes:
        contradicts: True if contradiction is a separate class.
        tells_words: True if it marks wrong words of a hypothesis.
    """

    languages: frozenset[str] | None = None
    contradicts: bool
    tells_words = False
    _windower: PairWindower
    _order: Order

    @abstractmethod
    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        """Return (batch, classes) probabilities in the model's own order."""

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        return self._windower(pairs)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return list(self._order(self._answers(batch)))

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        return merge(windows, outputs)


@dataclass(frozen=True, eq=False)
class NliSettings:
    """Configuration of a sequence-classification folder.

    Attributes:
        config: ``config.json``.
        max_length: maximum tokens of a pair, including special tokens.
        takes_types: True if the model takes the tokenizer's token types.
        pad: id of the padding token.
        temperature: divisor of the logits (``calibration.json``; 1 without one).
        stated: the classes in order, from the same file, as written by ``veridical train checker``.
    """

    root: Path
    config: dict[str, Any]
    max_length: int
    takes_types: bool
    pad: int
    temperature: float
    stated: str | None = None

    @classmethod
    def read(cls, root: Path) -> NliSettings:
        """Read the configuration of a folder.

        Raises:
            ModelError: a file cannot be read, or the temperature is not a positive number.
        """
        config = read_json(root / "config.json", {})
        tokenizer = read_json(root / "tokenizer_config.json", {})
        calibration = read_json(root / "calibration.json", {})
        temperature = calibration.get("temperature", 1.0)
        classes = calibration.get("classes")
        if not isinstance(temperature, (int, float)) or not 0 < temperature < float("inf"):
            raise ModelError(
                f"{root / 'calibration.json'}: temperature must be positive, not {temperature!r}"
            )
        inputs = tokenizer.get("model_input_names")
        listed = not isinstance(inputs, list) or "token_type_ids" in inputs
        pad = config.get("pad_token_id")
        return cls(
            root=root,
            config=config,
            max_length=max_length({}, config, tokenizer),
            # Models of one type (RoBERTa) or none (DeBERTa) have no row for the second text's.
            takes_types=listed and config.get("type_vocab_size") not in (0, 1),
            pad=pad if isinstance(pad, int) and pad >= 0 else 0,
            temperature=float(temperature),
            stated=",".join(map(str, classes)) if isinstance(classes, list) else None,
        )

    def types_of(self, model: Any) -> bool:
        """Return True if the torch ``model`` takes token types."""
        return self.takes_types and "token_type_ids" in inspect.signature(model.forward).parameters

    def rows(self, windower: PairWindower, batch: Sequence[Window]) -> TokenRows:
        """Return the arrays of ``batch``; types are zero for models without token types."""
        rows = windower.rows(batch, self.pad)
        return rows if self.takes_types else rows._replace(types=np.zeros_like(rows.types))

    def probabilities(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Apply softmax to (batch, classes) logits at the folder's temperature."""
        scaled = np.asarray(logits, dtype=np.float64) / self.temperature
        powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def stated_order(self, labels: str | None) -> Order | None:
        """Return the class order given by the user or the folder, which is trusted."""
        stated = labels if labels is not None else self.stated
        return None if stated is None else given_order(stated)

    def order(
        self,
        windower: PairWindower,
        logits: Callable[[Sequence[Window]], NDArray[np.floating]],
        name: str,
        labels: str | None,
        published: Order | None = None,
    ) -> Order:
        """Determine the order of the model's classes (see :func:`settle` and :func:`confirm`).

        Args:
            logits: runs one forward.
            labels: the order given by the user, which overrides the folder's.
            published: the order of a published checkpoint, which overrides its configuration.
        """
        stated_order = self.stated_order(labels)
        pairs = [pair for pair, _ in PLAIN]
        if stated_order is not None:
            pairs = pairs[:1]  # which shows the number of outputs
        plain = [w for ws in windower(pairs) for w in ws]
        if len(plain) != len(pairs):
            raise ModelError(f"{name}: windows of {self.max_length} tokens are too short")
        answers = self.probabilities(logits(plain))
        if published is not None and stated_order is None:
            confirm(published, answers, name)
            return published
        return settle(config_names(self.config), answers, name, stated_order)

    def revision(self, files: Iterable[Path], order: Order, *parts: object) -> str:
        """Return 16 hex digits over weights, tokenizer, labels, temperature, windowing and
        ``parts``.
        """
        settings = (self.max_length, self.takes_types, self.pad, self.temperature, order.classes)
        return digest_of((settings, windows.VERSION, pairs.VERSION, parts), files)
