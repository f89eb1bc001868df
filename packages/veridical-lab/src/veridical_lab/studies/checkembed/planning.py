"""Plan of the studies: requests and durations, before any run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.files.temporary import temporary_folder
from veridical.run.counting import CountingChat
from veridical.run.plans import engine_of
from veridical.run.pretending import PretendJournal
from veridical.run.writing import FIGURES, of_ledger, of_scoring, of_seconds, summed, total_of
from veridical_lab.studies.checkembed import counting, records, timing
from veridical_lab.studies.checkembed.asks import Ask
from veridical_lab.studies.checkembed.generating import Written
from veridical_lab.studies.checkembed.notes import size_of
from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.replies import ReadReply
from veridical_lab.studies.checkembed.running import MATRICES, StudyRequest

_FEW = 3  # records whose scoring is timed, to scale from
_WORDS_A_TOKEN = 0.75


def plan_studies(
    names: Sequence[str], options: CheckEmbedSetup, engine_options: EngineOptions
) -> dict[str, Any]:
    """Return calls, tokens and hours of each study.

    No request is sent; local models run a few times to be timed. Output tokens, and so hours, are
    upper bounds; hours are None if a speed is unknown.

    Returns:
        ``{"studies": [{"study", "size", "calls", "journaled", "tokens_in", "tokens_out", "cost",
            "complete", "hours", "records"}], "calls", "journaled", "tokens_in", "tokens_out",
            "cost", "complete", "hours", "tokens_per_second", "llm"}``.

    Raises:
        UsageError: as :func:`~veridical_lab.studies.checkembed.running.run_studies` does.
    """
    request = StudyRequest.of(names, options, engine_options)
    with engine_of(engine_options) as engine:
        llm = engine.llms.endpoint().name if request.asks else None
        speed = options.speed_of([] if llm is None else [llm])
        studies = [
            _without_texts(study, options, engine_options, engine)
            if study not in request.asks
            else _written(study, request, engine, speed)
            for study in request.studies
        ]
    return {
        "studies": studies,
        **summed(studies, (*FIGURES, "hours")),
        "complete": all(study["complete"] for study in studies),
        "tokens_per_second": speed,
        "llm": llm,
    }


def _without_texts(
    study: str, options: CheckEmbedSetup, engine_options: EngineOptions, engine: Engine
) -> dict[str, Any]:
    """Plan a study without texts by a language model."""
    if study == "runtime":
        part = of_seconds(timing.planned_seconds(options, engine_options))
        count = timing.REPEATS * len(timing.cells_of(options, engine_options))
    else:
        rows = counting.records_of(options)
        part = of_scoring(rows, resolve(counting.SCORER), engine, _FEW)
        count = len(rows) + len(counting.single_records(options))  # of the same images
    return {
        "study": study,
        "size": size_of(study, options),
        **total_of([part], None),
        "records": count,
    }


def _written(
    study: str, request: StudyRequest, engine: Engine, speed: float | None
) -> dict[str, Any]:
    """Plan a study with texts by a language model."""
    asks = request.asks[study]
    with temporary_folder("plan") as folder:
        journal = PretendJournal(folder / "llm", engine.llms.kept())
        try:
            llms = engine.llms
            chat = CountingChat(llms.endpoint(), llms.identity(), journal, request.options.n)
            engine.submit(chat.chat_each([a.request for a in asks])).result()
        finally:
            journal.close()
    pretended = [_pretended(a, request.options.max_tokens) for a in asks]
    scored = _scored(study, request, pretended)
    parts = [of_scoring(rows, scorers, engine, _FEW) for rows, scorers in scored]
    return {
        "study": study,
        "size": size_of(study, request.options),
        **total_of([of_ledger(chat.needed.ledger), *parts], speed),
        "records": sum(len(rows) for rows, _ in scored),
    }


def _scored(
    study: str, request: StudyRequest, written: Sequence[Written]
) -> list[tuple[list[Any], list[BoundScorer]]]:
    """Return the records of a study with their scorers."""
    parts: list[tuple[list[Any], list[BoundScorer]]] = []
    if study == "pairs":
        parts.append((records.pair_records(written), request.scorers))
    if study == "errors":
        parts.append((records.error_records(written), request.scorers))
    if study != "pairs":
        groups = records.groups_of(study, written, request.chunks)
        parts.append(([g.record() for g in groups], resolve(MATRICES)))
    return parts


def _pretended(ask: Ask, max_tokens: int) -> Written:
    """Return a unique placeholder reply of the maximum length."""
    count = max(8, int(max_tokens * _WORDS_A_TOKEN))
    parts = 2 if ask.study == "pairs" else 1
    texts = tuple(timing.text_of(count // parts, f"{ask.id}/{part}") for part in range(parts))
    return Written(ask, ReadReply(texts, "marked"))
