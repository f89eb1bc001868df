"""Word tables of typed edits: opposites, quantifiers, modality, months and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from veridical.text.structure.wording import MONTHS as MONTHS

Label = Literal["entailment", "neutral", "contradiction", "not_entailment"]
#: Labels of the edited text given the original and of the original given the edited text; None
#: if undetermined.
Labels = tuple[Label | None, Label | None]
Rule = Literal[
    "figure",
    "date",
    "unit",
    "name",
    "negation",
    "relation",
    "list",
    "splice",
    "quantifier",
    "modality",
    "antonym",
]
SAME: tuple[Label, Label] = ("entailment", "entailment")
OPPOSED: tuple[Label, Label] = ("contradiction", "contradiction")
#: The edited text states more than the original.
MORE: Labels = ("neutral", "entailment")

ANY_MONTH = "|".join(MONTHS)
DATE_DMY = re.compile(rf"\b(\d{{1,2}}) ({ANY_MONTH}) (\d{{4}})\b")
DATE_MDY = re.compile(rf"\b({ANY_MONTH}) (\d{{1,2}}), (\d{{4}})\b")
NUMBER_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
ANTONYMS = [
    tuple(pair.split("/"))
    for pair in [
        "first/last",
        "before/after",
        "older/younger",
        "north/south",
        "northern/southern",
        "east/west",
        "eastern/western",
        "largest/smallest",
        "oldest/youngest",
        "male/female",
        "brother/sister",
        "mother/father",
        "son/daughter",
        "husband/wife",
        "actor/actress",
        "winning/losing",
        "won/lost",
        "professional/amateur",
        "former/current",
        "early/late",
        "most/least",
        "best/worst",
        "public/private",
        "northeast/southwest",
        "northwest/southeast",
        "highest/lowest",
        "founded/dissolved",
        "started/ended",
        "men's/women's",
        "men/women",
        "upper/lower",
        "longest/shortest",
        "summer/winter",
        "he/she",
        "his/her",
        "He/She",
        "His/Her",
        "began/stopped",
        "major/minor",
        "second/third",
        "fourth/fifth",
        "fictional/real",
        "king/queen",
        "younger/elder",
        "rural/urban",
        "fiction/non-fiction",
        "live/studio",
    ]
]


def fix_article(text: str) -> str:
    """Choose `a` or `an` by the next letter (`a American` -> `an`)."""
    text = re.sub(r"\b([Aa]) (?=[AEIOaeio][a-z]{2,})(?!one|once|Euro|eu)", r"\1n ", text)
    return re.sub(r"\b([Aa])n (?=[B-DF-GJ-NP-TV-Zb-df-gj-np-tv-z][a-z]{2,})", r"\1 ", text)


class Replacement(NamedTuple):
    """A word and its replacement."""

    rule: Rule
    old: str
    new: str
    labels: Labels


def _one_way(rule: Rule, pairs: str, labels: Labels) -> Iterator[Replacement]:
    """Yield each ``old/new`` of ``pairs``."""
    for pair in pairs.split("; "):
        old, new = pair.split("/")
        yield Replacement(rule, old, new, labels)


def _both(rule: Rule, pairs: str, labels: Labels) -> Iterator[Replacement]:
    """Yield each ``a/b`` of ``pairs`` and its reverse, with swapped labels."""
    for row in _one_way(rule, pairs, labels):
        yield row
        yield Replacement(rule, row.new, row.old, (labels[1], labels[0]))


_AGREE = {
    "he/she",
    "his/her",
    "He/She",
    "His/Her",
}  # one of several in a text, which would contradict the others
TABLE: tuple[Replacement, ...] = (
    *_both(
        "antonym",
        "; ".join("/".join(pair) for pair in ANTONYMS if "/".join(pair) not in _AGREE),
        OPPOSED,
    ),
    *_both(
        "antonym",
        "increased/decreased; rose/fell; higher/lower; larger/smaller; won/lost; opened/closed; "
        "accepted/rejected; allowed/forbade; succeeded/failed; arrived/departed; inside/outside; "
        "above/below; hot/cold; strong/weak; cheap/expensive; true/false; legal/illegal; "
        "permanent/temporary; expanded/shrank; approved/refused; gained/lost; minimum/maximum; "
        "buyer/seller; parent/child; teacher/pupil; alive/dead; empty/full; guilty/innocent",
        OPPOSED,
    ),
    *_both(
        "antonym",
        "began/started; large/big; film/movie; located/situated; near/close to; wrote/authored; "
        "currently/at present; purchased/bought; assisted/helped; famous/well-known; "
        "attempted/tried; entire/whole; children/offspring; obtained/got; finished/completed",
        SAME,
    ),
    *_both(
        "quantifier",
        "most/few; many/few; always/never; often/rarely; more than/less than; usually/seldom; "
        "at least/less than; at most/more than; nearly/more than",
        OPPOSED,
    ),
    *_one_way("quantifier", "every/each", SAME),
    *_one_way("quantifier", "every/no; everyone/no one; everything/nothing; both/neither", OPPOSED),
    *_both("quantifier", "some/all; sometimes/always; some/most; someone/everyone", MORE),
    *_both(
        "quantifier",
        "most/the majority of; many/a large number of; several/a number of; "
        "less than/under; at least/no fewer than; often/frequently; always/at all times",
        SAME,
    ),
    *_both(
        "modality",
        "may/will; might/will; is expected to/is certain to; is likely to/is certain to; "
        "possibly/certainly; probably/certainly; suggests/proves",
        MORE,
    ),
    *_one_way(
        "modality",
        "is believed to be/is; is thought to be/is; is said to be/is; was believed to be/was; "
        "is rumoured to be/is; was alleged to be/was",
        ("neutral", None),
    ),
    *_both(
        "modality",
        "may/might; must/has to; will/is going to; probably/most likely; is able to/can; "
        "possibly/perhaps; is thought to be/is believed to be",
        SAME,
    ),
)
