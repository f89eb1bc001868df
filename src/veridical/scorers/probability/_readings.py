"""Token probabilities from the record or from a proxy model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.prompt_text import message_text
from veridical.core.records import Record, TokenLogprob
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import NotApplicable
from veridical.text.token_spans import MisalignedTokens, token_spans

#: Text before the response in the proxy's input: contexts and prompt, prompt alone, or nothing.
Condition = Literal["all", "prompt", "none"]


@dataclass(frozen=True, eq=False)
class TokenReading:
    """Tokens of a text with their probabilities.

    Attributes:
        text: the text of the tokens.
        tokens: tokens, with log-probabilities in [FLOOR, 0].
        places: (n,) index of each token in its original list, which may contain others (an
            end-of-text token, stripped white space).
    """

    text: str
    tokens: TokenProbabilities
    places: NDArray[np.int64]


async def read_response(
    record: Record, evidence: Evidence, proxy: str | None, condition: Condition
) -> TokenReading:
    """Return the response's tokens: from ``record.logprobs``, or by the proxy if one is given.

    Raises:
        NotApplicable: the response is blank, or it has no log-probabilities and no proxy is given.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    response = record.need_response()
    if proxy is None:
        return _own(record, evidence)
    return (await _by_proxy(record, evidence, [response], proxy, condition))[0]


async def read_answers(
    record: Record, evidence: Evidence, proxy: str | None, condition: Condition
) -> list[TokenReading]:
    """Apply :func:`read_response` to the response and to each sample that has a text.

    Raises:
        NotApplicable: as for :func:`read_response`, or there is no such sample, or one has no
            log-probabilities.
        MisalignedTokens, ModelError: as for :func:`read_response`.
    """
    response = record.need_response()
    sources = record.against("samples")
    if proxy is not None:
        texts = [response, *(s.text for s in sources)]
        return await _by_proxy(record, evidence, texts, proxy, condition)
    readings = [_own(record, evidence)]
    for source in sources:
        tokens = record.samples[source.index].logprobs
        if not tokens:
            raise NotApplicable(f"sample {source.index} has no logprobs")
        try:
            readings.append(of_record(tokens, source.text))
        except MisalignedTokens as e:
            raise MisalignedTokens(f"sample {source.index}: {e}") from None
    return readings


def _own(record: Record, evidence: Evidence) -> TokenReading:
    tokens = record.logprobs
    if not tokens:
        raise NotApplicable("the record has no logprobs; set proxy=MODEL to compute them")
    return evidence.once(_own, lambda: of_record(tokens, record.response))


def of_record(tokens: Sequence[TokenLogprob], text: str) -> TokenReading:
    """Locate the record's log-probabilities in ``text``.

    Raises:
        MisalignedTokens: the tokens do not spell ``text``.
    """
    spans = token_spans([t.token for t in tokens], text)
    spans = [s for s in spans if tokens[s.place].logprob is not None]
    if not spans:
        raise NotApplicable("every log-probability is null")
    spelling = [tokens[s.place] for s in spans]
    width = max((len(t.top) for t in spelling), default=0)
    top = np.full((len(spelling), width), -np.inf)
    listed = [sorted(t.top, key=lambda other: -other.logprob) for t in spelling]
    for row, others in zip(top, listed, strict=True):
        row[: len(others)] = [t.logprob for t in others]
    probabilities = TokenProbabilities(
        starts=np.array([s.start for s in spans], dtype=np.int64),
        ends=np.array([s.end for s in spans], dtype=np.int64),
        logprobs=np.array([t.logprob for t in spelling], dtype=np.float64),
        top=top if width else None,
        top_text=(lambda place: [t.token for t in listed[place]]) if width else None,
    )
    places = np.array([s.place for s in spans], dtype=np.int64)
    return TokenReading(text, probabilities.bounded(), places)


async def _by_proxy(
    record: Record, evidence: Evidence, texts: Sequence[str], proxy: str, condition: Condition
) -> list[TokenReading]:
    prompt = await _prompt(record, evidence, proxy, condition)
    tokens_by_text = await evidence.read([GivenText(prompt, text) for text in texts], proxy)
    readings = []
    for text, tokens in zip(texts, tokens_by_text, strict=True):
        if not len(tokens):
            raise NotApplicable("the proxy model found no tokens in the text")
        readings.append(TokenReading(text, tokens.bounded(), np.arange(len(tokens))))
    return readings


async def _prompt(record: Record, evidence: Evidence, proxy: str, condition: Condition) -> str:
    messages = [] if condition == "none" else conversation(record, condition == "all")
    return await evidence.chat_prompt(messages, proxy) if messages else ""


def conversation(record: Record, contexts: bool) -> list[dict[str, Any]]:
    """Return the messages that the response answers; empty without any in the record.

    Args:
        contexts: prepend to the last message the contexts that no message contains.
    """
    prompt = record.prompt
    if prompt is None:
        messages: list[dict[str, Any]] = []
    elif isinstance(prompt, str):
        messages = [{"role": "user", "content": prompt}] if prompt.strip() else []
    else:
        messages = [
            {"role": m.get("role", "user"), "content": message_text(m.get("content"))}
            for m in prompt
        ]
    contents = [m["content"] for m in messages]
    missing = [c.text for c in record.contexts if not any(c.text in text for text in contents)]
    if contexts and missing:
        passages = "\n\n".join(missing)
        if messages and messages[-1]["role"] == "user":
            last = messages.pop()
            passages = f"{passages}\n\n{last['content']}"
        messages.append({"role": "user", "content": passages})
    return messages
