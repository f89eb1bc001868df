from __future__ import annotations

import pytest

from veridical.claims.categories import CATEGORIES, categories

SOURCE = "Marie Curie was born in Warsaw on 7 November 1867. She won 2 Nobel Prizes."
RESPONSE = "Marie Curie was born in Paris. She won three prizes. Later Paris honoured her."


@pytest.mark.parametrize(
    ("claim", "label", "expected"),
    [
        ("Marie Curie was born in Warsaw", "entailment", None),
        ("Marie Curie was born in Paris", "contradiction", "contradiction/name"),
        ("She won three prizes", "contradiction", "contradiction/number"),
        ("She won two prizes", "neutral", "unsupported/other"),
        ("She was born on 8 November 1867", "contradiction", "contradiction/date"),
        ("She was born on 7 November 1867", "contradiction", "contradiction/other"),
        ("Curie died in 1934", "neutral", "unsupported/date"),
        ("She liked painting", "neutral", "unsupported/other"),
        ("Paris honoured her", "neutral", "unsupported/name"),  # a name elsewhere in the response
    ],
)
def test_kinds(claim, label, expected):
    assert categories(RESPONSE, [claim], [label], [SOURCE]) == [expected]
    assert expected is None or expected in CATEGORIES


def test_each_claim_has_its_own():
    claims = ["Marie Curie was born in Warsaw", "She won three prizes", "She liked painting"]
    labels = ["entailment", "contradiction", "neutral"]
    assert categories("", claims, labels, ["nothing", SOURCE]) == [
        None,
        "contradiction/number",
        "unsupported/other",
    ]
    assert categories("", [], [], [SOURCE]) == []
    assert categories("", [" \n"], ["neutral"], [""]) == ["unsupported/other"]
