"""MQAG by any chat model that generates and answers the questions."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.messages import ChatRequest, LlmError
from veridical.llm.asking import Chat, ask_verdicts, request
from veridical.llm.structured import read_json
from veridical.llm.verdicts import ALTERNATIVES, JudgeVerdict
from veridical.prompts import Choices, Prompt, load_prompt
from veridical.scorers.judges._mqag import OPTIONS, Question

#: Templates to generate questions, choose an option, and test if a question is answered.
PROMPTS = ("mqag_questions", "mqag_answer", "mqag_answerable")
_MAX_QUESTION_TOKENS = 256  # with its options
_MAX_ANSWER_TOKENS = 64


class ChatQuestions:
    """A :class:`~veridical.scorers.judges._mqag.QuestionSystem` over a chat model.

    Each sentence takes one call for all its questions. A question's options are shuffled by a hash
    of the question, so that a preference for a letter does not look like agreement. If the server
    returns token probabilities, those of the letters (of Yes and No) are used; otherwise the
    answered option has probability 1.

    Args:
        chat: makes the calls.
        by_token: True if the server always returns token probabilities, so that only the first
            token of a verdict is requested.
    """

    def __init__(self, chat: Chat, *, by_token: bool = False) -> None:
        self._chat = chat
        self._by_token = by_token
        self._writing, self._choosing, self._judging = used = tuple(map(load_prompt, PROMPTS))
        self.parts = [p.identity for p in used]
        self.troubles: list[LlmError] = []

    async def questions(
        self, passage: str, sentences: Sequence[str], count: int
    ) -> list[list[Question]]:
        """See :meth:`QuestionSystem.questions`.

        A sentence without a valid JSON reply has no questions.
        """
        requests = [
            ChatRequest(
                self._writing.messages(passage=passage, sentence=sentence, count=str(count)),
                max_tokens=_MAX_QUESTION_TOKENS * count,
                schema=_schema(count),
            )
            for sentence in sentences
        ]
        written: list[list[Question]] = []
        lenient = _schema(count)
        lenient["properties"]["questions"] |= {"minItems": 0, "maxItems": 100}
        for reply in await self._chat(requests):
            written.append([])
            try:
                rows = read_json(reply.whole(), lenient)["questions"]
            except LlmError as e:
                self.troubles.append(e)
                continue
            drafts = (Question.of(row["question"], _shuffled(row)) for row in rows[:count])
            written[-1] += (q for q in drafts if q is not None)
        return written

    async def choose(self, questions: Sequence[tuple[str, Question]]) -> list[NDArray[np.float64]]:
        """See :meth:`QuestionSystem.choose`.

        Raises:
            LlmError: a reply is cut, refused, or names no option.
        """
        by_size = {n: _with_letters(self._choosing, n) for n in range(2, OPTIONS + 1)}
        prompts = [by_size[len(q.options)] for _, q in questions]
        parts = [
            {
                "passage": passage,
                "question": q.text,
                "options": "\n".join(
                    f"{letter}) {' '.join(option.split())}"
                    for letter, option in zip(string.ascii_uppercase, q.options, strict=False)
                ),
            }
            for passage, q in questions
        ]
        table = await self._verdicts(prompts, parts)
        letters = string.ascii_uppercase
        return [
            np.array([shares.get(letters[k], 0.0) for k in range(len(q.options))])
            for shares, (_, q) in zip(table, questions, strict=True)
        ]

    async def answerable(self, questions: Sequence[tuple[str, Question]]) -> list[float]:
        """See :meth:`QuestionSystem.answerable`.

        Raises:
            LlmError: a reply is cut, refused, or neither yes nor no.
        """
        parts = [{"passage": passage, "question": q.text} for passage, q in questions]
        table = await self._verdicts([self._judging] * len(parts), parts)
        return [shares.get("Yes", 0.0) for shares in table]

    async def _verdicts(
        self, prompts: Sequence[Prompt], parts: Sequence[dict[str, Any]]
    ) -> list[dict[str, float]]:
        """Return the probabilities of the answers to each prompt."""
        requests = [self._request(*pair) for pair in zip(prompts, parts, strict=True)]
        verdicts = await ask_verdicts(self._chat, requests, prompts)
        unread = [v for v in verdicts if isinstance(v, LlmError)]
        self.troubles += unread
        if unread:
            raise unread[0]
        return [v.probabilities or {v.answer: 1.0} for v in verdicts if isinstance(v, JudgeVerdict)]

    def _request(self, prompt: Prompt, parts: dict[str, Any]) -> ChatRequest:
        if self._by_token:
            return request(prompt, parts, form="token")
        return ChatRequest(
            prompt.messages(**parts),
            max_tokens=_MAX_ANSWER_TOKENS,
            logprobs=ALTERNATIVES,
            schema=prompt.schema(),
        )


def _schema(count: int) -> dict[str, Any]:
    text = {"type": "string"}
    wrong = {"type": "array", "items": text, "minItems": OPTIONS - 1, "maxItems": OPTIONS - 1}
    question = {
        "type": "object",
        "properties": {"question": text, "answer": text, "wrong": wrong},
        "required": ["question", "answer", "wrong"],
        "additionalProperties": False,
    }
    questions = {"type": "array", "items": question, "minItems": count, "maxItems": count}
    return {
        "type": "object",
        "properties": {"questions": questions},
        "required": ["questions"],
        "additionalProperties": False,
    }


def _shuffled(row: dict[str, Any]) -> list[str]:
    """Return the options in an order derived from the question."""

    def place(option: str) -> bytes:
        content = f"{row['question']}\x00{option}".encode("utf-8", "replace")
        return hashlib.blake2b(content, digest_size=8).digest()

    return sorted([row["answer"], *row["wrong"]], key=place)


def _with_letters(prompt: Prompt, count: int) -> Prompt:
    """Return ``prompt`` restricted to the first ``count`` letters."""
    scale = prompt.scale
    if not isinstance(scale, Choices):
        raise TypeError(f"prompt {prompt.name} has no lettered options")
    return replace(prompt, scale=replace(scale, choices=scale.choices[:count]))
