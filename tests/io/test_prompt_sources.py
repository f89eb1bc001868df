"""Sources in the text of prompts, in the forms that applications and frameworks write them."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import Family, half, repeated

from veridical.io.prompt_sources import prompt_sources

A = "The Nile is a river in Africa."
B = "The Rhine is a river in Europe."


def texts(prompt: str, pattern: str | None = None) -> list[str]:
    return [c["text"] for c in prompt_sources(prompt, pattern)]


@pytest.mark.parametrize(
    "prompt",
    [
        f"<context>\n{A}\n</context>\n\nQuestion: Where is the Nile?",
        f"<CONTEXT>{A}</CONTEXT> Where is the Nile?",
        f"Use this.\n<search_results>{A}</search_results>\nWhere is the Nile?",
        f"<retrieved_context>{A}</retrieved_context>",
        f"<knowledge_base>\n{A}\n</knowledge_base>",
        f"Context: {A}\nQuestion: Where is the Nile?",
        f"Context: {A} Question: Where is the Nile?",
        f"Context:\n{A}\n\nQuestion: Where is the Nile?\nAnswer:",
        f"**Context:**\n{A}\n\n**Question:** Where is the Nile?",
        f"### Context\n{A}\n\n### Question\nWhere is the Nile?",
        f"## Sources\n\n{A}\n\n## Question\nWhere is the Nile?",
        f"Kontext:\n{A}\n\nFrage: Wo ist der Nil?",
        # LangChain's rlm/rag-prompt, and the one of its documentation
        "You are an assistant for question-answering tasks. Use the following pieces of retrieved "
        "context to answer the question. If you don't know the answer, just say that you don't "
        f"know.\nQuestion: Where is the Nile? \nContext: {A} \nAnswer:",
        f"Answer the question based only on the following context:\n{A}\n\nQuestion: Where?",
        # LlamaIndex
        f"Context information is below.\n---------------------\n{A}\n---------------------\n"
        "Given the context information and not prior knowledge, answer the query.\n"
        "Query: Where is the Nile?\nAnswer: ",
        # Haystack
        "Given these documents, answer the question.\nDocuments:\n" + A + "\n\nQuestion: Where?",
        f"Relevant documents:\n\n{A}\n\nWhere is the Nile?",
    ],
)
def test_the_usual_forms(prompt: str) -> None:
    assert texts(prompt) == [A]


def test_documents_apart_with_their_names() -> None:
    prompt = (
        f'<documents><document index="1"><source>nile.pdf</source><document_content>{A}'
        f"</document_content></document>\n<document id='rhine'>{B}</document></documents>Where?"
    )
    assert prompt_sources(prompt) == [{"id": "nile.pdf", "text": A}, {"id": "rhine", "text": B}]
    assert prompt_sources(f'<doc title="The Nile">{A}</doc><doc>{B}</doc>') == [
        {"id": "The Nile", "text": A},
        {"text": B},
    ]


def test_messages_of_system_and_user_alone() -> None:
    messages = [
        {"role": "system", "content": f"Answer by the sources.\n<context>{A}</context>"},
        {"role": "assistant", "content": "<context>The moon is made of cheese.</context>"},
        {"role": "user", "content": [{"type": "text", "text": f"Context:\n{B}"}]},
    ]
    assert [c["text"] for c in prompt_sources(messages)] == [A, B]


@pytest.mark.parametrize(
    "prompt",
    [
        "Where is the Nile?",
        "You are a helpful assistant. Answer using the provided context.",
        "Explain the following: rivers.",
        "<context>never closed",
        "</context> closed only",
        "In this context, where is the Nile?",
        "",
    ],
)
def test_prompts_without_sources(prompt: str) -> None:
    assert texts(prompt) == []


def test_a_pattern_of_the_application() -> None:
    pattern = "Here is what we know.\n{sources}\nNow answer:"
    assert texts(f"Hi. Here is what we know.\n{A}\nNow answer: where?", pattern) == [A]
    assert texts(f"Context: {A}", pattern) == []  # it alone is looked for
    assert texts(f"We know: {A}", "We know: {sources}") == [A]
    assert texts(f"{A}\n===\nWhere?", "{sources}\n===") == [A]
    assert texts(f"Here is what we know.\n{A}", pattern) == []  # it does not end


@pytest.mark.parametrize(
    "hostile",
    [
        *map(repeated, ["<context>", "<context></document>", "<a ", "Context:\n", "context "]),
        *map(repeated, ["# ", "-", "\n", "Context: a\n \n"]),
        half("<document>", "</document>"),
        half("<documents><document>", "</document></documents>"),
    ],
)
def test_time_grows_no_faster_than_the_text(hostile: Family) -> None:
    assert growth(prompt_sources, hostile) < MOST
