"""LangChain 1 middleware: ``create_agent(..., middleware=[langchain_middleware()])``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.prompt_text import message_text
from veridical.errors import UsageError
from veridical.integrations.judgement import Judgement, judgement
from veridical.single import acheck_one, check_one

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware

OnFail = Literal["annotate", "retry", "block"]
BLOCKED = "The answer was withheld: the sources do not support it."


def langchain_middleware(
    on_fail: OnFail = "annotate", *, retries: int = 1, **options: Any
) -> AgentMiddleware:
    """Create a middleware that checks an agent's final answer against its tool results.

    Every final answer gets ``additional_kwargs["veridical"]`` with ``verdict``, ``risk`` and
    ``reason``; without tool results the verdict is ``unchecked``.

    Args:
        on_fail: handling of a rejected answer: ``annotate`` only; ``retry`` passes the reason to
            the model, ``retries`` times at most; ``block`` replaces it by :data:`BLOCKED`.
        options: of :func:`veridical.check_one`.

    Raises:
        UsageError: ``on_fail`` is unknown.
    """
    if on_fail not in ("annotate", "retry", "block"):
        raise UsageError(f"on_fail must be annotate, retry or block, not {on_fail!r}")
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import HumanMessage

    class VeridicalMiddleware(AgentMiddleware):  # type: ignore[misc]
        @hook_config(can_jump_to=["model"])  # type: ignore[untyped-decorator]
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            fields = _fields(state["messages"])
            return fields and self._act(
                state["messages"], judgement(check_one(**fields, **options))
            )

        @hook_config(can_jump_to=["model"])  # type: ignore[untyped-decorator]
        async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            fields = _fields(state["messages"])
            if fields is None:
                return None
            return self._act(state["messages"], judgement(await acheck_one(**fields, **options)))

        def _act(self, messages: Sequence[Any], judged: Judgement) -> dict[str, Any]:
            answer = messages[-1]
            note = {"verdict": judged.label, "risk": judged.value, "reason": judged.reason}
            more = {**answer.additional_kwargs, "veridical": note}
            marked = answer.model_copy(update={"additional_kwargs": more})
            bad = judged.checked and not judged.passed
            if bad and on_fail == "block":
                marked = marked.model_copy(update={"content": BLOCKED})
            asked = sum("veridical" in getattr(m, "additional_kwargs", {}) for m in messages)
            if bad and on_fail == "retry" and asked < 2 * retries:
                again = HumanMessage(
                    f"A check of your answer found: {judged.reason}. Answer again, following the "
                    "sources.",
                    additional_kwargs={"veridical": {"retry": True}},
                )
                return {"messages": [marked, again], "jump_to": "model"}
            return {"messages": [marked]}

    return VeridicalMiddleware()


def _fields(messages: Sequence[Any]) -> dict[str, Any] | None:
    """Return the last message as an answer to be checked.

    None if it calls tools or is not an answer.
    """
    answer = messages[-1]
    if answer.type != "ai" or getattr(answer, "tool_calls", None):
        return None
    asked = [m for m in messages if m.type == "human" and "veridical" not in m.additional_kwargs]
    tools = [message_text(m.content) for m in messages if m.type == "tool"]
    return {
        "response": message_text(answer.content),
        "question": (message_text(asked[-1].content) or None) if asked else None,
        "contexts": [text for text in tools if text.strip()] or None,
    }
