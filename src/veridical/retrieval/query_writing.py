"""Search queries: statements of an answer, or an LLM's question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from veridical.claims.asking import question_of
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.prompt_text import message_text
from veridical.prompts import load_prompt

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.sampling.sampling import Chat

#: ``sentences``: each sentence of the response. ``llm``: one question for the response.
Queries = Literal["sentences", "llm"]
#: Templates with and without the record's question.
PROMPTS = ("refchecker_query_question", "refchecker_query")
#: Code points from the end of the prompt, where a question is, that precede a sentence.
_ASKED = 300
#: Maximum code points of a query; maximum tokens of the reply.
_LONGEST, _TOKENS = 400, 128
#: Failures of a single request; others may succeed.
_OF_THE_REQUEST = frozenset({"malformed", "length", "empty", "refused"})


def queries_of(record: Record) -> list[str]:
    """Return each sentence of the response, preceded by the end of the prompt.

    The prompt shows what "it" refers to (as FActScore puts the topic before the fact).
    """
    question = _prompt(record)[-_ASKED:].strip()
    sentences = [s.text.strip() for s in record.sentences if s.text.strip()]
    return list(dict.fromkeys(f"{question} {s}".strip() for s in sentences))


def _prompt(record: Record) -> str:
    if isinstance(record.prompt, str) or record.prompt is None:
        return record.prompt or ""
    for message in reversed(record.prompt):
        text = message_text(message.get("content"))
        if message.get("role") == "user" and text:
            return text
    return ""


class QueryWriter:
    """A writer of one search question per response, by a language model.

    A query is one line of at most 400 characters.

    Args:
        chat: the model.

    Source: the retriever in the released code of Hu et al. 2024 (RefChecker), which shows the
    response alone. Here the record's question is shown too.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def write(self, records: Sequence[Record]) -> list[list[str] | str]:
        """Return the queries of each record, or the reason why they are missing.

        There is one per response, and no query for a blank response.

        There is one per response, and none for a blank response.

        Raises:
            LlmError: the model cannot be called.
        """
        asked = [r for r in records if r.response.strip()]
        replies = await self._chat.chat_each([_request(r) for r in asked]) if asked else []
        answered = any(isinstance(reply, Reply) for reply in replies)
        for reply in replies:
            if isinstance(reply, LlmError):
                alone = {"rejected"} if answered else set()
                if reply.trouble not in _OF_THE_REQUEST | alone:
                    raise reply
        written = iter(replies)
        return [_read(next(written)) if r.response.strip() else [] for r in records]


def _request(record: Record) -> ChatRequest:
    question = question_of(record)
    with_question, without = PROMPTS
    if question is None:
        messages = load_prompt(without).messages(answer=record.response)
    else:
        prompt = load_prompt(with_question)
        messages = prompt.messages(answer=record.response, question=question)
    return ChatRequest(messages, max_tokens=_TOKENS)


def _read(reply: Reply | LlmError) -> list[str] | str:
    if isinstance(reply, LlmError):
        return f"no query was written: {reply}"
    for line in reply.text.splitlines():
        query = " ".join(line.split()).removeprefix("Output:").strip(" \"'\u201c\u201d")
        if any(map(str.isalnum, query)):
            return [query[:_LONGEST]]
    return "no query was written: the reply has no words"
