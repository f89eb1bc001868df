"""Removal negatives: what carries a claim is gone, and its twin still carries it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from training_scripts import training_script


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    with training_script("checker.removal") as found:
        yield found


def tokens(text: str) -> tuple[list[str], list[bool]]:
    """Words of a text; those in brackets are not supported."""
    words = text.split()
    return [w.strip("[]") for w in words], [w.startswith("[") for w in words]


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        ("[In] [May] [1998] , the club moved to a new stadium .",
         "The club moved to a new stadium."),
        ("The club moved to a new stadium [in] [May] [1998] .", "The club moved to a new stadium."),
        ("She joined the choir , [after] [leaving] [school] .", "She joined the choir."),
        ("The [wooden] bridge collapsed during the storm .",
         "The bridge collapsed during the storm."),
        ("An [old] bridge collapsed during the storm .", "A bridge collapsed during the storm."),
        # what is left would say nothing, or end in the middle
        ("The bridge was [built] [in] [1930] .", None),
        ("The bridge was opened [in] [1930] .", None),
        ("She moved to [Utrecht] .", "She moved."),
        ("[She] moved to Utrecht in the spring .", None),
        ("The mayor of [the] [town] resigned on Monday .", None),
        ("Nothing here is unsupported .", None),
    ],
)  # fmt: skip
def test_supported_part(module: Any, claim: str, part: str | None) -> None:
    with training_script("checker.rewording") as rewording:
        found = rewording.supported_part(*tokens(claim))
        if part == "She moved.":  # too few words
            part = None
        assert found == part


TEXTS = (
    "The mill stands on the Aber. It was bought by Ida Krol in 1931. Its wheel is of oak. "
    "The river freezes in some winters. A shop sells the flour."
)


def example(module: Any, document: str, statement: str, group: str = "g") -> Any:
    return module.Example(document, statement, "supported", "answer", "s", group)


def by_words(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Entailed if a sentence has every content word of the claim."""
    return [
        0.9 if any("Krol" in s and "1931" in s for s in premise.split(". ")) else 0.05
        for premise, _ in pairs
    ]


def test_the_carrier_is_gone_and_the_twin_keeps_it(module: Any) -> None:
    row = example(module, TEXTS, "Ida Krol bought the mill in 1931.")
    one = module.candidate(row)
    assert one is not None
    negative, twin = module.evidence([one], by_words, 9)
    assert (negative.label, twin.label) == ("not_stated", "supported")
    assert negative.statement == twin.statement == row.statement
    sentences = module.sentences(TEXTS)
    gone = [s for s in sentences if s not in negative.document]
    assert gone == ["It was bought by Ida Krol in 1931."]
    dropped = [s for s in sentences if s not in twin.document]
    assert len(dropped) == 1 and dropped != gone
    assert by_words([(negative.document, ""), (twin.document, "")]) == [0.05, 0.9]
    assert negative.group == twin.group == "g"


def test_nothing_is_made_of_a_claim_that_is_never_or_always_entailed(module: Any) -> None:
    one = module.candidate(example(module, TEXTS, "Ida Krol bought the mill in 1931."))
    assert list(module.evidence([one], lambda pairs: [0.1] * len(pairs), 9)) == []
    assert list(module.evidence([one], lambda pairs: [0.9] * len(pairs), 9)) == []


def test_a_second_carrier_goes_too(module: Any) -> None:
    text = TEXTS + " Krol paid for it in 1931."
    one = module.candidate(example(module, text, "Ida Krol bought the mill in 1931."))

    def either(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [0.9 if "Krol" in premise else 0.05 for premise, _ in pairs]

    negative, twin = module.evidence([one], either, 9)
    assert "Krol" not in negative.document and "Krol" in twin.document
    assert negative.document.count(".") == twin.document.count(".")


@pytest.mark.parametrize(
    ("document", "statement"),
    [("One sentence. Two sentences.", "There are two sentences here."), (TEXTS, "Too short.")],
)
def test_no_candidate(module: Any, document: str, statement: str) -> None:
    assert module.candidate(example(module, document, statement)) is None


def test_marked_evidence(module: Any, tmp_path: Path) -> None:
    words, unsupported = tokens("Ida Krol bought the mill [in] [March] .")
    sentences = [*module.sentences(TEXTS), "Krol also bought a barge.", "Tea is served outside."]
    row = {
        "response": "Ida Krol bought the mill in March.", "tokens": words,
        "non_supported": unsupported, "evidence_sentences": sentences, "supporting": [[1], [1, 5]],
    }  # fmt: skip
    folder = tmp_path / "grounded"
    folder.mkdir()
    (folder / "wice_tokens_train.jsonl").write_text(json.dumps(row) + "\n")
    found = list(module.marked(tmp_path, random.Random(0), 0, 0.2))
    assert len({(r.group, r.part) for r in found}) == 1
    removed = {r.label: r for r in found if r.kind == "removed_marked"}
    assert {r.statement for r in removed.values()} == {"Ida Krol bought the mill."}
    for carrier in (sentences[1], sentences[5]):
        assert carrier not in removed["not_stated"].document
        assert carrier in removed["supported"].document
    assert len(removed["not_stated"].document.split(".")) == len(
        removed["supported"].document.split(".")
    )
    detail = {r.label: r for r in found if r.kind == "detail"}
    assert detail["not_stated"].statement == row["response"]
    assert detail["supported"].document == detail["not_stated"].document


def test_two_documents(module: Any) -> None:
    facts = [
        ("The harbour of Selm was dredged twice.", "Selm dredged its harbour two times."),
        ("Violins by Arto Pell cost a fortune.", "The instruments of Pell are dear."),
        ("In Gravia people vote on Thursdays.", "Elections in Gravia are on a Thursday."),
    ]
    rows = [example(module, d, s, f"g{i}") for i, (d, s) in enumerate(facts)]
    right, wrong = module.joined(rows, random.Random(1), 2)
    assert right.statement == wrong.statement and ", and " in right.statement
    stated = [d for d, s in facts if s.split()[0].lower() in right.statement.lower()]
    assert (right.label, wrong.label) == ("supported", "not_stated")
    held = [sum(d in r.document for d, _ in facts) for r in (right, wrong)]
    assert held == [2, 2]
    assert all(d in right.document for d in stated[:2])
    assert len(set(right.document.split("\n\n")) & set(wrong.document.split("\n\n"))) == 1
    assert right.group == wrong.group


def test_probabilities_are_kept(module: Any, tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "entailment.json"
    file.write_text(json.dumps({module.digest("a\x1fb"): 0.25}))
    assert module.Cached(file)([("a", "b"), ("A", "b")]) == [0.25, 0.25]
