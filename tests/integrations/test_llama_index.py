"""The evaluator by the interface of LlamaIndex, and with its response objects."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")
SOURCE = "The tower is 57 m tall."


def test_an_answer_and_its_contexts() -> None:
    from veridical.integrations.llama_index import llama_index_evaluator

    evaluator = llama_index_evaluator(store=None)
    right = evaluator.evaluate(query="How tall?", response=SOURCE, contexts=[SOURCE])
    assert right.passing and right.score > 0.5 and not right.invalid_result
    wrong = evaluator.evaluate(response="The tower is 70 m tall.", contexts=[SOURCE])
    assert wrong.passing is False and wrong.score < 0.5
    assert wrong.feedback.startswith('contradicted: "The tower is 70 m tall."')


def test_what_was_not_checked_is_invalid_and_does_not_pass() -> None:
    from veridical.integrations.llama_index import llama_index_evaluator

    found = llama_index_evaluator(store=None).evaluate(response=SOURCE)
    assert found.invalid_result and found.passing is False and found.score is None
    assert "nothing to check" in found.invalid_reason


async def test_a_response_with_its_nodes() -> None:
    from llama_index.core import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    from veridical.integrations.llama_index import llama_index_evaluator

    node = NodeWithScore(node=TextNode(text=SOURCE), score=1.0)
    response = Response(response="The tower is 70 m tall.", source_nodes=[node])
    found = await llama_index_evaluator(store=None).aevaluate_response("How tall?", response)
    assert found.passing is False and found.contexts == [SOURCE]
