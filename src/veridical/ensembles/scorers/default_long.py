"""The default ensemble's rule for long answers with samples.

The fits with samples are on short answers, for which each sample as a whole is compared with the
answer. No sample entails a long answer as a whole, so that scorer gives all the same risk. Answers
longer than the fitted ones use the label-free set for longer answers. A logistic regression
converts its mean quantile to the log-odds of being wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.identity import Identity
from veridical.engine.risk import table_of
from veridical.ensembles.scorers import default_set as default
from veridical.ensembles.scorers import off_the_shelf

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.registry import BoundScorer
    from veridical.core.scores import Score
    from veridical.ensembles.scorers.default_set import Field, MemberRisk


class LongAnswer(NamedTuple):
    """Rule for a long answer with samples.

    Attributes:
        choice: the members' weights, by key.
        bound: the members, by name.
        samples: number of samples of the record.
        nli: the NLI model whose fit applies.
    """

    choice: off_the_shelf.ChosenSets
    bound: Mapping[str, BoundScorer]
    samples: int
    nli: str

    def odds(
        self, response: Mapping[str, MemberRisk], sentence: Mapping[str, MemberRisk] | None = None
    ) -> float | None:
        """Return the log-odds that the response is wrong; for a sentence, the mean of its own and
        the response's, because errors seldom occur alone. None without any member's risk."""
        whole = self._mean(response)
        own = whole if sentence is None else self._mean(sentence)
        if own is None:
            return None
        fit = default.long_fit(any(name in default.READERS for name in response), self.nli)
        return fit.odds(own if whole is None else (own + whole) / 2)

    def read(self, scores: Mapping[str, Score]) -> bool:
        """Return True if a member with a model is scored: without one the rule does not apply."""
        return any(
            scores[b.key].risk is not None
            for name, b in self.bound.items()
            if not default.lexical(name)
        )

    def words(self) -> dict[str, BoundScorer]:
        """Return the members that the default has without a model."""
        names = default.member_names("samples", self.nli)
        return {n: b for n, b in self.bound.items() if n in names and default.lexical(n)}

    def part(self, name: str, risk: float) -> float:
        """Return a member's contribution to the mean quantile, relative to an uninformative
        member."""
        table = table_of(Identity.read(self.bound[name].key), self.samples)
        return 0.0 if table is None else self._weight(name) * (table(risk) - 0.5)

    def weights(self, scored: Collection[str]) -> dict[str, float]:
        """Return shares of the mean if these members are scored; they add up to 1."""
        total = sum(map(self._weight, scored))
        return {name: self._weight(name) / total for name in scored}

    def _weight(self, name: str) -> float:
        return self.choice.weights[self.bound[name].key]

    def _mean(self, said: Mapping[str, MemberRisk]) -> float | None:
        risks = {self.bound[name].key: s.risk for name, s in said.items()}
        return self.choice.risk(risks, self.samples)


def long_answer(
    record: Record, field: Field, nli: str, language_model: str | None
) -> LongAnswer | None:
    """Return the rule of an answer by ``field``; None if it is not long, or the field is not
    samples."""
    if field != "samples" or not record.samples or len(record.response) <= default.long_over(nli):
        return None
    choice = off_the_shelf.choose(record, "samples", False, language_model)
    members = off_the_shelf.members("samples", False, language_model)
    bound = {b.scorer.name: b for b in members if b.key in choice.weights}
    return LongAnswer(choice, bound, len(record.samples), nli)
