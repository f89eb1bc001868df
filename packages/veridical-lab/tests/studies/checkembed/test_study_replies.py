"""Passages and terms read from what a model wrote."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical_lab.studies.checkembed.replies import (
    descriptions,
    found_terms,
    passage,
    term_names,
    terms,
)


@pytest.mark.parametrize(
    ("reply", "form"),
    [
        ("### PASSAGE ###\n\nThe sun is a star.", "marked"),
        ("<formatting>\nPASSAGE\n\nThe sun is a star.\n</formatting>", "marked"),
        ("**PASSAGE:** The sun is a star.", "marked"),
        ("The sun is a star.", "whole"),
    ],
)
def test_a_passage_is_what_follows_its_heading(reply: str, form: str) -> None:
    read = passage(reply, forced=False)
    assert read.form == form
    assert read.texts[0].strip(" *") == "The sun is a star."


def test_the_list_of_errors_is_no_part_of_the_passage() -> None:
    reply = "### ERRORS ###\n1. It is a planet.\n### PASSAGE ###\nThe sun, a planet, is cold."
    assert passage(reply, forced=True).texts == ("The sun, a planet, is cold.",)
    turned = "### PASSAGE ###\nThe sun is cold.\n### ERRORS ###\nIt is a planet."
    assert passage(turned, forced=True).texts == ("The sun is cold.",)


def test_a_list_of_errors_without_a_passage_is_of_no_use() -> None:
    assert passage("### ERRORS ###\n1. The sun is a planet.", forced=True).form == "unusable"


@pytest.mark.parametrize("reply", ["", "### PASSAGE ###", "### PASSAGE ###\nThe passage here...."])
def test_an_empty_passage_or_the_templates_own_is_of_no_use(reply: str) -> None:
    assert passage(reply, forced=False).form == "unusable"


def test_descriptions_are_told_apart() -> None:
    reply = "### DESCRIPTION 1 ###\n\nA tower.\n\n### DESCRIPTION 2 ###\n\nA lamp."
    assert descriptions(reply).texts == ("A tower.", "A lamp.")
    for bad in ("A tower. A lamp.", "DESCRIPTION 1\nA tower.", reply.replace("lamp", "tower")):
        assert descriptions(bad).form == "unusable"


def test_terms_are_lines_of_a_term_and_its_definition() -> None:
    reply = 'Here they are\n1. "Company": Acme\n- Buyer. Whoever buys\nShares. 100 shares.'
    read = terms(reply)
    assert read.form == "marked" and "Here they are" not in read.texts[0]
    assert term_names(read.texts[0]) == ["Company", "Buyer", "Shares"]
    assert terms("I see none") == terms("I see none") and terms("I see none").form == "whole"


def test_precision_and_recall_of_terms() -> None:
    # 1 of 2 extracted is expected, 1 of 3 expected is extracted: F1 = 2 * .5 * .333 / .833 = .4
    assert found_terms(["the  Company", "Sky"], ["The company", "Buyer", "Seller"]) == (
        0.5,
        pytest.approx(1 / 3),
        pytest.approx(0.4),
    )
    assert found_terms([], ["Buyer"]) == (0, 0, 0)


@pytest.mark.parametrize("mark", ['"', "*", "#", "1. ", "- ", "### PASSAGE ###\n", "a. "])
def test_a_long_reply_of_marks_takes_linear_time(mark: str) -> None:
    def read(long: str) -> None:
        for reply in (long, f"{long}\n{long}"):
            terms(reply)
            descriptions(reply)
            passage(reply, forced=True)

    assert growth(read, repeated(mark)) < MOST
