"""(head, relation, tail) triplets by spaCy's dependency parse: the ``[spacy]`` extra. English."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.claims.abstain import abstains
from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors.clause_words import PASSIVE
from veridical.claims.triplets import statement
from veridical.text.spacy_text import spacy_parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.evidence import Evidence
    from veridical.records import Record

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "acomp", "oprd", "dative"})
_AUXILIARIES = frozenset({"aux", "auxpass", "neg", "prt"})
#: Parts of a noun phrase that make claims of their own, or are no part of its meaning.
_APART = frozenset({"relcl", "appos", "conj", "cc", "punct", "preconj", "parataxis"})
_LONGEST = 1500  # characters: a longer "sentence" is none, and parsing it takes minutes


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """One triplet for each verb, subject and object or prepositional phrase of the parse.

    Coordinated subjects, verbs and objects are taken apart; a relative clause is said of the noun
    before it, and an apposition "is" it. Under a condition, a question or reported speech there
    are no triplets: a sentence of which none is found stays a claim in words. ``parts`` are the
    places of the triplet's words.

    Raises:
        NotApplicable: the response is empty.
        UsageError: spaCy or its English model is not installed.

    Source: the form of Hu et al. 2024 (RefChecker), section 4.1; the rules are our own.
    """
    response = record.need_response()
    if abstains(response):
        return Extraction((), abstained=True)
    claims: list[Claim] = []
    for i, sentence in enumerate(record.sentences):
        text = sentence.text.strip()
        if not any(map(str.isalnum, text)):
            continue
        offset = sentence.start + sentence.text.index(text)
        found = [] if len(text) > _LONGEST else list(_triplets(spacy_parsed(text)))
        for head, relation, tail in found:
            claims.append(_claim(head, relation, tail, offset, i))
        if not found:
            claims.append(Claim(text, offset, offset + len(text), i))
    return Extraction(tuple(claims))


#: Tokens of an element in their order, with a word for one that has none: "is" of an apposition.
_Element = list[Any]


def _claim(head: _Element, relation: _Element | str, tail: _Element, offset: int, i: int) -> Claim:
    tokens = sorted({*head, *tail, *(relation if isinstance(relation, list) else ())})
    runs: list[tuple[int, int]] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        end = offset + token.idx + len(token)
        if before is not None and before.i == token.i - 1:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((offset + token.idx, end))
    words = relation if isinstance(relation, str) else _text(relation)
    triplet = (_text(head), words, _text(tail))
    return Claim(
        statement(triplet), runs[0][0], runs[-1][1], i, triplet, tuple(runs) if runs[1:] else ()
    )


def _text(tokens: _Element) -> str:
    text = ""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        apart = following is not None and following.i > token.i + 1
        text += token.text + (" " if apart else token.whitespace_)
    return text.strip()


def _triplets(document: Any) -> Iterator[tuple[_Element, _Element | str, _Element]]:
    for token in document:
        if token.dep_ == "appos" and token.head.pos_ in ("PROPN", "NOUN") and _names_kind(token):
            yield _phrase(token.head), "is", _phrase(token)
        if token.pos_ not in ("VERB", "AUX") or token.dep_ in _AUXILIARIES or _unsaid(token):
            continue
        for subject in _subjects(token):
            for relation, tail in _predicates(token):
                yield subject, relation, tail


def _names_kind(apposition: Any) -> bool:
    """Not so "Pennsylvania" in "Philadelphia, Pennsylvania"."""
    return apposition.pos_ == "NOUN" or any(c.dep_ == "det" for c in apposition.children)


def _unsaid(verb: Any) -> bool:
    """Whether the verb stands in a question, a condition or reported speech."""
    return any(
        a.dep_ in ("ccomp", "csubj")
        or any(c.dep_ == "mark" and c.lower_ in ("if", "unless", "whether") for c in a.children)
        for a in (verb, *verb.ancestors)
    ) or verb.sent.text.rstrip().endswith("?")


def _subjects(verb: Any) -> Iterator[_Element]:
    own = [c for c in verb.children if c.dep_ in _SUBJECTS]
    if verb.dep_ == "relcl" and (not own or own[0].tag_ in ("WDT", "WP")):
        yield _phrase(verb.head)
    elif own:
        for subject in _coordinated(own[0]):
            yield _phrase(subject)
    elif verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX") and verb.tag_ != "VBG":
        yield from _subjects(verb.head)


def _predicates(verb: Any) -> Iterator[tuple[_Element, _Element]]:
    """(relation, tail) of a verb: one for each object and prepositional phrase."""
    own = [c for c in verb.children if c.dep_ in _AUXILIARIES]
    alone = verb.lower_ in PASSIVE and not any(c.dep_ == "dobj" for c in verb.children)
    if verb.dep_ == "conj" and (verb.tag_ == "VBN" or alone) and not own:
        own = [c for c in verb.head.children if c.dep_ in _AUXILIARIES]  # "was born and raised"
    group = sorted({*own, verb})
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for item in _coordinated(child):
                yield group, _phrase(item)
        elif child.dep_ in ("prep", "agent"):
            objects = [c for c in child.children if c.dep_ in ("pobj", "pcomp")]
            direct = [c for c in verb.children if c.dep_ in _OBJECTS and c.i < child.i]
            # "won the cup in 1990": what was won belongs to when
            front = sorted({*group, *(t for d in direct for t in _phrase(d)), child})
            for item in (x for o in objects for x in _coordinated(o)):
                yield front, _phrase(item)
        elif child.dep_ == "xcomp":
            yield group, _phrase(child)


def _coordinated(token: Any) -> Iterator[Any]:
    """The token and what is coordinated with it by "and"; alone where it is by "or"."""
    yield token
    rest = [c for c in token.conjuncts if c.i > token.i]
    if not any(c.dep_ == "cc" and c.lower_ != "and" for t in (token, *rest) for c in t.children):
        yield from rest


def _phrase(head: Any) -> _Element:
    """The token with what depends on it, in order, without what is said apart."""
    found = [head]
    waiting = [head]
    while waiting:
        inside = [c for c in waiting.pop().children if c.dep_ not in _APART or c.text in "-–/"]
        found += inside
        waiting += inside
    return sorted(found)
