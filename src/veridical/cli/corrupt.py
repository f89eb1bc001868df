"""``veridical corrupt``: labelled corrupted copies of correct answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.cli.declared import check_files, command, flag, flags, output
from veridical.cli.figures import error_console
from veridical.cli.options import INPUTS, MAP, STORE, mapping_of, rows_of
from veridical.core.options import Group
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.run.options import RunOptions

if TYPE_CHECKING:
    from veridical.tuning.corruption import Corruption
    from veridical.tuning.corruption_llm import Editor

CORRUPT_EXAMPLES = (
    "Examples:\n\n"
    "  veridical corrupt answers.jsonl --out labelled.jsonl\n\n"
    "  veridical corrupt answers.jsonl --kinds figure,name,negation --n 2 --out labelled.jsonl\n\n"
    "  veridical corrupt answers.jsonl --llm NAME --budget 2.00 --out labelled.jsonl\n\n"
    "Then: veridical bench graded --data labelled.jsonl, or veridical tune labelled.jsonl"
)


@flags(RunOptions, EngineOptions)
class CorruptOptions:
    """Options of ``veridical corrupt``."""

    inputs: list[str] = INPUTS
    out: Path = output("JSONL file of labelled records to write.", default=MISSING)
    kinds: str | None = flag(
        "Kinds of errors, comma-separated: figure, date, unit, name, negation, relation, "
        "addition, other; with --llm also order, computed. Default: all.",
        Group.OUTPUT,
        metavar="KIND,...",
    )
    n: int = flag(
        "Maximum corrupted copies per answer; --llm adds as many again.", Group.OUTPUT, 2, least=1
    )
    seed: int = flag("Seed of the random choices.", Group.OUTPUT, 0)
    llm: str | None = flag("LLM that writes further edits.", Group.MODELS)
    budget: float | None
    mapping: list[str] | None = MAP
    reader: str | None
    limit: int | None
    store: str = flag(default=STORE)


@command
def corrupt(options: CorruptOptions) -> int:
    """Write correct answers and corrupted copies, with labels, spans and error kinds."""
    from veridical.files.outputs import writing
    from veridical.io import open_source
    from veridical.tuning.corruption import Corruption, kinds_of

    if options.budget is not None and options.llm is None:
        raise UsageError("--budget requires --llm NAME: without it nothing is spent")
    kinds = kinds_of(options.kinds, options.llm is not None)
    check_files(options)
    mapping = mapping_of(options.mapping) or None
    source = open_source(rows_of(options.inputs), mapping=mapping, reader=options.reader)
    with _editor(options) as editor, writing(options.out) as out:
        made = Corruption(kinds, options.n, options.seed, editor)
        for row in made.rows(islice(source.rows(), options.limit)):
            out.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
        if not made.right:
            raise UsageError(_nothing(made))
    console = error_console()
    for line in _lines(made, options.out):
        console.print(line, markup=False, highlight=False)
    return 0


@contextmanager
def _editor(options: CorruptOptions) -> Iterator[Editor | None]:
    if options.llm is None:
        yield None
        return
    from veridical.engine.engine import Engine
    from veridical.tuning.corruption_llm import Editor

    store = None if options.store == "none" else Path(options.store)
    with Engine(llm=options.llm, budget=options.budget, store=store) as engine:
        account = engine.llms.account("corrupt", None)
        try:
            service = engine.llms.service()
            yield Editor(engine.llms.endpoint().model, service, account, engine.submit)
        finally:
            engine.llms.leave(account)


def _lines(made: Corruption, out: Path) -> Iterator[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in made.made.most_common())
    yield f"{made.right:,} right answers and {made.made.total():,} wrong variants ({kinds}): {out}"
    yield from _left_out(made)
    if made.editor is not None and made.editor.rejected:
        reasons = ", ".join(f"{n:,} {why}" for why, n in made.editor.rejected.most_common())
        yield f"edits by the model left out: {reasons}"


def _left_out(made: Corruption) -> Iterator[str]:
    if made.without:
        yield f"{made.without:,} answers left out: no edit of these kinds applies"
    if made.wrong:
        yield f"{made.wrong:,} answers left out: labelled hallucinated"
    if made.errors:
        yield f"{len(made.errors):,} bad rows left out, the first: {made.errors[0]}"


def _nothing(made: Corruption) -> str:
    why = "; ".join(_left_out(made)) or "the input has no rows"
    return f"nothing to write: {why}; --kinds names the kinds of edits, --llm a model for others"
