"""What passages say of statements: each as a whole, and by the sentences most about the statement.

Where a passage says a thing and goes on to its exceptions, an NLI model may miss that it says it.
A sentence alone may lack what the others tell. The mean of both orders answers better than either:
``training/sentences_alone.py``, and ``docs/grounding.md`` for its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.protocols import LABELS
from veridical.core.verdicts import Verdicts
from veridical.text.relevance import candidates
from veridical.text.same_matter import same_matter
from veridical.text.sentences import split_sentences

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence

#: How many sentences of a passage are read alone: with one, what rests on two loses.
ALONE = 2

_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(len(LABELS))


async def passage_verdicts(
    evidence: Evidence, pairs: Sequence[tuple[str, str]], nli: str | None = None
) -> Verdicts:
    """Verdicts on (passage, statement) pairs, in order.

    P(entailment) is the mean of that by the whole passage and the largest by one of its
    :data:`ALONE` sentences that share most words with the statement (rare words of the passage
    count more), each read alone. P(contradiction) is that by the whole passage, at most
    1 - P(entailment), and 0 where the passage is about something else (see
    :func:`veridical.text.same_matter.same_matter`); neutral is the rest. An LLM as the NLI model
    is asked of whole passages alone.

    Args:
        nli: the NLI model; the run's own if None.

    Raises:
        NotApplicable: the model does not read the script most of the texts are in.
        ModelError: the model failed on one of the pairs.
    """
    read = [] if evidence.nli_by_llm(nli) else pairs
    alone = {pair: [(s, pair[1]) for s in _most_about(evidence, *pair)] for pair in read}
    asked = list(dict.fromkeys([*pairs, *chain(*alone.values())]))
    verdicts = await evidence.nli(asked, nli)
    said = dict(zip(asked, verdicts.probabilities, strict=True))
    table = np.array([said[pair] for pair in pairs]).reshape(-1, len(LABELS))
    for row, pair in zip(table, pairs, strict=True):
        passage, statement = pair
        if row[_CONTRADICTION] > 0 and not same_matter(statement, passage):
            row[_NEUTRAL] += row[_CONTRADICTION]
            row[_CONTRADICTION] = 0.0
        if of_pair := alone.get(pair):
            e = (row[_ENTAILMENT] + max(said[one][_ENTAILMENT] for one in of_pair)) / 2
            c = min(row[_CONTRADICTION], 1 - e)
            row[:] = e, max(0.0, round(1 - e - c, 9)), c
    return Verdicts(table, verdicts.contradicts)


def _most_about(evidence: Evidence, passage: str, statement: str) -> list[str]:
    """The sentences of a passage of several that are to be read alone."""
    sentences = tuple(s.text for s in split_sentences(passage))
    if len(sentences) < 2:
        return []
    nearest = candidates(sentences).nearest(evidence.words(statement), ALONE)
    return [sentences[i] for i in nearest]
