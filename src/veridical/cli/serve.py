"""``veridical serve``: the checks over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.cli.declared import flag, flags, long_command
from veridical.cli.options import JudgeFlags, keywords_of
from veridical.core.options import Group, Names
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError

if TYPE_CHECKING:
    import socket

    from veridical.serve.keys import Key


LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


def served_port(default: int) -> Any:
    """Declare the flag ``--port`` of a server."""
    return flag("Port to listen on; 0 for any free port.", Group.RUN, default, least=0, most=65535)


@flags()
class ServedFlags:
    """Options of servers."""

    host: str = flag(
        "Address to listen on. Addresses other than loopback require --keys.",
        Group.RUN,
        "127.0.0.1",
    )
    port: int = served_port(8000)
    keys: Path | None = flag(
        "File of key hashes; every request must then present a key.", Group.RUN, names=Names.OTHER
    )
    allow_host: list[str] | None = flag(
        "Allowed Host header of requests; repeatable.", Group.RUN, metavar="NAME"
    )
    deadline: float = flag(
        "Time limit of a check in seconds; unfinished scores then fail.",
        Group.RUN,
        60.0,
        least=0.001,
        most=3600,
        metavar="SECONDS",
    )
    log_level: LogLevel = flag(
        "Minimum severity of log lines; requests are info.", Group.OUTPUT, "info"
    )
    log_format: LogFormat = flag("Format of the log lines on standard error.", Group.OUTPUT, "text")
    store: Path | None = flag(
        "Folder that stores model outputs. Default: outputs are not stored.",
        Group.RUN,
        names=Names.OTHER,
    )


SERVE_EXAMPLES = (
    "Examples:\n\n  veridical serve\n\n  veridical serve --port 9000 --data jobs\n\n"
    "  veridical serve --new-key web --keys keys.json\n\n"
    "  veridical serve --host 0.0.0.0 --keys keys.json --allow-host checks.example\n\n"
    "Exit codes: 0 stopped by a signal, after pending answers were sent; 1 startup failed."
)


@flags()
class ServeOptions(ServedFlags, JudgeFlags):
    """Options of ``veridical serve``."""

    new_key: str | None = flag(
        "Create a key with this name in --keys, print it and exit.",
        Group.RUN,
        metavar="NAME",
        after="keys",
    )
    data: Path | None = flag(
        "Data folder of /v1/jobs. Without it, /v1/jobs is disabled.",
        Group.RUN,
        names=Names.OTHER,
        after="allow_host",
    )
    offer: list[str] | None = flag(
        "Model, file or LLM that requests may use in scorers; repeatable.",
        Group.MODELS,
        metavar="NAME",
    )
    queue_tokens: int = flag(
        "Maximum queued tokens; further requests are refused.",
        Group.RUN,
        32_768,
        least=1,
        after="data",
    )
    request_tokens: int = flag(
        "Maximum tokens of one request; larger requests are refused.",
        Group.RUN,
        262_144,
        least=1,
        after="queue_tokens",
    )


@long_command(
    "host",
    "port",
    "keys",
    "new_key",
    "allow_host",
    "data",
    "offer",
    "nli",
    "llm",
    "budget",
    "deadline",
)
def serve(options: ServeOptions) -> int:
    """Serve checks over HTTP, with models kept in memory."""
    from veridical.serve.keys import new_key, read_keys
    from veridical.serve.running import need_extra, open_socket

    if options.new_key is not None:
        if options.keys is None:
            raise UsageError("--new-key requires --keys FILE, the file of key hashes")
        print(new_key(options.keys, options.new_key))
        return 0
    need_extra()
    keys = None if options.keys is None else read_keys(options.keys)
    listener = open_socket(options.host, options.port, guarded=keys is not None)
    try:
        return _serve(options, keys, listener)
    finally:
        listener.close()


def _serve(options: ServeOptions, keys: list[Key] | None, listener: socket.socket) -> int:
    from veridical.engine.engine import Engine
    from veridical.models.onnx import give_memory_back
    from veridical.serve.app import secured
    from veridical.serve.keys import Keys
    from veridical.serve.logs import set_up_logs
    from veridical.serve.request_options import Offers
    from veridical.serve.running import run_app
    from veridical.serve.service import ScoringServer

    data, offers = options.data, frozenset(options.offer or ())
    if data is not None:
        try:
            data.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise UsageError(f"--data {data}: {e.strerror}") from None
    engine_options = EngineOptions(
        **keywords_of(options, EngineOptions),
        named_only=not offers,
        processes=0,
        age=0.002,
        fair=True,
    )
    set_up_logs(options.log_level, options.log_format)
    give_memory_back()
    with Engine(engine_options) as engine:
        spent = None if data is None else data / "spent.json"
        service = ScoringServer(
            engine,
            Offers(offers),
            None if keys is None else Keys(keys, spent, engine.llms.budget),
            data,
            options.queue_tokens,
            options.request_tokens,
            options.deadline,
        )
        service.load()  # missing models are reported before the first request
        app = secured(service, options.host, allow_hosts=options.allow_host or ())
        return run_app(app, listener, draining=service.drain)
