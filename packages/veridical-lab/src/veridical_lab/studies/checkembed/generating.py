"""Generation of a study's texts, journaled and written as lines."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.messages import LlmError, Reply
from veridical.errors import UsageError, VeridicalError
from veridical.files.atomic import write_atomic
from veridical.run.display import TICK
from veridical_lab.studies.checkembed.asks import Ask
from veridical_lab.studies.checkembed.replies import ReadReply
from veridical_lab.studies.checkembed.result import Replies

if TYPE_CHECKING:
    from veridical.engine.engine import Engine

#: Progress callback: the activity, the completed share (None if unknown), and details.
Show = Callable[[str, float | None, Sequence[str]], None]


@dataclass(frozen=True)
class Written:
    """Outcome of a request: its texts, or the reason for their absence."""

    ask: Ask
    read: ReadReply
    cut: bool = False
    problem: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its texts; none where it failed or is unusable."""
        return self.read.texts


@dataclass(frozen=True)
class Texts:
    """The texts of all studies of a run, and what asking for them came to."""

    written: dict[str, list[Written]]
    ledger: dict[str, Any]

    def of(self, study: str) -> list[Written]:
        """Return the outcomes of a study's requests, in order."""
        return self.written.get(study, [])


def write_texts(
    engine: Engine,
    asks: dict[str, list[Ask]],
    folder: Path,
    run: str,
    *,
    retry: bool,
    show: Show,
) -> Texts:
    """Generate all texts; journaled replies are not requested again.

    Args:
        asks: requests by study.
        folder: gets ``texts-STUDY.jsonl``, a line per reply.
        run: name under which the calls are counted.
        retry: repeat requests whose replies were unusable.
        show: see :data:`Show`.

    Raises:
        UsageError: no reply arrived at all.
        LlmError: the budget stopped it; the same command resumes.
    """
    llms = engine.llms
    account = llms.account(run, folder, retry=retry)
    written: dict[str, list[Written]] = {}
    try:
        chat = llms.chat(account)
        for study, of_study in asks.items():
            if not of_study:
                continue
            outcomes = _asked(engine, chat.chat_each([a.request for a in of_study]), study, show)
            _raise_if_stopped(outcomes)
            written[study] = [_written(a, o) for a, o in zip(of_study, outcomes, strict=True)]
            _write(written[study], folder / f"texts-{study}.jsonl")
        ledger = account.ledger.as_dict()
    finally:
        llms.leave(account)
    return Texts(written, ledger)


def _asked(engine: Engine, coroutine: Any, study: str, show: Show) -> list[Reply | LlmError]:
    """Return the outcomes, shown as they arrive; an interrupt cancels pending calls."""
    future = engine.submit(coroutine)
    before = engine.llms.calls()[0]
    try:
        while not future.done():
            done, of = engine.llms.calls()
            share = None if of <= before else (done - before) / (of - before)
            show(f"asking for texts of {study}", share, [f"{done - before:,} replies"])
            time.sleep(TICK / 4)
        outcomes: list[Reply | LlmError] = future.result()
        return outcomes
    except (KeyboardInterrupt, CancelledError):
        future.cancel()
        wait([future], timeout=10)
        raise


def _raise_if_stopped(outcomes: Sequence[Reply | LlmError]) -> None:
    """Raise the errors that stop a study.

    Raises:
        LlmError: the budget stopped a call.
        UsageError: every call failed.
    """
    failures = [o for o in outcomes if isinstance(o, LlmError)]
    for failure in failures:
        if failure.trouble == "budget":
            raise failure
    if failures and len(failures) == len(outcomes):
        raise UsageError(f"no text was written; the last: {failures[-1]}")


def _written(ask: Ask, outcome: Reply | LlmError) -> Written:
    try:
        if isinstance(outcome, LlmError):
            raise outcome
        text = outcome.whole(cut=True)
    except VeridicalError as e:
        return Written(ask, ReadReply((), "unusable"), problem=str(e))
    return Written(ask, ask.read(text), outcome.finish_reason == "length")


def counted(study: str, written: Sequence[Written]) -> Replies:
    """Count the outcomes of a study's requests."""
    forms = Counter(w.read.form for w in written if not w.problem)
    return Replies(
        study=study,
        asked=len(written),
        marked=forms["marked"],
        whole=forms["whole"],
        unusable=forms["unusable"],
        failed=sum(bool(w.problem) for w in written),
        cut=sum(w.cut and bool(w.texts) for w in written),
        reasons=dict(Counter(w.problem for w in written if w.problem).most_common(5)),
    )


def _write(written: Sequence[Written], path: Path) -> None:
    """Write the texts, a line per reply."""
    lines = (
        json.dumps(
            {
                "id": w.ask.id,
                "study": w.ask.study,
                "kind": w.ask.kind,
                "topic": w.ask.topic,
                "level": w.ask.level,
                "draw": w.ask.draw,
                "form": "failed" if w.problem else w.read.form,
                "cut": w.cut,
                "texts": list(w.texts),
            },
            ensure_ascii=False,
        )
        for w in written
    )
    write_atomic(path, "".join(f"{line}\n" for line in lines), private=True)
