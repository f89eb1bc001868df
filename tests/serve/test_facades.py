"""The shapes of other services: nothing that was not checked looks clean."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from servers import Running

SOURCE = "The bridge was finished in 1932. It is 2 km long."
WRONG = "The bridge was finished in 1951. It is 2 km long."
RIGHT = "The bridge was finished in 1932."
MANY_VALUES = f"[{'1,' * 10_000}1]"
TOOL = {"role": "tool", "tool_call_id": "a", "content": SOURCE}


def ask(server: Running, path: str, body: Any) -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json=body, timeout=60)


def test_lettucedetect_spans_and_words(server: Running) -> None:
    body = {"contexts": [SOURCE], "question": "Tell me.", "answer": WRONG}
    (span,) = ask(server, "/v1/lettucedetect/spans", body).json()["predictions"]
    assert WRONG[span["start"] : span["end"]] == span["text"] == "1951"
    assert span["hallucination_score"] > 0.5
    tokens = ask(server, "/v1/lettucedetect/token", body).json()["predictions"]
    assert {t["token"]: t["pred"] for t in tokens}["1951"] == 1
    assert {t["token"]: t["pred"] for t in tokens}["km"] == 0
    right = ask(server, "/v1/lettucedetect/spans", {**body, "answer": RIGHT}).json()
    assert right == {"predictions": []}


@pytest.mark.parametrize("path", ["/v1/lettucedetect/spans", "/v1/lettucedetect/token"])
def test_an_answer_without_contexts_is_an_error_not_clean(server: Running, path: str) -> None:
    for contexts in ([], [""], ["  "]):
        answer = ask(server, path, {"contexts": contexts, "question": "q", "answer": WRONG})
        assert answer.status_code == 422, answer.text


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/lettucedetect/spans", {"contexts": ["a"], "answer": "\0"}, "answer"),
        ("/v1/lettucedetect/spans", {"contexts": ["a"], "answer": MANY_VALUES}, "answer"),
        ("/v1/lettucedetect/token", {"contexts": ["a", "\0b"], "answer": "a"}, "contexts[1]"),
        (
            "/v2/evaluate_factual_consistency",
            {"source_texts": ["a"], "generated_text": "b\0"},
            "generated_text",
        ),
        (
            "/beta/litellm_basic_guardrail_api",
            {
                "input_type": "response",
                "texts": ["b\0"],
                "structured_messages": [TOOL],
                "litellm_call_id": "nul",
            },
            "texts",
        ),
        (
            "/v1/portkey",
            {
                "request": {"json": {"messages": [TOOL]}},
                "response": {"json": {"choices": [{"message": {"content": "b\0"}}]}},
            },
            "response.json.choices",
        ),
    ],
)
def test_an_error_names_the_field_of_the_request(
    server: Running, path: str, body: Any, field: str
) -> None:
    answer = ask(server, path, body)
    assert answer.status_code == 422 and "records" not in answer.text
    assert answer.json()["detail"].startswith(f"{field}: ")
    assert answer.json()["errors"][0]["field"] == field


def test_vectara_scores_consistency(server: Running) -> None:
    body = {"source_texts": [SOURCE], "model_parameters": {"model_name": "x"}, "language": "eng"}
    wrong = ask(server, "/v2/evaluate_factual_consistency", {**body, "generated_text": WRONG})
    right = ask(server, "/v2/evaluate_factual_consistency", {**body, "generated_text": RIGHT})
    assert wrong.json()["score"] < 0.5 < right.json()["score"]
    for texts in ([], [" "]):
        answer = ask(
            server,
            "/v2/evaluate_factual_consistency",
            {"source_texts": texts, "generated_text": RIGHT},
        )
        assert answer.status_code == 422


def test_litellm_keeps_the_evidence_of_a_call_until_its_answer(server: Running) -> None:
    path = "/beta/litellm_basic_guardrail_api"
    request = {
        "texts": ["When?"],
        "input_type": "request",
        "structured_messages": [{"role": "user", "content": "When?"}, TOOL],
        "litellm_call_id": "call-1",
        "request_data": {},
    }
    assert ask(server, path, request).json()["action"] == "NONE"
    reply = {"texts": [WRONG], "input_type": "response", "litellm_call_id": "call-1"}
    blocked = ask(server, path, reply).json()
    assert blocked["action"] == "BLOCKED" and "contradicted" in blocked["blocked_reason"]
    assert ask(server, path, {**reply, "texts": [RIGHT]}).json()["action"] == "NONE"
    refusal = {**reply, "texts": ["I'm sorry, I can't help with that."]}
    assert ask(server, path, refusal).json()["action"] == "NONE"  # with sources; else blocked
    alone = ask(server, path, {**refusal, "litellm_call_id": "call-3"}).json()
    assert alone["action"] == "BLOCKED"
    # another call, one without a name, and one without evidence: unchecked is not clean
    for call in ("call-2", None):
        found = ask(server, path, {**reply, "texts": [RIGHT], "litellm_call_id": call}).json()
        assert found["action"] == "BLOCKED" and "unchecked" in found["blocked_reason"]
        allowed = {"additional_provider_specific_params": {"unchecked": "allow"}}
        found = ask(server, path, {**reply, "litellm_call_id": call, **allowed}).json()
        assert found["action"] == "NONE"


def test_litellm_reads_blocks_for_contextual_grounding(server: Running) -> None:
    path = "/beta/litellm_basic_guardrail_api"
    source = {"type": "grounding_source", "text": SOURCE}
    blocks = [source, {"type": "query", "text": "When?"}]
    request = {
        "texts": ["When?"],
        "input_type": "request",
        "structured_messages": [{"role": "user", "content": blocks}],
        "litellm_call_id": "call-blocks",
        "request_data": {},
    }
    assert ask(server, path, request).json()["action"] == "NONE"
    for text, action in ((RIGHT, "NONE"), (WRONG, "BLOCKED")):
        reply = {"texts": [text], "input_type": "response", "litellm_call_id": "call-blocks"}
        assert ask(server, path, reply).json()["action"] == action


def test_portkey_has_a_verdict(server: Running) -> None:
    def hook(answer: str, *messages: Any) -> Any:
        body = {
            "request": {"json": {"messages": [{"role": "user", "content": "When?"}, *messages]}},
            "response": {"json": {"choices": [{"message": {"content": answer}}]}},
            "provider": "openai",
            "eventType": "afterRequestHook",
        }
        return ask(server, "/v1/portkey", body).json()

    parts = {"role": "tool", "content": [{"type": "text", "text": SOURCE}]}
    assert hook(RIGHT, TOOL)["verdict"] is True and hook(RIGHT, parts)["verdict"] is True
    assert hook(WRONG, TOOL)["verdict"] is False
    assert hook(RIGHT) == {"verdict": False, "data": {"checked": False, "verdict": "unchecked"}}
    before = ask(server, "/v1/portkey", {"eventType": "beforeRequestHook"}).json()
    assert before == {"verdict": True, "data": {"checked": False}}
    for odd in ({}, {"response": {"json": []}}, {"request": {"json": {"messages": 1}}}):
        assert ask(server, "/v1/portkey", odd).json()["verdict"] is False


def test_documents_and_parts_of_tool_messages_are_evidence(server: Running) -> None:
    path = "/beta/litellm_basic_guardrail_api"
    parts = [{"type": "text", "text": "Nothing of it."}, {"type": "document", "content": SOURCE}]
    for call, message in enumerate(
        ({"role": "tool", "content": parts}, {"role": "user", "content": ["When?", *parts]})
    ):
        body = {
            "texts": [RIGHT],
            "input_type": "response",
            "structured_messages": [message],
            "litellm_call_id": f"parts-{call}",
        }
        assert ask(server, path, body).json()["action"] == "NONE"
    broken = {**body, "structured_messages": [{"role": "wizard"}], "litellm_call_id": "broken"}
    assert "unchecked" in ask(server, path, broken).json()["blocked_reason"]


def test_sources_in_the_text_of_messages_are_evidence_too(server: Running) -> None:
    content = f"Context:\n{SOURCE}\n\nQuestion: what do the sources say?"
    asked = {"messages": [{"role": "user", "content": content}]}
    for text, passes in ((RIGHT, True), (WRONG, False)):
        reply = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        body = {"request": {"json": asked}, "response": {"json": reply}}
        found = ask(server, "/v1/portkey", body).json()
        assert found["data"]["checked"] and found["verdict"] is passes
