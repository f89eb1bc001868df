"""Claim checker by NLI and, with less weight, by word overlap."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.claims.checkers.nli import NliChecker
from veridical.claims.triplets import FUNCTION_WORDS
from veridical.core.passage_verdicts import needs_no_model, passage_verdicts
from veridical.core.protocols import LABELS
from veridical.text.memo import kept
from veridical.text.words import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.claim import Claim
    from veridical.core.evidence import Evidence

#: Weight of the word overlap. Of 1/4, 1/2 and 3/4, the smallest with the best ranking on the BEGIN
#: development splits and the references of WikiBio-GPT3.
SHARE = 0.25
#: Pseudo-count of words for the mean over all claims. A claim has few words, so without smoothing
#: the worst of several would be the shortest.
PRIOR = 2


def content_words(words: Sequence[str]) -> frozenset[str]:
    """Return the lower-case content words: with a letter or digit, and not English function words.

    >>> sorted(content_words(["She", "is", "a", "Countess", "."]))
    ['countess']
    """
    lower = (w.lower() for w in words if w.isalnum() or any(map(str.isalnum, w)))
    return frozenset(w for w in lower if w not in FUNCTION_WORDS)


@kept
def _content_of(text: str) -> frozenset[str]:
    return content_words(words_of(text))


@dataclass(frozen=True)
class NliWordsChecker(NliChecker):
    """Checker with three quarters NLI verdict and one quarter word overlap.

    The overlap is the share of the claim's distinct content words that the passage has; it counts
    for entailment, and the rest for neutral. It is smoothed towards the share over all claims
    judged by the passage, with a weight of two words. A claim without content words takes the NLI
    verdict alone.

    The model reads a passage as a whole and by its sentences closest to the claim. A passage on
    another topic contradicts nothing. See :mod:`veridical.core.passage_verdicts`.

    A small NLI model tends to accept a claim with similar wording as entailed; the overlap detects
    words that the passage lacks.
    """

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """Return the (n, 3) probabilities of each (claim, passage); NaN for skipped pairs.

        Raises:
            NotApplicable: the model does not support the script of most texts.
            ModelError: the model failed on one of the pairs.
        """
        texts = [(passage, claim.text) for claim, passage in pairs]
        table = (await passage_verdicts(evidence, texts, self.nli, alternatives)).probabilities
        entailment, neutral, contradiction = range(len(LABELS))
        claim_words = [_content_of(claim.text) for claim, _ in pairs]
        together: dict[str, set[str]] = {}
        for words, (_, passage) in zip(claim_words, pairs, strict=True):
            together.setdefault(passage, set()).update(words)
        passage_words = {passage: _content_of(passage) for passage in together}
        for row, words, (_, passage) in zip(table, claim_words, pairs, strict=True):
            if words and not needs_no_model(row[entailment], row[contradiction]):
                prior = _share(together[passage], passage_words[passage])
                weight = len(words) / (len(words) + PRIOR)
                share = weight * _share(words, passage_words[passage]) + (1 - weight) * prior
                row *= 1 - SHARE
                row[entailment] += SHARE * share
                row[neutral] += SHARE * (1 - share)
        return table


def _share(words: Set[str], others: Set[str]) -> float:
    return len(words & others) / len(words)
