"""The default's rule for long answers by their samples.

The fits by samples are of short answers, of which each sample as a whole is said to entail or
contradict the answer. No sample entails a long answer as a whole, so that scorer says the same of
each. Longer ones than those that were fitted on take the label-free set of longer answers, whose
mean quantile a logistic regression turns into the log-odds of being wrong.
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
    """A long answer's rule by its samples.

    Attributes:
        choice: the members' weights, by key.
        bound: the members, by name.
        samples: how many the record has.
        nli: the NLI model whose fit holds.
    """

    choice: off_the_shelf.ChosenSets
    bound: Mapping[str, BoundScorer]
    samples: int
    nli: str

    def odds(
        self, response: Mapping[str, MemberRisk], sentence: Mapping[str, MemberRisk] | None = None
    ) -> float | None:
        """Log-odds of being wrong of the response; of a sentence, half by what is said of it and
        half by what is said of the response: an error seldom stands alone. None where nothing is
        said of it."""
        whole = self._mean(response)
        own = whole if sentence is None else self._mean(sentence)
        if own is None:
            return None
        fit = default.long_fit(any(name in default.READERS for name in response), self.nli)
        return fit.odds(own if whole is None else (own + whole) / 2)

    def read(self, scores: Mapping[str, Score]) -> bool:
        """Whether a member that reads by a model is scored: without one the rule does not hold."""
        return any(
            scores[b.key].risk is not None
            for name, b in self.bound.items()
            if not default.lexical(name)
        )

    def words(self) -> dict[str, BoundScorer]:
        """The members that the default has without a model."""
        names = default.member_names("samples", self.nli)
        return {n: b for n, b in self.bound.items() if n in names and default.lexical(n)}

    def part(self, name: str, risk: float) -> float:
        """What a member adds to the mean quantile, beside a member that says nothing."""
        table = table_of(Identity.read(self.bound[name].key), self.samples)
        return 0.0 if table is None else self._weight(name) * (table(risk) - 0.5)

    def weights(self, scored: Collection[str]) -> dict[str, float]:
        """Shares of the mean, where these members are scored; they add up to 1."""
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
    """The rule of an answer by ``field``; None where it is not long, or is not by samples."""
    if field != "samples" or not record.samples or len(record.response) <= default.long_over(nli):
        return None
    choice = off_the_shelf.choose(record, "samples", False, language_model)
    members = off_the_shelf.members("samples", False, language_model)
    bound = {b.scorer.name: b for b in members if b.key in choice.weights}
    return LongAnswer(choice, bound, len(record.samples), nli)
