"""Routes in the format of other services, for their clients.

Changing the base URL is enough. None of these formats can express "could not check". So an
unchecked answer is an error there, or blocked, and never clean.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from veridical.core.explain import ShownPiece
from veridical.core.scores import Result
from veridical.core.verdict_cuts import FLAGGED
from veridical.io.conversations import Context, contexts_of, from_chat, said
from veridical.io.problems import RowProblem
from veridical.io.prompt_sources import prompt_sources
from veridical.serve.problems import Problem
from veridical.serve.request_options import records_of
from veridical.serve.schemas import Scoring
from veridical.serve.service import ScoringServer, until_gone

Text = Annotated[str, Field(max_length=1_000_000)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=256)]
Message = dict[str, JsonValue]

#: Names of a record's fields in these requests.
_LETTUCE = {"response": "answer", "contexts": "contexts", "prompt": "question"}
_VECTARA = {"response": "generated_text", "contexts": "source_texts"}
_LITELLM = {"response": "texts", "contexts": "structured_messages"}
_PORTKEY = {"response": "response.json.choices", "contexts": "request.json.messages"}

#: Verdicts that let an answer pass; an unclear one is for review, and is released.
_PASSING = ("supported", "consistent", "unclear")
_KEPT, _SECONDS = 10_000, 600  # maximum calls whose evidence is stored, and its lifetime


class _In(BaseModel):
    model_config = ConfigDict(extra="ignore")  # clients of other services send further fields


class LettuceBody(_In):
    contexts: Texts
    question: Text | None = None
    answer: Text


class LettuceSpan(BaseModel):
    start: int
    end: int
    text: str
    hallucination_score: float


class LettuceSpans(BaseModel):
    predictions: list[LettuceSpan]


class LettuceToken(BaseModel):
    token: str
    pred: Literal[0, 1]
    prob: float


class LettuceTokens(BaseModel):
    predictions: list[LettuceToken]


class VectaraBody(_In):
    generated_text: Text
    source_texts: Texts


class VectaraAnswer(BaseModel):
    score: Annotated[float, Field(ge=0, le=1)]


class LiteLlmBody(_In):
    texts: Annotated[list[Text], Field(max_length=256)] = []
    input_type: Literal["request", "response"]
    structured_messages: list[Message] | None = None
    litellm_call_id: Annotated[str | None, Field(max_length=200)] = None
    additional_provider_specific_params: dict[str, JsonValue] | None = None


class LiteLlmAnswer(BaseModel):
    action: Literal["NONE", "BLOCKED"]
    blocked_reason: str | None = None


class PortkeyBody(_In):
    request: dict[str, JsonValue] | None = None
    response: dict[str, JsonValue] | None = None
    eventType: Literal["beforeRequestHook", "afterRequestHook"] = "afterRequestHook"


class PortkeyAnswer(BaseModel):
    verdict: bool
    data: dict[str, Any]


def add(app: FastAPI, service: ScoringServer) -> None:
    """Add the routes."""

    async def check(
        request: Request, rows: list[dict[str, Any]], names: Mapping[str, str]
    ) -> list[Result]:
        records = records_of(rows, names)
        key = service.key_of(request.scope)
        wanted = service.wanted(Scoring(), key)
        lines = await until_gone(request, lambda: service.check(records, wanted, key))
        return [Result.model_validate_json(line) for line in lines]

    async def judged(request: Request, body: LettuceBody) -> Result:
        _need_sources(body.contexts)
        row = {"response": body.answer, "contexts": body.contexts, "prompt": body.question}
        (result,) = await check(request, [row], _LETTUCE)
        if result.risk is None or (result.verdict == "unchecked" and body.answer.strip()):
            raise Problem(422, f"could not check the answer: {result.reason}")
        return result

    @app.post("/v1/lettucedetect/spans")
    async def spans(body: LettuceBody, request: Request) -> LettuceSpans:
        """Return unsupported spans of the answer, in the format of LettuceDetect's server."""
        result = await judged(request, body)
        found = [
            LettuceSpan(start=u.start, end=u.end, text=u.text, hallucination_score=u.risk)
            for u in _wrong(result)
            if u.risk is not None
        ]
        return LettuceSpans(predictions=found)

    @app.post("/v1/lettucedetect/token")
    async def token(body: LettuceBody, request: Request) -> LettuceTokens:
        """Return each word with the risk of its span, in the format of LettuceDetect's server."""
        from veridical.text.words import word_spans

        result = await judged(request, body)
        pieces = [u for u in result.spans if u.risk is not None]
        wrong = [(u.start, u.end) for u in _wrong(result)]
        predictions = []
        for word in word_spans(body.answer):
            risks = [u.risk or 0.0 for u in pieces if u.start <= word.start < u.end]
            bad = any(start <= word.start < end for start, end in wrong)
            predictions.append(
                LettuceToken(
                    token=word.text, pred=1 if bad else 0, prob=risks[-1] if risks else 0.0
                )
            )
        return LettuceTokens(predictions=predictions)

    @app.post("/v2/evaluate_factual_consistency")
    async def consistency(body: VectaraBody, request: Request) -> VectaraAnswer:
        """Return Vectara's consistency score: 1 is consistent with the sources, 0 is not."""
        _need_sources(body.source_texts)
        row = {"response": body.generated_text, "contexts": body.source_texts}
        (result,) = await check(request, [row], _VECTARA)
        if result.risk is None or result.verdict == "unchecked":
            raise Problem(422, f"could not check the text: {result.reason}")
        return VectaraAnswer(score=round(1 - result.risk, 6))

    evidence = _StoredEvidence()

    @app.post("/beta/litellm_basic_guardrail_api")
    async def litellm(body: LiteLlmBody, request: Request) -> LiteLlmAnswer:
        """Check a call of LiteLLM's generic guardrail, for `mode: [pre_call, post_call]`.

        The request's tool messages, or sources in the text of its messages, are the evidence of its
        answer. An answer without evidence is blocked, unless `additional_provider_specific_params`
        has `"unchecked": "allow"`.
        """
        owner = service.key_of(request.scope)
        call = (owner.name if owner else "", body.litellm_call_id or "")
        if body.structured_messages is not None:
            evidence.keep(call, _sources(body.structured_messages))
        if body.input_type == "request":
            return LiteLlmAnswer(action="NONE")
        parameters = body.additional_provider_specific_params or {}
        allow = parameters.get("unchecked") == "allow"
        contexts = evidence.of(call) if body.litellm_call_id else []
        rows = [{"response": t, "contexts": contexts} for t in body.texts if t.strip()]
        bad = _blocking(await check(request, rows, _LITELLM), allow) if rows and contexts else None
        if rows and not contexts and not allow:
            bad = "unchecked: the call has no tool message, document or context to check against"
        return LiteLlmAnswer(action="BLOCKED" if bad else "NONE", blocked_reason=bad)

    @app.post("/v1/portkey")
    async def portkey(body: PortkeyBody, request: Request) -> PortkeyAnswer:
        """Check a call of Portkey's webhook guardrail. An answer without evidence gets the verdict
        false.
        """
        if body.eventType == "beforeRequestHook":
            return PortkeyAnswer(verdict=True, data={"checked": False})
        sent = _object(_object(body.request).get("json"))
        contexts = _sources(sent.get("messages"))
        texts = _answers(_object(_object(body.response).get("json")))
        rows = [{"response": text, "contexts": contexts} for text in texts if text.strip()]
        if not rows or not contexts:
            return PortkeyAnswer(verdict=False, data={"checked": False, "verdict": "unchecked"})
        results = await check(request, rows, _PORTKEY)
        bad = _blocking(results, False)
        verdicts: list[str] = [result.verdict for result in results]
        return PortkeyAnswer(
            verdict=bad is None, data={"checked": True, "verdicts": verdicts, "reason": bad}
        )


def _need_sources(texts: Sequence[str]) -> None:
    """Require at least one text to check against.

    Raises:
        Problem: there is no text.
    """
    if not any(text.strip() for text in texts):
        raise Problem(422, "contexts: the list is empty; send at least one text")


def _wrong(result: Result) -> list[ShownPiece]:
    """Return unsupported spans; known wrong words replace their sentence."""
    shown = result.shown()
    words = [p for p in shown.words if p.risk is not None and p.verdict in FLAGGED]
    return words + [
        p
        for p in shown.sentences
        if p.risk is not None
        and p.verdict in FLAGGED
        and not any(p.start <= w.start < p.end for w in words)
    ]


def _blocking(results: Sequence[Result], allow_unchecked: bool) -> str | None:
    """Return the reason that an answer may not pass, or None."""
    for result in results:
        if result.verdict in _PASSING or (allow_unchecked and result.verdict == "unchecked"):
            continue
        if result.reason == "no_statement":  # a greeting or a refusal makes no claim
            continue
        worst = result.worst
        text = f": {worst.text[:200]}" if worst is not None else ""
        return f"{result.verdict}{text}"
    return None


def _sources(messages: Any) -> list[Context]:
    """Return the sources of an answer: tool results and documents, else sources in messages.

    Empty if the messages contain no sources.
    """
    try:
        found = from_chat(messages)
        return contexts_of(found) or prompt_sources(found)
    except RowProblem:
        return []


def _answers(reply: Mapping[str, Any]) -> list[str]:
    choices = reply.get("choices")
    if not isinstance(choices, list):
        return []
    messages = [
        {**_object(_object(choice).get("message")), "role": "assistant"} for choice in choices
    ]
    try:
        return [said(message) for message in from_chat(messages)]
    except RowProblem:
        return []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class _StoredEvidence:
    """Evidence of calls in flight, stored for a limited time."""

    def __init__(self) -> None:
        self._calls: OrderedDict[tuple[str, str], tuple[float, list[Context]]] = OrderedDict()

    def keep(self, call: tuple[str, str], contexts: list[Context]) -> None:
        now = time.monotonic()
        self._calls[call] = now, contexts
        self._calls.move_to_end(call)
        while self._calls:
            first = next(iter(self._calls))
            if len(self._calls) <= _KEPT and now - self._calls[first][0] <= _SECONDS:
                return
            del self._calls[first]

    def of(self, call: tuple[str, str]) -> list[Context]:
        kept = self._calls.get(call)
        return kept[1] if kept and time.monotonic() - kept[0] <= _SECONDS else []
