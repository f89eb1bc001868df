"""Wrong variants that a language model writes."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.claims.asking import question_of
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.llm.structured import read_json
from veridical.prompts import load_prompt
from veridical.text.spans import FindingKind, Span
from veridical.tuning.corruption import WrongVariant

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.llm.cost_accounting import Account
    from veridical.llm.service import LlmService

_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
_MEANINGS: dict[FindingKind, str] = {
    "figure": "another number or amount",
    "date": "another date, time or year",
    "unit": "another unit, scale or currency",
    "name": "another person, place, organisation or thing",
    "negation": "a negation put in or taken out",
    "relation": "another relation between the same things",
    "order": "the same things in another order or role",
    "addition": "a statement added that the sources do not make",
    "computed": "a sum, difference, share or other computed value that is wrong",
    "other": "another fact changed, such as a quantifier, a cause or a condition",
}
_TOKENS = 64  # of a reply, in addition to its sentence
_MAX_CHANGED_SHARE = 0.6
_PIECE = re.compile(r"\w+|[^\w\s]")


@dataclass
class Editor:
    """A language model that writes wrong variants.

    Attributes:
        model: its name.
        rejected: replies that could not be used, by reason.
    """

    model: str
    service: LlmService
    account: Account
    submit: Callable[[Coroutine[Any, Any, Any]], Future[Any]]
    rejected: Counter[str] = field(default_factory=Counter)

    def variants(
        self, record: Record, kinds: Sequence[FindingKind], rng: random.Random
    ) -> list[WrongVariant]:
        """Return a variant for each kind, of a random sentence each, where the model makes one.

        Raises:
            LlmError: the budget is spent.
        """
        sentences = [s for s in record.sentences if s.text.strip()]
        if not sentences:
            return []
        chosen = [(kind, rng.choice(sentences)) for kind in kinds]
        requests = [_request(record, sentence, kind) for kind, sentence in chosen]
        replies = self.submit(self.service.chat_each(requests, self.account)).result()
        found: dict[str, WrongVariant] = {}
        for (kind, sentence), reply in zip(chosen, replies, strict=True):
            variant = self._read(record, sentence, kind, reply)
            if variant is not None:
                found.setdefault(variant.text, variant)
        return list(found.values())

    def _read(
        self, record: Record, sentence: Span, kind: FindingKind, reply: Reply | LlmError
    ) -> WrongVariant | None:
        try:
            if isinstance(reply, LlmError):
                raise reply
            text = read_json(reply.whole(), _SCHEMA)["text"].strip()
        except LlmError as e:
            if e.trouble == "budget":
                raise
            self.rejected[e.trouble] += 1
            return None
        change = changed(sentence.text, text) if text else None
        if change is None:
            self.rejected["not one small change" if text else "no error of the kind"] += 1
            return None
        (start, end), was = change
        span = Span(sentence.start + start, sentence.start + end, text[start:end])
        whole = record.response[: sentence.start] + text + record.response[sentence.end :]
        return WrongVariant(kind, whole, span, was, self.model)


def changed(before: str, after: str) -> tuple[tuple[int, int], str] | None:
    """Find the one place where two sentences differ, in whole words.

    Returns:
        [start, end) of ``after`` and the words of ``before`` that it replaces; None where they do
        not differ, or in too many words.
    """
    old, new = list(_PIECE.finditer(before)), list(_PIECE.finditer(after))
    if not old or not new:
        return None
    first = 0
    while first < min(len(old), len(new)) and old[first][0] == new[first][0]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last][0] == new[-1 - last][0]:
        last += 1
    was, now = old[first : len(old) - last], new[first : len(new) - last]
    if (not was and not now) or len(was) > _MAX_CHANGED_SHARE * len(old):
        return None
    if not now:  # words were removed: the word before them is marked
        now = new[max(0, first - 1) : max(0, first - 1) + 1]
    replaced = before[was[0].start() : was[-1].end()] if was else ""
    return (now[0].start(), now[-1].end()), replaced


def _request(record: Record, sentence: Span, kind: FindingKind) -> ChatRequest:
    messages = load_prompt("corrupt_sentence").messages(
        question=question_of(record) or "(not given)",
        sources="\n\n".join(c.text for c in record.contexts) or "(not given)",
        answer=record.response,
        sentence=sentence.text,
        kind=kind,
        meaning=_MEANINGS[kind],
    )
    return ChatRequest(messages, max_tokens=_TOKENS + 2 * len(sentence.text), schema=_SCHEMA)
