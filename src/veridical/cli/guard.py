"""``veridical guard``: a proxy that checks answers before they leave."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli.declared import check_files, command, option_of
from veridical.cli.options import PrecisionOption, StrictnessOf, keywords_of, strictness_of
from veridical.cli.serve import AllowHost, KeysFile, ServedHost, ServedPort, ServedStore
from veridical.core.options import Group, Names
from veridical.engine.options import EngineOptions

if TYPE_CHECKING:
    import socket

    from veridical.serve.keys import Key

GUARD_EXAMPLES = (
    "Examples:\n\n  veridical guard --upstream NAME --policy policy.toml\n\n"
    "  veridical guard --upstream NAME --policy policy.toml --mode hold --port 8001\n\n"
    "  veridical guard --upstream local:smollm2 --policy policy.toml --mode buffer\n\n"
    "  veridical guard --upstream NAME --policy policy.toml --host 0.0.0.0 --keys keys.json\n\n"
    "Clients set its address as their base URL: http://127.0.0.1:8001/v1\n\n"
    "Exit codes: 0 stopped by a signal, once answers under way were sent; 1 it could not start."
)


class ModeOption(str, Enum):
    """What is done with answers."""

    monitor = "monitor"
    annotate = "annotate"
    hold = "hold"
    buffer = "buffer"


class OnErrorOption(str, Enum):
    """What becomes of a sentence that could not be judged."""

    closed = "closed"
    open = "open"


@dataclass(frozen=True, kw_only=True)
class GuardOptions:
    """The options of ``veridical guard``."""

    upstream: Annotated[
        str,
        typer.Option(
            help="Endpoint of veridical.toml that answers, or local:MODEL.", metavar="NAME"
        ),
        Group.RUN,
        Names.OTHER,
    ]
    policy: Annotated[
        Path,
        typer.Option(help="Policy (TOML): which sentences are rejected, and what then."),
        Group.RUN,
    ]
    mode: Annotated[
        ModeOption,
        typer.Option(
            help="monitor: record alone; annotate: tell beside the answer; hold: let out "
            "sentence by sentence; buffer: at the end."
        ),
        Group.RUN,
    ] = ModeOption.annotate
    on_error: Annotated[
        OnErrorOption,
        typer.Option(help="A sentence that cannot be judged: closed rejects it, open does not."),
        Group.RUN,
    ] = OnErrorOption.closed
    strictness: StrictnessOf = None
    host: ServedHost = "127.0.0.1"
    port: ServedPort = 8001
    keys: KeysFile = None
    allow_host: AllowHost = None
    out: Annotated[
        Path | None,
        typer.Option(help="Run directory of the answers. Default: .veridical/runs/guard-..."),
        Group.RUN,
        Names.RUN,
    ] = None
    nli: Annotated[str, option_of(EngineOptions, "nli")] = EngineOptions.nli
    precision: PrecisionOption = None
    store: ServedStore = None


@command
def guard(options: GuardOptions) -> int:
    """Stand before a model's API and check each sentence of its answers, streamed or not."""
    from veridical.serve.guard.setting_up import policy_and_scorers, read_guard_keys
    from veridical.serve.running import need_extra, open_socket

    check_files(options)
    need_extra()
    policy_and_scorers(options.policy)
    keys = None if options.keys is None else read_guard_keys(options.keys)
    listener = open_socket(options.host, options.port, guarded=keys is not None)
    try:
        return _guard(options, keys, listener)
    finally:
        listener.close()


def _guard(options: GuardOptions, keys: list[Key] | None, listener: socket.socket) -> int:
    from veridical.engine.engine import Engine
    from veridical.engine.run import Task
    from veridical.serve.guard.app import Guard
    from veridical.serve.guard.checking import Checker
    from veridical.serve.guard.kept import Kept
    from veridical.serve.guard.setting_up import policy_and_scorers
    from veridical.serve.guard.upstream import Upstream
    from veridical.serve.keys import Keys
    from veridical.serve.running import run_app
    from veridical.serve.security import Limits, Secured, names_for

    file, policy, scorers = policy_and_scorers(options.policy)
    engine_options = EngineOptions(
        **keywords_of(options, EngineOptions),
        processes=0,
        age=0.002,
    )
    out = options.out or Path(f".veridical/runs/guard-{time.strftime('%Y%m%d-%H%M%S')}")
    upstream = Upstream.named(options.upstream)
    try:
        with Engine(engine_options) as engine:
            engine.services(Task(scorers))
            strictness = strictness_of(options.strictness)
            checker = Checker(engine, scorers, policy, options.on_error.value, strictness)
            settings = {
                "mode": options.mode.value,
                "on_error": options.on_error.value,
                "policy": file.model_dump(mode="json"),
                "upstream": upstream.endpoint.name,
            }
            kept = Kept(out, checker, settings)
            try:
                app = Guard(upstream, checker, file.guard, options.mode.value, kept)
                secured = Secured(
                    app,
                    known_host=names_for(options.host, options.allow_host or ()),
                    admit=None if keys is None else Keys(keys).admit,
                    limits=Limits(body=32 * 2**20, unpacked=64 * 2**20, together=256 * 2**20),
                )
                return run_app(secured, listener)
            finally:
                kept.close()
    finally:
        upstream.stop()
