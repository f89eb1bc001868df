"""``veridical guard``: a proxy that checks the answers of a model API."""

from __future__ import annotations

import time
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.cli.declared import check_files, flag, flags, long_command
from veridical.cli.options import keywords_of
from veridical.cli.serve import ServedFlags, served_port
from veridical.core.options import Group, Names
from veridical.core.verdict_cuts import Strictness
from veridical.engine.options import EngineOptions, Precision
from veridical.errors import UsageError, unknown_name
from veridical.run.options import RunOptions
from veridical.serve.guard.fields import KINDS

if TYPE_CHECKING:
    import socket

    from veridical.serve.keys import Key

GUARD_EXAMPLES = (
    "Examples:\n\n  veridical guard --upstream NAME\n\n"
    "  veridical guard --upstream NAME --policy policy.toml --mode hold --port 8001\n\n"
    "  veridical guard --upstream local:smollm2 --policy policy.toml --mode buffer\n\n"
    "  veridical guard --upstream NAME --policy policy.toml --host 0.0.0.0 --keys keys.json\n\n"
    "Set the address as the base URL of clients: http://127.0.0.1:8001/v1\n\n"
    "Exit codes: 0 stopped by a signal, after pending answers were sent; 1 startup failed."
)


@flags(RunOptions, EngineOptions)
class GuardOptions(ServedFlags):
    """Options of ``veridical guard``."""

    upstream: str = flag(
        "Endpoint to proxy: a name in veridical.toml, or local:MODEL.",
        Group.RUN,
        MISSING,
        metavar="NAME",
        names=Names.OTHER,
    )
    policy: Path | None = flag(
        "Policy file (TOML) of rejected sentences and actions. Default: block contradicted, "
        "unsupported and inconsistent sentences.",
        Group.RUN,
    )
    mode: Literal["monitor", "annotate", "hold", "buffer"] = flag(
        "Action on answers. monitor: record only; annotate: add the results; hold: release "
        "sentence by sentence; buffer: release at the end.",
        Group.RUN,
        "annotate",
    )
    on_error: Literal["closed", "open"] = flag(
        "Treatment of sentences that could not be checked: closed rejects them, open passes them.",
        Group.RUN,
        "closed",
    )
    pass_unchecked: list[str] | None = flag(
        f"Unchecked content to pass through in held answers: {', '.join(KINDS)}; repeatable.",
        Group.RUN,
        metavar="KIND",
        after="on_error",
    )
    strictness: Strictness | None
    port: int = served_port(8001)
    out: Path | None = flag(
        "Run directory for the answers. Default: .veridical/runs/guard-...",
        Group.RUN,
        names=Names.RUN,
        after="allow_host",
    )
    nli: str
    precision: Precision | None


@long_command(
    "upstream",
    "policy",
    "mode",
    "on_error",
    "strictness",
    "nli",
    "host",
    "port",
    "keys",
    "allow_host",
    "out",
    "deadline",
)
def guard(options: GuardOptions) -> int:
    """Proxy a model API and check every sentence of its answers."""
    from veridical.serve.guard.setup import policy_and_scorers, read_guard_keys
    from veridical.serve.running import need_extra, open_socket

    check_files(options)
    for kind in options.pass_unchecked or ():
        if kind not in KINDS:
            raise UsageError(f"--pass-unchecked: {unknown_name('kind', kind, KINDS)}")
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
    from veridical.models.onnx import give_memory_back
    from veridical.serve.guard.answer_store import AnswerStore
    from veridical.serve.guard.app import Guard, guarded
    from veridical.serve.guard.checking import SentenceChecker
    from veridical.serve.guard.setup import policy_and_scorers
    from veridical.serve.guard.upstream import Upstream
    from veridical.serve.keys import Keys
    from veridical.serve.logs import set_up_logs
    from veridical.serve.running import run_app

    file, policy, scorers = policy_and_scorers(options.policy)
    engine_options = EngineOptions(
        **keywords_of(options, EngineOptions),
        processes=0,
        age=0.002,
    )
    out = options.out or Path(f".veridical/runs/guard-{time.strftime('%Y%m%d-%H%M%S')}")
    upstream = Upstream.named(options.upstream)
    set_up_logs(options.log_level, options.log_format)
    give_memory_back()
    try:
        with Engine(engine_options) as engine:
            engine.services(Task(scorers))
            checker = SentenceChecker(
                engine, scorers, policy, options.on_error, options.strictness, options.deadline
            )
            settings: dict[str, Any] = {
                "mode": options.mode,
                "on_error": options.on_error,
                "policy": file.model_dump(mode="json"),
                "upstream": upstream.endpoint.name,
            }
            if options.pass_unchecked:
                settings["pass_unchecked"] = sorted(set(options.pass_unchecked))
            kept = AnswerStore(out, checker, settings)
            try:
                passed: list[Any] = options.pass_unchecked or []
                guard = Guard(upstream, checker, file.guard, options.mode, kept, passed)
                admit = None if keys is None else Keys(keys).admit
                app = guarded(guard, options.host, options.allow_host or (), admit)
                return run_app(app, listener)
            finally:
                kept.close()
    finally:
        upstream.stop()
