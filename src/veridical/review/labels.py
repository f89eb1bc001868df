"""State of the labels after the events of ``labels.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from veridical.review.events import ReviewEvent, UnitPlace, in_order

UnitKey = tuple[str, int, int, str, int]


@dataclass
class AnswerLabels:
    """Labels of one reviewer for one answer.

    Attributes:
        units: newest label of each labelled unit.
        blind: newest label given before scores were shown.
        done: the event that ended blind labelling; None before that.
        comment: the newest, "" without one.
    """

    units: dict[UnitKey, ReviewEvent] = field(default_factory=dict)
    blind: dict[UnitKey, ReviewEvent] = field(default_factory=dict)
    done: ReviewEvent | None = None
    comment: str = ""

    def take(self, event: ReviewEvent) -> None:
        """Apply an event that is newer than all before."""
        if event.event == "done":
            self.done = self.done or event
        elif event.event == "comment":
            self.comment = event.comment or ""
        elif event.event == "label" and event.unit is not None:
            tables = [self.units, self.blind] if event.blind else [self.units]
            for table in tables:
                if event.label is None:
                    table.pop(event.unit.key, None)
                else:
                    table[event.unit.key] = event


@dataclass
class Labels:
    """Labels of all reviewers.

    Attributes:
        of: row -> reviewer -> labels.
        decided: row -> unit -> adjudication.
        digests: row -> digests of the labelled records.
    """

    of: dict[int, dict[str, AnswerLabels]] = field(default_factory=dict)
    decided: dict[int, dict[UnitKey, ReviewEvent]] = field(default_factory=dict)
    digests: dict[int, set[str]] = field(default_factory=dict)

    @classmethod
    def from_events(cls, events: Iterable[ReviewEvent]) -> Labels:
        labels = cls()
        for event in in_order(events):
            labels.take(event)
        return labels

    def take(self, event: ReviewEvent) -> None:
        """Apply an event that is newer than all before."""
        self.digests.setdefault(event.row, set()).add(event.record)
        if event.event == "adjudicated" and event.unit is not None:
            decided = self.decided.setdefault(event.row, {})
            if event.label is None:
                decided.pop(event.unit.key, None)
            else:
                decided[event.unit.key] = event
            return
        self.of.setdefault(event.row, {}).setdefault(event.who, AnswerLabels()).take(event)

    def people(self) -> list[str]:
        """Return the names of those who labelled anything, in order."""
        return sorted({who for said in self.of.values() for who in said})

    def is_done(self, row: int) -> bool:
        """Return True if a reviewer has finished the answer."""
        return any(said.done is not None for said in self.of.get(row, {}).values())

    def orders(self, row: int) -> set[str]:
        """Return the orders by which an answer was given to those who finished it."""
        done = [said.done for said in self.of.get(row, {}).values()]
        return {event.draw.order for event in done if event is not None and event.draw is not None}

    def done_by(self, who: str) -> list[int]:
        """Return the rows that a reviewer has finished, in that order."""
        times = [
            (event.at, row)
            for row, said in self.of.items()
            if who in said and (event := said[who].done) is not None
        ]
        return [row for _, row in sorted(times)]


def opinions(
    said: Mapping[str, AnswerLabels], *, blind: bool = False
) -> dict[UnitKey, dict[str, ReviewEvent]]:
    """Return the labels of an answer by unit and reviewer, of those who finished it.

    Args:
        blind: only those given before scores were shown.
    """
    found: dict[UnitKey, dict[str, ReviewEvent]] = {}
    for who, one in said.items():
        if one.done is None:
            continue
        for key, event in (one.blind if blind else one.units).items():
            found.setdefault(key, {})[who] = event
    return found


def by_place(
    units: Mapping[UnitKey, dict[str, ReviewEvent]],
) -> list[tuple[UnitKey, dict[str, ReviewEvent]]]:
    """Sort units by offset in the answer, those of equal offsets by arrival."""
    return sorted(units.items(), key=lambda item: item[0][1:3])


@dataclass(frozen=True)
class FinalLabel:
    """Final label of a unit; ``label`` is None if reviewers disagree."""

    unit: UnitPlace
    label: str | None
    by: str  # one, agreed, majority, adjudicated, worst, disagreed
    missed: bool
    individual: Mapping[str, str]


#: From best to worst.
SEVERITY = ("not_a_claim", "supported", "says_nothing", "contradicted")


def finals(labels: Labels, row: int, *, worst: bool = False) -> list[FinalLabel]:
    """Return the final labels of an answer's units.

    By adjudication, else by the majority, else None. A unit labelled by only some reviewers, such
    as a missed one, is decided by those.

    Args:
        worst: in a disagreement, take the worst label, as SelfCheckGPT does for its two annotators
            (section 6).
    """
    out = []
    decided = labels.decided.get(row, {})
    for key, events in by_place(opinions(labels.of.get(row, {}))):
        individual = {who: str(event.label) for who, event in sorted(events.items())}
        unit = next(iter(events.values())).unit
        assert unit is not None
        counts: dict[str, int] = {}
        for label in individual.values():
            counts[label] = counts.get(label, 0) + 1
        top = max(counts.values())
        most = [label for label, n in counts.items() if n == top]
        final: str | None
        if key in decided:
            final, by = decided[key].label, "adjudicated"
        elif worst and len(counts) > 1:
            final, by = max(counts, key=SEVERITY.index), "worst"
        elif len(most) > 1:
            final, by = None, "disagreed"
        elif len(individual) == 1:
            final, by = most[0], "one"
        else:
            final, by = most[0], "agreed" if len(counts) == 1 else "majority"
        missed = any(event.missed for event in events.values())
        out.append(FinalLabel(unit, final, by, missed, individual))
    return out


Outcome = Literal["hallucinated", "right", "undecided", "no_statement"]


def outcome(units: Iterable[FinalLabel]) -> Outcome:
    """Return the outcome of an answer.

    It is hallucinated if a statement is contradicted or unsupported. Otherwise it is undecided if
    reviewers disagree on a unit, and right if all statements are supported.
    """
    labels = {unit.label for unit in units}
    if "contradicted" in labels or "says_nothing" in labels:
        return "hallucinated"
    if None in labels:
        return "undecided"
    return "right" if "supported" in labels else "no_statement"


def answer_label(units: Iterable[FinalLabel]) -> float | None:
    """Return the label of an answer, 1 hallucinated or 0 right.

    None if it is undecided or has no statement.
    """
    return {"hallucinated": 1.0, "right": 0.0}.get(outcome(units))
