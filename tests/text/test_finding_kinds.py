"""Kinds of findings, each of a statement made wrong by hand."""

from __future__ import annotations

import pytest

from veridical.text.finding_kinds import finding_kind
from veridical.text.typed_edits import KINDS

SOURCES = [
    "Ada Berg was taught by Bob Cole in Oslo. The hall has 20 rooms and opened on 3 May 1912.",
    "The bridge is 40 km long. The pool is not open. The home side beat the visitors.",
]


@pytest.mark.parametrize(
    ("statement", "contradicted", "kind"),
    [
        ("The hall has 30 rooms.", True, "figure"),
        ("The hall opened on 4 May 1912.", True, "date"),
        ("The bridge is 40 miles long.", True, "unit"),
        ("The pool is open.", True, "negation"),
        ("Ada Berg was taught by Flo Gray in Oslo.", True, "name"),
        ("The visitors beat the home side.", True, "order"),
        ("The bridge opened the hall.", True, "relation"),
        ("Dancers performed daily there.", False, "addition"),
        ("The hall opened badly and slowly.", True, "other"),
        ("", False, "other"),
    ],
)
def test_by_hand(statement: str, contradicted: bool, kind: str) -> None:
    assert finding_kind(statement, contradicted, SOURCES) == kind
    assert kind in {*KINDS.values(), "order", "computed"}  # one vocabulary
