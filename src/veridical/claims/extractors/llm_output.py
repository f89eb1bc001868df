"""Strict conversion of a language model's output to claims.

Nothing is repaired or guessed. A piece of output becomes a claim if it has the requested form and
its words occur in the response. It must not add a number, date, name or negation. Otherwise a
manipulated model could replace a wrong claim by a harmless one. Rejected pieces are counted and
listed with a reason; if more is rejected than accepted, the output is not used. A sentence with
facts that the model omitted becomes a claim itself, as unchecked content must not look harmless.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from veridical.claims.asking import question_of
from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors.sentences import sentence_claims
from veridical.claims.triplets import ClaimPlace, Places, content, statement
from veridical.core.messages import ChatRequest, LlmError
from veridical.llm.structured import read_json
from veridical.prompts import load_prompt
from veridical.text.fact_sources import FactSources
from veridical.text.fact_words import NEGATIONS
from veridical.text.facts import Facts

if TYPE_CHECKING:
    from veridical.claims.claim import Triplet
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

_MAX_CLAIM_CHARACTERS = 1000  # also of a part of a triplet
_MAX_CHARACTERS_PER_TOKEN = 40  # a server that sends more ignores the token limit
_MAX_LISTED_REASONS = 100  # for rejected pieces
_MIN_KNOWN_WORD_SHARE = 0.6  # of a claim's words in response or question
_NEGATIONS = frozenset({*NEGATIONS, "t"})
_WORD = re.compile(r"[^\W_]+")
_MAX_SHOWN_CHARACTERS = 60  # of a rejected piece
_NONE = frozenset({"abstain", "none", "no claims"})
_HEADER = (
    frozenset({"subject", "head", "head entity"}),
    frozenset({"predicate", "relation"}),
    frozenset({"object", "tail", "tail entity"}),
)


def list_in(text: str, key: str) -> list[Any] | None:
    """Return the list under ``key`` of the JSON object in ``text``.

    It is empty if the text says that there is nothing, and None if the text does not look like
    JSON.

    Raises:
        LlmError: the text looks like JSON but is not that object (``malformed``).
    """
    stripped = text.strip()
    if plain(stripped).strip(".\"'!") in _NONE:
        return []
    if not stripped.startswith(("{", "[", "```")):
        return None
    schema = {
        "type": "object",
        "properties": {key: {"type": "array"}},
        "required": [key],
        "additionalProperties": False,
    }
    items: list[Any] = read_json(text, schema)[key]
    return items


def list_schema(key: str, item: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with a list of ``item`` under ``key``."""
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": item}},
        "required": [key],
        "additionalProperties": False,
    }


def lines_of(text: str) -> list[str]:
    """Return the non-blank lines, stripped."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def answer_tokens(text: str) -> int:
    """Return the token limit for the claims of ``text``: the published 500, or more if it is
    long.
    """
    return min(4096, 500 + len(text) // 2)


def output_of(reply: str, text: str, times: int = 1) -> str:
    """Return ``reply`` if it is not longer than the limit for the claims of ``text``.

    Args:
        times: number of times the claims were requested, in any form.

    Raises:
        LlmError: it is longer (``malformed``).
    """
    tokens = times * answer_tokens(text)
    most = _MAX_CHARACTERS_PER_TOKEN * tokens
    if len(reply) > most:
        raise LlmError(
            "malformed",
            f"the answer has {len(reply)} characters, too many for {tokens} tokens",
            text=reply[:most],
        )
    return reply


async def ask(
    record: Record,
    evidence: Evidence,
    llm: str | None,
    prompts: tuple[str, str],
    schema: dict[str, Any],
    answer: str,
    question: str | None,
    times: int = 1,
) -> str:
    """Request the claims of ``answer``, the record's response, from a language model.

    Args:
        record: the record that is checked, or one made from a sample.
        prompts: templates for an answer with its question, and for an answer alone.
        times: number of times the claims are requested, in any form.

    Raises:
        LlmError: there is no complete reply, or it is too long.
    """
    response = record.response
    parts: dict[str, Any] = {"answer": answer}
    if question is not None:
        parts["question"] = question
    messages = load_prompt(prompts[question is None]).messages(**parts)
    request = ChatRequest(messages, max_tokens=times * answer_tokens(response), schema=schema)
    return output_of((await evidence.chat([request], llm))[0].whole(), response, times)


class AcceptedClaims:
    """Claims accepted from a model's output, and the reasons for rejections."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._places = Places(record)
        question = question_of(record) or ""
        self._said = FactSources([record.response, question])
        self._known = _words(record.response) + _words(question)
        self._characters = frozenset(record.response)
        #: Maximum claims: the number of words in the response.
        self._most = max(1, len(_WORD.findall(record.response)))
        self._claims: list[Claim] = []
        self._seen: set[tuple[str, ...]] = set()
        self._left_out: list[str] = []
        self._untold = 0
        #: Number of pieces that should have been claims and were rejected.
        self.refused = 0

    def leave(self, item: Any, why: str) -> None:
        """Skip an item without loss: a duplicate, or not a statement."""
        if len(self._left_out) < _MAX_LISTED_REASONS:
            self._left_out.append(f"{why}: {_shown(item)}")
        else:
            self._untold += 1

    def refuse(self, item: Any, why: str) -> None:
        """Reject an item that should have been a claim."""
        self.leave(item, why)
        self.refused += 1

    def triplet(self, item: Any) -> None:
        """Accept ``item`` as a (head, relation, tail) if it is valid."""
        if not isinstance(item, list) or len(item) != 3:
            self.refuse(item, "not three texts")
            return
        trouble = next(filter(None, map(self._trouble, item)), None)
        if trouble is not None:
            self.refuse(item, trouble)
            return
        head, relation, tail = (" ".join(part.split()) for part in item)
        parts = plain(head), plain(relation), plain(tail)
        if all(p.replace("_", " ") in names for p, names in zip(parts, _HEADER, strict=True)):
            self.leave(item, "a header")
        elif not (_says(head) and relation and _says(tail)):
            self.refuse(item, "an empty part")
        elif parts[0] == parts[2]:
            self.refuse(item, "head and tail are equal")
        else:
            self._take(item, parts, (head, relation, tail))

    def sentence(
        self,
        item: Any,
        text: Any,
        among: Collection[int] | None = None,
        *,
        elsewhere: bool = False,
    ) -> None:
        """Accept ``text`` of ``item`` as a claim if it is valid.

        Args:
            among: indices of its source sentences; None if it may come from any. Equal statements
                of two sentences are two claims.
            elsewhere: if its words do not occur in those, search all sentences.
        """
        trouble = self._trouble(text)
        if trouble is None and not _says(text):
            trouble = "empty"
        if trouble is not None:
            self.refuse(item, trouble)
            return
        squeezed = " ".join(text.split())
        owners = [] if among is None or elsewhere else map(str, sorted(among))
        self._take(item, (plain(squeezed), *owners), squeezed, among, elsewhere)

    def _take(
        self,
        item: Any,
        key: tuple[str, ...],
        said: Triplet | str,
        among: Collection[int] | None = None,
        elsewhere: bool = False,
    ) -> None:
        if key in self._seen:
            self.leave(item, "said twice")
            return
        if len(self._claims) == self._most:
            self.refuse(item, "more claims than the response has words")
            return
        stated = said if isinstance(said, str) else statement(said)
        invented = self._invented(stated)
        if invented is not None:
            self.refuse(item, invented)
            return
        place = self._places.locate(said, among)
        if place is None and elsewhere:
            place = self._places.locate(said)
            if place is not None:
                self.leave(item, "wrong sentence numbers")
        if place is None:
            self.refuse(item, "not in the response")
            return
        if self._turned(stated, place):
            self.refuse(item, "negated in one and not in the other")
            return
        self._seen.add(key)
        self._claims.append(_claim(said, place))

    def _invented(self, stated: str) -> str | None:
        """Return the reason why response and question do not contain ``stated``, or None.

        They lack many of its words or repetitions, or a number, date or name.
        """
        words = _words(stated)
        if (words & self._known).total() < _MIN_KNOWN_WORD_SHARE * words.total():
            return "not in the response"
        (facts,) = Facts(stated).find([(0, len(stated))])
        for fact in facts:
            if self._said.find(fact) is None:
                return f"{_shown(stated[fact.start : fact.end])} is not in the response"
        return None

    def _turned(self, stated: str, place: ClaimPlace) -> bool:
        """Return True if only one of claim and sentence is negated."""
        sentences = self._record.sentences
        near = sentences[max(0, place.sentence - 1) : place.sentence + 1]
        if denies(stated):
            return not any(denies(s.text) for s in near)
        return denies(self._record.response[place.start : place.end])

    def _trouble(self, part: Any) -> str | None:
        """Return the reason why ``part`` is not a valid claim text, or None."""
        if not isinstance(part, str):
            return "not a text"
        if len(part) > _MAX_CLAIM_CHARACTERS:
            return f"longer than {_MAX_CLAIM_CHARACTERS} characters"
        for c in part:
            if unicodedata.category(c)[0] == "C" and not c.isspace() and c not in self._characters:
                return "invisible characters"
        return None

    def extraction(self, reply: str, question: str | None = None) -> Extraction:
        """Return all accepted claims in the order of the response.

        A sentence without a claim becomes a claim itself if it has a number, date or name that is
        not in the question. It is listed in ``left_out``.

        Args:
            reply: the model's output, or the part of it that an error should show.
            question: the question that the response answers.

        Raises:
            LlmError: more was rejected than accepted; or nothing was found in a response with such
                a sentence.
        """
        if self.refused > len(self._claims):
            raise LlmError(
                "malformed",
                f"{self.refused} of {self.refused + len(self._claims)} claims cannot be used "
                f"({self._left_out[0]})",
                text=reply,
            )
        # the model's omission does not make a sentence harmless
        missed = self._missed(question)
        if missed and not self._claims:
            raise LlmError(
                "malformed",
                f"no claim was found in the sentence {_shown(self._quoted(missed[0]))}",
                text=reply,
            )
        if self._untold:
            self._left_out.append(f"{self._untold} more were rejected")
        order = sorted((*self._claims, *missed), key=lambda c: (c.start, c.end))
        untold = (
            f"no claim in the sentence {_shown(self._quoted(c))}, which is one itself"
            for c in missed
        )
        return Extraction(tuple(order), left_out=(*self._left_out, *untold))

    def _quoted(self, claim: Claim) -> str:
        return claim.span(self._record.response).text

    def _missed(self, question: str | None) -> list[Claim]:
        """Return the sentences without a claim that state something of their own."""
        covered = {claim.sentence for claim in self._claims}
        uncovered = [c for c in sentence_claims(self._record) if c.sentence not in covered]
        if not uncovered:
            return []
        of_question = FactSources([question or ""])
        facts_of_each = Facts(self._record.response).find([(c.start, c.end) for c in uncovered])
        return [
            claim
            for claim, facts in zip(uncovered, facts_of_each, strict=True)
            if any(of_question.find(f) is None for f in facts)
        ]


def plain(text: str) -> str:
    """Normalise ``text`` for comparison.

    Compatibility forms are joined; case, invisible characters and runs of white space are ignored.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    seen = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(seen.split())


def _words(text: str) -> Counter[str]:
    """Return the content words, whatever joins them."""
    return content(" ".join(_WORD.findall(text)))


def denies(text: str) -> bool:
    """Return True if the text has a negating word."""
    return not _NEGATIONS.isdisjoint(_WORD.findall(text.lower()))


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def _claim(said: Triplet | str, place: ClaimPlace) -> Claim:
    triplet = None if isinstance(said, str) else said
    return Claim(
        said if isinstance(said, str) else statement(said),
        place.start,
        place.end,
        place.sentence,
        triplet,
        place.parts if len(place.parts) > 1 else (),
    )


def _shown(item: Any) -> str:
    """Return ``item`` in ASCII, truncated, as it is foreign text."""
    try:
        text = json.dumps(item)
    except RecursionError:
        text = "lists in lists"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[: _MAX_SHOWN_CHARACTERS - 3] + "..."
