"""Runtime study: seconds by number of samples, length and embedder.

Besta et al. 2025, figures 6 and 14 to 16.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from veridical.api import Job, plan
from veridical.core.records import Record, Sample
from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.files.atomic import write_atomic
from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.result import Timing

if TYPE_CHECKING:
    from veridical.run.display import Display

#: Scorers timed by default: CheckEmbed and the paper's stability baselines.
DEFAULT = "checkembed(judged=samples), bert_score(form=matrix), selfcheck_bertscore, selfcheck_nli"
REPEATS = 2  #: the least of these counts
_FILE = "timings.jsonl"
_TOKENS_A_WORD = 1.3  # approximate tokens per English word, by BERT's tokenizer
_WORDS = """
river stone lamp garden letter window bridge market winter paper silver engine captain
forest doctor ocean mirror castle village teacher music island harvest ladder thunder
quiet narrow golden heavy bright early distant simple broken gentle certain hidden local
carries follows reaches opens measures crosses covers answers builds gathers returns
shows under between across behind near within inside after before toward through above
"""


class TimingCell(NamedTuple):
    """Configuration that is timed once."""

    embedder: str
    scorer: str
    k: int
    words: int


def cells_of(
    options: CheckEmbedSetup, engine: EngineOptions
) -> list[tuple[TimingCell, BoundScorer]]:
    """Return all configurations, embedder by embedder."""
    scorers = resolve(options.scorers or DEFAULT)
    return [
        (TimingCell(embedder, bound.key, k, words), bound)
        for embedder in options.encoders or (engine.embedder,)
        for words in options.text_lengths
        for k in options.sample_counts
        for bound in scorers
    ]


def record_of(k: int, words: int, seed: int) -> Record:
    """Build an answer and ``k`` samples of ``words`` random words each.

    Sentences have 8 to 20 words. All texts differ, so none is cached.
    """
    texts = [text_of(words, f"{seed}/{k}/{words}/{i}") for i in range(k + 1)]
    samples = tuple(Sample(text=t) for t in texts[1:])
    return Record(id=f"{k}x{words}", response=texts[0], samples=samples)


def time_all(
    options: CheckEmbedSetup, engine: EngineOptions, folder: Path, display: Display
) -> list[Timing]:
    """Time every configuration, except those already in ``folder``."""
    cells = cells_of(options, engine)
    known = {_cell(t): t for t in _stored(folder / _FILE)}
    for embedder in dict.fromkeys(cell.embedder for cell, _ in cells):
        todo = [(c, b) for c, b in cells if c.embedder == embedder and c not in known]
        if not todo:
            continue
        with Engine(_bare(engine, embedder)) as warm:
            for bound in {b.key: b for _, b in todo}.values():
                _seconds(record_of(2, 20, -1), bound, warm)  # loads the model, warms it up
            for cell, bound in todo:
                share = len(known) / len(cells)
                display.update("timing", share, [f"{cell.scorer} k {cell.k}, {cell.words} words"])
                known[cell] = _timed(cell, bound, warm, options.seed)
                lines = (timing.model_dump_json() + "\n" for timing in known.values())
                write_atomic(folder / _FILE, "".join(lines))
    return [known[cell] for cell, _ in cells]


def planned_seconds(options: CheckEmbedSetup, engine: EngineOptions) -> float | None:
    """Estimate the duration of :func:`time_all` from a few timed forwards of each model.

    The largest configuration is scaled to the others by the number of texts and words. None if a
    model's speed is unknown.
    """
    cells = cells_of(options, engine)
    k, words = max(options.sample_counts), max(options.text_lengths)
    total = 0.0
    for embedder in dict.fromkeys(cell.embedder for cell, _ in cells):
        with Engine(_bare(engine, embedder)) as warm:
            for bound in {b.key: b for _, b in cells}.values():
                planned = plan([record_of(k, words, options.seed)], [bound], engine=warm)["seconds"]
                if planned is None:
                    return None
                shares = [
                    _work(c) / _work(TimingCell(embedder, bound.key, k, words))
                    for c, b in cells
                    if b.key == bound.key and c.embedder == embedder
                ]
                total += REPEATS * planned * sum(shares)
    return total


def _work(cell: TimingCell) -> float:
    return cell.words * (cell.k + 1)


def _bare(engine: EngineOptions, embedder: str) -> EngineOptions:
    """Return the options of an engine that stores nothing, so that all is computed."""
    return replace(engine, embedder=embedder, store=None, llm=None)


def _timed(cell: TimingCell, bound: BoundScorer, engine: Engine, seed: int) -> Timing:
    seconds = [
        _seconds(record_of(cell.k, cell.words, seed + 1000 * i), bound, engine)
        for i in range(REPEATS)
    ]
    return Timing(
        **cell._asdict(),
        tokens=round(_TOKENS_A_WORD * cell.words),
        seconds=min(seconds),
        repeats=REPEATS,
    )


def _seconds(record: Record, bound: BoundScorer, engine: Engine) -> float:
    started = time.perf_counter()
    Job([record], [bound], engine=engine).wait()
    return time.perf_counter() - started


def text_of(words: int, seed: str) -> str:
    """Return a text of ``words`` words, the same for the same seed."""
    return " ".join(_sentences(words, Random(seed)))


def _sentences(words: int, random: Random) -> Iterator[str]:
    while words > 0:
        count = min(words, random.randint(8, 20))
        chosen = random.choices(_WORDS.split(), k=count)
        yield " ".join(chosen).capitalize() + "."
        words -= count


def _cell(timing: Timing) -> TimingCell:
    return TimingCell(timing.embedder, timing.scorer, timing.k, timing.words)


def _stored(path: Path) -> Sequence[Timing]:
    """Return earlier timings; invalid lines are skipped."""
    if not path.is_file():
        return []
    timings = []
    for line in path.read_bytes().splitlines():
        try:
            timings.append(Timing.model_validate_json(line))
        except ValidationError:
            continue  # not ours: timed again
    return timings
