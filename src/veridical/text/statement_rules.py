"""Rules that convert an English question to a statement by word order.

========================  ==================================  ==================================
question                  example                             statement, with the answer as A
========================  ==================================  ==================================
asks for the subject      Who wrote X? Which river is in X?   A wrote X. A is in X.
asks for the object       What did X build in Rome?           X built A in Rome.
asks for a complement     What is the capital of X?           The capital of X is A.
where, when, why          When was X signed?                  X was signed in A.
how many, how much        How many berths does X have?        X has A berths.
how tall, how old         How tall is X?                      X is A tall.
yes or no                 Does X contain milk?                X contains milk. / does not contain
choice                    Is X older or younger than Y?       X is A than Y.
at its place              X was held in what country?         X was held in A.
========================  ==================================  ==================================

A rule applies only if it can separate the subject from the rest; otherwise there is no template.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.text import statement_words as w
from veridical.text.statement_clauses import AskingClause, Template, bare

ANSWER = "\0"
"""Placeholder of the answer in a template."""

_FIGURE = re.compile(r"\d[\d.,/:]*")
_YEAR = re.compile(r"(?:the )?(?:early |mid-?|late )?\d{3,4}s?(?: ?(?:bc|ad|bce|ce))?", re.I)
_CENTURY = re.compile(r"\b(?:century|decade|age|era|period)\b", re.I)
_DATE = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)?\b")
_CONTRACTED = re.compile(r"^(who|what|where|when|how)['’]s\b", re.I)
_CLOCK = re.compile(r"\d{1,2}(?:[:.]\d\d)?\s?(?:am|pm|a\.m|p\.m|o'clock)", re.I)
_BARE_TIMES = frozenset(
    (  # noqa: SIM905
        "yesterday today tomorrow last next this every always never now soon annually yearly daily "
        "weekly monthly when once whenever only immediately shortly later ago"
    ).split()
)
_QUESTION_WORDS = frozenset(
    ["who", "whom", "whose", "what", "which", "where", "when", "why", "how"]
)


class ShortReply(NamedTuple):
    """An answer that is not a sentence: its words, and those in lower case without marks."""

    words: tuple[str, ...]
    low: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> ShortReply:
        words = tuple(text.split())
        return cls(words, tuple(bare(x) for x in words))

    @property
    def first(self) -> str:
        """Return its first word."""
        return self.low[0]

    @property
    def leads(self) -> str:
        """Return its initial preposition or conjunction, ignoring adverbs; else ""."""
        for word in self.low[:3]:
            if word in w.PREPOSITIONS or word in w.SUBORDINATORS:
                return word
            if not (w.is_adverb(word) or word == "because"):
                break
        return "because" if "because" in self.low[:2] else ""

    @property
    def is_span(self) -> bool:
        """Return True if it is a duration: "three years"."""
        units = ("year", "month", "week", "day", "hour", "minute", "second", "decade", "centur")
        return not self.leads and any(x.startswith(units) for x in self.low)

    @property
    def is_number(self) -> bool:
        """Return True if it is only a number."""
        return all(x in w.NUMBERS or _FIGURE.fullmatch(x) for x in self.low)


class AskedQuestion(AskingClause):
    """A question, and its statement with an answer."""

    @classmethod
    def of(cls, text: str) -> AskedQuestion | None:
        """Parse the question; None if it does not begin with an English interrogative."""
        words = tuple(_CONTRACTED.sub(r"\1 is", text).rstrip(" ?？\"'").split())
        low = tuple(bare(x) for x in words)
        opens = low[:1] and (
            low[0] in w.PREPOSITIONS | w.SUBORDINATORS or low[0].endswith(("ing", "ed"))
        )
        for i in range(len(words) if opens else min(2, len(words))):
            at_clause = i == 0 or words[i - 1].endswith(",") or low[i - 1] in ("and", "but")
            if i > 0 and not words[i - 1].endswith(",") and i > 1:
                continue
            if at_clause and _asks(low, i):
                lead = words[:i]
                if i == 1 and low[0] in ("and", "but", "so"):
                    lead = ()
                elif lead and not lead[-1].endswith(","):
                    continue
                return cls(words[i:], low[i:], lead)
        return cls(words, low) if _QUESTION_WORDS & set(low) else None

    def verdict(self, yes: bool) -> Template | None:
        """Return the statement for "yes" or "no"; None for other questions."""
        auxiliary = w.NEGATED.get(self.low[0], self.low[0])
        if auxiliary not in w.AUXILIARIES or len(self.low) < 2:
            return None
        clause = self._clause(0, negate=not yes)
        if clause is None:
            return None
        head, tail = clause
        return self._join(*(x for x in (*head, *tail) if not (yes and x == "ever")))

    def _choice(self, reply: ShortReply) -> Template | None:
        """Convert "Is it A or B?" with the answer A or B."""
        if "or" not in self.low:
            return None
        place = self.low.index("or")
        size = len(reply.low)
        options = [
            (place - size, place), (place + 1, place + 1 + size)
        ]  # fmt: skip
        for n, (begin, end) in enumerate(options):
            if begin < 0 or self.low[begin:end] != reply.low:
                continue
            other = self._other_option(place, size, after=n == 0)
            first, last = min(begin, other[0]), max(end, other[1])
            cut = AskedQuestion(
                (*self.words[:first], ANSWER, *self.words[last:]),
                (*self.low[:first], ANSWER, *self.low[last:]),
                self.lead,
            )
            return cut._chosen(reply)
        return None

    def _other_option(self, place: int, size: int, after: bool) -> tuple[int, int]:
        """Return the place of the option that was not chosen."""
        if after:
            rest = self.low[place + 1 :]
            if size == 1 and rest and rest[0].islower() and self.words[place + 1].islower():
                return place + 1, place + 2
            end = place + 1
            while end < len(self.low) and (end == place + 1 or not self._ends_option(end)):
                end += 1
            return place + 1, end
        begin = place - 1
        if size == 1 and self.words[begin].islower():
            return begin, place
        while (
            begin > 0
            and not self.words[begin - 1].endswith(",")
            and (self.words[begin - 1][:1].isupper() and begin - 1 > 0)
        ):
            begin -= 1
        return begin - (begin > 1 and self.low[begin - 1] in w.DETERMINERS), place

    def _ends_option(self, i: int) -> bool:
        return self.low[i] in w.PREPOSITIONS and self.low[i] != "of" and self.words[i].islower()

    def _chosen(self, reply: ShortReply) -> Template | None:
        place = self.low.index(ANSWER)
        if self.low[0] in w.AUXILIARIES:
            begin = place
            subject = self._subject(1, self.low[0]) if self.low[0] not in w.BE else 1
            if subject == 1 and self.low[0] in w.BE:
                subject = (
                    2
                    if self.low[1] in w.SUBJECT_PRONOUNS or begin == 2
                    else min(x for x in (self._predicate(1), begin) if x > 1)
                    if self._predicate(1) > 1 or begin > 1
                    else 1
                )
            if not 1 < subject <= begin:
                return None
            clause = self._clause_at(subject)
            return self._join(tuple(clause)) if clause else None
        # "Who is older, A or B?": without the options the question is about the subject
        words = self.words[:place]
        if not words or place < len(self.words) - 1:
            return None
        words = (*words[:-1], words[-1].rstrip(","))
        return AskedQuestion(words, tuple(bare(x) for x in words), self.lead).answered(reply)

    def _clause_at(self, subject: int) -> Template | None:
        auxiliary = self.low[0]
        if auxiliary not in w.DO:
            return [*self.words[1:subject], auxiliary, *self.words[subject:]]
        verb = self.low[subject]
        if verb not in w.BASES:
            return None
        change = {"did": w.past_of, "does": w.third_person_of}.get(auxiliary, str)
        return [*self.words[1:subject], change(verb), *self.words[subject + 1 :]]

    def answered(self, reply: ShortReply) -> Template | None:
        """Return the statement, with :data:`ANSWER` in place of the answer; None if uncertain."""
        if len(self.low) < 2:
            return None
        first = self.low[0]
        choice = self._choice(reply)
        if choice is not None or ("or" in self.low and first in ("who", "which")):
            return choice
        preposition = ""
        words, low = self.words, self.low
        if first in ("until", "since", "till") and low[1] == "when":
            return AskedQuestion(words[1:], low[1:], self.lead)._adverbial(reply, words[0].lower())
        if first in w.PREPOSITIONS and low[1] in ("what", "which", "whom", "how", "whose"):
            preposition = words[0].lower()
            words, low = words[1:], low[1:]
            first = low[0]
            if len(low) < 2:
                return None
        question = AskedQuestion(words, low, self.lead)
        if first == "how":
            return question._how(reply, preposition)
        if first in ("where", "when", "why"):
            return question._adverbial(reply)
        if first in ("what", "which", "who", "whom"):
            return question._what(reply, preposition)
        if first in w.AUXILIARIES or first in w.NEGATED:
            return None
        return question._in_place(reply)

    def _in_place(self, reply: ShortReply) -> Template | None:
        """Convert "X was held in what country", where the interrogative is last."""
        low = self.low
        for i in range(len(low) - 1, 0, -1):
            if low[i] not in ("what", "which", "who", "whom", "where", "when"):
                continue
            if len(low) - i > 4 or (
                low[i] in ("who", "which", "where", "when")
                and (i + 1 < len(low) and (w.is_finite(low[i + 1]) or low[i + 1] in w.AUXILIARIES))
            ):
                return None
            if any(x in w.AUXILIARIES or x in w.PREPOSITIONS for x in low[i:]):
                return None
            before = list(self.words[:i])
            if reply.leads and reply.leads == low[i - 1]:
                before = before[:-1]
            if not any(x in w.AUXILIARIES or w.is_clearly_finite(x) for x in low[:i]):
                return None
            link = _link(low[i], reply) if low[i] in ("where", "when") else ""
            return None if link is None else self._join(tuple(before), link, ANSWER)
        return None

    def _how(self, reply: ShortReply, preposition: str) -> Template | None:
        low = self.low
        asked = low[1]
        if asked in ("many", "much"):
            return self._how_many(reply, preposition)
        adverbial = asked in ("often", "long", "far", "soon", "late", "early", "fast")
        third = low[2] if len(low) > 2 else ""
        if adverbial and (
            third in w.DO | w.HAVE | w.MODALS or (third in w.BE and self._subject(3, "is") > 3)
        ):
            clause = self._clause(2)
            if clause is None:
                return None
            head, tail = clause
            spans = asked == "long" and reply.is_span and head[-1] not in ("takes", "took", "take")
            link = "for" if spans else ""
            return self._join(tuple(head), link, ANSWER, tuple(tail))
        if asked in w.MEASURES and len(low) > 3 and low[2] in w.BE:
            end = self._before_subordinate(3)
            if asked == "old" and reply.is_number:
                measure = "years old"
            else:
                measure = "" if asked in reply.low else asked
            if asked in ("big", "large", "strong", "fast", "heavy"):
                measure = ""
            return self._join(self.words[3:end], self.words[2], ANSWER, measure, self.words[end:])
        if asked in w.AUXILIARIES and reply.leads in w.PREPOSITIONS:
            clause = self._clause(1)
            if clause:
                return self._join(tuple(clause[0]), tuple(clause[1]), ANSWER)
        return None

    def _before_subordinate(self, start: int) -> int:
        for i in range(start + 1, len(self.low)):
            if self.low[i] in ("when", "while", "if", "whenever"):
                return i
        return len(self.low)

    def _how_many(self, reply: ShortReply, preposition: str) -> Template | None:
        low = self.low
        verb = self._verb(2)
        if verb is None:
            return None
        noun = self.words[2:verb]
        counted: str | tuple[str, ...] = ()
        if reply.is_number and low[1] == "many":
            counted = noun
        elif low[1] == "much" and noun and not set(reply.low) & set(low[2:verb]):
            counted = noun if reply.is_number else ("of", *noun)
        value: tuple[str, ...] = (ANSWER, *counted)
        if low[verb] in w.BE and low[verb + 1 : verb + 2] == ("there",):
            return self._join("there", self.words[verb], value, self.words[verb + 2 :])
        if low[1] == "much" and not noun and low[verb] in w.BE:
            return self._join(self.words[verb + 1 :], self.words[verb], ANSWER)
        return self._around(verb, value, reply, preposition)

    def _verb(self, start: int) -> int | None:
        """Return the first finite verb from ``start``, after at most eight words."""
        for i in range(start, min(len(self.low), start + 9)):
            word = self.low[i]
            if word in w.AUXILIARIES or word in w.NEGATED:
                return i
            if word in w.RELATIVES or (i > start and self.words[i - 1].endswith(",")):
                return self._auxiliary(i)
            finite = (w.is_finite(word) or word in w.CLEAR) and (
                i > start or self.low[0] in ("what", "which")
            )
            inside = self.low[i - 1] in w.PREPOSITIONS | w.DETERMINERS
            if finite and not inside and self.words[i].islower():
                return i if w.is_clearly_finite(word) else self._auxiliary(i) or i
        return None

    def _auxiliary(self, start: int) -> int | None:
        """Return the next auxiliary within three words, if no relative word precedes it."""
        for i in range(start, min(start + 4, len(self.low))):
            if self.low[i] in w.RELATIVES | w.PREPOSITIONS | w.DETERMINERS:
                return None
            if self.low[i] in w.AUXILIARIES:
                return i
        return None

    def _around(
        self, verb: int, value: tuple[str, ...], reply: ShortReply, preposition: str
    ) -> Template | None:
        """Return the clause from ``verb``, with the answer as its subject or object."""
        low, n = self.low, len(self.low)
        word = low[verb]
        following = low[verb + 1] if verb + 1 < n else ""
        if "do" in low[verb + 1 :] and word in w.DO | w.MODALS:
            return None  # "What did she do with it?"
        if preposition:
            clause = self._clause(verb)
            if clause is None and word in w.BE and verb + 1 < n:
                clause = [*self.words[verb + 1 :], self.words[verb]], []
            if clause is None:
                return None
            link = "" if reply.leads else preposition
            head, tail = clause
            if self._object_follows(tail):
                return self._join(tuple(head), tuple(tail), link, value)
            return self._join(tuple(head), link, value, tuple(tail))
        if word not in w.AUXILIARIES or not following:
            return self._join(value, self.words[verb:])
        if self._is_subject(verb):
            return self._join(value, self.words[verb:])
        clause = self._clause(verb)
        if clause is None:
            does = word in w.DO and low[0] == "who" and following in w.DETERMINERS
            return self._join(value, self.words[verb:]) if does else None
        return self._with_object(clause, value, reply)

    def _is_subject(self, verb: int) -> bool:
        """Return True if the subject precedes the auxiliary, as a predicate follows."""
        low = self.low
        word, following = low[verb], low[verb + 1]
        if word in w.DO:
            return False
        if following in w.DETERMINERS | w.PRONOUNS or not self.words[verb + 1][:1].islower():
            return False
        if word in w.HAVE:
            return w.is_participle(following) or following in ("been", "more", "most")
        if word in w.MODALS:
            return following in w.BASES or following == "be" or w.is_adverb(following)
        return (
            w.is_participle(following)
            or w.is_adjective(following)
            or w.is_adverb(following)
            or following in w.PREPOSITIONS
            or following in ("not", "responsible", "more")
        )

    def _with_object(
        self, clause: tuple[Template, Template], value: tuple[str, ...], reply: ShortReply
    ) -> Template:
        """Insert the object after the verb, after a stranded preposition, or at the end.

        It is at the end if another noun follows the verb.
        """
        head, tail = clause
        low = [bare(x) for x in tail]
        for i, word in enumerate(low):
            stranded = word in w.PREPOSITIONS and (
                i + 1 == len(low) or low[i + 1] in w.PREPOSITIONS | w.SUBORDINATORS
            )
            if stranded:
                before = tail[:i] if reply.leads else tail[: i + 1]
                return self._join(tuple(head), tuple(before), value, tuple(tail[i + 1 :]))
        if self._object_follows(tail):
            return self._join(tuple(head), tuple(tail), value)
        return self._join(tuple(head), value, tuple(tail))

    @staticmethod
    def _object_follows(tail: Template) -> bool:
        """Return True if the text after a verb begins with a noun."""
        first = bare(tail[0]) if tail else "to"
        return first not in w.PREPOSITIONS | w.SUBORDINATORS and not w.is_adverb(first)

    def _what(self, reply: ShortReply, preposition: str) -> Template | None:
        low, n = self.low, len(self.low)
        if low[0] in ("who", "whom") and n > 1 and not preposition:
            verb: int | None = 1
            while verb is not None and verb < n - 1 and w.is_adverb(low[verb]):
                verb += 1
        else:
            verb = self._verb(1)
        if verb is None or verb >= n - 0:
            return None
        word = low[verb]
        if preposition:
            return self._around(verb, (ANSWER,), reply, preposition)
        if reply.leads and not (word in w.AUXILIARIES or verb > 1):
            return None  # "Who wrote it?" "In Rome"
        noun = self.words[1:verb]
        value: tuple[str, ...] = (ANSWER,)
        if word in w.BE and verb + 1 < n:
            return self._complement(verb, value, reply)
        if word in w.AUXILIARIES and verb + 1 < n:
            if noun and reply.is_number and low[1] not in ("year", "number", "percentage", "share"):
                value = (*noun, ANSWER) if len(noun) == 1 else value
            if (
                word in w.HAVE
                and not self._is_subject(verb)
                and self._subject(verb + 1, word) == verb + 1
            ):
                return self._join(value, self.words[verb:])  # "What has a beak?"
            return self._around(verb, value, reply, "")
        if not (w.is_finite(word) or word in w.BASES) and low[0] not in ("who",):
            return None
        start = self._back_over_adverbs(verb, 1) if verb > 1 else verb
        return self._join(value, self.words[start:])

    def _complement(self, verb: int, value: tuple[str, ...], reply: ShortReply) -> Template | None:
        """Convert "What is X?", "Who was born in X?", "What is X used for?"."""
        low, n = self.low, len(self.low)
        if low[verb + 1 :][:1] == ("it",) and low[verb + 2 : verb + 3] in (("that",), ("who",)):
            return self._join("it", self.words[verb], value, self.words[verb + 2 :])
        if self._is_subject(verb):
            return self._join(value, self.words[verb:])
        end = self._subject(verb + 1, low[verb])
        stranded = low[-1] in w.PREPOSITIONS
        if verb + 1 < end < n and (w.is_participle(low[end]) or w.is_adverb(low[end]) or stranded):
            clause = self._clause(verb)
            return self._with_object(clause, value, reply) if clause else None
        if end == verb + 2 and low[verb + 1] in w.SUBJECT_PRONOUNS and end < n and not stranded:
            return None
        if stranded:
            last: str = "" if reply.leads else self.words[-1]
            return self._join(self.words[verb + 1 : -1], self.words[verb], last, value)
        stop = self._before_subordinate(verb + 1)
        if stop < n or self._bare_noun(verb + 1):
            return (
                self._join(value, self.words[verb:])
                if low[0] == "who" or verb > 1
                else self._join(
                    self.words[verb + 1 : stop], self.words[verb], value, self.words[stop:]
                )
            )
        if low[0] == "which" and verb > 1 and low[verb + 1] in w.DETERMINERS:
            return self._join(value, self.words[verb:])  # "Which river is the longest?"
        return self._join(self.words[verb + 1 :], self.words[verb], value)

    def _bare_noun(self, i: int) -> bool:
        """Return True for an office without an article: "Who was mayor of X".

        The text must have capital letters.
        """
        cased = any(x[:1].isupper() for x in (*self.words[i:], *self.words[1:i]))
        return (
            cased
            and self.words[i][:1].islower()
            and self.low[i] not in (w.DETERMINERS | w.PRONOUNS)
        )

    def _adverbial(self, reply: ShortReply, preposition: str = "") -> Template | None:
        """Convert where, when and why; ``preposition`` precedes it, as in "until when"."""
        kind, low = self.low[0], self.low
        if len(low) < 3 or low[1] not in w.AUXILIARIES:
            return None
        link = _link(kind, reply)
        if preposition:
            link = "" if reply.leads else preposition
        if link is None:
            return None
        clause = self._clause(1)
        if clause is None:
            if low[1] in w.BE and kind in ("where", "when"):
                stop = self._before_subordinate(2)
                return self._join(
                    self.words[2:stop], self.words[1], link, ANSWER, self.words[stop:]
                )
            return None
        head, tail = clause
        tail_low = [bare(x) for x in tail]
        if tail_low and tail_low[-1] in ("from", "to", "at", "in") and kind == "where":
            last = [] if reply.leads else tail[-1:]
            return self._join(tuple(head), tuple(tail[:-1]), tuple(last), ANSWER)
        at_verb = (
            kind == "where"
            and tail_low
            and tail_low[0] != "to"
            and (tail_low[0] in w.PREPOSITIONS | w.SUBORDINATORS or w.is_adverb(tail_low[0]))
        )
        if at_verb:
            return self._join(tuple(head), link, ANSWER, tuple(tail))
        stop = next((i for i, x in enumerate(tail_low) if x in ("when", "while", "if")), len(tail))
        if kind != "where":
            stop = len(tail)
        return self._join(tuple(head), tuple(tail[:stop]), link, ANSWER, tuple(tail[stop:]))


def _asks(low: tuple[str, ...], i: int) -> bool:
    """Return True if the words from ``i`` begin a question."""
    word = low[i]
    following = low[i + 1] if i + 1 < len(low) else ""
    if word in _QUESTION_WORDS:
        # "When making toffee, when is ...": a clause with its own subject is no question
        return i > 0 or word not in ("when", "where") or following in w.AUXILIARIES
    if word in w.PREPOSITIONS:
        return following in ("what", "which", "whom", "how", "whose", "when")
    return word in w.AUXILIARIES or word in w.NEGATED


def _link(kind: str, reply: ShortReply) -> str | None:
    """Return the preposition before a place, a time or a reason; None if uncertain."""
    if reply.leads:
        return ""
    first = reply.first
    text = " ".join(reply.low)
    if kind == "why":
        if first == "to":
            return ""
        return "because of" if len(reply.low) <= 8 else None
    if kind == "where":
        if first in ("here", "there", "nowhere", "everywhere", "abroad", "home"):
            return ""
        return "in" if len(reply.low) <= 8 else None
    if first in _BARE_TIMES or reply.low[-1] in ("ago", "later", "earlier"):
        return ""
    if _YEAR.fullmatch(text) or _CENTURY.search(text) or first in w.SEASONS:
        return "in"
    if _CLOCK.match(text) or first in ("noon", "midnight", "christmas", "easter"):
        return "at"
    if any(x in w.DAYS for x in reply.low):
        return "on"
    if any(x in w.MONTHS for x in reply.low):
        return "on" if _DATE.search(text) else "in"
    return "in" if any(x in w.SEASONS for x in reply.low) else None
