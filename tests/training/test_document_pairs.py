"""Rows of a document and a statement as the pairs that an NLI model is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from training_scripts import training_script

FILLER = "Rain fell on the hills for most of that week, and nobody went out. " * 30
TABLE = "Plan,Price,Seats\nPro,$45,5\nTeam,$90,20"


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("document_pairs") as found:
        yield found


def row(document: str, statement: str, label: str, kind: str = "table") -> dict[str, Any]:
    return {"document": document, "statement": statement, "label": label, "kind": kind}


def never(pairs: Sequence[tuple[str, str]]) -> list[float]:
    assert not pairs, "a document of one window needs no model"
    return []


def says(sentence: str) -> Any:
    return lambda pairs: [0.9 if sentence in premise else 0.1 for premise, _ in pairs]


@pytest.mark.parametrize(
    ("label", "named"),
    [
        ("supported", "entailment"),
        ("contradicted", "contradiction"),
        ("not_stated", "neutral"),
        ("not_supported", "not_entailment"),
    ],
)
def test_one_window_has_the_label_of_its_row(module: ModuleType, label: str, named: str) -> None:
    (made,) = module.pairs([row(TABLE, "Pro has 5 seats.", label)], never)
    assert (made["label"], made["source"]) == (named, "document_table")
    assert "Pro: price $45; seats 5." in made["premise"]  # in words, as the engine reads it


def test_a_right_answer_gives_each_of_its_statements(module: ModuleType) -> None:
    answer = "Pro has 5 seats. Team costs $90."
    made = module.pairs([row(TABLE, answer, "supported")], never)
    assert [m["hypothesis"] for m in made] == ["Pro has 5 seats.", "Team costs $90."]
    assert module.pairs([row(TABLE, answer, "contradicted")], never) == []


@pytest.mark.parametrize(
    "kind", ["language", "cross_language", "written_language", "abstention", "typed_edit"]
)
def test_what_no_model_is_asked_about_is_left_out(module: ModuleType, kind: str) -> None:
    assert module.pairs([row(TABLE, "Pro has 5 seats.", "supported", kind)], never) == []


@pytest.mark.parametrize("source", ["cg2c_doc_train", "fm2_train+faithdial_audit_train"])
def test_files_that_fit_the_default_are_left_out(module: ModuleType, source: str) -> None:
    fits = row(TABLE, "Pro has 5 seats.", "supported") | {"source": source}
    assert module.pairs([fits], never) == []
    assert len(module.pairs([fits | {"source": "fm2_train"}], never)) == 1


def test_the_window_that_says_it_is_found(module: ModuleType) -> None:
    told = "The ferry to Aldmoor sails at noon."
    document = f"{FILLER}{told} {FILLER}"
    (made,) = module.pairs([row(document, told, "supported")], says(told))
    assert told in made["premise"]
    assert len(made["premise"]) < 1300
    assert module.pairs([row(document, told, "supported")], says("another")) == []


def test_no_window_of_many_makes_a_wrong_statement(module: ModuleType) -> None:
    document = f"{FILLER}The ferry to Aldmoor sails at noon. {FILLER}"
    wrong = "The ferry to Aldmoor sails at dusk."
    found = [module.pairs([row(document, wrong, x)], never) for x in ("contradicted", "not_stated")]
    assert [m["label"] for (m,) in found] == ["not_entailment", "neutral"]
    assert all("Aldmoor" in m["premise"] for (m,) in found)
