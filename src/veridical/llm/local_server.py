"""The process that holds llama.cpp's own server, for :mod:`veridical.llm.local`.

Run as ``python -m veridical.llm.local_server`` with its settings as JSON in the first argument.
Says where it listens, as one line of JSON on standard output, and ends when its standard input
does: that is when the process that started it is gone, however it went.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

_LOOK = 1.0  # seconds between looks at whether the parent is still there


def main(settings: dict[str, Any]) -> None:
    """Serve until standard input ends.

    Args:
        settings: ``model`` (path), ``parallel``, ``context`` (tokens of one request), ``threads``,
            ``adapter`` (path of a LoRA adapter, or None).
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever llama.cpp prints is no part of what is said
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    try:
        server = _start(settings)
    except Exception as e:  # the library raises bare RuntimeErrors
        out.write(json.dumps({"error": f"{type(e).__name__}: {e}"}) + "\n")
        out.flush()
        os._exit(1)
    out.write(json.dumps({"url": server.listening_address}) + "\n")
    out.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # there is nothing to save, and a decode under way need not be waited for


def _start(settings: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    if settings["adapter"] is not None:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = settings["adapter"], 1.0
        params.lora_adapters = [adapter]
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.n_parallel = settings["parallel"]
    params.n_ctx = settings["parallel"] * settings["context"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.ctx_shift = False  # a prompt that does not fit is refused, never cut
    params.cache_ram_mib = 0
    params.ui = False
    params.endpoint_slots = False  # they would show what was asked
    params.endpoint_props = False
    params.cors_origins = ""  # no web page is a client
    params.verbosity = 0
    # A request that says nothing of these draws from the model's own distribution, as it does at
    # any hosted service; llama.cpp's defaults would cut it.
    params.sampling.temp = 1.0
    params.sampling.top_k = 0
    params.sampling.top_p = 1.0
    params.sampling.min_p = 0.0
    return xllamacpp.Server(params)


def _follow(parent: int) -> None:
    """End when the parent does, should a stray copy of the pipe have kept it open."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
