"""Best matching sentence of each source for each response sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.arrays import Floats, Ints
from veridical.core.records import Source
from veridical.core.scores import SHOWN, EvidenceItem
from veridical.text.spans import Span


class SourceSentences:
    """Sentences of several sources.

    Args:
        texts: texts compared instead of each source's sentences; the sentences themselves by
            default.

    Attributes:
        distinct: the distinct texts that the response's sentences are compared with.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        split: Sequence[Sequence[Span]],
        texts: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self._sources, self._split = sources, split
        self._texts = texts or [[s.text for s in spans] for spans in split]
        self.distinct = list(dict.fromkeys(text for part in self._texts for text in part))

    def best(self, table: Floats) -> tuple[Floats, Ints]:
        """Return the largest value per source of a (sentences, distinct) table, and its position.

        Both arrays are (sentences, sources); the position is the index of the sentence in the
        source.
        """
        column = {text: i for i, text in enumerate(self.distinct)}
        parts = [table[:, [column[text] for text in part]] for part in self._texts]
        values = np.stack([part.max(axis=1) for part in parts], axis=1)
        return values, np.stack([part.argmax(axis=1) for part in parts], axis=1)

    def nearest(self, values: Floats, places: Ints) -> list[EvidenceItem]:
        """Return the best matching sentence of up to 3 sources, nearest first."""
        items = []
        for n in np.argsort(-values, kind="stable")[:SHOWN]:
            span = self._split[n][places[n]]
            items.append(EvidenceItem.at(self._sources[n], span.start, span.end, float(values[n])))
        return items
