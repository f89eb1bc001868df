"""Best of k: of a response and its samples, the one that the others speak against least.

Each answer takes the place of the response in turn, and the others that of its samples, so that
all are judged by as many answers (leave one out; with a scorer of agreement this is the answer of
minimum Bayes risk, Kumar & Byrne 2004). The same scorers score them, and the lowest risk wins.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.decide.policy import DIGITS
from veridical.decide.steps import Asking, Outcome, folder_of, with_answer
from veridical.errors import UsageError
from veridical.evidence.rundir import RunFiles
from veridical.records import Record, Sample
from veridical.scores import Headline, Result, Selected

if TYPE_CHECKING:
    from veridical.results import Results

Select = Literal["best"]


Choose = Callable[[Record, bytes, Mapping[int | None, bytes]], Outcome]

_NONE: tuple[int, dict[int | None, bytes]] = (-1, {})


class Best:
    """The step of ``--select best``."""

    key = "selected"
    doing = "judging the samples"
    asks = False

    def identity(self) -> Mapping[str, Any]:
        """Nothing but the run counts."""
        return {"select": "best"}

    def source(self, results: Results, folder: Path, asking: Asking | None) -> Candidates:
        """The samples of all records, each as a response."""
        return Candidates(results)

    def outcomes(self, results: Results, folder: Path) -> Iterator[Outcome]:
        """The choice for each record."""
        for record, own, lines in _judged(results, folder):
            yield least_risky(record, own, lines)

    def answers(self, results: Results, choose: Choose | None = None) -> Chosen:
        """The selected answers, for a step that works on them."""
        return Chosen(results, folder_of(results.path, self), choose or least_risky)


class Chosen:
    """The selected answer of each record: :class:`~veridical.decide.steps.Answers`. It has the
    others as its samples, as it had when it was judged. Where nothing was scored it is the
    response."""

    def __init__(self, results: Results, folder: Path, choose: Choose) -> None:
        self._results = results
        self._folder = folder
        self._choose = choose

    def pairs(self) -> Iterator[tuple[Record, Result]]:
        for record, line in self._answers():
            yield record, Result.model_validate_json(line)

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        return ((record.row, line) for record, line in self._answers())

    def fraction(self) -> float | None:
        return self._results.fraction()

    def _answers(self) -> Iterator[tuple[Record, bytes]]:
        for record, own, lines in _judged(self._results, self._folder):
            _, told, line = self._choose(record, own, lines)
            assert isinstance(told, Selected)
            if told.kind == "sample":
                yield _candidate(record, told.index or 0, record.row), line or own
            else:
                yield record, own


class Candidates:
    """The samples of a run's records, as records: an :class:`~veridical.run.Input`.

    A text that an earlier answer has is left out: it would score the same.
    """

    read = 64

    def __init__(self, results: Results) -> None:
        self._results = results

    def rows(self, start: int = 0) -> Iterator[Record]:
        """In the order of the run; rows count the samples, and ``id`` is ``row:index``."""
        ordinal = 0
        for record, line in self._results.records():
            if line is None:
                continue
            for index in _distinct(record).values():
                if index is None:
                    continue
                if ordinal >= start:
                    yield _candidate(record, index, ordinal)
                ordinal += 1

    def fraction(self) -> float | None:
        """How much of the run's input the latest reading has passed."""
        return self._results.fraction()


def _distinct(record: Record) -> dict[str, int | None]:
    """The texts of the answers, each with the first sample that has it; None for the response."""
    texts: dict[str, int | None] = {record.response: None}
    for i, sample in enumerate(record.samples):
        if sample.text is not None:
            texts.setdefault(sample.text, i)
    return texts


def _candidate(record: Record, index: int, row: int) -> Record:
    sample = record.samples[index]
    others = record.samples[:index] + record.samples[index + 1 :]
    first = Sample(text=record.response, logprobs=record.logprobs)
    return with_answer(
        record,
        sample.text or "",
        row=row,
        id=f"{record.row}:{index}",
        samples=(first, *others),
        logprobs=sample.logprobs,
    )


def _judged(
    results: Results, folder: Path
) -> Iterator[tuple[Record, bytes, dict[int | None, bytes]]]:
    """Each record, its result line, and those of its samples that were scored."""
    scored = _by_record(folder)
    row, lines = next(scored, _NONE)
    for record, line in results.records():
        if line is None:
            continue
        while 0 <= row < record.row:
            row, lines = next(scored, _NONE)
        yield record, line, lines if row == record.row else {}


def _by_record(folder: Path) -> Iterator[tuple[int, dict[int | None, bytes]]]:
    """Row of the run, and the result line of each of its samples that was scored."""

    def place(found: tuple[int, bytes]) -> tuple[int, int | None]:
        told = str(Headline.model_validate_json(found[1]).id)
        row, _, index = told.partition(":")
        try:
            return int(row), int(index)
        except ValueError:
            raise UsageError(f"{folder}: not a result of a sample: {told!r}") from None

    placed = ((*place(found), found[1]) for found in RunFiles(folder).lines())
    for row, group in itertools.groupby(placed, key=lambda p: p[0]):
        yield row, {index: line for _, index, line in group}


def least_risky(record: Record, own: bytes, samples: Mapping[int | None, bytes]) -> Outcome:
    """The choice, by the result line of the response and those of its samples by their index."""
    lines: dict[int | None, bytes] = {None: own, **samples}
    heads = {index: Headline.model_validate_json(line) for index, line in lines.items()}
    first = _distinct(record)
    risks: list[float | None] = [heads[None].risk]
    for sample in record.samples:
        found = None if sample.text is None else heads.get(first[sample.text])
        risks.append(None if found is None else found.risk)
    known = [(round(r, DIGITS), place) for place, r in enumerate(risks) if r is not None]
    if not known:
        nobody = Selected(kind=None, index=None, text=None, risk=None, by=None, risks=tuple(risks))
        return Outcome(record.row, nobody, None)
    _, place = min(known)
    index = None if place == 0 else place - 1
    head = heads[index]
    text = record.response if index is None else record.samples[index].text
    told = Selected(
        kind="response" if index is None else "sample",
        index=index or 0,
        text=text,
        risk=head.risk,
        by=head.by,
        risks=tuple(risks),
    )
    return Outcome(record.row, told, lines[index])
