"""What a language model wrote, taken for claims with care: nothing is repaired or guessed.

A piece of its output becomes a claim if it has the form asked for and its words stand in the
response. What does not is left out with a reason, and where more is left out than taken the output
is not used at all. A sentence with facts that the model passed over is a claim as it stands: what
nobody checks must not look harmless.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors.sentences import sentence_claims
from veridical.claims.triplets import Place, Places, statement
from veridical.llm.messages import LlmError
from veridical.llm.structured import read_json
from veridical.text.fact_sources import FactSources
from veridical.text.facts import Facts

if TYPE_CHECKING:
    from veridical.claims.claim import Triplet
    from veridical.records import Record

_LONGEST = 1000  # characters of a claim, or of a part of a triplet
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
    said = text.strip()
    if plain(said).strip(".\"'!") in _NONE:
        return []
    if not said.startswith(("{", "[", "```")):
        return None
    schema = {
        "type": "object",
        "properties": {key: {"type": "array"}},
        "required": [key],
        "additionalProperties": False,
    }
    found: list[Any] = read_json(text, schema)[key]
    return found


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


class Taken:
    """Claims taken from a model's output, and why the rest was not."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._places = Places(record)
        self._claims: list[Claim] = []
        self._seen: set[tuple[str, ...]] = set()
        self._left_out: list[str] = []
        #: How many pieces should have been claims and could not be used.
        self.refused = 0

    def leave(self, item: Any, why: str) -> None:
        """Leave out what is no loss: another has it, or it is no statement."""
        self._left_out.append(f"{why}: {_shown(item)}")

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
        place = self._places.locate(said, among)
        if place is None and elsewhere:
            place = self._places.locate(said)
            if place is not None:
                self.leave(item, "wrong sentence numbers")
        if place is None:
            self.refuse(item, "not in the response")
            return
        self._seen.add(key)
        self._claims.append(_claim(said, place))

    def _trouble(self, part: Any) -> str | None:
        """Why ``part`` is no text of a claim; None if it may be."""
        if not isinstance(part, str):
            return "not a text"
        if len(part) > _LONGEST:
            return f"longer than {_LONGEST} characters"
        response = self._record.response
        for c in part:
            if unicodedata.category(c)[0] == "C" and not c.isspace() and c not in response:
                return "characters that do not show"
        return None

    def extraction(self, said: str, question: str | None = None) -> Extraction:
        """All that was taken, in the order of the response. A sentence that has a number, a date or
        a name which is not the question's, and of which no claim was taken, is a claim itself,
        and told of as left out.

        Args:
            said: the model's output, or the part of it that an error should show.
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
                text=said,
            )
        # a model's word alone does not make a sentence harmless
        missed = self._missed(question)
        if missed and not self._claims:
            raise LlmError(
                "malformed",
                f"no claim was found in the sentence {_shown(missed[0].text)}",
                text=said,
            )
        order = sorted((*self._claims, *missed), key=lambda c: (c.start, c.end))
        untold = (f"no claim in the sentence {_shown(c.text)}, which is one itself" for c in missed)
        return Extraction(tuple(order), left_out=(*self._left_out, *untold))

    def _missed(self, question: str | None) -> list[Claim]:
        """Sentences of which no claim was taken, and that state something of their own."""
        taken = {claim.sentence for claim in self._claims}
        left = [c for c in sentence_claims(self._record) if c.sentence not in taken]
        if not left:
            return []
        asked = FactSources([question or ""])
        found = Facts(self._record.response).find([(c.start, c.end) for c in left])
        return [
            claim
            for claim, facts in zip(left, found, strict=True)
            if any(asked.find(f) is None for f in facts)
        ]


def plain(text: str) -> str:
    """``text`` as it is compared: compatibility forms joined, without case, invisible characters
    and runs of white space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    seen = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(seen.split())


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def _claim(said: Triplet | str, place: Place) -> Claim:
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
