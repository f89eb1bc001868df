"""Best-of-k selection among a response and its samples.

Each answer in turn becomes the response, and the others its samples (leave one out): all are judged
by the same number of answers. The same scorers score them, and the lowest risk wins. With a scorer
of agreement this is the answer of minimum Bayes risk (Kumar & Byrne 2004). Alternatively, the
answer with the most probable meaning is selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.identity import Identity
from veridical.core.records import Record, Sample
from veridical.core.scores import Result, ResultSummary, Selected
from veridical.decide.policy import DIGITS
from veridical.decide.steps import Asking, Outcome, folder_of, with_answer
from veridical.errors import UsageError
from veridical.files.rundir import RunFiles

if TYPE_CHECKING:
    from veridical.engine.results import RunResults

Select = Literal["best", "cluster"]
#: The scorer used by ``cluster``.
CLUSTERS = "cluster_probability"


Choose = Callable[[Record, bytes, Mapping[int | None, bytes]], Outcome]

_NONE: tuple[int, dict[int | None, bytes]] = (-1, {})


@dataclass(frozen=True)
class Best:
    """The step of ``--select``.

    Attributes:
        by: ``best`` selects the least risky answer; ``cluster`` the one with the most probable
            meaning, by the response's ``cluster_probability``.
    """

    by: Select = "best"

    key = "selected"
    doing = "judging the samples"
    asks = False

    def identity(self) -> Mapping[str, Any]:
        """Return the kind of selection."""
        return {"select": self.by}

    def source(self, results: RunResults, folder: Path, asking: Asking | None) -> Candidates:
        """Return the samples of all records, each as a response."""
        return Candidates(results)

    def outcomes(self, results: RunResults, folder: Path) -> Iterator[Outcome]:
        """Yield the selection for each record."""
        for record, line, of_samples in _judged(results, folder):
            yield self._choose(record, line, of_samples)

    def answers(self, results: RunResults, choose: Choose | None = None) -> Chosen:
        """Return the selected answers, for a step that works on them."""
        return Chosen(results, folder_of(results.path, self), choose or self._choose)

    @property
    def _choose(self) -> Choose:
        return least_risky if self.by == "best" else likeliest


class Chosen:
    """The selected answer of each record, an implementation of
    :class:`~veridical.decide.steps.Answers`. Its samples are the other answers, as when it was
    judged; without any score it is the response."""

    def __init__(self, results: RunResults, folder: Path, choose: Choose) -> None:
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
        for record, response_line, lines in _judged(self._results, self._folder):
            _, selected, line = self._choose(record, response_line, lines)
            assert isinstance(selected, Selected)
            if selected.kind == "sample":
                yield _candidate(record, selected.index or 0, record.row), line or response_line
            else:
                yield record, response_line


class Candidates:
    """The samples of a run's records, as records: an :class:`~veridical.engine.run.Input`.

    A text that an earlier answer has is left out, because its score would be the same.
    """

    read = 64

    def __init__(self, results: RunResults) -> None:
        self._results = results

    def rows(self, start: int = 0) -> Iterator[Record]:
        """Yield samples in the order of the run; rows count the samples, and ``id`` is
        ``row:index``."""
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
        """Return the share of the run's input read in the latest pass."""
        return self._results.fraction()


def _distinct(record: Record) -> dict[str, int | None]:
    """Return the distinct texts of the answers, with the index of the first such sample; None for
    the response."""
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
    results: RunResults, folder: Path
) -> Iterator[tuple[Record, bytes, dict[int | None, bytes]]]:
    """Yield each record, its result line, and those of its scored samples."""
    scored = _by_record(folder)
    row, lines = next(scored, _NONE)
    for record, line in results.records():
        if line is None:
            continue
        while 0 <= row < record.row:
            row, lines = next(scored, _NONE)
        yield record, line, lines if row == record.row else {}


def _by_record(folder: Path) -> Iterator[tuple[int, dict[int | None, bytes]]]:
    """Yield rows of the run with the result lines of their scored samples by index."""

    def place(numbered: tuple[int, bytes]) -> tuple[int, int | None]:
        name = str(ResultSummary.model_validate_json(numbered[1]).id)
        row, _, index = name.partition(":")
        try:
            return int(row), int(index)
        except ValueError:
            raise UsageError(f"{folder}: not a result of a sample: {name!r}") from None

    placed = ((*place(numbered), numbered[1]) for numbered in RunFiles(folder).lines())
    for row, group in itertools.groupby(placed, key=lambda p: p[0]):
        yield row, {index: line for _, index, line in group}


def least_risky(
    record: Record, response_line: bytes, samples: Mapping[int | None, bytes]
) -> Outcome:
    """Select the answer with the lowest risk, by the result lines of the response and its
    samples."""
    lines: dict[int | None, bytes] = {None: response_line, **samples}
    heads = _heads(lines)
    risks = _risks(record, heads)
    scored = [(round(r, DIGITS), place) for place, r in enumerate(risks) if r is not None]
    if not scored:
        return _nobody(record, risks)
    _, place = min(scored)
    index = None if place == 0 else place - 1
    head = heads[index]
    return chosen_answer(record, index, lines[index], head.risk, head.by, risks)


def likeliest(record: Record, response_line: bytes, samples: Mapping[int | None, bytes]) -> Outcome:
    """Select the answer with the most probable meaning, by the response's score of
    ``cluster_probability``; no answer without that score."""
    lines: dict[int | None, bytes] = {None: response_line, **samples}
    heads = _heads(lines)
    risks = _risks(record, heads)
    scores = Result.model_validate_json(response_line).scores.items()
    raw = next((s.raw for key, s in scores if Identity.read(key).name == CLUSTERS), None)
    place = raw.get("best") if isinstance(raw, dict) else None
    if place is None:
        return _nobody(record, risks)
    index = None if place == 0 else place - 1
    # an earlier answer with the same text was scored there
    scored = None if index is None else _distinct(record)[record.samples[index].text or ""]
    head = heads[scored]
    return chosen_answer(record, index, lines[scored], head.risk, head.by, risks)


def _heads(lines: Mapping[int | None, bytes]) -> dict[int | None, ResultSummary]:
    return {index: ResultSummary.model_validate_json(line) for index, line in lines.items()}


def _risks(record: Record, heads: Mapping[int | None, ResultSummary]) -> tuple[float | None, ...]:
    """Return the risks of the response and the samples; None if not scored."""
    first = _distinct(record)
    risks: list[float | None] = [heads[None].risk]
    for sample in record.samples:
        head_of = None if sample.text is None else heads.get(first[sample.text])
        risks.append(None if head_of is None else head_of.risk)
    return tuple(risks)


def _nobody(record: Record, risks: tuple[float | None, ...]) -> Outcome:
    nobody = Selected(kind=None, index=None, text=None, risk=None, by=None, risks=risks)
    return Outcome(record.row, nobody, None)


def chosen_answer(
    record: Record,
    index: int | None,
    line: bytes,
    risk: float | None = None,
    by: str | None = None,
    risks: tuple[float | None, ...] = (),
) -> Outcome:
    """Return the outcome that selects the sample at ``index`` (None: the response), with its result
    line."""
    kind: Literal["response", "sample"] = "response" if index is None else "sample"
    text = record.response if index is None else record.samples[index].text
    selected = Selected(kind=kind, index=index or 0, text=text, risk=risk, by=by, risks=risks)
    return Outcome(record.row, selected, line)
