"""What a language model wrote, taken for claims with care: nothing is repaired or guessed.

A piece of its output becomes a claim if it has the form asked for, its words stand in the response,
and it has no number, date, name or negation that is not there: else a model that was talked into
it could put a harmless claim in the place of a wrong one. What does not is left out with a reason
and counted, and where more is left out than taken the output is not used at all. A sentence with
facts that the model passed over is a claim as it stands: what nobody checks must not look harmless.
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

_LONGEST = 1000  # characters of a claim, or of a part of a triplet
_PER_TOKEN = 40  # characters of output a token: a server that sends more keeps to no limit
_KEPT = 100  # reasons why something was left out
_KNOWN = 0.6  # of a claim's words, that the response or its question must have
_NEGATIONS = frozenset({*NEGATIONS, "t"})
_WORD = re.compile(r"[^\W_]+")
_SHOWN = 60  # characters of what was left out
_NONE = frozenset({"abstain", "none", "no claims"})
_HEADER = (
    frozenset({"subject", "head", "head entity"}),
    frozenset({"predicate", "relation"}),
    frozenset({"object", "tail", "tail entity"}),
)


def list_in(text: str, key: str) -> list[Any] | None:
    """The list under ``key`` of the JSON object that ``text`` is; an empty one where the text says
    that there is nothing; None where it does not look like JSON.

    Raises:
        LlmError: it looks like JSON and is not that object (``malformed``).
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
    """Schema of an object with a list of ``item`` under ``key``."""
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": item}},
        "required": [key],
        "additionalProperties": False,
    }


def lines_of(text: str) -> list[str]:
    """The lines that are not blank, without white space around them."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def answer_tokens(text: str) -> int:
    """Tokens that the claims of ``text`` may take: the published 500, and more of a long one."""
    return min(4096, 500 + len(text) // 2)


def output_of(reply: str, text: str, times: int = 1) -> str:
    """``reply`` of the claims of ``text``, if it is no longer than asked for.

    Args:
        times: how often the claims were asked for, in one form or another.

    Raises:
        LlmError: it is (``malformed``).
    """
    tokens = times * answer_tokens(text)
    most = _PER_TOKEN * tokens
    if len(reply) > most:
        raise LlmError(
            "malformed",
            f"the answer has {len(reply)} characters, which its {tokens} tokens cannot have",
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
    """What a language model says of the claims of ``answer``, the record's response.

    Args:
        record: whose response it is: the one under check, or one made of a sample.
        prompts: templates: of an answer with its question, and of an answer alone.
        times: how often it is to tell the claims, in one form or another.

    Raises:
        LlmError: there is no whole reply, or it is longer than asked for.
    """
    response = record.response
    parts: dict[str, Any] = {"answer": answer}
    if question is not None:
        parts["question"] = question
    messages = load_prompt(prompts[question is None]).messages(**parts)
    request = ChatRequest(messages, max_tokens=times * answer_tokens(response), schema=schema)
    return output_of((await evidence.chat([request], llm))[0].whole(), response, times)


class Taken:
    """Claims taken from a model's output, and why the rest was not."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._places = Places(record)
        question = question_of(record) or ""
        self._said = FactSources([record.response, question])
        self._known = _words(record.response) + _words(question)
        self._characters = frozenset(record.response)
        #: As many claims as the response has words: one that has more is not its text taken apart.
        self._most = max(1, len(_WORD.findall(record.response)))
        self._claims: list[Claim] = []
        self._seen: set[tuple[str, ...]] = set()
        self._left_out: list[str] = []
        self._untold = 0
        #: How many pieces should have been claims and could not be used.
        self.refused = 0

    def leave(self, item: Any, why: str) -> None:
        """Leave out what is no loss: another has it, or it is no statement."""
        if len(self._left_out) < _KEPT:
            self._left_out.append(f"{why}: {_shown(item)}")
        else:
            self._untold += 1

    def refuse(self, item: Any, why: str) -> None:
        """Leave out what should have been a claim, and is none that can be used."""
        self.leave(item, why)
        self.refused += 1

    def triplet(self, item: Any) -> None:
        """Take ``item`` for a (head, relation, tail) if it is one."""
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
            self.refuse(item, "head and tail are one")
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
        """Take ``text`` of ``item`` for a claim if it is one.

        Args:
            among: indices of the sentences that it comes from; None if it may come from any. What
                two of them state in the same words are two claims.
            elsewhere: where its words do not stand in those, look for them in all.
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
            self.refuse(item, "denied in the one and not in the other")
            return
        self._seen.add(key)
        self._claims.append(_claim(said, place))

    def _invented(self, stated: str) -> str | None:
        """Why ``stated`` is not what the response or its question says: they lack many of its
        words, or have them less often, or lack a number, date or name. None if they have them."""
        words = _words(stated)
        if (words & self._known).total() < _KNOWN * words.total():
            return "not in the response"
        (facts,) = Facts(stated).find([(0, len(stated))])
        for fact in facts:
            if self._said.find(fact) is None:
                return f"{_shown(stated[fact.start : fact.end])} is not in the response"
        return None

    def _turned(self, stated: str, place: ClaimPlace) -> bool:
        """Whether a claim denies what its sentence does not, or states what is denied there."""
        sentences = self._record.sentences
        near = sentences[max(0, place.sentence - 1) : place.sentence + 1]
        if denies(stated):
            return not any(denies(s.text) for s in near)
        return denies(self._record.response[place.start : place.end])

    def _trouble(self, part: Any) -> str | None:
        """Why ``part`` is no text of a claim; None if it may be."""
        if not isinstance(part, str):
            return "not a text"
        if len(part) > _LONGEST:
            return f"longer than {_LONGEST} characters"
        for c in part:
            if unicodedata.category(c)[0] == "C" and not c.isspace() and c not in self._characters:
                return "characters that do not show"
        return None

    def extraction(self, reply: str, question: str | None = None) -> Extraction:
        """All that was taken, in the order of the response. A sentence that has a number, a date or
        a name which is not the question's, and of which no claim was taken, is a claim itself,
        and told of as left out.

        Args:
            reply: the model's output, or the part of it that an error should show.
            question: what the response answers.

        Raises:
            LlmError: more was refused than taken; or nothing was found in a response with such a
                sentence.
        """
        if self.refused > len(self._claims):
            raise LlmError(
                "malformed",
                f"{self.refused} of {self.refused + len(self._claims)} claims cannot be used "
                f"({self._left_out[0]})",
                text=reply,
            )
        # a model's word alone does not make a sentence harmless
        missed = self._missed(question)
        if missed and not self._claims:
            raise LlmError(
                "malformed",
                f"no claim was found in the sentence {_shown(self._quoted(missed[0]))}",
                text=reply,
            )
        if self._untold:
            self._left_out.append(f"{self._untold} more were left out")
        order = sorted((*self._claims, *missed), key=lambda c: (c.start, c.end))
        untold = (
            f"no claim in the sentence {_shown(self._quoted(c))}, which is one itself"
            for c in missed
        )
        return Extraction(tuple(order), left_out=(*self._left_out, *untold))

    def _quoted(self, claim: Claim) -> str:
        return claim.span(self._record.response).text

    def _missed(self, question: str | None) -> list[Claim]:
        """Sentences of which no claim was taken, and that state something of their own."""
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
    """``text`` as it is compared: compatibility forms joined, without case, invisible characters
    and runs of white space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    seen = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(seen.split())


def _words(text: str) -> Counter[str]:
    """Words that tell something, whatever joins them."""
    return content(" ".join(_WORD.findall(text)))


def denies(text: str) -> bool:
    """Whether it has a word that denies."""
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
    """``item`` in ASCII, cut: somebody else wrote it."""
    try:
        text = json.dumps(item)
    except RecursionError:
        text = "lists in lists"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
