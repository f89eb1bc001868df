"""What an NLI model says of every ordered pair among the response and the samples.

:func:`response_matrix` returns a :class:`ResponseMatrix`: ``texts`` and ``probabilities``, and
``contradicts``, by which ``contradiction`` and ``neutral`` refuse a model without that class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.evidence.verdicts import Verdicts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.evidence import Evidence
    from veridical.records import Record


@dataclass(frozen=True, eq=False)
class ResponseMatrix:
    """Class probabilities of all ordered pairs of m + 1 texts.

    Attributes:
        texts: the response, then the m samples that have a text, in order; never a prompt.
        probabilities: (m + 1, m + 1, 3) float64 in the order of ``LABELS``: text i as premise,
            text j as hypothesis. A text entails itself: the diagonal is (1, 0, 0).
        contradicts: False where the model tells entailment from the rest only: the rest then
            stands as neutral in ``probabilities``.
    """

    texts: list[str]
    probabilities: NDArray[np.float64]
    contradicts: bool = True

    @property
    def entailment(self) -> NDArray[np.float64]:
        """(m + 1, m + 1) probability that text i entails text j."""
        return self._square(self._verdicts.entailment)

    @property
    def neutral(self) -> NDArray[np.float64]:
        """(m + 1, m + 1) probability of neither.

        Raises:
            NotApplicable: the model has no such class.
        """
        return self._square(self._verdicts.neutral)

    @property
    def contradiction(self) -> NDArray[np.float64]:
        """(m + 1, m + 1) probability that texts i and j cannot both be true.

        Raises:
            NotApplicable: the model has no such class.
        """
        return self._square(self._verdicts.contradiction)

    @property
    def entails(self) -> NDArray[np.bool_]:
        """(m + 1, m + 1) whether entailment is the most probable class, ties included."""
        found: NDArray[np.bool_] = self.probabilities.argmax(axis=2) == 0
        return found

    @property
    def _verdicts(self) -> Verdicts:
        return Verdicts(self.probabilities.reshape(-1, 3), self.contradicts)

    def _square(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        return column.reshape(self.probabilities.shape[:2])


async def response_matrix(
    record: Record, evidence: Evidence, prompts: bool = False
) -> ResponseMatrix:
    """Judge all m (m + 1) ordered pairs of different places in one request.

    Args:
        prompts: put the prompt and a line break before both texts of every pair, as the UQLM
            package can; a record without a prompt is judged by its texts alone.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
    """
    texts = [record.need_response(), *(s.text for s in record.against("samples"))]
    asked = prompted(record, texts) if prompts else texts
    n = len(texts)
    different = ~np.eye(n, dtype=bool)
    first, second = np.nonzero(different)
    verdicts = await evidence.nli(
        [(asked[i], asked[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    )
    probabilities = np.zeros((n, n, 3))
    probabilities[..., 0] = 1.0
    probabilities[different] = verdicts.probabilities
    return ResponseMatrix(texts, probabilities, verdicts.contradicts)


def prompted(record: Record, texts: list[str]) -> list[str]:
    """``texts``, each after the record's prompt and a line break; unaltered without a prompt."""
    prompt = _prompt_text(record.prompt)
    return [f"{prompt}\n{text}" for text in texts] if prompt.strip() else texts


def _prompt_text(prompt: str | list[dict[str, Any]] | None) -> str:
    """The prompt's words: of a chat, the text of its messages, a line each."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(filter(None, (_content(m.get("content")) for m in prompt)))


def _content(content: Any) -> str:
    """The text of a chat message: a string, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (p.get("text") if isinstance(p, dict) else p for p in parts)
    return "\n".join(t for t in texts if isinstance(t, str))
