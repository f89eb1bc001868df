"""NLI pairs that state a fact of the wrong thing.

    python training/bound_pairs.py DATA OUT.jsonl [--seed 0]

A wrong hypothesis takes a value of the right kind from the right text. It overlaps with the
premise as much as a right one does: words alone do not distinguish them. Rows are as
``nli_pairs.py`` writes them, for ``--bound`` of ``nli_train.py``. Sources:

* `bound_answer`: HaluEval qa (rows 0..7999), question and answer as the engine states them
  (:mod:`veridical.text.statements`). The wrong answer is another of its kind from the same passage,
  the question's other alternative, or the opposite of yes and no.
* `bound_value`: a sentence of such a passage, or a shorter one that it entails. A number, a date or
  a name is replaced by another of its kind from elsewhere in the passage.
* `bound_decoy`: an entailed pair that people wrote (``typed_pairs.FILES``), with a name and a value
  in both texts. The premise is joined by its copy with another name and another value. The
  hypothesis is about either name, with either value.
* `bound_exchange`: an entailed pair that people wrote, and the premise with two of its noun phrases
  in each other's places. The wrong one overlaps more.
* `bound_voice`: who did what to whom, in the active and the passive voice, and the wrong way round.

Every pair of wordings is put in one of two worlds by a fair coin. In one of them the two values are
exchanged in the premise, so the hypothesis alone has no information. ``spans`` has the wrong
characters.

Needs: spaCy and the model that ``nli_parse.py`` imports, and this package.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nli_facts import ENTITIES, compressions
from nli_parse import load_rows, parse_passages, restore_spaces
from typed_pairs import WORDS, entailed, write

from veridical.text.edit_words import NUMBER_WORDS, fix_article
from veridical.text.statements import Statement, statement, to_judge
from veridical.text.typed_edits import LIST, SYMMETRIC

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

Row = dict[str, Any]
MOST = {
    "bound_answer": 9000,
    "bound_value": 8000,
    "bound_decoy": 8000,
    "bound_exchange": 9000,
    "bound_voice": 5000,
}
LONGEST_EXCHANGED = 35  # words
ODD = 0.3
VALUES = {"DATE", "CARDINAL", "MONEY", "QUANTITY", "PERCENT"}
_GIVEN = {"PERSON", "GPE", "ORG", "NORP", "LOC", "FAC", "WORK_OF_ART", "EVENT"}
_CHOICE = re.compile(r"[,?:]?\s*([A-Z][\w' .-]+?),? or ([A-Z][\w' .-]+?)\?")
#: Past tense and participle, where they differ or do not end in "ed".
IRREGULAR = {
    "beat": "beaten", "began": "begun", "bore": "borne", "bought": "bought", "brought": "brought",
    "built": "built", "caught": "caught", "chose": "chosen", "drew": "drawn", "drove": "driven",
    "fought": "fought", "found": "found", "gave": "given", "held": "held", "hit": "hit",
    "kept": "kept", "led": "led", "left": "left", "lost": "lost", "made": "made",
    "overthrew": "overthrown", "paid": "paid", "ran": "run", "sang": "sung", "saw": "seen",
    "sent": "sent", "shot": "shot", "sold": "sold", "stole": "stolen", "struck": "struck",
    "taught": "taught", "threw": "thrown", "told": "told", "took": "taken", "won": "won",
    "wore": "worn", "wrote": "written",
}  # fmt: skip
_PAST = {participle: past for past, participle in IRREGULAR.items()}
_NO_OBJECT = {"met", "became", "joined", "faced", "married", "included", "featured", "had", "was"}


class TypedValue(NamedTuple):
    """A value of a text and its kind, as spaCy names it (years are YEAR)."""

    text: str
    kind: str


def word(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a text outside longer words and numbers."""
    return re.compile(rf"(?<![\w.,-]){re.escape(text)}(?![\w-]|[.,]\d)")


def only(text: str, whole: str) -> bool:
    """Return True if ``whole`` names ``text`` in full wherever it has its last word."""
    last = text.split()[-1]
    found = len(word(text).findall(whole))
    return found > 0 and len(word(last).findall(whole)) == found


def exchanged(text: str, one: str, other: str) -> str:
    """Return ``text`` with ``one`` and ``other`` in each other's places."""
    pattern = re.compile(f"{word(one).pattern}|{word(other).pattern}")
    return pattern.sub(lambda m: other if m[0] == one else one, text)


def row(premise: str, hypothesis: str, label: str, source: str, marked: str | None = None) -> Row:
    """Build a row.

    ``marked`` is the wrong text of the hypothesis, the last of two (questions can name both
    answers); None if it cannot be named.
    """
    made: Row = {"premise": premise, "hypothesis": hypothesis, "label": label, "source": source}
    if label == "entailment":
        return made | {"spans": []}
    if marked is not None:
        made["spans"] = [list(m.span()) for m in word(marked).finditer(hypothesis)][-1:]
    return made


def in_two_worlds(
    premise: str,
    right: str,
    wrong: str,
    values: tuple[str, str],
    label: str,
    source: str,
    rng: random.Random,
) -> list[Row]:
    """Build rows of ``right`` and ``wrong``, given ``premise`` or its copy with values exchanged.

    The first of ``values`` is in ``right``, the other in ``wrong``.
    """
    true, false = values
    if rng.random() < 0.5 and only(true, premise) and only(false, premise):
        premise, right, wrong = exchanged(premise, true, false), wrong, right
        true, false = false, true
    return [row(premise, right, "entailment", source), row(premise, wrong, label, source, false)]


# --- passages -------------------------------------------------------------------------------


def values_of(doc: Doc) -> list[TypedValue]:
    """Return names, numbers and dates of a passage that can replace one another."""
    found = []
    for ent in doc.ents:
        text = re.sub(r"^the |'s$", "", ent.text).strip('" ,.')
        kind = "YEAR" if re.fullmatch(r"1\d{3}|20\d\d", text) else ent.label_
        if kind in VALUES | {"YEAR"} and not re.search(r"\d", text):
            continue  # "several", "the following year"
        if kind in ENTITIES | VALUES | {"YEAR", "NORP"} and len(text) > 1 and "(" not in text:
            found.append(TypedValue(text, kind))
    return list(dict.fromkeys(found))


def rivals(value: TypedValue, values: Sequence[TypedValue], taken: str) -> list[str]:
    """Return the others of its kind that share no word with it and are not in ``taken``."""
    own = set(re.findall(r"\w+", value.text.casefold()))
    shape = bool(re.search(r"[A-Za-z]", value.text))
    return [
        other.text
        for other in values
        if other.kind == value.kind
        and not own & set(re.findall(r"\w+", other.text.casefold()))
        and shape == bool(re.search(r"[A-Za-z]", other.text))
        and other.text.casefold() not in taken.casefold()
    ]


def said(question: str, answer: str, rng: random.Random) -> Statement:
    """Convert an answer as the engine does, or however long the question is."""
    made = to_judge if rng.random() < 0.6 else statement
    return made(question, answer)


def answers(rows: Sequence[Row], docs: dict[str, Doc], rng: random.Random) -> Iterator[Row]:
    """Yield the rows of `bound_answer`."""
    source = "bound_answer"
    for one in rows:
        doc = docs[restore_spaces(one["knowledge"])]
        premise, question = doc.text, " ".join(one["question"].split())
        right = one["right_answer"].strip().rstrip(".")
        state = rng.getstate()
        true = said(question, right, rng)
        if right.lower() in ("yes", "no"):
            rng.setstate(state)
            false = said(question, "no" if right.lower() == "yes" else "yes", rng)
            yield row(premise, true.text, "entailment", source)
            yield row(premise, false.text, "contradiction", source)
            continue
        choice = _CHOICE.search(question)
        values = values_of(doc)
        mine = next((v for v in values if v.text == right), None)
        if choice and right in choice.groups():
            wrong = [g for g in choice.groups() if g != right]
        else:
            choice, wrong = None, rivals(mine, values, question) if mine else []
        if not wrong:
            continue
        bad = rng.choice(wrong)
        rng.setstate(state)
        false = said(question, bad, rng)
        if choice:  # Other facts about the two would be exchanged too.
            yield row(premise, true.text, "entailment", source)
            yield row(premise, false.text, "contradiction", source, bad)
        else:
            yield from in_two_worlds(
                premise, true.text, false.text, (right, bad), "contradiction", source, rng
            )


def other_values(docs: Sequence[Doc], rng: random.Random) -> Iterator[Row]:
    """Yield the rows of `bound_value`, at most one pair per passage."""
    for doc in docs:
        values = values_of(doc)
        found = []
        for sentence in doc.sents:
            _, forms = compressions(sentence)
            texts = [f for f in forms if len(f.split()) <= 25] or [sentence.text.strip()]
            for text in texts:
                if len(text.split()) < 4 or not text.endswith(".") or LIST.search(text):
                    continue
                for value in values:
                    if len(word(value.text).findall(text)) == 1 and only(value.text, doc.text):
                        found += [(text, value, other) for other in rivals(value, values, text)]
        # numbers and dates are rarer than names
        rare = [f for f in found if f[1].kind not in ENTITIES]
        if not found:
            continue
        text, value, other = rng.choice(rare if rare and rng.random() < 0.6 else found)
        wrong = fix_article(word(value.text).sub(other, text))
        label = "not_entailment" if value.kind in ENTITIES else "contradiction"
        values_here = (value.text, other)
        yield from in_two_worlds(doc.text, text, wrong, values_here, label, "bound_value", rng)


# --- who did what to whom -------------------------------------------------------------------


def _phrase(token: Token) -> str | None:
    """Return the words of a noun phrase up to its head and compounds, if they are few."""
    parts = [t for t in token.subtree if t.i <= token.i]
    text = "".join(t.text_with_ws for t in parts).strip()
    named = token.ent_type_ in _GIVEN or token.pos_ == "PROPN"
    good = named and token.pos_ != "PRON" and len(text) > 3 and len(parts) <= 6
    return text if good and re.fullmatch(r"[\w' .-]+", text) else None


def deeds(doc: Doc) -> Iterator[tuple[str, str, str, str]]:
    """Yield (who, past tense, participle, whom) for each finite verb of a passage in the past."""
    for token in doc:
        if token.pos_ != "VERB" or token.tag_ not in ("VBD", "VBN"):
            continue
        verb = token.text.lower()
        regular = verb.endswith("ed")
        children = {c.dep_: c for c in token.children}
        if "neg" in children or "conj" in children or "prt" in children:
            continue
        who: Token | None = None
        whom: Token | None = None
        if token.tag_ == "VBD" and "nsubj" in children and "dobj" in children:
            who, whom = children["nsubj"], children["dobj"]
            past, participle = verb, verb if regular else IRREGULAR.get(verb, "")
        elif "nsubjpass" in children and "agent" in children:
            agents = [c for c in children["agent"].children if c.dep_ == "pobj"]
            who, whom = (agents[0] if agents else None), children["nsubjpass"]
            past, participle = verb if regular else _PAST.get(verb, ""), verb
        if who is None or whom is None or not past or not participle or past in _NO_OBJECT:
            continue
        if any(c.dep_ == "conj" for c in (*who.children, *whom.children)):
            continue
        one, other = _phrase(who), _phrase(whom)
        if one and other and one != other and not SYMMETRIC.search(past):
            yield one, past, participle, other


def voices(docs: Sequence[Doc], rng: random.Random) -> Iterator[Row]:
    """Yield the rows of `bound_voice`."""
    for doc in docs:
        for who, past, participle, whom in deeds(doc):
            active, passive = f"{who} {past} {whom}.", f"{whom} was {participle} by {who}."
            turned = f"{whom} {past} {who}.", f"{who} was {participle} by {whom}."
            premise = doc.text
            if rng.random() < 0.3:  # Without the passage there is less evidence.
                premise = rng.choice([active, passive])
            true, false = (active, passive), turned
            if rng.random() < 0.5 and only(who, premise) and only(whom, premise):
                premise = exchanged(premise, who, whom)
                true, false = false, true
            right, wrong = capital(rng.choice(true)), capital(rng.choice(false))
            if right != premise:
                yield row(premise, right, "entailment", "bound_voice")
            ends = [[0, len(wrong) - 1]]
            yield row(premise, wrong, "not_entailment", "bound_voice") | {"spans": ends}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- two things in each other's places --------------------------------------------------------

_ROLES = {"nsubj", "nsubjpass", "dobj", "pobj"}
_SAME_EITHER_WAY = {"and", "or", "with", "beside", "near", "between", "than", "as", "like", "of"}


class Swapped(NamedTuple):
    """A text with two noun phrases exchanged, and their spans after and before."""

    text: str
    spans: list[list[int]]
    were: list[list[int]]


def swapped(doc: Doc, rng: random.Random) -> Swapped | None:
    """Exchange two noun phrases of different roles, alike in number, with a verb between them."""
    chunks = [
        c
        for c in doc.noun_chunks
        if c.root.dep_ in _ROLES and c.root.pos_ in ("NOUN", "PROPN") and len(c) <= 5
    ]
    found = []
    for one, other in itertools.combinations(chunks, 2):
        between = doc[one.end : other.start]
        words = {t.lower_ for t in between}
        if (
            one.root.dep_ != other.root.dep_
            and (one.root.tag_[-1] == "S") == (other.root.tag_[-1] == "S")
            and one.root.lower_ != other.root.lower_
            and any(t.pos_ in ("VERB", "AUX") for t in between)
            and not any(t.dep_ == "conj" for t in between)
            and not words & _SAME_EITHER_WAY
            and one.sent == other.sent
        ):
            found.append((one, other))
    if not found:
        return None
    one, other = rng.choice(found)
    first, second = other.text, one.text
    if doc[one.start].is_sent_start:
        first = capital(first)
        if doc[one.start].pos_ != "PROPN":
            second = second[:1].lower() + second[1:]
    a, b = one.start_char, other.start_char
    text = doc.text[:a] + first + doc.text[one.end_char : b] + second + doc.text[other.end_char :]
    at = b - (one.end_char - a) + len(first)
    spans = [[a, a + len(first)], [at, at + len(second)]]
    return Swapped(text, spans, [[a, one.end_char], [b, other.end_char]])


def exchanges(rows: Sequence[Row], premises: Sequence[Doc], rng: random.Random) -> Iterator[Row]:
    """Yield the rows of `bound_exchange`.

    In some the odd wording is the true one, so that odd wording has no information.
    """
    source = "bound_exchange"
    for one, doc in zip(rows, premises, strict=True):
        made = swapped(doc, rng)
        if made is None:
            continue
        if rng.random() < ODD:
            premise, right, wrong, spans = made.text, made.text, doc.text, made.were
        else:
            premise, right, wrong, spans = doc.text, one["hypothesis"], made.text, made.spans
        yield row(premise, right, "entailment", source)
        yield row(premise, wrong, "not_entailment", source) | {"spans": spans}


# --- a second subject next to the first ------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,.]?\d)|(?<![\w.,-])\d+(?![\w,.-]*\d)")
_SMALL = set(NUMBER_WORDS[2:])


def another_number(value: str, rng: random.Random) -> str:
    """Return another number.

    It differs in one of its first two digits, is a year moved by up to 40, or is another small
    number in words.
    """
    if value in _SMALL:
        return rng.choice([w for w in NUMBER_WORDS[2:] if w != value])
    if re.fullmatch(r"1[5-9]\d\d|20[01]\d", value):
        return str(int(value) + rng.choice([-1, 1]) * rng.randint(1, 40))
    at = rng.choice([i for i, c in enumerate(value) if c.isdigit()][:2])
    digit = rng.choice([d for d in "123456789" if d != value[at]])
    return value[:at] + digit + value[at + 1 :]


def names_of(doc: Doc) -> list[TypedValue]:
    """Return the names of a passage, with their kinds."""
    return [v for v in values_of(doc) if v.kind in ENTITIES and v.text[0].isupper()]


def numbers_of(text: str) -> list[str]:
    return [m[0] for m in _NUMBER.finditer(text)] + [
        w for w in re.findall(r"[a-z]+", text) if w in _SMALL
    ]


class Decoy(NamedTuple):
    """An entailed pair with the names and numbers that both texts have."""

    premise: str
    hypothesis: str
    names: list[TypedValue]
    numbers: list[str]


def shared(rows: Sequence[Row], parsed: Sequence[Doc]) -> Iterator[Decoy]:
    """Find the names and numbers that occur once in a row's hypothesis, and in its premise."""
    for one, doc in zip(rows, parsed, strict=True):
        premise, hypothesis = one["premise"], one["hypothesis"]

        def both(text: str, premise: str = premise, hypothesis: str = hypothesis) -> bool:
            once = len(word(text).findall(hypothesis)) == 1
            return once and only(text, hypothesis) and only(text, premise)

        names = [n for n in names_of(doc) if both(n.text)]
        numbers = [n for n in numbers_of(hypothesis) if both(n)]
        if names and len(names) + len(numbers) > 1:
            yield Decoy(premise, hypothesis, names, numbers)


def replaced(text: str, new: dict[str, str]) -> str:
    """Replace each key of ``new`` in ``text`` by its value, all at once."""
    pattern = "|".join(word(old).pattern for old in new)
    return re.sub(pattern, lambda m: new[m[0]], text)


def decoys(found: Sequence[Decoy], rng: random.Random) -> Iterator[Row]:
    """Yield the rows of `bound_decoy`."""
    pools: dict[str, list[str]] = {}
    for one in found:
        for name in one.names:
            pools.setdefault(name.kind, []).append(name.text)

    def another(name: TypedValue, text: str) -> str | None:
        for other in rng.sample(pools[name.kind], min(10, len(pools[name.kind]))):
            if not set(other.split()) & set(text.split()):
                return other
        return None

    for one in found:
        everything = f"{one.premise} {one.hypothesis}"
        subject, *others = one.names
        number = not others or (bool(one.numbers) and rng.random() < 0.7)
        value = rng.choice(one.numbers) if number else rng.choice(others).text
        other_subject = another(subject, everything)
        if number:
            other_value: str | None = another_number(value, rng)
        else:
            kind = next(n for n in others if n.text == value)
            other_value = another(kind, f"{everything} {other_subject}")
        if not other_subject or not other_value or value in subject.text:
            continue
        copy = replaced(one.premise, {subject.text: other_subject, value: other_value})
        texts = [one.premise, copy]
        rng.shuffle(texts)
        both = " ".join(t if t.rstrip().endswith((".", "!", "?")) else f"{t}." for t in texts)
        who, right, wrong = rng.choice(
            [(subject.text, value, other_value), (other_subject, other_value, value)]
        )
        for stated_value, label in (
            (right, "entailment"),
            (wrong, "contradiction" if number else "not_entailment"),
        ):
            hypothesis = replaced(one.hypothesis, {subject.text: who, value: stated_value})
            yield row(both, hypothesis, label, "bound_decoy", stated_value)


def make(data: Path, seed: int) -> list[Row]:
    """Return the rows of all sources, at most :data:`MOST` of each, shuffled."""
    rows = load_rows(data / "halueval" / "dataset_halueval_qa.jsonl")
    texts = list(dict.fromkeys(restore_spaces(one["knowledge"]) for one in rows))
    _, parsed = parse_passages(texts)
    docs = dict(zip(texts, parsed, strict=True))
    people = list(entailed(data / "nli", WORDS // 3))
    human = [
        one
        for one in people
        if re.search(r"[A-Z].*(?:[A-Z]|\d)", one["hypothesis"])
        or set(one["hypothesis"].split()) & _SMALL
    ]
    _, hypotheses = parse_passages([one["hypothesis"] for one in human])
    few = [one for one in people if len(one["premise"].split()) <= LONGEST_EXCHANGED]
    few = random.Random(f"{seed}/exchanged").sample(few, min(len(few), 2 * MOST["bound_exchange"]))
    _, premises = parse_passages([one["premise"] for one in few])
    rng = random.Random(f"{seed}/bound pairs")
    made: list[Row] = []
    for found in (
        answers(rows, docs, rng),
        other_values(parsed, rng),
        decoys(list(shared(human, hypotheses)), rng),
        exchanges(few, premises, rng),
        voices([*parsed, *hypotheses], rng),
    ):
        pairs = [r for r in found if len(r["premise"].split()) <= WORDS]
        made += pairs[: MOST[pairs[0]["source"]]]
    rng.shuffle(made)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write(make(arguments.data, arguments.seed), arguments.out)


if __name__ == "__main__":
    main()
