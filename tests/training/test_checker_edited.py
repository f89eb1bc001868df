"""Edited documents and claims: which wording is true is drawn, and words do not tell."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from training_scripts import training_script


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    with training_script("checker.edited") as found:
        yield found


def example(module: Any, document: str, statement: str, n: int) -> Any:
    return module.Example(document, statement, "supported", "nli_claim", "s", f"g{n}")


def stories(module: Any) -> list[Any]:
    return [
        example(
            module,
            f"The mill of Abel Stone was sold to Berta Voss in {1900 + n}. It has {n + 3} wheels "
            f"and a large oven. Visitors arrived from every town of the county.",
            "It was sold.",
            n,
        )
        for n in range(60)
    ]


def test_the_document_has_the_wording_that_is_right(module: Any) -> None:
    rows = list(module.edited_documents(stories(module), random.Random(0)))
    assert len(rows) > 60
    originals = {r.document for r in stories(module)}
    edited = 0
    for right, wrong in zip(rows[::2], rows[1::2], strict=True):
        assert right.document == wrong.document and right.group == wrong.group
        assert right.label == "supported" and wrong.label in ("contradicted", "not_supported")
        assert right.statement != wrong.statement
        assert wrong.statement not in wrong.document
        edited += right.document not in originals
    assert 0.3 < edited / (len(rows) / 2) < 0.7  # either wording, by a fair coin
    assert rows == list(module.edited_documents(stories(module), random.Random(0)))


def test_words_of_claims_are_exchanged_as_often_either_way(module: Any) -> None:
    rows = [
        example(module, f"Note {n}.", f"Sales of shop {chr(97 + n % 26)} {verb} sharply.", n)
        for n in range(40)
        for verb in (("rose",) if n % 4 else ("fell",))
    ]
    made = list(module.edited_claims(rows, random.Random(0)))
    words = Counter(
        (verb, r.label) for r in made for verb in ("rose", "fell") if verb in r.statement
    )
    assert words["rose", "supported"] == words["rose", "contradicted"] == 10
    assert words["fell", "supported"] == words["fell", "contradicted"] == 10


def test_a_contraction_is_not_cut(module: Any) -> None:
    rows = [example(module, "d", "They won't lose the game.", 0)]
    assert all(
        "lost't" not in r.statement for r in module.edited_claims(rows * 9, random.Random(0))
    )


@pytest.mark.parametrize(
    ("statement", "document", "known"),
    [
        ("Ida Krol bought a mill.", "Krol bought the mill.", True),
        ("Ida Krol bought a mill.", "She bought the mill.", False),
        ("The mill was bought.", "She bought the mill.", True),
    ],
)
def test_names_known(statement: str, document: str, known: bool) -> None:
    with training_script("checker.public") as public:
        assert public.names_known(statement, document) is known


def test_no_generated_document_is_lengthened_by_one_of_its_topic() -> None:
    with training_script("checker.balancing") as balancing:
        rows = [
            balancing.Example(
                f"{topic} {n} weighs much. " * 9, f"Thing{n} is heavy.", "supported", kind, "s",
                f"{topic}{n}", topic=topic,
            )
            for n in range(40)
            for topic, kind in (("barge", "table"), ("crane", "record"), ("settings", "settings"))
        ]  # fmt: skip
        found = balancing.lengthened(rows, random.Random(0))
        longer = [(a, b) for a, b in zip(rows, found, strict=True) if a.document != b.document]
        assert len(longer) > 20
        for before, after in longer:
            more = after.document.replace(before.document, "", 1)
            assert f"{before.topic} " not in more and "settings" not in more
