"""NLI verdicts of passages on statements.

Passages are judged as a whole and by single sentences. An NLI model may miss an entailment if the
passage continues with exceptions. A sentence alone may lack the information of the others. The mean
of both is more accurate than either: see ``training/sentences_alone.py`` and
``docs/evidence/parts.md``.

Some pairs need no model: a passage entails its own sentences, and contradicts a sentence changed by
a negation or an antonym.
"""

from __future__ import annotations

import asyncio
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

#: Number of sentences of a passage that are read alone. With one, statements that rest on two
#: sentences lose.
ALONE = 2

#: Number of sentences over several passages that are read alone, in addition to those of the first.
TOGETHER = 4
#: P(entailment) of one of several passages from which the others are not read.
ENOUGH = 0.9

#: Seconds that a model gets to start on its requests before other work uses the event loop.
_START_SECONDS = 0.02

#: Verdict on a statement that negates a sentence.
_OPPOSITE = (0.05, 0.05, 0.9)
#: Maximum P(entailment) of a statement with an address or number that the passage lacks.
MISSING = 0.1

#: Probabilities for a value of a structured answer that is found by lookup.
_FIELD = {"supported": (0.95, 0.04, 0.01), "contradicted": (0.05, 0.1, 0.85)}

_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(len(LABELS))


def needs_no_model(entailment: float, contradiction: float) -> bool:
    """Return True if a verdict was given by words alone."""
    return entailment == 1 or (entailment, contradiction) == _OPPOSITE[::2]


async def passage_verdicts(
    evidence: Evidence,
    pairs: Sequence[tuple[str, str]],
    nli: str | None = None,
    alternatives: Sequence[Sequence[int]] = (),
) -> Verdicts:
    """Return verdicts on (passage, statement) pairs, in order.

    A statement that occurs verbatim in the passage is entailed without a model (see
    :func:`veridical.text.copies.is_copy`). For other statements, P(entailment) is the mean of two
    values: that of the whole passage, and the largest of its :data:`ALONE` sentences nearest the
    statement, each read alone. The nearest sentences share most words with the statement; rare
    words of the passage count more.

    P(contradiction) is that of the whole passage, at most 1 - P(entailment). It is 0 if the passage
    is about something else (see :func:`veridical.text.same_matter.same_matter`). Neutral is the
    rest. A nearest sentence that states the opposite in the same words contradicts (see
    :func:`veridical.text.polarity.opposes`), unless another states the same. A passage without an
    address or telephone number of the statement does not entail it. An LLM as the NLI model reads
    whole passages only. Short and long names of the same thing are equal (see
    :func:`veridical.text.aliases.in_words_of`).

    Args:
        nli: the NLI model; None is the run's own.
        alternatives: indices of pairs with the same statement. The passage that entails it best
            counts, and for contradiction the first, which is the one most about it. Passages that
            cannot be the best stay unread. Once the best entails by :data:`ENOUGH`, these are all
            others. Before, they are those without one of the :data:`TOGETHER` sentences nearest
            the statement. They are also those whose sentences, read alone, keep them below the best
            whatever the whole yields; an LLM reads no sentences alone.

    Returns:
        A row of NaN for a pair that is not read.

    Raises:
        NotApplicable: the model does not read the script of most of the texts.
        ModelError: the model failed on a pair.
    """
    reading = _Reading(evidence, pairs, nli)
    if alternatives:
        optional = {place for places in alternatives for place in places[1:]}
        optional -= {places[0] for places in alternatives}
        first = [pair for i, pair in enumerate(pairs) if i not in optional]
        await reading.read_and_settle(first)
        await reading.best_of([[pairs[i] for i in places] for places in alternatives])
    else:
        await reading.read(pairs)
    rows = np.array([reading.row(pair) for pair in pairs], np.float64).reshape(-1, len(LABELS))
    by_rules = np.array([reading.is_settled(pair) for pair in pairs], np.bool_)
    return Verdicts(rows, reading.contradicts, by_rules)


class _Reading:
    """Verdicts on pairs while passages are being read, each pair at most once."""

    def __init__(
        self, evidence: Evidence, pairs: Sequence[tuple[str, str]], nli: str | None
    ) -> None:
        self.contradicts = True
        self._evidence, self._nli = evidence, nli
        self._by_llm = evidence.nli_by_llm(nli)
        self._named: dict[tuple[str, str], tuple[str, str]] = {}
        self._settled: dict[tuple[str, str], tuple[float, float, float]] = {}
        self._pairs = list(dict.fromkeys(pairs))
        self._alone: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._said: dict[tuple[str, str], Floats] = {}
        self._rows: dict[tuple[str, str], Floats] = {}

    async def read_and_settle(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Read ``pairs``; settle all pairs that need no model during the forwards."""
        reading = asyncio.ensure_future(self.read(pairs))
        try:
            # work on the event loop before the forwards start would delay them
            await asyncio.wait({reading}, timeout=_START_SECONDS)
            for pair in self._pairs:
                self._settle(pair)
                await asyncio.sleep(0)
            await reading
        finally:
            reading.cancel()

    def _settle(self, pair: tuple[str, str]) -> None:
        """Store the verdict on a pair if words alone give it."""
        if pair not in self._named:
            named = self._named[pair] = (pair[0], _named(*pair))
            known = _settled(self._evidence, *named)
            if known is not None:
                self._settled[pair] = known

    async def read(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Read passages as a whole and by their sentences nearest the statement."""
        for pair in pairs:
            self._settle(pair)
        open_pairs = [p for p in dict.fromkeys(pairs) if p not in self._settled]
        if not self._by_llm:
            self._alone |= {p: _alone(self._evidence, *p) for p in open_pairs}
        wholes = [self._named[p] for p in open_pairs]
        await self._ask([*wholes, *chain(*(self._alone.get(p, ()) for p in open_pairs))])

    async def best_of(self, alternatives: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Read, of each list whose first passage was read, the passages that can be the best."""
        lists = [places for places in alternatives if self._best(places) < ENOUGH]
        waiting = [self._near(places) for places in lists]
        alone = [one for p in chain(*waiting) for one in self._alone.get(p, ())]
        if alone:
            await self._ask(alone)
        count = 1
        while True:
            wanted = []
            for places, left in zip(lists, waiting, strict=True):
                best = self._best(places)
                left[:] = [p for p in left if not self._is_read(p) and self._most(p) > best]
                if best < ENOUGH:
                    wanted += sorted(left, key=self._most, reverse=True)[:count]
            if not wanted:
                return
            await self._ask([self._named[p] for p in wanted])
            count *= 2  # start with a few; passages with equal bounds are not read one by one

    def is_settled(self, pair: tuple[str, str]) -> bool:
        """Return True if words alone gave the verdict on a pair."""
        return pair in self._settled

    def row(self, pair: tuple[str, str]) -> Sequence[float] | Floats:
        """Return the (3,) probabilities of a pair; NaN if it was not read."""
        if pair in self._settled:
            return self._settled[pair]
        if not self._is_read(pair):
            return [np.nan] * len(LABELS)
        if pair not in self._rows:
            self._rows[pair] = self._row(pair)
        return self._rows[pair]

    def _row(self, pair: tuple[str, str]) -> Floats:
        passage, statement = pair
        row: Floats = self._said[self._named[pair]].copy()
        if row[_CONTRADICTION] > 0 and not same_matter(statement, passage):
            row[_NEUTRAL] += row[_CONTRADICTION]
            row[_CONTRADICTION] = 0.0
        if self._alone.get(pair):
            e = (row[_ENTAILMENT] + self._by_sentences(pair)) / 2
            c = min(row[_CONTRADICTION], 1 - e)
            row[:] = e, max(0.0, round(1 - e - c, 9)), c
        if row[_ENTAILMENT] > MISSING and not identifiers(statement) <= identifiers(passage):
            row[_NEUTRAL] += row[_ENTAILMENT] - MISSING
            row[_ENTAILMENT] = MISSING
        return row

    async def _ask(self, pairs: Sequence[tuple[str, str]]) -> None:
        asked = [pair for pair in dict.fromkeys(pairs) if pair not in self._said]
        verdicts = await self._evidence.nli(asked, self._nli)
        self.contradicts = verdicts.contradicts
        self._said.update(zip(asked, verdicts.probabilities, strict=True))

    def _near(self, places: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs after the first that contain one of the sentences nearest the statement.

        Mark these sentences to be read alone, unless by an LLM. Return all pairs if no sentence
        shares a word with the statement.
        """
        evidence, statement = self._evidence, places[0][1]
        of_each = {p: self._sentences(p) for p in places if p not in self._settled}
        texts = tuple(dict.fromkeys(chain(*of_each.values())))
        near = set(texts)
        if len(texts) > TOGETHER:
            nearest = candidates(texts).nearest(evidence.words(statement), TOGETHER)
            near = {texts[i] for i in nearest}
        kept = []
        for pair in places[1:]:
            if not self._is_read(pair):
                held = [text for text in of_each[pair] if text in near]
                if not self._by_llm:
                    self._alone[pair] = [(s, _named(*pair, s)) for s in held if s != pair[0]]
                if held or not near:
                    kept.append(pair)
        return kept

    def _sentences(self, pair: tuple[str, str]) -> list[str]:
        """Return the passage's sentences nearest the statement, or its only sentence."""
        if len(split_sentences(pair[0])) < 2:
            return [pair[0]]
        return _most_about(self._evidence, *pair)

    def _is_read(self, pair: tuple[str, str]) -> bool:
        return pair in self._settled or self._named[pair] in self._said

    def _best(self, places: Sequence[tuple[str, str]]) -> float:
        """Return the largest P(entailment) among the pairs read so far."""
        return max(self.row(p)[_ENTAILMENT] for p in places if self._is_read(p))

    def _by_sentences(self, pair: tuple[str, str]) -> float:
        return max(float(self._said[one][_ENTAILMENT]) for one in self._alone[pair])

    def _most(self, pair: tuple[str, str]) -> float:
        """Return the upper bound of P(entailment), given the passage's sentences."""
        return (1 + self._by_sentences(pair)) / 2 if self._alone.get(pair) else 1.0


def best_and_about(judged: Floats, about: int) -> tuple[Floats, int]:
    """Merge the verdicts of several passages on a statement.

    P(entailment) is that of the passage that entails the statement best. P(contradiction) is that
    of the passage most about it, at most 1 - P(entailment), as a passage about something else
    contradicts nothing. Neutral is the rest.

    Args:
        judged: (m, 3) probabilities, one row per passage, m at least 1.
        about: the passage most about the statement, as by
            :func:`veridical.text.relevance.most_about`.

    Returns:
        (3,) probabilities, and the index of the passage that entails best.
    """
    best = int(judged[:, _ENTAILMENT].argmax())
    e = float(judged[best, _ENTAILMENT])
    c = min(float(judged[about, _CONTRADICTION]), 1 - e)
    return np.array([e, max(0.0, round(1 - e - c, 9)), c]), best


def _named(passage: str, statement: str, text: str | None = None) -> str:
    """Return a statement in which a passage's names replace other names of the same things."""
    return in_words_of(statement, passage if text is None else text, definitions(passage))


def _alone(evidence: Evidence, passage: str, statement: str) -> list[tuple[str, str]]:
    """Return the pairs of a passage's sentences that are read alone."""
    nearest = _most_about(evidence, passage, statement)
    return [(s, _named(passage, statement, s)) for s in nearest]


def _settled(evidence: Evidence, passage: str, statement: str) -> tuple[float, float, float] | None:
    """Return the verdict on a pair that needs no model; None for others."""
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
    """Return the sentences of a passage that are read alone; none if it has only one."""
    sentences = tuple(s.text for s in split_sentences(passage))
    if len(sentences) < 2:
        return []
    nearest = candidates(sentences).nearest(evidence.words(statement), ALONE)
    return [sentences[i] for i in nearest]
