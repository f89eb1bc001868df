"""``veridical shard plan | run | merge``: scoring in shards."""

from __future__ import annotations

import sys
from typing import Any, Literal

from veridical.cli.declared import argument, check_files, command, flag, flags, long_command, output
from veridical.cli.figures import error_console
from veridical.cli.help import App
from veridical.cli.options import (
    INPUTS,
    MAP,
    ComparedFlags,
    ModelFlags,
    PresetFlags,
    mapping_of,
    rows_of,
)
from veridical.cli.outputs import opened
from veridical.core.options import Group
from veridical.errors import UsageError
from veridical.run.options import RunOptions
from veridical.scale.opening import LEASE

_PLAN_EXAMPLES = (
    "Examples:\n\n  veridical shard plan answers.parquet --rows 50000 --out shards\n\n"
    "  veridical shard plan a.jsonl b.jsonl --out shards\n\n"
    "  veridical shard plan s3://bucket/answers/ --out s3://bucket/shards"
)
_RUN_EXAMPLES = (
    "Examples:\n\n  veridical shard run shards --workers 4\n\n"
    "  veridical shard run shards --preset fast\n\n"
    "  veridical shard run shards --index 17\n\n"
    "  veridical shard run s3://bucket/shards --executor ray --workers 8\n\n"
    "Run the same command again to resume after an interrupt. The first run fixes the scoring "
    "options of all shards."
)
_MERGE_EXAMPLES = (
    "Examples:\n\n  veridical shard merge shards --json results.jsonl\n\n"
    "  veridical report shards/run --out report.html"
)

app = App(
    help="Score a large input in shards, by several processes or machines.",
    no_args_is_help=True,
    epilog="Examples:\n\n  veridical shard plan answers.parquet --out shards\n\n"
    "  veridical shard run shards --workers 4\n\n"
    "  veridical shard merge shards --json results.jsonl",
)

DEST = argument("Folder or s3://BUCKET/PREFIX of the shards, of shard plan.")


@flags(RunOptions)
class ShardPlanOptions:
    """Options of ``veridical shard plan``."""

    inputs: list[str] = INPUTS
    rows: int = flag("Rows per shard.", Group.RUN, 50_000, least=1)
    out: str | None = flag(
        "Folder or s3://BUCKET/PREFIX to create for the shards.", Group.OUTPUT, metavar="DEST"
    )
    mapping: list[str] | None = MAP
    reader: str | None


@app.command(name="plan", epilog=_PLAN_EXAMPLES)
@command
def plan(options: ShardPlanOptions) -> int:
    """Divide the input into shards, without scoring."""
    from veridical.scale.manifest import plan as planned
    from veridical.scale.opening import place_of

    if options.out is None:
        raise UsageError("no destination: give --out DEST, the folder of the shards")
    check_files(options)
    place = place_of(options.out)
    inputs = rows_of(options.inputs)
    manifest = planned(
        [inputs] if isinstance(inputs, str) else inputs,
        place,
        rows=options.rows,
        mapping=mapping_of(options.mapping) or None,
        reader=options.reader,
    )
    count = len(manifest.shards)
    print(f"{manifest.total} rows in {count} shards: {place.name}", file=sys.stderr)
    print(f"next: veridical shard run {place.name} --workers 2", file=sys.stderr)
    return 0


@flags(unsaid=True)
class RunShardsOptions(PresetFlags, ComparedFlags, ModelFlags):
    """Options of ``veridical shard run``; missing ones are taken from the first run."""

    dest: str = DEST
    executor: Literal["local", "ray"] = flag(
        "Executor of the workers: local processes, or Ray.", Group.RUN, "local"
    )
    workers: int = flag("Number of worker processes, which share the cores.", Group.RUN, 1, least=1)
    lease: float = flag(
        "Seconds without a heartbeat after which another worker takes a shard (S3).",
        Group.RUN,
        LEASE,
        least=2,
        most=86_400,
    )
    index: int | None = flag(
        "Index of the only shard to score, for array jobs of a cluster.", Group.RUN, least=0
    )


#: Options that do not affect the scores.
_WHERE = ("dest", "executor", "workers", "lease", "index", "budget")


@app.command(name="run", epilog=_RUN_EXAMPLES)
@long_command(
    "dest",
    "executor",
    "workers",
    "index",
    "preset",
    "scorers",
    "strictness",
    "claims",
    "nli",
    "llm",
    "budget",
)
def run(options: RunShardsOptions) -> int:
    """Score the remaining shards; the command can be killed and restarted."""
    from veridical.scale import manifest as manifests
    from veridical.scale.opening import place_of
    from veridical.scale.part import left
    from veridical.scale.spending import set_limit
    from veridical.scale.work import check_options, work, work_together

    place = place_of(options.dest, options.lease)
    manifest = manifests.read(place)
    if options.index is not None:
        manifest.shard(options.index)
        if options.workers > 1:
            raise UsageError(
                "--index cannot be combined with --workers: it scores one shard in one process"
            )
        if options.executor == "ray":
            raise UsageError(
                "--index cannot be combined with --executor: it scores one shard in this process"
            )
    if options.executor == "ray":
        from veridical.scale import ray

        ray.load_ray()
    check_options(scoring := scoring_of(options))
    settled = manifests.settled(place, scoring)
    manifest.open()
    if options.budget is not None:
        set_limit(place, options.budget, settled.get("llm"))
    err = error_console()

    def tell(done: int, total: int) -> None:
        err.print(f"{done} of {total} shards done", markup=False)

    if options.executor == "ray":
        ray.run(place, manifest, options.workers, tell, lease=options.lease)
    elif options.workers > 1:
        work_together(place, manifest, options.workers, tell, lease=options.lease)
    else:
        work(place, manifest, settled, index=options.index, workers=1)
        remaining = len(left(place, manifest))
        tell(len(manifest.shards) - remaining, len(manifest.shards))
    if not left(place, manifest):
        err.print(f"next: veridical shard merge {place.name}", markup=False)
    return 0


def scoring_of(options: RunShardsOptions) -> dict[str, Any]:
    """Return the given options that affect the scores, by name."""
    given = vars(options).items()
    return {k: v for k, v in given if k not in _WHERE and v is not None}


@flags()
class MergeOptions:
    """Options of ``veridical shard merge``."""

    dest: str = DEST
    json_path: str | None = output("Write one JSON result per line; - for stdout.", "--json")


@app.command(name="merge", epilog=_MERGE_EXAMPLES)
@command
def merge(options: MergeOptions) -> int:
    """Merge all shards into one run, DEST/run."""
    from veridical.cli.finish import ExitOptions, finish
    from veridical.decide.gates import Gates
    from veridical.scale.merge import merge as merged
    from veridical.scale.opening import place_of
    from veridical.scale.spending import shared_budget

    check_files(options)
    place = place_of(options.dest)
    results = merged(place)
    shared = shared_budget(place)
    if shared is not None and shared.lent:
        error_console().print(
            f"{sum(shared.lent.values()):.4f} of the budget was lent to {len(shared.lent)} workers "
            "that were lost: possibly spent, and twice if other workers took over",
            markup=False,
        )
    gates = Gates.parse(None, None, None, None, policy=False)
    with opened(options.json_path) as lines:
        return finish(results, lines, None, ExitOptions(gates, 0.0), error_console())
