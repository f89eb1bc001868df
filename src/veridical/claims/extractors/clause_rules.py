"""Rules that split an English sentence into clauses.

They are regular expressions over the word classes of
:mod:`veridical.claims.extractors.clause_words`. Every rule is conservative: in an ambiguous case it
does not apply, and the piece stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from veridical.claims.extractors.clause_pieces import ClausePiece, Range, listed, places
from veridical.claims.extractors.clause_words import (
    ACTIVE,
    CLAUSAL,
    COMPLEMENT,
    LEADS,
    OWN_PARTICIPLES,
    PASSIVE,
    TaggedSentence,
    read,
)

LONGEST = 1500  # characters; a longer text is not a sentence, and parsing is not linear
_MAX_CARRIED_SUBJECT_CHARACTERS = 120
_CUTS = re.compile(r"[,;(\[]|\b(?:and|but|who|that)\b")  # without one of these there is one clause


class Clause(NamedTuple):
    """Places of a clause in its sentence.

    ``parts`` make up the text, in order; ``start`` and ``end`` are those of the clause's own words,
    without a carried subject.
    """

    start: int
    end: int
    parts: tuple[tuple[int, int], ...]


class Main(NamedTuple):
    """The main parts of a clause: subject, inserted phrase, and finite verb."""

    subject: Range
    between: Range
    verb: int


class _Cut(NamedTuple):
    """A further predicate: end of the previous one, its start, its verb, and a shared auxiliary."""

    at: int
    after: int
    verb: int
    auxiliary: Range | None


_NOUN = "[aDNxQ0gG]"
_MAIN = re.compile(
    r"[CK]?R*,?(?:(?:R|[IoJ][^,BHMdVqPWwTU;:S!-]*),)?(?:[IJ][aDNx0gI]*(?=P))?"
    rf"(?P<subject>[Pp]|{_NOUN}[aDNxQ0gGICR]{{0,14}}?)"
    r"(?P<between>,[WwUaDEe](?:[^,;:!]{1,40}|[^,;:!]{1,20},0[^,;:!]{0,20}),)?"
    r"R*(?P<verb>[BHMdVqEe])"
)
_OTHER_VERB = re.compile(r"[^,CK]*[BHMdVqEe]")
#: A participle before the subject: "Born in Rome, she ...".
_FRONTED = re.compile(r"[Ee][^,BHMdVqPWwTU;:S!-]*(?:,0)?,(?=[NDPp])")
#: Between independent clauses.
_INDEPENDENT = re.compile(
    r",?[CK]R*,?(?=[Pp]R*[BHMdVqEe])"
    rf"|,[CK]R*(?={_NOUN}[aDNx0gI]{{0,9}}R*[BHMdVq])|,[CK](?=N+R*[Ee])"
    r"|,[CK](?=[IJ][aDNx0gI]{0,8},?[Pp]R*[BHMdVqEe])"
    r"|;[CK]?R*,?"
)
#: Words that may govern the second clause too: reported speech, conditions.
_UNSURE = re.compile(r"[qSJ:]|(?<![xNQ])T")
_SAYS = re.compile(r"[^nR,.]")  # "I do not" alone states nothing
#: Between predicates; after a comma alone only if more follow.
_PREDICATE = re.compile(r"(?:(?P<comma>,)|,?[CK])(?=R*(?P<verb>[BHMdVEe]))")
_GUARD = re.compile(r"[qSWwTUJ;:!P-]|p(?=R*[BHMdVEeq])")
_FINITE = re.compile(r"[BHMdVq]")
_PASSIVE = re.compile(r"B(?=R*[Ee])|[HM][RHb]{0,3}b(?=R*[Ee])")
_ADVERBS = re.compile(r"R*")
_RELATIVE = re.compile(r",(?:(?P<who>W)(?=R*[BHMdVEe])|(?P<which>w)(?=R*[BHV])|(?P<whose>U))")
_ENDS_EARLY = re.compile(r",(?:[IoJGRUWwaDEe]|[CK]R*[BHMdVEe])")
_ANTECEDENT = re.compile(r"(?:[aDg]x{0,3})?N+(?:I[aD]?N+)?$|[aDg][xN0]{1,4}$")
#: Text before an incomplete antecedent: "Get Him to", "Lee and".
_PART_OF_NAME = re.compile(r"(?:[C,:]|N[Io])$")
_OF_SOMEONE = re.compile(r"[aDg][xN]*I[aDgN]*N+$")
_KIND = r"a[xNG]{1,4}(?:(?:,[aD]?[xNG]{1,4})*,?C[aD]?[xNG]{1,4})?"
_RESTRICTIVE = re.compile(rf"BR*{_KIND}(?:I[DN]*N)?(?P<who>[WT](?=R*[BHMVEe])|U)")
_APPOSITION = re.compile(r"(?P<name>N+),a[xN0gGIDEeR]+(?:[WT][^,;:]*)?[.]?$")


def clauses_of(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence in order; the whole sentence if it is not split.

    >>> text = "Ann Lee was born in Rome and moved to Oslo."
    >>> [" ".join(text[a:b] for a, b in c.parts) for c in clauses_of(text)]
    ['Ann Lee was born in Rome', 'Ann Lee moved to Oslo.']
    """
    whole = [Clause(0, len(sentence), ((0, len(sentence)),))]
    if len(sentence) > LONGEST or not _CUTS.search(sentence):
        return whole
    reading = read(sentence)
    if "!" in reading.tags or reading.tags[:1] == "S":
        return whole  # a question, an exclamation, an open quotation or bracket, a condition
    pieces = list(Rules(reading).pieces())
    if len(pieces) < 2:
        return whole
    clauses = []
    for piece in pieces:
        parts = places(reading, piece)
        inside = parts[len(piece.carried) :]
        if not inside:
            return whole
        clauses.append(Clause(inside[0][0], inside[-1][1], tuple(parts)))
    clauses.sort(key=lambda c: (c.start, c.end))
    return clauses


class Rules:
    """The clause rules, applied to one sentence."""

    def __init__(self, reading: TaggedSentence) -> None:
        self.tags = reading.tags
        self.words = reading.lower
        self.reading = reading

    def pieces(self) -> Iterator[ClausePiece]:
        """Yield the sentence's pieces."""
        end = len(self.tags)
        begin = self.reading.begin
        for cut in _INDEPENDENT.finditer(self.tags):
            at, after = cut.span()
            if at <= begin or _UNSURE.search(self.tags, begin, at):
                continue
            first = self.main(begin, at)
            if first and _SAYS.search(self.tags, first.verb + 1, at) and self.main(after, end):
                yield from self._clause(begin, at)
                begin = after
        yield from self._clause(begin, end)

    def main(self, begin: int, end: int) -> Main | None:
        """Return the main parts of the clause in ``begin..end``, if they can be identified."""
        tags = self.tags
        frame = _MAIN.match(tags, begin, end)
        if frame is None:
            return None
        subject, verb = frame.span("subject"), frame.start("verb")
        if tags[subject[1] - 1] in "CIR":
            return None
        doubtful = tags[verb] in "Ee" and tags[subject[0]] not in "Pp"
        if doubtful and (self._word(verb + 1) == "by" or _OTHER_VERB.match(tags, verb + 1, end)):
            return None  # "tools used in farming are": it may be another one
        between = frame.span("between")
        return Main(subject, between if between[0] >= 0 else (verb, verb), verb)

    def _clause(self, begin: int, end: int) -> Iterator[ClausePiece]:
        """Yield the pieces of one independent clause."""
        tags = self.tags
        while begin < end - 1 and tags[begin] in "CK,":
            begin += 1
        fronted = _FRONTED.match(tags, begin, end)
        main = self.main(fronted.end() if fronted else begin, end)
        if main is None or self._length(main.subject) > _MAX_CARRIED_SUBJECT_CHARACTERS:
            yield ClausePiece((begin, end))
            return
        subject = main.subject
        if fronted and self.words[begin] not in LEADS:
            yield ClausePiece((begin, subject[1]))
            begin = subject[0]
        holes: list[Range] = []
        if self._tells(subject[1]):
            yield ClausePiece(subject)
            holes.append((subject[1], subject[1]))
        i, j = main.between
        if i < j:
            verb = i + 2 + self._adverbs(i + 2)
            if tags[i + 1] in "Ww":
                if tags[verb] in "BHMdVEe" and "I" not in tags[slice(*subject)]:
                    yield from self._predicates(subject, i + 2, verb, j - 1, carried=(subject,))
                    holes.append((i, j))
            elif self.words[i + 1] != "such" and (
                self.words[i + 1] == "whose" or not _FINITE.search(tags, i + 1, j - 1)
            ):
                yield ClausePiece((subject[0], j - 1))
                holes.append((i, j))
        yield from self._predicates(subject, begin, main.verb, end, holes=tuple(holes))

    def _predicates(
        self,
        subject: Range,
        begin: int,
        verb: int,
        end: int,
        *,
        carried: tuple[Range, ...] = (),
        holes: tuple[Range, ...] = (),
    ) -> Iterator[ClausePiece]:
        """Yield one piece per predicate in ``begin..end``, whose first finite verb is at
        ``verb``.
        """
        cuts = self._coordinated(verb, end)
        stop = cuts[0].at if cuts else end
        yield from self._trailing(ClausePiece((begin, stop), carried, holes), subject, verb)
        for i, cut in enumerate(cuts):
            stop = cuts[i + 1].at if i + 1 < len(cuts) else end
            front = (subject, cut.auxiliary) if cut.auxiliary else (subject,)
            yield from self._trailing(ClausePiece((cut.after, stop), front), subject, cut.verb)

    def _coordinated(self, verb: int, end: int) -> list[_Cut]:
        """Return the starts of further predicates of the same subject."""
        tags = self.tags
        guard = _GUARD.search(tags, verb, end)
        limit = guard.start() if guard else end
        passive = _PASSIVE.match(tags, verb, limit)
        auxiliary = None
        if passive:
            auxiliary = (verb, verb + 1 if tags[verb] == "B" else passive.end())
        cuts: list[_Cut] = []
        chained: list[_Cut] = []
        for match in _PREDICATE.finditer(tags, verb + 1, limit):
            cut = _Cut(match.start(), match.end(), match.start("verb"), None)
            voice = self._voice(cuts[-1].verb if cuts else verb, cut.verb, passive is not None)
            if match["comma"]:
                if voice == "active" and self._has_object(cut.verb):
                    chained.append(cut)
            else:
                if voice is not None:
                    cuts += chained
                    cuts.append(cut._replace(auxiliary=auxiliary if voice == "passive" else None))
                chained.clear()
        return cuts

    def _ends(self, verb: int) -> bool:
        """Return True if only a prepositional phrase, or another part, follows the verb."""
        following = verb + 1 + self._adverbs(verb + 1)
        return self.tags[following : following + 1] in ("", *"IJo.,;C")

    def _has_object(self, verb: int) -> bool:
        following = verb + 1 + self._adverbs(verb + 1)
        return self.tags[following : following + 1] in tuple("aDgNQ")

    def _voice(self, before: int, verb: int, passive: bool) -> Literal["active", "passive"] | None:
        """Return the voice of a further predicate at ``verb``, after one at ``before``."""
        tag, word, first = self.tags[verb], self.words[verb], self.tags[before]
        if tag in "BHMdV":
            return "active"
        following = self._word(verb + 1 + self._adverbs(verb + 1))
        object_follows = self._has_object(verb)
        if following == "by" or (word in PASSIVE and self._ends(verb)):
            return "passive" if passive else None
        if word in PASSIVE and not object_follows:
            return None
        if word in ACTIVE:
            return "active"
        if word in COMPLEMENT:
            return "passive" if passive else None
        if passive or first in "BMd" or (first == "V" and self.words[before].endswith("s")):
            return "active" if object_follows else None
        # "joined a band formed in Rome and led ...": the band may have led
        if re.search(r"[xNQ0][Ee]", self.tags[before + 1 : verb]):
            return None
        return "active"

    def _trailing(self, piece: ClausePiece, subject: Range, verb: int) -> Iterator[ClausePiece]:
        """Yield a piece of one predicate, and its relative clause, apposition or participle."""
        tags = self.tags
        begin, end = piece.body
        kind = _RESTRICTIVE.match(tags, verb, end)
        who = kind.start("who") if kind else -1
        if (
            kind
            and (tags[subject[0]] != "p" or tags[who] == "T")
            and self._word(who) in ("who", "that", "whose")
        ):
            yield from listed(self.reading, piece._replace(body=(begin, who)), subject, verb)
            if tags[who] == "U":
                yield ClausePiece((who, end), (subject,))
                return
            second = who + 1 + self._adverbs(who + 1)
            yield from self._predicates(subject, who + 1, second, end, carried=(subject,))
            return
        relative = _RELATIVE.search(tags, verb, end)
        if relative:
            if not re.search("[qST]", tags[verb : relative.start()]):
                yield from self._with_relative(piece, subject, verb, relative)
            else:
                yield piece
            return
        apposition = _APPOSITION.search(tags, verb, end)
        if apposition and tags[apposition.start() - 1] not in ",C":
            yield piece._replace(body=(begin, apposition.end("name")))
            yield ClausePiece((apposition.start(), end))
            return
        for comma in re.finditer(",(?=G)", tags[verb:end]):
            at = verb + comma.start()
            follows_subject = self.words[at + 1] in OWN_PARTICIPLES and tags[at + 2 : at + 3] != "o"
            if follows_subject and not _GUARD.search(tags, verb, at):
                yield from listed(self.reading, piece._replace(body=(begin, at)), subject, verb)
                yield from listed(
                    self.reading, ClausePiece((at + 1, end), (subject,)), subject, at + 1
                )
                return
        yield from listed(self.reading, piece, subject, verb)

    def _with_relative(
        self, piece: ClausePiece, subject: Range, verb: int, relative: re.Match[str]
    ) -> Iterator[ClausePiece]:
        tags = self.tags
        begin, end = piece.body
        comma = relative.start()
        antecedent = _ANTECEDENT.search(tags, verb, comma)
        if antecedent is None or not self._refers(relative, antecedent, verb, end):
            yield piece
            return
        yield from listed(self.reading, piece._replace(body=(begin, comma)), subject, verb)
        carried = antecedent.span()
        if relative["whose"]:
            yield ClausePiece((carried[0], end))
            return
        if tags[verb] == "B" and antecedent.start() == verb + 1 and tags[verb + 1] == "a":
            carried = subject  # "is a singer, who ..."
        second = comma + 2 + self._adverbs(comma + 2)
        yield from self._predicates(carried, comma + 2, second, end, carried=(carried,))

    def _refers(
        self, relative: re.Match[str], antecedent: re.Match[str], verb: int, end: int
    ) -> bool:
        """Return True if the relative clause describes that antecedent and ends the piece."""
        tags, comma = self.tags, relative.start()
        if _PART_OF_NAME.search(tags, verb, antecedent.start()) or _ENDS_EARLY.search(
            tags, comma + 1, end
        ):
            return False
        if relative["who"]:
            return not _OF_SOMEONE.search(tags, verb, comma)
        if relative["which"]:
            return CLAUSAL.isdisjoint(self.words[comma + 2 : comma + 8])
        return self.words[comma + 1] in ("whose", "where")

    def _adverbs(self, at: int) -> int:
        adverbs = _ADVERBS.match(self.tags, at)
        return adverbs.end() - at if adverbs else 0

    def _word(self, at: int) -> str:
        return self.words[at] if at < len(self.words) else ""

    def _length(self, tokens: Range) -> int:
        spans = self.reading.spans
        return spans[tokens[1] - 1][1] - spans[tokens[0]][0]

    def _tells(self, at: int) -> bool:
        """Return True if the brackets before that token make a statement, unlike an
        abbreviation.
        """
        start, end = self.reading.brackets.get(at, (0, 0))
        return end - start > 8
