"""Model Context Protocol server on standard input and output: ``veridical mcp``.

Its tools check answers against sources that the client sends, and search a corpus that the user
named at the start. They read no file and fetch no address that a client names. A reply has at most
:data:`MOST_TOKENS` tokens, whatever its texts are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from veridical.core.explain import WHY
from veridical.errors import UsageError, VeridicalError
from veridical.single import acheck_one
from veridical.text.display import cut
from veridical.version import __version__

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from veridical.core.explain import ShownSource
    from veridical.core.scores import Result
    from veridical.engine.engine import Engine
    from veridical.retrieval.search import Retriever

#: Maximum tokens of a reply.
MOST_TOKENS = 2_000
_TEXT = 300  # maximum characters of a text in a reply
_PASSAGE = 1_200
_FOUND = 5  # maximum passages
_LETTER = 0.67  # tokens per letter or space: BPE vocabularies need fewer in all texts measured

Answer = Annotated[str, Field(max_length=100_000, description="The answer to check.")]
Claim = Annotated[str, Field(max_length=10_000, description="One statement.")]
Sources = Annotated[
    list[Annotated[str, Field(max_length=1_000_000)]],
    Field(min_length=1, max_length=500, fail_fast=True, description="Texts that must support it."),
]
Question = Annotated[str | None, Field(max_length=20_000, description="The question, if known.")]
Query = Annotated[str, Field(min_length=1, max_length=2_000, description="Search terms.")]

INSTRUCTIONS = (
    "Checks whether text follows from sources. Before you give an answer that rests on documents "
    "or tool results, call check_answer with those texts as sources, and correct what it calls "
    "contradicted or unsupported. unclear means that the evidence against it is not "
    "conclusive: look at it. unchecked means that nothing was found out: it is not good news."
)


def server(engine: Engine, retriever: Retriever | None = None, **options: Any) -> MCPServer:
    """Build the server.

    Args:
        engine: a warm one.
        retriever: of the corpus; without one ``search_corpus`` returns an error.
        options: ``scorers``, ``preset``, ``prior`` and ``strictness`` of
            :func:`veridical.check_one`.

    Raises:
        UsageError: the package ``mcp`` is missing or too old.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as e:
        raise UsageError(
            f"the MCP server requires the package mcp: pip install mcp ({e})"
        ) from None

    served = MCPServer(
        "veridical", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )

    async def judged(text: str, sources: Sequence[str], question: str | None) -> Result:
        try:
            return await acheck_one(
                text, contexts=list(sources), question=question, engine=engine, **options
            )
        except VeridicalError as e:
            raise ToolError(cut(str(e), _TEXT)) from None

    @served.tool(structured_output=False)  # type: ignore[untyped-decorator]
    async def check_answer(answer: Answer, sources: Sources, question: Question = None) -> str:
        """Check whether the sources support an answer, sentence by sentence.

        Returns the verdict (supported, unclear, unsupported, contradicted or unchecked) and the
        risk (0 best, 1 worst). Lists the sentences that are not supported, the worst first, with
        the closest source text.
        """
        return as_json(await judged(answer, sources, question))

    @served.tool(structured_output=False)  # type: ignore[untyped-decorator]
    async def find_support(claim: Claim, sources: Sources) -> str:
        """Find the passages of the sources that support or contradict a claim."""
        return as_json(await judged(claim, sources, None), only_bad=False)

    @served.tool(structured_output=False)  # type: ignore[untyped-decorator]
    async def search_corpus(query: Query) -> str:
        """Find passages in the user's own documents, the best first."""
        if retriever is None:
            raise ToolError("no corpus is configured; start the server with --corpus PATH")
        try:
            search = engine.submit(retriever.search([query], _FOUND))
            (passages,) = await asyncio.wrap_future(search)
        except VeridicalError as e:
            raise ToolError(cut(str(e), _TEXT)) from None
        found = ({"source": cut(p.id, _TEXT), "text": cut(p.text, _PASSAGE)} for p in passages)
        return bounded({"query": cut(query, _TEXT)}, "passages", found)

    return served


def as_json(result: Result, *, only_bad: bool = True) -> str:
    """Return a result as JSON.

    Args:
        only_bad: leave out the supported sentences.
    """
    head: dict[str, Any] = {"verdict": result.verdict, "risk": result.risk}
    shown = result.shown()
    if result.reason is not None:
        head["reason"] = cut(shown.why or "", _TEXT)
        head["advice"] = WHY[result.reason][1]
    sentences = [
        {
            "text": cut(piece.text, _TEXT),
            "verdict": piece.verdict,
            "risk": piece.risk,
            **({} if piece.kind is None else {"kind": piece.kind}),
            "evidence": [_evidence(item) for item in piece.evidence[:3]],
        }
        for piece in sorted(shown.sentences, key=lambda piece: -(piece.risk or 0.0))
    ]
    listed = [s for s in sentences if not only_bad or s["verdict"] != "supported"]
    head["statements"] = len(sentences)
    return bounded(head, "sentences", listed)


def _evidence(item: ShownSource) -> dict[str, Any]:
    found = {"source": item.index, "start": item.start, "text": cut(item.text, _TEXT)}
    return found if item.computed is None else {**found, "computed": cut(item.computed, _TEXT)}


def bounded(head: dict[str, Any], name: str, items: Iterable[dict[str, Any]]) -> str:
    """Return ``head`` as JSON with as many ``items`` as :data:`MOST_TOKENS` allow.

    The number of omitted items is included.
    """
    kept: list[dict[str, Any]] = []
    left_out = 0
    for item in items:
        if not left_out and tokens(_json({**head, name: [*kept, item]})) <= MOST_TOKENS - 20:
            kept.append(item)
        else:
            left_out += 1
    return _json({**head, name: kept, **({"left_out": left_out} if left_out else {})})


def tokens(text: str) -> int:
    """Return an upper bound of a text's tokens under any model.

    Each token covers at least a byte, and words of letters take fewer tokens.
    """
    plain = sum(c.isascii() and (c.isalpha() or c == " ") for c in text)
    return int(_LETTER * plain + len(text.encode()) - plain) + 1


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
