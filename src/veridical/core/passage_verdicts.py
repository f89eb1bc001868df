"""What passages say of statements: each as a whole, and by the sentences most about the statement.

Where a passage says a thing and goes on to its exceptions, an NLI model may miss that it says it.
A sentence alone may lack what the others tell. The mean of both orders answers better than either:
``training/sentences_alone.py``, and ``docs/grounding.md`` for its figures.

Some things need no model: what a passage says word for word it entails, and what turns one of its
sentences round by a negation or a word's opposite it contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.protocols import LABELS
from veridical.core.verdicts import Verdicts
from veridical.text.aliases import definitions, in_words_of
from veridical.text.copies import is_copy
from veridical.text.identifiers import identifiers, only_points
from veridical.text.polarity import agrees, opposes
from veridical.text.relevance import candidates
from veridical.text.same_matter import same_matter
from veridical.text.sentences import split_sentences
from veridical.text.structure.checking import asked_values, check_value

if TYPE_CHECKING:
    from veridical.arrays import Floats
    from veridical.core.evidence import Evidence

#: How many sentences of a passage are read alone: with one, what rests on two loses.
ALONE = 2

#: The verdict on what turns a sentence round.
_OPPOSITE = (0.05, 0.05, 0.9)
#: Most that a passage entails of what names an address or number that it lacks.
MISSING = 0.1

#: Probabilities for a value of a structured answer that is looked up.
_FIELD = {"supported": (0.95, 0.04, 0.01), "contradicted": (0.05, 0.1, 0.85)}

_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(len(LABELS))


def needs_no_model(entailment: float, contradiction: float) -> bool:
    """Return True if a verdict is one that words alone gave."""
    return entailment == 1 or (entailment, contradiction) == _OPPOSITE[::2]


async def passage_verdicts(
    evidence: Evidence, pairs: Sequence[tuple[str, str]], nli: str | None = None
) -> Verdicts:
    """Verdicts on (passage, statement) pairs, in order.

    A statement that the passage makes word for word is entailed, and the model is not asked (see
    :func:`veridical.text.copies.is_copy`). Of others P(entailment) is the mean of that by the whole
    passage and the largest by one of its :data:`ALONE` sentences that share most words with the
    statement (rare words of the passage count more), each read alone. P(contradiction) is that by
    the whole passage, at most 1 - P(entailment), and 0 where the passage is about something else
    (see :func:`veridical.text.same_matter.same_matter`); neutral is the rest. One of those
    sentences that says the opposite in the same words contradicts (see
    :func:`veridical.text.polarity.opposes`), unless another says the same. A passage without an
    address or telephone number of the statement does not entail it. An LLM as the NLI model is
    asked of whole passages alone. Short and long names of one thing count as one (see
    :func:`veridical.text.aliases.in_words_of`).

    Args:
        nli: the NLI model; the run's own if None.

    Raises:
        NotApplicable: the model does not read the script most of the texts are in.
        ModelError: the model failed on one of the pairs.
    """
    named = {pair: (pair[0], _named(*pair)) for pair in dict.fromkeys(pairs)}
    settled = {pair: known for pair, put in named.items() if (known := _settled(evidence, *put))}
    open_pairs = [pair for pair in pairs if pair not in settled]
    read = [] if evidence.nli_by_llm(nli) else open_pairs
    alone = {pair: _alone(evidence, *pair) for pair in read}
    asked = list(dict.fromkeys([*(named[pair] for pair in open_pairs), *chain(*alone.values())]))
    verdicts = await evidence.nli(asked, nli)
    said = dict(zip(asked, verdicts.probabilities, strict=True))
    rows = [settled[pair] if pair in settled else said[named[pair]] for pair in pairs]
    table = np.array(rows, np.float64).reshape(-1, len(LABELS))
    for row, pair in zip(table, pairs, strict=True):
        if pair in settled:
            continue
        passage, statement = pair
        if row[_CONTRADICTION] > 0 and not same_matter(statement, passage):
            row[_NEUTRAL] += row[_CONTRADICTION]
            row[_CONTRADICTION] = 0.0
        if of_pair := alone.get(pair):
            e = (row[_ENTAILMENT] + max(said[one][_ENTAILMENT] for one in of_pair)) / 2
            c = min(row[_CONTRADICTION], 1 - e)
            row[:] = e, max(0.0, round(1 - e - c, 9)), c
        if row[_ENTAILMENT] > MISSING and not identifiers(statement) <= identifiers(passage):
            row[_NEUTRAL] += row[_ENTAILMENT] - MISSING
            row[_ENTAILMENT] = MISSING
    return Verdicts(table, verdicts.contradicts)


def best_and_about(judged: Floats, about: int) -> tuple[Floats, int]:
    """Merge what several passages say of a statement.

    P(entailment) is that of the passage that entails it best. P(contradiction) is that of the one
    most about it, as a passage about something else contradicts nothing, and at most
    1 - P(entailment). Neutral is the rest.

    Args:
        judged: (m, 3) probabilities, a row a passage, m at least 1.
        about: the passage most about the statement, as by
            :func:`veridical.text.relevance.most_about`.

    Returns:
        (3,) probabilities, and the place of the passage that entails best.
    """
    best = int(judged[:, _ENTAILMENT].argmax())
    e = float(judged[best, _ENTAILMENT])
    c = min(float(judged[about, _CONTRADICTION]), 1 - e)
    return np.array([e, max(0.0, round(1 - e - c, 9)), c]), best


def _named(passage: str, statement: str, text: str | None = None) -> str:
    """A statement with the names of a passage's ``text`` (the whole if None) for what it names."""
    return in_words_of(statement, passage if text is None else text, definitions(passage))


def _alone(evidence: Evidence, passage: str, statement: str) -> list[tuple[str, str]]:
    """The pairs of a passage's sentences that are read alone."""
    nearest = _most_about(evidence, passage, statement)
    return [(s, _named(passage, statement, s)) for s in nearest]


def _settled(evidence: Evidence, passage: str, statement: str) -> tuple[float, float, float] | None:
    """The verdict on a pair that needs no model."""
    if is_copy(statement, passage):
        return (1.0, 0.0, 0.0)
    named = identifiers(statement)
    if named and named <= identifiers(passage) and only_points(statement):
        return (1.0, 0.0, 0.0)
    field = asked_values(evidence.record.answer).get(statement)
    if field is not None:
        found = check_value(field, passage)
        if found != "unknown":
            return _FIELD[found]
    nearest = _most_about(evidence, passage, statement) or [passage]
    if any(opposes(statement, s) for s in nearest) and not any(
        agrees(statement, s) for s in nearest
    ):
        return _OPPOSITE
    return None


def _most_about(evidence: Evidence, passage: str, statement: str) -> list[str]:
    """The sentences of a passage of several that are to be read alone."""
    sentences = tuple(s.text for s in split_sentences(passage))
    if len(sentences) < 2:
        return []
    nearest = candidates(sentences).nearest(evidence.words(statement), ALONE)
    return [sentences[i] for i in nearest]
