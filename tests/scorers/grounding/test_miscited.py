"""Sentences that cite another source than the one they are from."""

from __future__ import annotations

import pytest

from veridical.core.records import Record
from veridical.scorers.grounding._cited import miscited

CONTEXTS = [
    "The ferry takes bicycles free of charge on weekdays.",
    "The museum closes its upper gallery during winter.",
]


@pytest.mark.parametrize(
    ("response", "wrong"),
    [
        ("The ferry takes bicycles free of charge [1].", {}),
        ("The ferry takes bicycles free of charge [2].", {0: 0}),
        ("The museum closes its upper gallery in winter [2].", {}),
        ("The museum closes its upper gallery in winter [1].", {0: 1}),
        ("The museum closes its upper gallery in winter [1][2].", {}),
        (
            "Children under six travel with an adult [1].",
            {},
        ),  # in neither source
        ("The ferry takes bicycles free of charge.", {}),
        ("So it is [2].", {}),
    ],
)
def test_numbers(response: str, wrong: dict[int, int]) -> None:
    assert miscited(Record(response=response, contexts=CONTEXTS)) == wrong


def test_links() -> None:
    contexts = ["https://shop.example/a: The seal of the lid came off."]
    said = "The seal of the lid came off (https://shop.example/{})."
    assert miscited(Record(response=said.format("a"), contexts=contexts)) == {}
    assert miscited(Record(response=said.format("b"), contexts=contexts)) == {0: None}
    assert miscited(Record(response=said.format("b"), contexts=["The seal of the lid."])) == {}
