"""Edits of sentences for `nli_pairs.py`: true compressions, and altered facts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.text.edit_words import (
    ANTONYMS,
    ANY_MONTH,
    DATE_DMY,
    DATE_MDY,
    MONTHS,
    NUMBER_WORDS,
    fix_article,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from spacy.tokens import Doc, Span

ANY_DATE = rf"(?:\d{{1,2}} (?:{ANY_MONTH}) \d{{4}}|(?:{ANY_MONTH}) \d{{1,2}}, \d{{4}}|\d{{4}})"
YEAR = re.compile(r"\b(1[4-9]\d\d|20[01]\d)\b(?!,\d)")
_ALIKE = [
    {"singer", "musician", "vocalist", "songwriter", "artist", "performer", "rapper", "composer"},
    {"writer", "author", "novelist", "poet", "playwright", "journalist", "screenwriter"},
    {"actor", "actress", "comedian", "model", "presenter", "entertainer", "personality"},
    {"player", "footballer", "cricketer", "athlete", "wrestler", "boxer", "coach", "manager"},
    {"director", "filmmaker", "producer", "screenwriter"},
    {"politician", "lawyer", "diplomat", "officer", "attorney", "statesman"},
]
_SYMMETRIC = {"met", "married", "joined", "faced", "meets", "marries", "features", "shares"}
ENTITIES = {"PERSON", "GPE", "ORG", "WORK_OF_ART", "LOC", "FAC", "EVENT"}
_PAST = {
    "directed": "directed", "written": "wrote", "produced": "produced", "founded": "founded",
    "created": "created", "designed": "designed", "published": "published", "composed": "composed",
    "recorded": "recorded", "developed": "developed", "released": "released", "owned": "owned",
}  # fmt: skip


_BROKEN = re.compile(
    r"\(\s*[,;)]|[-–]\.|,\"?\.$|\b(and|or|of|the|by|a|to|in|for|with)\.$"
    r"|^(Is|Was|Are|Were|Has|Had|And|But|Which|Who|That) |\ban \d(?!8|1)|  "
)
_CREEDS = {"Republican", "Democratic", "Christian", "Jewish", "Lutheran", "Anglican", "Methodist",
           "Presbyterian", "Hindu", "Parisian", "Victorian", "Puritan", "Labour"}  # fmt: skip
_ROLE = re.compile(
    r"^(?!number|member|character|chapter|center|river|newspaper|winner|author|daughter|brother"
    r"|sister|mother|father|founder|character|leader)\w{2,}"
    r"(er|or|ist|ian|ess|man|woman|poet|model|pilot|coach|diplomat|athlete|chef|judge"
    r"|priest|bishop|architect|attorney|advocate|astronaut)$"
)


@dataclass
class Sentence:
    """One sentence of a passage, with its parse and its compressions."""

    doc: int
    index: int
    text: str
    span: Span
    subject: str = ""
    forms: list[str] = field(default_factory=list)


@dataclass
class Edit:
    """One altered fact: `apply` rewrites a text that states it, else returns it unchanged."""

    kind: str
    apply: Callable[[str], str]
    contradicts: bool = True


@dataclass
class Pools:
    """Replacement values harvested from all passages."""

    entities: dict[str, list[str]]
    nationalities: list[str]
    roles: list[str]
    adjuncts: list[str]


def tidy(text: str) -> str:
    """Clean what cutting a sentence leaves: spaces, doubled commas, the final full stop."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s+([,.;:])", r"\1", text)
    text = re.sub(r"[,;:]+(?=[,.;])|(?:,|;|:| and| or| but)+$", "", text.rstrip(". "))
    return text[:1].upper() + text[1:] + "." if text else ""


def _cut(span: Span, drop: set[int]) -> str:
    """Return the sentence without the tokens in `drop`."""
    return tidy("".join(t.text_with_ws for t in span if t.i not in drop))


def compressions(span: Span) -> tuple[str, list[str]]:
    """Return the subject of the sentence, and shorter sentences it entails."""
    text = span.text
    root = span.root
    subjects = [t for t in root.children if t.dep_ in {"nsubj", "nsubjpass"}]
    found: list[str] = []
    subject = ""
    if subjects:
        core = [t for t in subjects[0].subtree if t.i <= subjects[0].i]
        subject = "".join(t.text_with_ws for t in core).strip()
        if subject.count("(") != subject.count(")") or subject.count('"') % 2:
            subject = ""
    bare = tidy(re.sub(r"\s*\([^()]*\)", "", text))
    if bare != text:
        found.append(bare)
    life = re.match(rf"([A-Z][^(,]{{3,50}}) \([^()]*?({ANY_DATE})\s*[–-]\s*({ANY_DATE})\)", text)
    birth = re.match(rf"([A-Z][^(,]{{3,50}}) \((?:[^()]*?)born ({ANY_DATE})", text)
    if life and re.search(r"\) (?:was|were) an? ", text):
        name, born, died = life.groups()
        for verb, date in (("was born", born), ("died", died)):
            found.append(f"{name} {verb} {'in' if len(date) == 4 else 'on'} {date}.")
    if birth:
        name, born = birth.groups()
        found.append(f"{name} was born {'in' if len(born) == 4 else 'on'} {born}.")
    inside = {t.i for t in span if text[: t.idx - span.start_char].count("(") > text[
        : t.idx - span.start_char].count(")")}  # fmt: skip
    for token in span:
        subtree = {t.i for t in token.subtree}
        clean = not subtree & inside
        edge = min(subtree)
        comma = {edge - 1} if edge > span.start and token.doc[edge - 1].text == "," else set()
        if (
            token.dep_ in {"relcl", "acl", "advcl"}
            and len(subtree) > 3
            and root.i not in subtree
            and (token.dep_ != "advcl" or token.tag_ in {"VBG", "VBN"})
        ):
            found.append(_cut(span, subtree | comma))
        if token.dep_ == "relcl" and clean and subject and token.head.dep_ == "attr":
            first = token.doc[edge]
            if first.text in {"who", "which", "that"} and first.dep_.startswith("nsubj"):
                rest = "".join(t.text_with_ws for t in span if t.i in subtree - {edge})
                if root.text in {"is", "was"}:
                    found.append(tidy(f"{subject} {rest}"))
        if token.dep_ == "conj" and token.head == root and clean:
            own = any(t.dep_.startswith("nsubj") for t in token.children)
            links = {t.i for t in root.children if t.dep_ == "cc"}
            found.append(_cut(span, subtree | links | comma))
            rest = "".join(t.text_with_ws for t in span if t.i in subtree)
            if own:
                found.append(tidy(rest))
            elif subject and token.tag_ in {"VBD", "VBZ"}:
                found.append(tidy(f"{subject} {rest}"))
        if token.dep_ == "appos" and clean and token.pos_ == "NOUN" and token.head.pos_ == "PROPN":
            first = token.doc[edge].text.lower()
            if first in {"a", "an", "the"}:
                head = "".join(t.text_with_ws for t in token.head.subtree if t.i <= token.head.i)
                rest = "".join(t.text_with_ws for t in span if t.i in subtree)
                found.append(tidy(f"{head.strip()} {'was' if root.tag_ == 'VBD' else 'is'} {rest}"))
        if (
            token.dep_ == "prep"
            and token.head == root
            and clean
            and 2 < len(subtree) < 9
            and token.i > root.i
            and root.tag_ in {"VBD", "VBN"}
            and span.end - max(subtree) < 4
        ):
            found.append(_cut(span, subtree | comma))
    good = []
    for item in dict.fromkeys(found):
        words = item.split()
        shorter = 4 <= len(words) < len(text.split())
        balanced = item.count("(") == item.count(")") and item.count('"') % 2 == 0
        if shorter and balanced and not _BROKEN.search(item):
            good.append(item)
    return subject, good


def harvest(docs: list[Doc]) -> Pools:
    """Collect entities by type, nationalities, role nouns of persons and adjuncts of passages."""
    entities: dict[str, Counter[str]] = defaultdict(Counter)
    nations: Counter[str] = Counter()
    roles: Counter[str] = Counter()
    adjuncts: Counter[str] = Counter()
    for doc in docs:
        for ent in doc.ents:
            name = re.sub(r"^the |'s$", "", ent.text).strip('" ,.')
            if ent.label_ in ENTITIES and len(name) > 3 and name[0].isupper() and "(" not in name:
                entities[ent.label_][name] += 1
            if ent.label_ == "NORP" and re.fullmatch(r"[A-Z][a-z]+(?:n|sh|se|h)", ent.text):
                nations[ent.text] += 1
        people = {t.i for e in doc.ents if e.label_ == "PERSON" for t in e}
        for t in doc:
            if (
                t.dep_ == "attr"
                and t.pos_ == "NOUN"
                and t.tag_ == "NN"
                and any(c.dep_ == "nsubj" and c.i in people for c in t.head.children)
            ):
                roles[t.text] += 1
            if t.dep_ == "prep" and t.head.dep_ == "ROOT" and t.head.tag_ in {"VBD", "VBN"}:
                part = doc[t.left_edge.i : t.right_edge.i + 1]
                if (
                    t.text in {"in", "with", "at", "on", "during", "after"}
                    and 2 <= len(part) < 8
                    and part.ents
                    and re.fullmatch(r"[\w' -]+\w", part.text)
                    and t.i > t.head.i
                ):
                    adjuncts[part.text] += 1
    return Pools(
        {kind: list(names) for kind, names in entities.items()},
        [name for name, count in nations.items() if count >= 5 and name not in _CREEDS],
        [name for name, count in roles.items() if count >= 4 and _ROLE.search(name)],
        list(adjuncts),
    )


def _swapper(pairs: dict[str, str]) -> Callable[[str], str]:
    """Replace whole words and phrases at once (so that two names can trade places)."""
    pattern = re.compile(r"(?<!\w)(" + "|".join(map(re.escape, pairs)) + r")(?!\w)")
    return lambda text: fix_article(pattern.sub(lambda m: pairs[m[1]], text))


def find_edits(sentence: Sentence, doc: Doc, pools: Pools, rng: random.Random) -> list[Edit]:
    """Find every fact of the sentence that can be altered, each with one replacement."""
    text, span, edits = sentence.text, sentence.span, []

    def swap(kind: str, old: str, new: str, contradicts: bool = True) -> None:
        if old != new and new.lower() not in text.lower():
            edits.append(Edit(kind, _swapper({old: new}), contradicts))

    dates = [m[0] for m in DATE_DMY.finditer(text)] + [m[0] for m in DATE_MDY.finditer(text)]
    for date in dates:
        month = rng.choice([m for m in MONTHS if m not in date])
        other = re.sub(ANY_MONTH, month, date)
        if rng.random() < 0.6:
            day = str(rng.randint(1, 28))
            other = re.sub(r"\b\d{1,2}\b", day, other if rng.random() < 0.5 else date)
        if rng.random() < 0.4:
            year = int(date[-4:])
            other = other[:-4] + str(year + rng.choice([-9, -2, 3, 11]))
        swap("date", date, other)
    for match in YEAR.finditer(text):
        year = int(match[1])
        shift = rng.choice([-30, -12, -7, -3, -2, -1, 1, 2, 4, 8, 15])
        new = year + shift if year + shift <= 2018 else year - abs(shift)
        swap("year", match[1], str(new))
    for match in re.finditer(r"(?<![\w.,$])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w,.]\d|\w|-)", text):
        value = match[0]
        if not re.search(rf"{re.escape(value)}(?:,? \d{{4}}| (?:{ANY_MONTH}))", text):
            digits = [i for i, c in enumerate(value) if c.isdigit()]
            at = rng.choice(digits[:2])
            new = rng.choice([d for d in "123456789" if d != value[at]])
            swap("number", value, value[:at] + new + value[at + 1 :])
    for word in NUMBER_WORDS[2:]:
        if re.search(rf"\b{word}\b", text):
            swap("number", word, rng.choice([w for w in NUMBER_WORDS[2:] if w != word]))
    subject = {t.i for c in span.root.children if c.dep_.startswith("nsubj") for t in c.subtree}
    whole: list[str] = []
    for ent in span.ents:
        name = re.sub(r"^the |'s$", "", ent.text).strip('" ,.')
        if ent.label_ == "NORP" and name in pools.nationalities:
            swap("nationality", name, rng.choice(pools.nationalities))
        if name in pools.nationalities or ent.label_ not in ENTITIES:
            continue
        if len(name) < 4 or "(" in name or not name[0].isupper():
            continue
        whole.append(name)
        local = [e.text for e in doc.ents if e.label_ == ent.label_ and len(e.text) > 3]
        choices = local if rng.random() < 0.35 and len(local) > 1 else pools.entities[ent.label_]
        new = re.sub(r"^the |'s$", "", rng.choice(choices)).strip('" ,.')
        if not new[:1].isupper() or set(new.split()) & set(name.split()) or "(" in new:
            continue
        head = ent.root
        listed = head.dep_ == "conj" or any(c.dep_ == "conj" for c in head.children)
        strict = ent.label_ in {"GPE", "LOC", "ORG"} or head.head.text == "by"
        swap(f"entity_{ent.label_}", name, new, strict and not listed and head.i not in subject)
    for token in span:
        if token.text in pools.roles and token.pos_ == "NOUN" and token.dep_ in {"attr", "conj"}:
            alike = {token.text}.union(*[g for g in _ALIKE if token.text in g])
            options = [r for r in pools.roles if r not in alike]
            if options and any(e.label_ == "PERSON" for e in span.ents):
                swap("role", token.text, rng.choice(options))
    for pair in ANTONYMS:
        for old, new in (pair, pair[::-1]):
            if re.search(rf"(?<!\w){old}(?!\w)", text) and not re.search(rf"\b{new}\b", text):
                pairs = {old: new}
                if old in {"he", "He", "she", "She", "his", "His", "Her"}:
                    male = old.lower() in {"he", "his"}
                    if re.search(r"\b(her|him|hers)\b", text):
                        continue
                    table = {"he": "she", "He": "She", "his": "her", "His": "Her"}
                    pairs = table if male else {"she": "he", "She": "He", "Her": "His"}
                elif old == "her":
                    continue
                edits.append(Edit("antonym", _swapper(pairs)))
    root, objects = span.root, [t for t in span.root.children if t.dep_ == "dobj"]
    if objects and root.text.lower() not in _SYMMETRIC:
        named = {e.root.i: e.text for e in span.ents if e.label_ in {"PERSON", "ORG", "GPE"}}
        left = [named[c.i] for c in root.children if c.dep_ == "nsubj" and c.i in named]
        right = [named[c.i] for c in objects if c.i in named]
        if left and right and left[0] != right[0]:
            edits.append(Edit("role_swap", _swapper({left[0]: right[0], right[0]: left[0]})))
    verbs = re.findall(r"\b(?:is|was|are|were|has been|had been)\b", text)
    if len(verbs) == 1 and span.root.pos_ in {"AUX", "VERB"} and " not " not in text:
        verb = verbs[0]
        word = rng.choice(["not", "not", "never"]) if verb in {"was", "were"} else "not"
        parts = verb.split()
        edits.append(Edit("negation", _swapper({verb: " ".join([parts[0], word, *parts[1:]])})))
    return [e for e in edits if e.apply(text) != text]


def vary(text: str, rng: random.Random) -> str:
    """Paraphrase lightly: date format, digits or words, active or passive, birthplace."""
    if rng.random() < 0.6:
        if DATE_DMY.search(text):
            text = DATE_DMY.sub(r"\2 \1, \3", text)
        else:
            text = DATE_MDY.sub(r"\2 \1 \3", text)
    if rng.random() < 0.4:
        for value, word in enumerate(NUMBER_WORDS):
            if value > 1:
                text = re.sub(rf"(?<= ){word}(?= [a-z]+s\b)", str(value), text)
    passive = re.fullmatch(
        rf"([A-Z\"][^,]{{2,60}}) (?:was|is) ({'|'.join(_PAST)}) by ([A-Z][\w.' -]+)\.", text
    )
    if passive and rng.random() < 0.6:
        work, verb, agent = passive.groups()
        return (
            f"{agent} {_PAST[verb]} {work[:1].lower() + work[1:] if work[:4] == 'The ' else work}."
        )
    place = re.fullmatch(r"([A-Z][\w.' -]+) was born in ([A-Z][\w,.' -]+)\.", text)
    if place and rng.random() < 0.5:
        return f"{place[2]} is the birthplace of {place[1]}."
    return text
