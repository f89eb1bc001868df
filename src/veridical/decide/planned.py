"""Records that a dry run scores for the steps after scoring.

The repaired and selected answers are known in advance if scorers without a model determine them.
Otherwise the plan includes as many as possible, with as much text as possible, so that counts are
upper bounds.
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
    """Return True if a dry run yields the scorer's true scores: it uses no model."""
    costs = set(bound.costs)
    if bound.values.get("proxy") is None:  # the record's own token probabilities
        costs -= {"probabilities"}
    return costs <= {"free"}


class PlannedRepairs:
    """The answers that :class:`~veridical.decide.repair.Repairing` would score again, or similar
    ones: an :class:`~veridical.engine.run.Input`.

    Args:
        results: results of the dry run.
        scorers: its scorers.
        asking: counter of the calls that would rewrite sentences.
        true: True if scores of scorers without a model are those of the run. They are not if
            answers do not exist yet, or a cascade selects its scorers.

    Attributes:
        guessed: number of answers read so far whose repair is uncertain.
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
        """Yield repaired answers, under their rows in the run."""
        pairs = self._answers.pairs()
        while some := list(islice(pairs, _AT_ONCE)):
            requests: list[ChatRequest] = []
            repaired = [self._one(record, result, requests) for record, result in some]
            if requests and self._asking is not None:
                self._asking(requests)
            yield from filter(None, repaired)

    def fraction(self) -> float | None:
        """Return the share of the run's input read in the latest pass."""
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
    """Return the longest answer as the selected one."""
    texts = {None: record.response} | {
        i: record.samples[i].text or "" for i in samples if i is not None
    }
    index = max(texts, key=lambda i: len(texts[i]))
    return chosen_answer(record, index, line if index is None else samples[index])


def _anew(sentence: str) -> str:
    """Return a placeholder for a rewritten sentence, of the same length.

    Its words start in the middle; its characters if it has a single word.
    """
    body = sentence.rstrip(".!?\u2026\u3002\uff01\uff1f ")
    words: Any = body.split()
    if len(words) > 1:
        middle = len(words) // 2
        return " ".join(words[middle:] + words[:middle]) + sentence[len(body) :]
    middle = len(body) // 2
    return (body[middle:] + body[:middle] if len(body) > 1 else body * 2) + sentence[len(body) :]
