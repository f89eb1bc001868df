"""Typed edits (``veridical.text.typed_edits``) of documents and of claims."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from checker.examples import Example, Label
from checker.removal import sentences
from veridical.text.edit_words import OPPOSED
from veridical.text.typed_edits import SYMMETRIC, Edited, Name, edits

_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+ [A-Z][a-z]+(?: [A-Z][a-z]+)?")
_UNSTATED = ("not_entailment", "not_entailment")
#: Kinds of edits whose words say little about which side is wrong.
_OF_CLAIMS = ("figure", "date", "unit", "antonym")


def _names(text: str) -> list[Name]:
    """Return names of two words or more in the middle of sentences, as one kind."""
    return [Name(found, "NAME") for found in dict.fromkeys(_NAME.findall(text))]


def _wrong(sentence: str, names: Sequence[Name], rng: random.Random) -> dict[str, list[Edited]]:
    """Return edits after which neither wording entails the other, by kind."""
    found: dict[str, list[Edited]] = defaultdict(list)
    for edit in edits(sentence, rng, names):
        labels = (edit.label, edit.back)
        turned = edit.rule == "name" and SYMMETRIC.search(sentence)
        cut = any(edit.text[end : end + 1] in ("'", "’") for _, end in edit.spans)  # "won't"
        if labels in (OPPOSED, _UNSTATED) and not turned and not cut:
            found[edit.rule].append(edit)
    return found


def edited_documents(rows: Sequence[Example], rng: random.Random) -> Iterator[Example]:
    """Yield `typed_edit`: a sentence and its edit, in a document that has one of them.

    Which of the two the document has is drawn, so neither wording is more often right.
    """
    documents = {r.group: r for r in rows}
    for one in rng.sample(list(documents.values()), len(documents)):
        texts = sentences(one.document)
        good = [i for i, t in enumerate(texts) if re.fullmatch(r"[A-Z].{30,260}[a-z0-9]\.", t)]
        if not 2 <= len(texts) <= 40 or not good:
            continue
        at = rng.choice(good)
        found = _wrong(texts[at], _names(one.document), rng)
        only_negated = set(found) == {"negation"} and rng.random() < 0.6  # it can be had of any
        if not found or only_negated:
            continue
        edit = rng.choice(found[rng.choice(sorted(found))])
        wordings = [texts[at], edit.text]
        true = rng.randrange(2)
        whole = " ".join([*texts[:at], wordings[true], *texts[at + 1 :]])
        if rng.random() < 0.6:  # both in other words, where the same rule has some
            same = [{e.rule: e.text for e in edits(w, rng) if e.keeps} for w in wordings]
            kinds = sorted(set(same[0]) & set(same[1]) - {edit.rule})
            if kinds:
                kind = rng.choice(kinds)
                wordings = [texts_of[kind] for texts_of in same]
        wrong: Label = "contradicted" if (edit.label, edit.back) == OPPOSED else "not_supported"
        for statement, label in ((wordings[true], "supported"), (wordings[1 - true], wrong)):
            yield Example(
                whole, statement, label, "typed_edit",  # type: ignore[arg-type]
                f"edited_{edit.rule}", one.group, one.part, paired=True,
            )  # fmt: skip


def edited_claims(rows: Sequence[Example], rng: random.Random) -> Iterator[Example]:
    """Yield `edited_claim`: a supported claim that people wrote, and its edit.

    Each word that replaces another is replaced by it as often, except in dates.
    """
    ways: dict[tuple[str, str], list[tuple[Example, Edited]]] = defaultdict(list)
    for one in rng.sample(list(rows), len(rows)):
        if not one.right or "\n" in one.statement:
            continue
        found = _wrong(one.statement, (), rng)
        kinds = [k for k in sorted(found) if k in _OF_CLAIMS]
        exact = [e for k in kinds for e in found[k] if (e.label, e.back) == OPPOSED]
        if exact:
            edit = rng.choice(exact)
            old = " ".join(one.statement[a:b] for a, b in edit.was).lower()
            new = " ".join(edit.text[a:b] for a, b in edit.spans).lower()
            ways[("", "") if edit.rule == "date" else (old, new)].append((one, edit))
    kept = []
    for way, found_of in sorted(ways.items()):
        kept += found_of[: len(ways.get((way[1], way[0]), []))]
    for one, edit in rng.sample(kept, len(kept)):
        for statement, label in ((one.statement, "supported"), (edit.text, "contradicted")):
            yield Example(
                one.document, statement, label, "edited_claim",  # type: ignore[arg-type]
                f"edited_{edit.rule}", one.group, one.part, paired=True,
            )  # fmt: skip
