"""``veridical mcp``: the local MCP server for agents and editors."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, cast

from veridical.cli.corpus import telling
from veridical.cli.declared import command, flags
from veridical.cli.figures import error_console
from veridical.cli.options import CORPUS, STORE, PresetFlags, keywords_of
from veridical.engine.options import EngineOptions, Precision
from veridical.run.options import RunOptions

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from veridical.run.options import CheckKeywords

MCP_EXAMPLES = (
    "Examples:\n\n  veridical mcp\n\n  veridical mcp --corpus ./documents\n\n"
    "In an MCP client, set the command `veridical` with the argument `mcp`. Tools: check_answer, "
    "find_support, search_corpus. Requires pip install mcp."
)


@flags(RunOptions, EngineOptions)
class McpOptions(PresetFlags):
    """Options of ``veridical mcp``."""

    corpus: str | None = CORPUS
    nli: str
    precision: Precision | None
    embedder: str
    llm: str | None
    store: str = STORE


@command
def mcp(options: McpOptions) -> int:
    """Run an MCP server on stdin and stdout, for agents and editors."""
    from veridical.engine.engine import Engine
    from veridical.engine.run import Task
    from veridical.integrations.mcp_server import server
    from veridical.retrieval.corpus.opening import open_retriever
    from veridical.run.request import Request

    err = error_console()
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(Engine(**keywords_of(options, EngineOptions)))
        chosen: dict[str, Any] = {
            "preset": options.preset,
            "prior": options.prior,
            "strictness": options.strictness,
        }
        request = Request.of(options.scorers, cast("CheckKeywords", {**chosen, "engine": engine}))
        retriever = None
        if options.corpus is not None:
            retriever = open_retriever(options.corpus, engine, telling(err))
            stack.callback(lambda: engine.submit(retriever.close()).result())
        served = server(engine, retriever, scorers=options.scorers, **chosen)
        engine.services(Task(request.scorers))  # the models, before the first call
        _until_it_ends(served)
    return 0


def _until_it_ends(served: MCPServer) -> None:
    """Run ``served`` in a daemon thread until it ends.

    Within its own loop, Ctrl-C would be logged as an error of a request. Its read of standard
    input would block until the next line.
    """
    ended: Future[None] = Future()

    def run() -> None:
        try:
            ended.set_result(served.run())
        except BaseException as e:
            ended.set_exception(e)

    threading.Thread(target=run, name="mcp", daemon=True).start()
    while not ended.done():
        wait([ended], timeout=0.5)  # Windows delivers Ctrl-C only between two waits
    ended.result()
