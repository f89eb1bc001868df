"""Triplets by spaCy's dependency parse, English (extra ``[spacy]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.claims.abstain import unless_abstained
from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors.clause_words import PASSIVE
from veridical.claims.extractors.sentences import sentence_claims
from veridical.claims.triplets import statement
from veridical.text.spacy_text import spacy_parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "acomp", "oprd", "dative"})
_AUXILIARIES = frozenset({"aux", "auxpass", "neg", "prt"})
#: Parts of a noun phrase that are separate claims, or do not belong to its meaning.
_APART = frozenset({"relcl", "appos", "conj", "cc", "punct", "preconj", "parataxis"})
_LONGEST = 1500  # characters; a longer text is not a sentence, and parsing it takes minutes


@unless_abstained
async def extract(record: Record, evidence: Evidence) -> Extraction:
    """Return one triplet per verb, subject and object or prepositional phrase.

    Coordinated subjects, verbs and objects are split. A relative clause applies to the noun before
    it, and an apposition becomes "is". Conditions, questions and reported speech give no triplets;
    a sentence without any stays a claim in words. ``parts`` are the places of the triplet's words.

    Raises:
        NotApplicable: the response is empty.
        UsageError: spaCy or its English model is not installed.

    Source: the form of Hu et al. 2024 (RefChecker), section 4.1; the rules are our own.
    """
    claims: list[Claim] = []
    for sentence in sentence_claims(record):
        short = len(sentence.text) <= _LONGEST and sentence.quotes(record.response)
        triplets = _triplets(spacy_parsed(sentence.text)) if short else ()
        claims += [_claim(*triplet, sentence) for triplet in triplets] or [sentence]
    return Extraction(tuple(claims))


#: Tokens of an element in order, with a word for a missing one: "is" for an apposition.
_Element = list[Any]


def _claim(head: _Element, relation: _Element | str, tail: _Element, sentence: Claim) -> Claim:
    tokens = sorted({*head, *tail, *(relation if isinstance(relation, list) else ())})
    runs: list[tuple[int, int]] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        start = sentence.start + token.idx
        end = start + len(token)
        if before is not None and before.i == token.i - 1:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    words = relation if isinstance(relation, str) else _text(relation)
    triplet = (_text(head), words, _text(tail))
    parts = tuple(runs) if runs[1:] else ()
    return Claim(statement(triplet), runs[0][0], runs[-1][1], sentence.sentence, triplet, parts)


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
    """Return True if it names a kind, unlike "Pennsylvania" in "Philadelphia, Pennsylvania"."""
    return apposition.pos_ == "NOUN" or any(c.dep_ == "det" for c in apposition.children)


def _unsaid(verb: Any) -> bool:
    """Return True if the verb is in a question, a condition or reported speech."""
    return any(
        a.dep_ in ("ccomp", "csubj")
        or any(c.dep_ == "mark" and c.lower_ in ("if", "unless", "whether") for c in a.children)
        for a in (verb, *verb.ancestors)
    ) or verb.sent.text.rstrip().endswith("?")


def _subjects(verb: Any) -> Iterator[_Element]:
    subjects = [c for c in verb.children if c.dep_ in _SUBJECTS]
    if verb.dep_ == "relcl" and (not subjects or subjects[0].tag_ in ("WDT", "WP")):
        yield _phrase(verb.head)
    elif subjects:
        for subject in _coordinated(subjects[0]):
            yield _phrase(subject)
    elif verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX") and verb.tag_ != "VBG":
        yield from _subjects(verb.head)


def _predicates(verb: Any) -> Iterator[tuple[_Element, _Element]]:
    """Yield (relation, tail) for each object and prepositional phrase of a verb."""
    auxiliaries = [c for c in verb.children if c.dep_ in _AUXILIARIES]
    alone = verb.lower_ in PASSIVE and not any(c.dep_ == "dobj" for c in verb.children)
    if verb.dep_ == "conj" and (verb.tag_ == "VBN" or alone) and not auxiliaries:
        # "was born and raised"
        auxiliaries = [c for c in verb.head.children if c.dep_ in _AUXILIARIES]
    group = sorted({*auxiliaries, verb})
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for item in _coordinated(child):
                yield group, _phrase(item)
        elif child.dep_ in ("prep", "agent"):
            objects = [c for c in child.children if c.dep_ in ("pobj", "pcomp")]
            direct = [c for c in verb.children if c.dep_ in _OBJECTS and c.i < child.i]
            # "won the cup in 1990": the date also needs the object
            front = sorted({*group, *(t for d in direct for t in _phrase(d)), child})
            for item in (x for o in objects for x in _coordinated(o)):
                yield front, _phrase(item)
        elif child.dep_ == "xcomp":
            yield group, _phrase(child)


def _coordinated(token: Any) -> Iterator[Any]:
    """Yield the token and those coordinated by "and"; the token alone if by "or"."""
    yield token
    others = [c for c in token.conjuncts if c.i > token.i]
    if not any(c.dep_ == "cc" and c.lower_ != "and" for t in (token, *others) for c in t.children):
        yield from others


def _phrase(head: Any) -> _Element:
    """Return the token and its dependents in order, without separate claims."""
    phrase = [head]
    waiting = [head]
    while waiting:
        inside = [c for c in waiting.pop().children if c.dep_ not in _APART or c.text in "-–/"]
        phrase += inside
        waiting += inside
    return sorted(phrase)
