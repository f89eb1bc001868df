"""Clause of a question: its subject's end and its order as statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veridical.text import statement_words as w

Template = list[str]
"""Words of a statement; of a question that asks for more than yes or no, one stands for the
answer."""


def bare(word: str) -> str:
    """Return a word in lower case, without the marks around it."""
    return word.strip('.,;:!?"“”()').lower()


#: Words before a place that almost never belong to the name before it.
_PLACES = frozenset({"in", "at", "on", "near", "inside", "outside", "within", "from"})
#: Negated forms of auxiliaries for which "not" has another meaning, or is written together.
_DENIED = {"can": ["cannot"], "must": ["need", "not"]}


@dataclass(frozen=True)
class AskingClause:
    """A question's words, as written and normalised.

    ``words`` are as written, ``low`` in lower case without marks around them. ``lead`` precedes the
    interrogative clause ("In chess, ...").
    """

    words: tuple[str, ...]
    low: tuple[str, ...]
    lead: tuple[str, ...] = ()

    def _join(self, *parts: str | tuple[str, ...]) -> Template:
        template = list(self.lead)
        for part in parts:
            template.extend([part] if isinstance(part, str) else part)
        return [x for x in template if x]

    def _subject(self, start: int, auxiliary: str) -> int:
        """Return the end of the subject that begins at ``start``; ``start`` if unknown."""
        low, n = self.low, len(self.low)
        if start >= n:
            return start
        if low[start] in w.SUBJECT_PRONOUNS:
            return start + 1
        demonstrative = low[start] in ("this", "that", "these", "those") and start + 1 < n
        if demonstrative and w.is_participle(low[start + 1]):
            return start + 1
        if auxiliary in w.DO | w.MODALS:
            return self._base_verb(start, auxiliary in w.MODALS)
        return self._participle(start) if auxiliary in w.HAVE else self._predicate(start)

    def _open_at(self, i: int) -> bool:
        """Return True if a verb may follow the word before ``i``: not an article or preposition."""
        before = self.low[i - 1]
        return before not in w.DETERMINERS | w.PREPOSITIONS | w.CONJUNCTIONS | w.MODALS | (
            w.RELATIVES | {"to", "very", "how"}
        ) and (
            not self.words[i - 1].endswith(",")
            or sum(x.endswith(",") for x in self.words[:i]) > 1  # after an apposition
        )

    def _base_verb(self, start: int, modal: bool) -> int:
        doubtful = start
        for i in range(start + 1, len(self.low)):
            word = self.low[i]
            if doubtful > start and (
                word in w.SUBORDINATORS or (word in w.PREPOSITIONS and word != "of")
            ):
                break
            if not self.words[i][:1].islower() or not self._open_at(i):
                continue
            clear = word in w.CLEAR or word == "have" or (word == "be" and modal)
            if word in w.BASES or clear:
                named = self.words[i - 1][:1].isupper() and i > 1
                if clear or (named and doubtful == start):
                    return self._back_over_adverbs(i, start)
                if doubtful in (start, i - 1):
                    doubtful = i
        return self._back_over_adverbs(doubtful, start)

    def _participle(self, start: int) -> int:
        for i in range(start + 1, len(self.low)):
            word = self.low[i]
            if (
                self.words[i][:1].islower()
                and self._open_at(i)
                and (w.is_participle(word) or word in ("been", "had"))
            ):
                return self._back_over_adverbs(i, start)
        return start

    def _predicate(self, start: int) -> int:
        """Return the end of the subject of a form of "be".

        It ends before a participle, an adjective at the end of the question or before a
        preposition, or "a" or "the" after a noun.
        """
        low, n = self.low, len(self.low)
        if "worth" in low[start + 1 :]:
            return low.index("worth", start + 1)
        for i in range(start + 1, n):
            word, last = low[i], i == n - 1
            following = "" if last else low[i + 1]
            if word in w.SUBORDINATORS and i > start + 1:
                return start
            if not self._open_at(i) or not self.words[i][:1].islower():
                continue
            if low[i - 1] in w.SUBJECT_PRONOUNS | w.AUXILIARIES | w.NEGATED.keys():
                continue  # "the last time it snowed"
            if w.RELATIVES & set(low[start:i]) and not last:
                return start
            if word in ("being", "both", "not", "still", "also", "currently", "ever", "usually"):
                return i
            if w.is_participle(word) and (last or following not in w.RELATIVES):
                attributive = word.endswith("ing") and not (
                    last
                    or following in w.PREPOSITIONS | w.DETERMINERS | w.PRONOUNS | {"more", "less"}
                    or w.is_adverb(following)
                )
                if last or not (attributive or self._relative_reduced(i)):
                    return self._back_over_adverbs(i, start)
            if w.is_adjective(word) and (
                last
                or following in w.PREPOSITIONS | w.SUBORDINATORS | {"to", "enough", "or", "and"}
            ):
                return self._back_over_adverbs(i, start)
            if word in ("a", "an", "the", "his", "her", "its", "their") and not (
                self.words[i - 1].endswith(",")
            ):
                return i
            if w.is_adverb(word) and (w.is_participle(following) or w.is_adjective(following)):
                return i
        return self._placed(start)

    def _placed(self, start: int) -> int:
        """Return the end of a name, or of an article and its noun, before a final place.

        Example: "Is the Eiffel Tower in Paris?"
        """
        after = start + (self.low[start] in w.DETERMINERS)
        end = next((i for i in range(after, len(self.low)) if self.low[i] in _PLACES), after)
        named = all(x[:1].isupper() or x == "of" for x in self.words[after:end])
        one_noun = after > start and end == after + 1
        ends = end > after and end < len(self.low) - 1 and (named or one_noun)
        return end if ends else start

    def _relative_reduced(self, i: int) -> bool:
        """Return True if a participle belongs to the noun before it, as another one follows."""
        for j in range(i + 1, len(self.low)):
            if self.low[j] in w.SUBORDINATORS:
                return False
            if w.is_participle(self.low[j]) and self._open_at(j) and self.low[i].endswith("ed"):
                return self.low[i + 1] in w.PREPOSITIONS
        return False

    def _back_over_adverbs(self, i: int, start: int) -> int:
        while i - 1 > start and w.is_adverb(self.low[i - 1]) and self.words[i - 1].islower():
            i -= 1
        return i

    def _clause(self, at: int, negate: bool = False) -> tuple[Template, Template] | None:
        """Return the clause whose auxiliary is at ``at``, in the order of a statement.

        The parts are its words up to the verb, and those after it; None if the subject's end is
        unknown.
        """
        auxiliary = w.NEGATED.get(self.low[at], self.low[at])
        start = at + 1
        end = self._subject(start, auxiliary)
        end_not = end + (self.low[end : end + 1] == ("not",))
        if end == start:
            return None
        subject = list(self.words[start:end])
        rest = list(self.words[end_not:])
        low = list(self.low[end_not:])
        if auxiliary in w.DO:
            adverbs = 0
            while adverbs < len(rest) - 1 and w.is_adverb(low[adverbs]):
                adverbs += 1
            if adverbs >= len(rest) or not (low[adverbs] in w.BASES or low[adverbs] == "be"):
                return None
            if negate:
                head = [*subject, auxiliary, "not", *rest[: adverbs + 1]]
            else:
                verb = {"did": w.past_of, "does": w.third_person_of}.get(auxiliary, str)(
                    low[adverbs]
                )
                if rest[adverbs][-1:] in ",;":
                    verb += rest[adverbs][-1]
                head = [*subject, *rest[:adverbs], verb]
            taken = adverbs + 1
            if low[adverbs] == "have" and low[taken : taken + 1] == ["to"]:
                head += rest[taken : taken + 2]
                taken += 2
            return head, rest[taken:]
        spoken = self.words[at].lower() if self.low[at] == auxiliary else auxiliary
        denied = _DENIED.get(auxiliary, [spoken, "not"])
        head = [*subject, *(denied if negate else [spoken])]
        if auxiliary in w.BE:
            return self._with_predicate(
                head, rest, low, lambda x: w.is_participle(x) or w.is_adjective(x)
            )
        if auxiliary in w.MODALS:
            return self._with_predicate(head, rest, low, lambda x: x in w.BASES)
        return self._with_predicate(head, rest, low, w.is_participle)

    @staticmethod
    def _with_predicate(
        head: Template, rest: Template, low: Template, verbal: Callable[[str], bool]
    ) -> tuple[Template, Template]:
        taken = 0
        while taken < len(rest) and (
            w.is_adverb(low[taken]) or low[taken] in ("be", "been", "being")
        ):
            taken += 1
        if taken < len(rest) and (verbal(low[taken]) or w.is_participle(low[taken])):
            return [*head, *rest[: taken + 1]], rest[taken + 1 :]
        return head, rest
