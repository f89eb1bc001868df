"""The middleware in real agents, whose model is scripted."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware")
WRONG, RIGHT = "The tower is 70 m tall.", "The tower is 57 m tall."


def agent(*answers: str, **options: Any) -> Any:
    """An agent that looks the height up, and then gives these answers."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, ToolCall

    from veridical.integrations.langchain import langchain_middleware

    def height(of: str) -> str:
        """Look up the height of a building."""
        return f"{of}: The tower is 57 m tall."

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    call = AIMessage("", tool_calls=[ToolCall(name="height", args={"of": "Pisa"}, id="1")])
    looked_up = [call] if options.pop("look_up", True) else []
    model = Model(messages=iter([*looked_up, *map(AIMessage, answers)]))
    middleware = langchain_middleware(store=None, **options)
    return create_agent(model, tools=[height], middleware=[middleware])


ASKED = {"messages": [{"role": "user", "content": "How tall is the tower?"}]}


def test_an_answer_is_annotated() -> None:
    for answer, verdict in ((WRONG, "contradicted"), (RIGHT, "supported")):
        last = agent(answer).invoke(ASKED)["messages"][-1]
        assert last.content == answer
        assert last.additional_kwargs["veridical"]["verdict"] == verdict


async def test_a_wrong_answer_is_asked_for_again_and_not_for_ever() -> None:
    messages = (await agent(WRONG, RIGHT, on_fail="retry").ainvoke(ASKED))["messages"]
    assert messages[-1].content == RIGHT
    assert messages[-1].additional_kwargs["veridical"]["verdict"] == "supported"
    assert messages[-2].type == "human" and WRONG in messages[-2].content
    messages = agent(WRONG, WRONG, on_fail="retry").invoke(ASKED)["messages"]
    assert messages[-1].content == WRONG
    assert messages[-1].additional_kwargs["veridical"]["verdict"] == "contradicted"


def test_a_wrong_answer_is_withheld() -> None:
    from veridical.integrations.langchain import BLOCKED

    assert agent(WRONG, on_fail="block").invoke(ASKED)["messages"][-1].content == BLOCKED
    assert agent(RIGHT, on_fail="block").invoke(ASKED)["messages"][-1].content == RIGHT


def test_without_tool_results_an_answer_is_unchecked() -> None:
    last = agent(WRONG, look_up=False).invoke(ASKED)["messages"][-1]
    assert last.additional_kwargs["veridical"]["verdict"] == "unchecked"
    assert last.additional_kwargs["veridical"]["risk"] is None


def test_what_is_refused() -> None:
    from veridical import UsageError
    from veridical.integrations.langchain import langchain_middleware

    with pytest.raises(UsageError, match="annotate, retry or block"):
        langchain_middleware("repair")  # type: ignore[arg-type]
