"""``veridical shard plan | run | merge``: a large input in shards, by several processes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from enum import Enum
from typing import Annotated, Any

import typer

from veridical.cli.declared import check_files, command, option_of
from veridical.cli.figures import error_console
from veridical.cli.help import App
from veridical.cli.options import (
    Against,
    Inputs,
    Map,
    PrecisionOption,
    Preset,
    Reader,
    StrictnessOf,
    mapping_of,
    rows_of,
)
from veridical.cli.outputs import opened
from veridical.core.options import Group, Names
from veridical.engine.options import EngineOptions
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

Dest = Annotated[
    str, typer.Argument(help="Folder or s3://BUCKET/PREFIX of the shards, of shard plan.")
]


class Executor(str, Enum):
    local = "local"
    ray = "ray"


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of ``veridical shard plan``."""

    inputs: Inputs
    rows: Annotated[int, typer.Option(min=1, help="Rows of a shard."), Group.RUN] = 50_000
    out: Annotated[
        str | None,
        typer.Option(help="Folder or s3://BUCKET/PREFIX to make for the shards.", metavar="DEST"),
        Group.OUTPUT,
    ] = None
    mapping: Map = None
    reader: Reader = None


@app.command(name="plan", epilog=_PLAN_EXAMPLES)
@command
def plan(options: PlanOptions) -> int:
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


@dataclass(frozen=True, kw_only=True)
class RunShardsOptions:
    """The options of ``veridical shard run``; what is not given is as the first run had it."""

    dest: Dest
    executor: Annotated[Executor, typer.Option(help="What runs the workers."), Group.RUN] = (
        Executor.local
    )
    workers: Annotated[
        int, typer.Option(min=1, help="Processes, which share the cores."), Group.RUN
    ] = 1
    lease: Annotated[
        float,
        typer.Option(
            min=2,
            max=86_400,
            help="Seconds without a sign of life after which a worker's shard is another's (S3).",
        ),
        Group.RUN,
    ] = LEASE
    index: Annotated[
        int | None,
        typer.Option(min=0, help="Score this shard alone: for array jobs of a cluster."),
        Group.RUN,
    ] = None
    scorers: Annotated[
        str | None,
        typer.Option(help='Such as "cosine, ngram(n=2)". Default: the preset\'s.'),
        Group.SCORING,
    ] = None
    preset: Annotated[Preset | None, option_of(RunOptions, "preset")] = None
    prior: Annotated[float | None, option_of(RunOptions, "prior")] = None
    strictness: StrictnessOf = None
    against: Annotated[Against | None, option_of(RunOptions, "against")] = None
    answer: Annotated[str | None, option_of(RunOptions, "answer", metavar="PART")] = None
    samples: Annotated[int | None, option_of(RunOptions, "samples")] = None
    claims: Annotated[bool | None, option_of(RunOptions, "claims", "--claims")] = None
    embedder: Annotated[str | None, option_of(EngineOptions, "embedder")] = None
    token_encoder: Annotated[str | None, option_of(EngineOptions, "token_encoder")] = None
    image_embedder: Annotated[str | None, option_of(EngineOptions, "image_embedder")] = None
    nli: Annotated[str | None, option_of(EngineOptions, "nli")] = None
    precision: PrecisionOption = None
    llm: Annotated[str | None, option_of(EngineOptions, "llm")] = None
    proxy: Annotated[str | None, option_of(EngineOptions, "proxy")] = None
    spans: Annotated[str | None, option_of(EngineOptions, "spans")] = None
    budget: Annotated[float | None, option_of(EngineOptions, "budget")] = None


#: Options of a run of shards that do not say how they are scored.
_WHERE = ("dest", "executor", "workers", "lease", "index", "budget")


@app.command(name="run", epilog=_RUN_EXAMPLES)
@command
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
        if options.executor is Executor.ray:
            raise UsageError("--index scores one shard, by this process: leave --executor out")
    if options.executor is Executor.ray:
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

    if options.executor is Executor.ray:
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
    given = {f.name: getattr(options, f.name) for f in fields(options) if f.name not in _WHERE}
    plain = {k: v.value if isinstance(v, Enum) else v for k, v in given.items()}
    return {k: v for k, v in plain.items() if v is not None}


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """The options of ``veridical shard merge``."""

    dest: Dest
    json_path: Annotated[
        str | None,
        typer.Option("--json", help="Write a JSON result a line; - for stdout.", metavar="FILE"),
        Names.OUTPUT,
        Group.OUTPUT,
    ] = None


@app.command(name="merge", epilog=_MERGE_EXAMPLES)
@command
def merge(options: MergeOptions) -> int:
    """Make one run of all shards, DEST/run, as one process would have left it."""
    from veridical.cli.finish import Asked, finish
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
        return finish(results, lines, None, Asked(gates, 0.0), error_console())
