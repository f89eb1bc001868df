"""``veridical train extractor``."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from veridical.cli.declared import argument, check_files, command, flags
from veridical.cli.figures import error_console
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical_lab.commands.training import (
    MeasuredFlags,
    check_model_name,
    figures_table,
    held_out,
    model_file,
    seed,
    tell_missing,
    write_figures,
)

if TYPE_CHECKING:
    from veridical_lab.tagger.train import Example

EPILOG = (
    "Examples:\n\n"
    "  veridical train extractor answers.jsonl --out extractor.json\n\n"
    "  veridical train extractor DATA/refchecker --out extractor.safetensors "
    "--json figures.json\n\n"
    "Then: veridical check answers.jsonl "
    "--scorers \"claims(extractor='trained|extractor.json')\"\n\n"
    "Exit codes: 0 fine; 1 usage, or too few triplets."
)


@flags(EngineOptions)
class ExtractorOptions(MeasuredFlags):
    """The options of ``veridical train extractor``."""

    inputs: list[str] = argument(
        "Records with response and claims (triplets by an LLM), or RefChecker's data."
    )
    out: Path = model_file()
    token_encoder: str | None
    held_out: float = held_out("prompts")
    seed: int = seed("parts, networks and resamples")


@command
def extractor(options: ExtractorOptions) -> int:
    """Train a claim extractor on an LLM's triplets: a tagger over the token encoder.

    Metrics are computed on held-out responses, whose prompts it has not seen, with the rules as a
    baseline.
    """
    from veridical_lab.repc.fit import need_sklearn
    from veridical_lab.tagger.model import write_tagger
    from veridical_lab.tagger.train import gather, measure, parts_of, train

    err = error_console()
    check_model_name(options.out)
    check_files(options)
    need_sklearn()
    examples, missing = read_examples(options.inputs, options.limit)
    tell_missing(missing, err)
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("responses", total=len(examples))
        data = gather(
            examples,
            token_encoder=options.token_encoder,
            progress=lambda n: bars.update(bar, completed=n),
        )
    tell_missing(data.missing, err, "responses")
    tell_missing(data.unaligned, err, "triplets")
    parts = parts_of(data, options.held_out, options.seed)
    notes = {"files": [Path(i).name for i in options.inputs]}
    tagger = train(parts, data, seed=options.seed, notes=notes)
    rows = measure(tagger, parts.held, bootstrap=options.bootstrap, seed=options.seed)
    write_tagger(options.out, tagger)
    title = (
        f"{len(parts.held)} responses held out; trained on {len(parts.training)} of other prompts; "
        f"{data.aligned} of {data.triplets} triplets use words of the responses"
    )
    figures_table(title, {}, rows, err)
    write_figures(
        options.json_path,
        {
            "encoder": data.encoder,
            "revision": data.revision,
            "threshold": tagger.selection.threshold,
            "n_train": len(parts.training),
            "n_held_out": len(parts.held),
            "triplets": data.triplets,
            "aligned": data.aligned,
            "unaligned": dict(data.unaligned),
            "missing": {**missing, **data.missing},
            "rows": [asdict(r) for r in rows],
        },
    )
    err.print(f"model: {options.out}", markup=False)
    return 0


def read_examples(
    inputs: list[str], limit: int | None = None
) -> tuple[list[Example], dict[str, int]]:
    """Read responses with triplets (formats of ``bench extraction``), and reasons of omitted rows.

    Raises:
        UsageError: a file is unreadable, or no response has a triplet.
    """
    from veridical.claims.extractors.given import as_claims
    from veridical.core.prompt_text import last_question
    from veridical_lab.bench.datasets.extraction import SUITE
    from veridical_lab.bench.datasets.suite import BadItem
    from veridical_lab.bench.suite_options import ExtractionOptions
    from veridical_lab.tagger.train import Example

    examples: list[Example] = []
    missing: Counter[str] = Counter()
    rows: Any = (row for path in inputs for row in SUITE.read(Path(path), ExtractionOptions()))
    for at, row in enumerate(islice(rows, limit)):
        if isinstance(row, BadItem):
            missing[str(row.error)] += 1
            continue
        claims = as_claims(row.record.meta["claims"])
        triplets = tuple(c for c in claims if isinstance(c, tuple))
        if not claims:
            missing["no claims"] += 1
        elif not triplets:
            missing["its claims are statements, not triplets"] += 1
        elif not row.record.response.strip():
            missing["the response is empty"] += 1
        else:
            asked = last_question(row.record.prompt)
            group = asked or f"{row.part}/{row.group}" + ("" if row.facets else f"/{at}")
            examples.append(Example(row.record, triplets, group))
    if not examples:
        why = "; ".join(f"{n} rows: {reason}" for reason, n in missing.most_common(3))
        raise UsageError(
            f"no response with triplets in {', '.join(inputs)} ({why or 'no rows'}): records with "
            "response and claims (lists of head, relation and tail) are read"
        )
    return examples, dict(missing.most_common())
