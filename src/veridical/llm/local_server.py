"""Server process of llama.cpp, for :mod:`veridical.llm.local`.

Run as ``python -m veridical.llm.local_server`` with its settings as JSON in the first argument.
Prints its address as one line of JSON on standard output. Ends when its standard input does, which
happens when the parent process ends in any way.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

_LOOK = 1.0  # seconds between checks that the parent is alive


def main(settings: dict[str, Any]) -> None:
    """Serve until standard input ends.

    Args:
        settings: ``model`` (path), ``parallel``, ``context`` (tokens of one request), ``threads``,
            ``adapter`` (path of a LoRA adapter, or None).
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # llama.cpp's own output must not mix with the address line
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
    os._exit(0)  # nothing needs saving, and a running decode need not be awaited


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
    params.port = 0  # any free port
    params.n_parallel = settings["parallel"]
    params.n_ctx = settings["parallel"] * settings["context"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.ctx_shift = False  # a prompt that does not fit is refused, never cut
    params.cache_ram_mib = 0
    params.ui = False
    params.endpoint_slots = False  # they would reveal prompts
    params.endpoint_props = False
    params.cors_origins = ""  # browsers may not call it
    params.verbosity = 0
    # A request without these settings samples from the model's own distribution, as at hosted
    # services; llama.cpp's defaults would cut it.
    params.sampling.temp = 1.0
    params.sampling.top_k = 0
    params.sampling.top_p = 1.0
    params.sampling.min_p = 0.0
    return xllamacpp.Server(params)


def _follow(parent: int) -> None:
    """Exit when the parent does, in case a stray copy of the pipe keeps it open."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
