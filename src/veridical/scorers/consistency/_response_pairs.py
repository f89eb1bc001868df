"""NLI probabilities of all ordered pairs of the response and samples.

:func:`response_matrix` returns a :class:`ResponseMatrix`: ``texts`` and ``probabilities``, and
``contradicts``. ``contradiction`` and ``neutral`` raise an error for a model without that class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.core.answer_parts import answer_parts
from veridical.core.evidence import Evidence
from veridical.core.prompt_text import prompt_text
from veridical.core.records import Record
from veridical.core.stated import stated_answer
from veridical.core.verdicts import Verdicts


@dataclass(frozen=True, eq=False)
class ResponseMatrix:
    """Class probabilities of all ordered pairs of m + 1 texts.

    Attributes:
        texts: the response, then the m samples that have a text, in order; never a prompt.
        probabilities: (m + 1, m + 1, 3) float64 in the order of ``LABELS``: text i as premise,
            text j as hypothesis. A text entails itself: the diagonal is (1, 0, 0).
        contradicts: False if the model separates entailment only from the rest, which
            ``probabilities`` then holds as neutral.
    """

    texts: list[str]
    probabilities: NDArray[np.float64]
    contradicts: bool = True

    @property
    def entailment(self) -> NDArray[np.float64]:
        """Return the (m + 1, m + 1) probabilities that text i entails text j."""
        return self._square(self._verdicts.entailment)

    @property
    def neutral(self) -> NDArray[np.float64]:
        """Return the (m + 1, m + 1) probabilities of the neutral class.

        Raises:
            NotApplicable: the model has no such class.
        """
        return self._square(self._verdicts.neutral)

    @property
    def contradiction(self) -> NDArray[np.float64]:
        """Return the (m + 1, m + 1) probabilities that texts i and j cannot both be true.

        Raises:
            NotApplicable: the model has no such class.
        """
        return self._square(self._verdicts.contradiction)

    @property
    def entails(self) -> NDArray[np.bool_]:
        """Return (m + 1, m + 1) booleans: entailment is the most probable class, ties included."""
        entailed: NDArray[np.bool_] = self.probabilities.argmax(axis=2) == 0
        return entailed

    @property
    def _verdicts(self) -> Verdicts:
        return Verdicts(self.probabilities.reshape(-1, 3), self.contradicts)

    def _square(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        return column.reshape(self.probabilities.shape[:2])


async def response_matrix(
    record: Record, evidence: Evidence, prompts: bool = False, answer: str | None = None
) -> ResponseMatrix:
    """Judge all m (m + 1) ordered pairs of different answers in one request.

    Args:
        prompts: prepend the prompt and a line break to both texts of every pair, as the UQLM
            package can. Short answers are then not rewritten as statements. A record without a
            prompt is judged by its texts alone.
        answer: compare only this part of each answer (see :func:`answer_parts`). A sample without
            it contradicts all others, or is neutral if the model has no contradiction class.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
        NoAnswerPart: the response, or every sample, lacks that part.
    """
    texts, judged, there = judged_answers(record, prompts, answer)
    n = len(texts)
    different = ~np.eye(n, dtype=bool)
    asked = different & there & there[:, None]
    first, second = np.nonzero(asked)
    verdicts = await evidence.nli(
        [(judged[i], judged[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    )
    probabilities = np.zeros((n, n, 3))
    probabilities[..., 0] = np.eye(n)
    probabilities[different & ~asked, 2 if verdicts.contradicts else 1] = 1.0
    probabilities[asked] = verdicts.probabilities
    return ResponseMatrix(texts, probabilities, verdicts.contradicts)


def judged_answers(
    record: Record, prompts: bool, answer: str | None
) -> tuple[list[str], list[str], NDArray[np.bool_]]:
    """Return the response and its m samples with a text, raw and as the NLI model reads them.

    The third array, (m + 1,), marks those that have the part ``answer``. Arguments and errors are
    those of :func:`response_matrix`.
    """
    response, others, _ = answer_parts(record, "samples", answer)
    texts = [response, *(text or "" for text in others)]
    judged = (prompted if prompts else stated)(record, texts)
    return texts, judged, np.array([True, *(text is not None for text in others)])


def stated(record: Record, texts: list[str]) -> list[str]:
    """Return ``texts``, with short ones rewritten as statements using the record's question."""
    return [stated_answer(record, text) for text in texts]


def prompted(record: Record, texts: list[str]) -> list[str]:
    """Prepend the record's prompt and a line break to each of ``texts``, if there is a prompt."""
    prompt = prompt_text(record.prompt, "\n")
    return [f"{prompt}\n{text}" for text in texts] if prompt.strip() else texts
