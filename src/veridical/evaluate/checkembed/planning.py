"""What the studies would ask and take, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from veridical.api import plan
from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.evaluate.checkembed import counting, records, timing
from veridical.evaluate.checkembed.asks import Ask
from veridical.evaluate.checkembed.generating import Written
from veridical.evaluate.checkembed.notes import size_of
from veridical.evaluate.checkembed.options import StudyOptions
from veridical.evaluate.checkembed.replies import Read
from veridical.evaluate.checkembed.running import MATRICES, Request
from veridical.files.temporary import temporary_folder
from veridical.planning.counting import CountingChat
from veridical.planning.pretending import PretendJournal

#: Tokens a second that models of ``veridical models get`` write for these studies, several replies
#: side by side, on two cores that other work shares: on idle ones it is two or three times that.
SPEEDS = {"local:smollm2": 20.0, "local:qwen-0.5b": 6.0, "local:qwen-1.5b": 3.0}
_FEW = 3  # records whose scoring is timed, to scale from
_WORDS_A_TOKEN = 0.75


def plan_studies(
    names: Sequence[str], options: StudyOptions, engine_options: EngineOptions
) -> dict[str, Any]:
    """Calls, tokens and hours of each study. Nothing is asked; local models run a few times to be
    timed. Tokens out, and so hours, are at most; hours are None where a speed is not known.

    Returns:
        ``{"studies": [{"study", "size", "calls", "journaled", "tokens_in", "tokens_out", "cost",
        "records", "hours"}], "calls", "tokens_in", "tokens_out", "cost", "hours",
        "tokens_per_second", "llm"}``.

    Raises:
        UsageError: as :func:`~veridical.evaluate.checkembed.running.run_studies` does.
    """
    request = Request.of(names, options, engine_options)
    store = engine_options.store_path
    there = store if store is not None and store.is_dir() else None
    with Engine(replace(engine_options, store=there)) as engine:
        endpoint = engine.llms.endpoint() if request.asks else None
        llm = None if endpoint is None else endpoint.name
        speed = options.tokens_per_second or SPEEDS.get(llm or "")
        studies = [
            _without_texts(study, options, engine_options, engine)
            if study not in request.asks
            else _written(study, request, engine, speed)
            for study in request.studies
        ]
    totals = {
        name: _sum([s[name] for s in studies])
        for name in ("calls", "tokens_in", "tokens_out", "cost", "hours")
    }
    return {"studies": studies, **totals, "tokens_per_second": speed, "llm": llm}


def _without_texts(
    study: str, options: StudyOptions, engine_options: EngineOptions, engine: Engine
) -> dict[str, Any]:
    """Of a study for which no language model writes."""
    if study == "runtime":
        seconds = timing.planned_seconds(options, engine_options)
        count = timing.REPEATS * len(timing.cells_of(options, engine_options))
    else:
        rows = counting.records_of(options)
        seconds, _ = _scoring(rows, resolve(counting.SCORER), engine)
        count = len(rows)
    return {
        "study": study,
        "size": size_of(study, options),
        "calls": 0,
        "journaled": 0,
        "tokens_in": 0,
        "tokens_out": 0,
        "cost": 0.0,
        "records": count,
        "hours": None if seconds is None else seconds / 3600,
    }


def _written(study: str, request: Request, engine: Engine, speed: float | None) -> dict[str, Any]:
    """Of a study that has texts written."""
    asks = request.asks[study]
    with temporary_folder("plan") as folder:
        journal = PretendJournal(folder / "llm", engine.llms.kept())
        try:
            llms = engine.llms
            chat = CountingChat(llms.endpoint(), llms.identity(), journal, request.options.n)
            engine.submit(chat.chat_each([a.request for a in asks])).result()
            ledger = chat.needed.ledger
        finally:
            journal.close()
    pretended = [_pretended(a, request.options.max_tokens) for a in asks]
    count, seconds, calls = 0, 0.0, 0
    known = True
    for rows, scorers in _scored(study, request, pretended):
        part, judged = _scoring(rows, scorers, engine)
        count += len(rows)
        calls += judged
        known = known and part is not None
        seconds += part or 0.0
    writing = None if speed is None else ledger.tokens_out / speed
    hours = None if writing is None or not known else (writing + seconds) / 3600
    return {
        "study": study,
        "size": size_of(study, request.options),
        "calls": ledger.calls + calls,
        "journaled": ledger.journaled,
        "tokens_in": ledger.tokens_in,
        "tokens_out": ledger.tokens_out,
        "cost": ledger.cost,
        "records": count,
        "hours": hours,
    }


def _scored(
    study: str, request: Request, written: Sequence[Written]
) -> list[tuple[list[Any], list[BoundScorer]]]:
    """The records of a study and what scores them."""
    parts: list[tuple[list[Any], list[BoundScorer]]] = []
    if study == "pairs":
        parts.append((records.pair_records(written), request.scorers))
    if study == "errors":
        parts.append((records.error_records(written), request.scorers))
    if study != "pairs":
        groups = records.groups_of(study, written, request.chunks)
        parts.append(([g.record() for g in groups], resolve(MATRICES)))
    return parts


def _scoring(
    rows: list[Any], scorers: list[BoundScorer], engine: Engine
) -> tuple[float | None, int]:
    """Seconds of scoring ``rows`` (None where unknown), and LLM calls, scaled from a few of them,
    since they are alike."""
    if not rows:
        return 0.0, 0
    few = rows[:: max(1, len(rows) // _FEW)][:_FEW]
    planned = plan(few, scorers, engine=engine)
    scale = len(rows) / len(few)
    calls = round(planned["llm"]["scoring"]["calls"] * scale)
    seconds = planned["seconds"]
    return None if seconds is None else seconds * scale, calls


def _pretended(ask: Ask, max_tokens: int) -> Written:
    """A reply of the length that there may be at most, unlike any other."""
    count = max(8, int(max_tokens * _WORDS_A_TOKEN))
    parts = 2 if ask.study == "pairs" else 1
    texts = tuple(timing.text_of(count // parts, f"{ask.id}/{part}") for part in range(parts))
    return Written(ask, Read(texts, "marked"))


def _sum(values: Sequence[Any]) -> Any:
    """The sum; None where a part of it is not known."""
    return None if any(v is None for v in values) else sum(values)
