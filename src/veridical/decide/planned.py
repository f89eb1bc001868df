"""What a dry run scores for the steps after the scoring.

Which answers are repaired, and which one is selected before, is known beforehand where scorers
without a model tell. Elsewhere as many are taken as there can be, each with as much text as can be
left, so that counts are bounds from above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from veridical.core.scores import Result
from veridical.decide.repair import Repairing, changed, changes_of
from veridical.decide.repair import apply as applied
from veridical.decide.rewriting import rewrite_request
from veridical.decide.selection import chosen_answer
from veridical.decide.steps import Answers, Asking, Outcome
from veridical.decide.unsupported import (
    Flaw,
    all_flawed,
    as_sentences,
    fewest_flaws,
    flaws,
    scorer_of,
)
from veridical.errors import NotApplicable

if TYPE_CHECKING:
    from veridical.core.messages import ChatRequest
    from veridical.core.records import Record
    from veridical.core.registry import BoundScorer
    from veridical.engine.results import RunResults

_AT_ONCE = 64


def model_free(bound: BoundScorer) -> bool:
    """Whether a dry run gives the scorer's true scores: it asks no model."""
    costs = set(bound.costs)
    if bound.values.get("proxy") is None:  # of the record's own token probabilities
        costs -= {"probabilities"}
    return costs <= {"free"}


class PlannedRepairs:
    """The answers that :class:`~veridical.decide.repair.Repairing` would have scored again, or
    others like them: an :class:`~veridical.engine.run.Input`.

    Args:
        results: of the dry run.
        scorers: its scorers.
        asking: counts the calls that would have sentences written anew.
        true: whether scores of scorers without a model are those of the run: not where answers
            are yet to be given, nor where a cascade asks its scorers.

    Attributes:
        guessed: answers read so far of which it is not known whether, and how, they are repaired.
    """

    read = 8

    def __init__(
        self,
        results: RunResults,
        step: Repairing,
        scorers: Sequence[BoundScorer],
        asking: Asking | None,
        true: bool,
    ) -> None:
        self._how = step.how
        self._asking = asking
        calls = any("llm" in s.costs for s in scorers)  # pretended, it may seem to have failed
        free = {s.key for s in scorers if model_free(s)}
        self._calls = calls
        self._true = free if true and not calls else set()
        chosen = len(self._true) == len(scorers)
        self._certain = step.best is None or chosen
        self._answers: Answers = results
        if step.best is not None:
            self._answers = step.best.answers(results, None if chosen else _longest)
        self.guessed = 0

    def rows(self, start: int = 0) -> Iterator[Record]:
        """Repaired answers, under the rows they have in the run."""
        pairs = self._answers.pairs()
        while some := list(islice(pairs, _AT_ONCE)):
            requests: list[ChatRequest] = []
            repaired = [self._one(record, result, requests) for record, result in some]
            if requests and self._asking is not None:
                self._asking(requests)
            yield from filter(None, repaired)

    def fraction(self) -> float | None:
        """How much of the run's input the latest reading has passed."""
        return self._answers.fraction()

    def _one(self, record: Record, result: Result, requests: list[ChatRequest]) -> Record | None:
        scorer = scorer_of(result)
        failed = any(s.status == "failed" for s in result.scores.values())
        if scorer is None and not (failed or self._calls):
            return None
        score = None if scorer is None else result.scores[scorer]
        if self._certain and score is not None and scorer in self._true:
            return self._repaired(record, flaws(record, score), requests)
        self.guessed += 1
        worst = all_flawed if self._how == "rewrite" else fewest_flaws
        return self._repaired(record, worst(record, score), requests) or (
            self._repaired(record, worst(record, None), requests)
        )

    def _repaired(
        self, record: Record, plan: list[Flaw], requests: list[ChatRequest]
    ) -> Record | None:
        if not plan:
            return None
        if self._how == "rewrite":
            rewrite = rewrite_request(record, plan)
            if isinstance(rewrite, NotApplicable):
                return None
            requests.append(rewrite.request)
            written = [_anew(f.sentence.text) for f in plan]
        else:
            written = [as_sentences(f.supported, f.sentence.text) for f in plan]
        changes = changes_of(record.response, plan, written)
        return changed(record, applied(record.response, changes)) if changes else None


def _longest(record: Record, line: bytes, samples: Mapping[int | None, bytes]) -> Outcome:
    """The longest answer as the selected one."""
    texts = {None: record.response} | {
        i: record.samples[i].text or "" for i in samples if i is not None
    }
    index = max(texts, key=lambda i: len(texts[i]))
    return chosen_answer(record, index, line if index is None else samples[index])


def _anew(sentence: str) -> str:
    """A sentence that is not known yet, of the same length: its words, or where there is one its
    characters, begin in the middle."""
    body = sentence.rstrip(".!?\u2026\u3002\uff01\uff1f ")
    words: Any = body.split()
    if len(words) > 1:
        middle = len(words) // 2
        return " ".join(words[middle:] + words[:middle]) + sentence[len(body) :]
    middle = len(body) // 2
    return (body[middle:] + body[:middle] if len(body) > 1 else body * 2) + sentence[len(body) :]
