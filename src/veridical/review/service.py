"""Backend of the review page, without HTTP: queue, answers and labels.

Scores are never sent before the reviewer has finished the answer. Labels of other reviewers are
sent only to the adjudicator, without names.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from veridical.core.prompt_text import question_text
from veridical.errors import UsageError
from veridical.files.locks import try_lock
from veridical.review.agreement import agreement
from veridical.review.estimate import forecast
from veridical.review.events import (
    LABELS,
    Label,
    LabelLog,
    ReviewEvent,
    SourceMark,
    UnitPlace,
    now,
)
from veridical.review.labels import AnswerLabels, Labels, opinions
from veridical.review.queue import Queue, counts, rate, undecided
from veridical.text.sentences import split_sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.core.records import Record
    from veridical.core.scores import Result
    from veridical.review.items import Items
    from veridical.review.queue import Order

#: Answers per page of the queue.
PAGE = 50
#: Maximum code points of a shown text, and maximum texts of a kind.
LONGEST, MOST = 200_000, 100
_SNIPPET = 160
#: Name of the adjudicator, if there are several reviewers.
ADJUDICATOR = "adjudicator"


class SubmittedLabel(BaseModel):
    """Label as the page sends it.

    Attributes:
        unit: its position in the list of the answer's units, or span: ``[start, end]`` of a missed
            statement.
    """

    model_config = ConfigDict(extra="forbid")
    row: int = Field(ge=0, le=2**62)
    unit: int | None = Field(default=None, ge=0)
    span: tuple[int, int] | None = None
    label: Label | None
    evidence: tuple[tuple[str, int, int, int], ...] = Field(default=(), max_length=100)
    seconds: float | None = Field(default=None, ge=0, le=1e7, allow_inf_nan=False)


class ReviewService:
    """Run under review.

    Args:
        people: reviewers; with several, an adjudicator is added.
        budget: answers after which the estimate is complete; None for no limit.
        width: of the interval, at which it is complete earlier.
        show: show scores from the start; labels are then not blind.

    Raises:
        UsageError: another process has the labels open, or they are unreadable.
    """

    def __init__(
        self,
        items: Items,
        people: tuple[str, ...],
        *,
        order: Order = "mixed",
        double: float = 0.0,
        threshold: float = 0.5,
        budget: int | None = None,
        width: float | None = None,
        show: bool = False,
    ) -> None:
        folder = items.results.path
        lock = try_lock(folder / "labels.lock")
        if lock is None:
            raise UsageError(f"{folder}: its labels are open in another process")
        self.items, self.people, self.show = items, people, show
        self.budget, self.width = budget, width
        self._lock = lock
        try:
            self._log = LabelLog(folder / LABELS)
        except BaseException:
            os.close(lock)
            raise
        self.labels = Labels.from_events(self._log.events)
        try:
            for row, digests in self.labels.digests.items():
                items.check_digest(row, digests)
        except BaseException:
            self.close()
            raise
        self.queue = Queue(
            items, self.labels, people, order=order, double=double, threshold=threshold
        )
        self._members: dict[str, dict[str, NDArray[np.bool_]]] = {}
        self._guard = threading.RLock()

    def close(self) -> None:
        self._log.close()
        os.close(self._lock)

    def add(self, *events: ReviewEvent) -> None:
        """Add events; they are on disk when this returns."""
        with self._guard:
            self._log.append(*events)
            for event in events:
                self.labels.take(event)

    def visitors(self) -> tuple[str, ...]:
        """Return the permitted visitors: the reviewers, and with several an adjudicator."""
        return self.people if len(self.people) < 2 else (*self.people, ADJUDICATOR)

    def adjudicates(self, who: str) -> bool:
        """Return True if this visitor resolves disagreements."""
        return who == ADJUDICATOR or len(self.people) < 2

    # what the page shows

    def session(self, who: str) -> dict[str, Any]:
        """Return the visitor's role and the progress of the work."""
        with self._guard:
            return {
                "who": who,
                "labels": who in self.people,
                "adjudicates": self.adjudicates(who),
                "blind": not self.show,
                "order": self.queue.order,
                "total": len(self.items),
                "done": len(self.labels.done_by(who)),
                "estimate": self.estimate() if self.budget is not None else None,
            }

    def page(self, who: str, number: int, only: str = "all") -> dict[str, Any]:
        """Return a page of the queue, in input order, without scores.

        Args:
            only: all, open or done.
        """
        with self._guard:
            total = len(self.items)
            if only == "all":
                places: list[int] | range = range(total)
            else:
                mine = set(self.labels.done_by(who))
                wanted = only == "done"
                places = [p for p in range(total) if (self.items.rows[p] in mine) == wanted]
            pages = max(1, -(-len(places) // PAGE))
            number = min(max(number, 0), pages - 1)
            shown = [self._line(who, p) for p in places[number * PAGE : (number + 1) * PAGE]]
            return {"page": number, "pages": pages, "count": len(places), "answers": shown}

    def _line(self, who: str, place: int) -> dict[str, Any]:
        record, _ = self.items.get(place)
        row = self.items.rows[place]
        said = self.labels.of.get(row, {}).get(who)
        state = "open" if said is None else "done" if said.done is not None else "begun"
        return {
            "row": row,
            "id": _short(str(row if record.id is None else record.id)),
            "question": _short(question_text(record.prompt) or ""),
            "answer": _short(record.response),
            "state": state,
        }

    def next(self, who: str, after: int | None = None) -> dict[str, Any] | None:
        """Return the next answer for a reviewer; None if none is left or the estimate is
        complete.
        """
        with self._guard:
            if who not in self.people or self.is_done():
                return None
            place = None if after is None else self.items.place(after)
            found = self.queue.next(who, after=place)
            if found is None and place is not None:
                found = self.queue.next(who)
            return None if found is None else self.answer(who, self.items.rows[found[0]])

    def answer(self, who: str, row: int) -> dict[str, Any] | None:
        """Return an answer with its sources, its units and the reviewer's labels.

        None if the row does not exist. Scores are included once the reviewer has finished it.
        """
        place = self.items.place(row)
        if place is None:
            return None
        record, result = self.items.get(place)
        with self._guard:
            said = self.labels.of.get(row, {}).get(who, AnswerLabels())
            asked = self.items.asked(record, result)
            known = {a.unit.key for a in asked}
            units = [
                {**_plain(a.unit), "deciding": _where(a.deciding), **_said(said, a.unit)}
                for a in asked
            ]
            units += [
                {**_plain(e.unit), "deciding": None, **_said(said, e.unit)}
                for key, e in sorted(said.units.items(), key=lambda pair: pair[0][1:3])
                if key not in known and e.unit is not None
            ]
            done = said.done is not None
            return {
                "row": row,
                "id": _short(str(row if record.id is None else record.id)),
                "question": (question_text(record.prompt) or "")[:LONGEST],
                "response": record.response[:LONGEST],
                "cut": len(record.response) > LONGEST,
                "sources": _sources(record),
                "units": units,
                "asked": len(asked),
                "done": done,
                "comment": said.comment,
                "double": self.queue.is_double(place),
                "reveal": _reveal(result) if done or self.show else None,
            }

    def estimate(self) -> dict[str, Any]:
        """Return the estimated rate of the run and of each group, and the effect of more labels."""
        chances = self.queue.chances
        with self._guard:
            whole = rate(self.items, self.labels, chances)
            drawn, wrong = counts(self.items, self.labels, chances)
            groups = {
                field: {
                    name: rate(self.items, self.labels, chances, which).as_dict()
                    for name, which in self._groups(field).items()
                }
                for field, values in self.items.groups.items()
                if any(values)
            }
            return {
                **whole.as_dict(),
                "undecided": undecided(self.items, self.labels, chances),
                "budget": self.budget,
                "width": self.width,
                "done": self.is_done(),
                "groups": groups,
                "more": [
                    {"labels": f.more, "width": round(f.width, 4)}
                    for f in forecast(chances.sizes, drawn, wrong)
                ],
            }

    def _groups(self, field: str) -> dict[str, NDArray[np.bool_]]:
        """Return the most frequent values of a field, each with a mask (n,) of its answers."""
        if field not in self._members:
            values = self.items.groups[field]
            self._members[field] = {
                name: np.fromiter((value == name for value in values), bool, len(values))
                for name in _largest(values)
            }
        return self._members[field]

    def is_done(self) -> bool:
        """Return True if the estimate has its labels, or its interval is narrow enough."""
        if self.budget is None:
            return False
        whole = rate(self.items, self.labels, self.queue.chances)
        if whole.n >= min(self.budget, len(self.items)):
            return True
        return self.width is not None and whole.n > 0 and whole.width <= self.width

    def agreement(self) -> dict[str, Any]:
        """Return the agreement of reviewers, and their disagreements without names."""
        with self._guard:
            found = agreement(self.labels)
            open_units = []
            for shared in found.disagreements[:500]:
                # in a different order for each unit, so that no column identifies a reviewer
                name = f"{shared.row} {shared.unit.key}"
                labels = sorted(
                    shared.labels.items(),
                    key=lambda pair: hashlib.blake2b(f"{name} {pair[0]}".encode()).digest(),
                )
                open_units.append(
                    {
                        "row": shared.row,
                        "unit": _plain(shared.unit),
                        "labels": [label for _, label in labels],
                    }
                )
            return {**found.as_dict(), "open": open_units}

    # what people say

    def label(self, who: str, given: SubmittedLabel) -> dict[str, Any]:
        """Add a label.

        Raises:
            UsageError: the answer or unit does not exist, or is reserved for another reviewer.
        """
        self._need_annotator(who)
        place, record, result = self._answer(given.row)
        asked = self.items.asked(record, result)
        missed = given.span is not None
        if given.span is not None:
            start, end = given.span
            if not 0 <= start < end <= len(record.response):
                raise UsageError(f"span: [{start}, {end}] is not within the answer")
            unit = UnitPlace(
                level="span", start=start, end=end, text=record.response[start:end][:100_000]
            )
        elif given.unit is not None and given.unit < len(asked):
            unit = asked[given.unit].unit
        else:
            raise UsageError("unit: the answer has no unit with this number")
        evidence = tuple(_evidence(record, *item) for item in given.evidence)
        with self._guard:
            said = self.labels.of.get(given.row, {}).get(who, AnswerLabels())
            if said.done is None and not self.queue.lease(place, who):
                raise UsageError(
                    "the answer is reserved for another reviewer; continue with the next one"
                )
            self.add(
                ReviewEvent(
                    event="label",
                    at=now(),
                    who=who,
                    row=given.row,
                    record=self.items.digests[place],
                    unit=unit,
                    label=given.label,
                    missed=missed,
                    evidence=evidence,
                    seconds=given.seconds,
                    blind=said.done is None and not self.show,
                    draw=self.queue.draw_of(place),
                )
            )
        found = self.answer(who, given.row)
        assert found is not None
        return found

    def done(self, who: str, row: int, seconds: float | None = None) -> dict[str, Any]:
        """Finish an answer for a reviewer; its scores are shown from then on.

        Raises:
            UsageError: a unit has no label yet, or the answer does not exist.
        """
        self._need_annotator(who)
        place, record, result = self._answer(row)
        with self._guard:
            said = self.labels.of.get(row, {}).get(who, AnswerLabels())
            asked = self.items.asked(record, result)
            missing = sum(a.unit.key not in said.units for a in asked)
            if missing:
                raise UsageError(
                    f"{missing} of {len(asked)} statements have no label; label them first"
                )
            if said.done is None:
                self.add(
                    ReviewEvent(
                        event="done",
                        at=now(),
                        who=who,
                        row=row,
                        record=self.items.digests[place],
                        seconds=seconds,
                        blind=not self.show,
                        draw=self.queue.draw_of(place),
                    )
                )
        found = self.answer(who, row)
        assert found is not None
        return found

    def comment(self, who: str, row: int, text: str) -> None:
        """Store a comment on an answer.

        Raises:
            UsageError: the answer does not exist.
        """
        self._need_annotator(who)
        place, _, _ = self._answer(row)
        self.add(
            ReviewEvent(
                event="comment",
                at=now(),
                who=who,
                row=row,
                record=self.items.digests[place],
                comment=text,
            )
        )

    def adjudicate(self, who: str, row: int, key: Mapping[str, Any], label: Label | None) -> None:
        """Decide the label of a unit.

        Args:
            key: the unit's ``level``, ``start``, ``end``, ``text`` and ``again``.

        Raises:
            UsageError: the visitor is not the adjudicator, or the unit has no label.
        """
        if not self.adjudicates(who):
            raise UsageError("only the adjudicator can resolve disagreements")
        place, _, _ = self._answer(row)
        with self._guard:
            units = opinions(self.labels.of.get(row, {}))
            wanted = tuple(key.get(part) for part in ("level", "start", "end", "text"))
            wanted += (key.get("again", 0),)
            events = next((events for k, events in units.items() if k == wanted), None)
            if events is None:
                raise UsageError("no reviewer has labelled this unit")
            self.add(
                ReviewEvent(
                    event="adjudicated",
                    at=now(),
                    who=who,
                    row=row,
                    record=self.items.digests[place],
                    unit=next(iter(events.values())).unit,
                    label=label,
                )
            )

    def _answer(self, row: int) -> tuple[int, Record, Result]:
        place = self.items.place(row)
        if place is None:
            raise UsageError(f"row: the run has no row {row}")
        return place, *self.items.get(place)

    def _need_annotator(self, who: str) -> None:
        if who not in self.people:
            raise UsageError("the adjudicator cannot label answers; open the link of a reviewer")


def people_of(text: str | None) -> tuple[str, ...]:
    """Parse a comma-separated list of names; ``reviewer`` if it is empty.

    Raises:
        UsageError: a name is empty, too long, duplicated, or that of the adjudicator.
    """
    if text is None:
        return ("reviewer",)
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not name or len(name) > 80 or not name.isprintable():
            raise UsageError("--annotators must be a list of names, such as --annotators ann,ben")
        if name == ADJUDICATOR:
            raise UsageError(f"--annotators: the name {ADJUDICATOR} is reserved; choose another")
    if len(set(names)) < len(names):
        raise UsageError("--annotators: duplicate name")
    return names


def _short(text: str) -> str:
    return " ".join(text[: 4 * _SNIPPET].split())[:_SNIPPET]


def _plain(unit: UnitPlace | None) -> dict[str, Any]:
    assert unit is not None
    return unit.model_dump(exclude_none=True)


def _where(place: SourceMark | None) -> list[Any] | None:
    return None if place is None else [place.kind, place.index, place.start, place.end]


def _said(said: AnswerLabels, unit: UnitPlace | None) -> dict[str, Any]:
    event = None if unit is None else said.units.get(unit.key)
    if event is None:
        return {"label": None, "missed": False, "evidence": []}
    return {
        "label": event.label,
        "missed": event.missed,
        "evidence": [_where(place) for place in event.evidence],
    }


def _texts(record: Record) -> list[tuple[str, int, str | int | None, str]]:
    """Return kind, index, id and text of the sources of an answer."""
    return [
        *(("context", i, c.id, c.text) for i, c in enumerate(record.contexts)),
        *(("reference", i, None, text) for i, text in enumerate(record.reference)),
        *(("sample", i, None, s.text) for i, s in enumerate(record.samples) if s.text),
    ]


def _sources(record: Record) -> list[dict[str, Any]]:
    out = []
    for kind, index, name, text in _texts(record)[:MOST]:
        shown = text[:LONGEST]
        out.append(
            {
                "kind": kind,
                "index": index,
                "id": None if name is None else _short(str(name)),
                "text": shown,
                "cut": len(text) > LONGEST,
                "sentences": [[s.start, s.end] for s in split_sentences(shown)],
            }
        )
    return out


def _evidence(record: Record, kind: str, index: int, start: int, end: int) -> SourceMark:
    text = next((t for k, i, _, t in _texts(record) if (k, i) == (kind, index)), None)
    if text is None or not 0 <= start < end <= len(text):
        raise UsageError("evidence: not a part of a source")
    shown: Any = kind
    return SourceMark(kind=shown, index=index, start=start, end=end, text=text[start:end][:100_000])


def _reveal(result: Result) -> dict[str, Any]:
    """Return the run's scores of an answer, and of its sentences and claims."""
    units = []
    for name, score in result.scores.items():
        for u in score.units:
            if u.risk is not None and u.level in ("sentence", "claim", "span"):
                units.append([name, u.start, u.end, round(u.risk, 4), u.label, u.kind])
    return {
        "verdict": result.verdict,
        "risk": None if result.risk is None else round(result.risk, 4),
        "by": result.by,
        "decision": result.decision,
        "scores": [
            [name, None if s.risk is None else round(s.risk, 4), s.status]
            for name, s in result.scores.items()
        ],
        "units": units[:500],
    }


def _largest(values: list[str]) -> list[str]:
    """Return the most frequent values of a field, 20 at most."""
    found: dict[str, int] = {}
    for value in values:
        if value:
            found[value] = found.get(value, 0) + 1
    return sorted(found, key=lambda name: (-found[name], name))[:20]
