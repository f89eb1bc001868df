"""``veridical shard plan | run | merge``: a large input in shards, by several processes."""

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
    "What was scored is kept: run the same command again to go on after an interrupt. The first "
    "run settles how all shards are scored."
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
    """The options of ``veridical shard plan``."""

    inputs: list[str] = INPUTS
    rows: int = flag("Rows of a shard.", Group.RUN, 50_000, least=1)
    out: str | None = flag(
        "Folder or s3://BUCKET/PREFIX to make for the shards.", Group.OUTPUT, metavar="DEST"
    )
    mapping: list[str] | None = MAP
    reader: str | None


@app.command(name="plan", epilog=_PLAN_EXAMPLES)
@command
def plan(options: ShardPlanOptions) -> int:
    """Say which rows each shard has. Nothing is scored yet."""
    from veridical.scale.manifest import plan as planned
    from veridical.scale.opening import place_of

    if options.out is None:
        raise UsageError("--out DEST names the folder of the shards")
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
    """The options of ``veridical shard run``; what is not given is as the first run had it."""

    dest: str = DEST
    executor: Literal["local", "ray"] = flag("What runs the workers.", Group.RUN, "local")
    workers: int = flag("Processes, which share the cores.", Group.RUN, 1, least=1)
    lease: float = flag(
        "Seconds without a sign of life after which a worker's shard is another's (S3).",
        Group.RUN,
        LEASE,
        least=2,
        most=86_400,
    )
    index: int | None = flag(
        "Score this shard alone: for array jobs of a cluster.", Group.RUN, least=0
    )


#: Options of a run of shards that do not say how they are scored.
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
    """Score the shards that are not done. Kill it at any time, start it again."""
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
            raise UsageError("--index scores one shard, by one process: leave --workers out")
        if options.executor == "ray":
            raise UsageError("--index scores one shard, by this process: leave --executor out")
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
    """How to score, as far as it was said, by name."""
    given = vars(options).items()
    return {k: v for k, v in given if k not in _WHERE and v is not None}


@flags()
class MergeOptions:
    """The options of ``veridical shard merge``."""

    dest: str = DEST
    json_path: str | None = output("Write a JSON result a line; - for stdout.", "--json")


@app.command(name="merge", epilog=_MERGE_EXAMPLES)
@command
def merge(options: MergeOptions) -> int:
    """Make one run of all shards, DEST/run, as one process would have left it."""
    from veridical.cli.finish import ExitOptions, finish
    from veridical.decide.gates import Gates
    from veridical.scale.merge import merge as merged
    from veridical.scale.opening import place_of
    from veridical.scale.spending import purse_of

    check_files(options)
    place = place_of(options.dest)
    results = merged(place)
    purse = purse_of(place)
    if purse is not None and purse.lent:
        error_console().print(
            f"{sum(purse.lent.values()):.4f} of the budget was lent to {len(purse.lent)} workers "
            "that were lost: possibly paid, and twice where others took over",
            markup=False,
        )
    gates = Gates.parse(None, None, None, None, policy=False)
    with opened(options.json_path) as lines:
        return finish(results, lines, None, ExitOptions(gates, 0.0), error_console())
