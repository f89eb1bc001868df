"""Claims judged by an NLI model and, in a smaller part, by the words that the passage has too."""

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

#: Share of the verdict that the words have. Of 1/4, 1/2 and 3/4 the one that orders BEGIN's
#: development parts and the references of WikiBio-GPT3 as well as any and leaves most to the model.
SHARE = 0.25
#: How many words the other claims of the answer count for. A claim has few of its own, and the
#: worst of several would be the shortest.
PRIOR = 2


def content_words(words: Sequence[str]) -> frozenset[str]:
    """The words that say something, in lower case: with a letter or digit, and no English function
    word.

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
    """Three quarters of the verdict are the NLI model's, one quarter the words': entailment by the
    share of the claim's distinct content words that the passage has, neutral by the rest. The share
    is drawn to that of all claims asked about the passage together, as if two more words had it. A
    claim without content words is the model's alone.

    The model reads a passage as a whole and by the sentences of it that are most about the claim,
    and one about another matter contradicts nothing: see :mod:`veridical.core.passage_verdicts`.

    A small NLI model takes what sounds like the passage for entailed by it, and what the passage
    says nothing of is then seen by its words.
    """

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """(n, 3) probabilities of each (claim, passage); NaN where one was left unread.

        Raises:
            NotApplicable: the model does not read the script most of the texts are in.
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
