"""Published tables in words: numbers of drawn figures, parts and counts."""

from __future__ import annotations

import re

import pytest
from places import ROOT

from veridical_lab.bench.published import ENTRIES, checkembed, selfcheckgpt

#: Where each paper states numbers of figures that it draws, as its text has them.
STATED = {
    "RefChecker figures 11 and 12": ("refchecker", ("25%", "13% with NC", "6% with AC")),
    "Tunable ensemble figures 1 and 2": (
        "tunable-ensemble",
        ("43% to 67% and 22% to 62%", "ranging from .65 to .84"),
    ),
    "CheckEmbed figures 2, 8 and 9": ("checkembed", ("very high CE scores (e.g., 0.9)",)),
    "CheckEmbed figures 3 and 10 to 13": (
        "checkembed",
        ("mean is 0.95", "low std of 0.06", "an std of 0.18", "e.g., 0.97"),
    ),
    "CheckEmbed figures 4 and 17": ("checkembed", ("beyond 5 errors", "a single error")),
    "CheckEmbed figures 6 and 14 to 16": ("checkembed", (r"$30\times$ – $300\times$",)),
    "Mirage figures 1, 2, 5 and 7": (
        "mirage",
        ("over 80%", "above 0.9", "(0.4", "at 0.95", "0.97", ">0.75", "sim 0.65", "0.85"),
    ),
    "SelfCheckGPT figures 4, 6 and 10": ("selfcheckgpt", ("peak at +1.0", "correlation of 78.32")),
}


@pytest.mark.data
def test_numbers_of_drawn_figures_are_those_of_the_text(papers: dict[str, str]) -> None:
    by_id = {e.id: e for e in ENTRIES}
    assert {e.id for e in ENTRIES if e.printed} == set(STATED)
    for id, (paper, stated) in STATED.items():
        told = "; ".join(by_id[id].printed or ()).replace("0.7832", "78.32")
        for text in stated:
            assert text in papers[paper] or text.replace("sim ", r"\sim ") in papers[paper], text
            for number in re.findall(r"\d*\.?\d+", text):
                assert number in told, (id, number)


@pytest.mark.data
def test_where_no_number_is_stated_the_text_about_the_figure_has_none(
    papers: dict[str, str],
) -> None:
    names = {"SelfCheckGPT": "selfcheckgpt", "CheckEmbed": "checkembed", "RefChecker": "refchecker"}
    for e in (e for e in ENTRIES if e.printed == ()):
        paper = e.id.split()[0]
        for number in re.findall(r"\d+", re.sub(r"^.*?figures? |, (?!\d).*", "", e.id)):
            about = [
                line
                for line in papers[names[paper]].splitlines()
                if re.search(rf"\bFigure {number}\b", line)
            ]
            assert about, (e.id, number)
            for line in about:
                plain = re.sub(r"(Figures?|Tables?|Section|Appendix) [\d.A-Z]+", "", line)
                found = re.findall(r"\d+(?:\.\d+)? ?%|(?<!\d)0?\.\d+\b", plain)
                assert not found, (e.id, number)


def test_no_reason_says_by_hand_that_nothing_is_printed() -> None:
    by_hand = re.compile(r"no (numbers|figures?)\b|prints neither|not printed")
    found = [e.id for e in ENTRIES if by_hand.search(e.reason or "")]
    assert found == ["RefChecker table 6"]  # a table of words


def test_an_entry_is_whole_or_a_part() -> None:
    whole = {e.id: e for e in ENTRIES if e.whole}
    assert all(e.status == "regenerated" for e in whole.values())
    assert not any(re.search(r"\b(rows?|column|counts|curves|line|on)\b", id) for id in whole)
    assert len(whole["SelfCheckGPT table 7"].figures) == 10 * 5
    assert set(whole) == {
        "SelfCheckGPT table 1",
        "SelfCheckGPT table 7",
        "RefChecker figures 11 and 12",
    }


def test_rows_of_checkembed_that_call_all_right_are_counted() -> None:
    (entry,) = (e for e in ENTRIES if e.id == "CheckEmbed table 7, the line to beat")
    assert [m for m, f1 in checkembed.TABLE_7.items() if f1[2] == 0.5258] == [
        *("E5", "SFR", "STE400", "STE1.5")
    ]
    assert "four of its rows" in (entry.reason or "")


def test_figures_of_ours_in_a_reason_are_those_of_the_page_it_names() -> None:
    lines = (ROOT / "docs/evidence/wikibio-nli.md").read_text("utf-8").splitlines()
    ours = [line for line in lines if line.startswith("| `selfcheck_nli` |") and "1," in line]
    trapezoids = {line.split("|")[3].strip() for line in ours}
    assert trapezoids == set(re.findall(r"0\.\d{3}\b", selfcheckgpt.HERE_NLI)) - {"0.451"}
    assert any("| `ngram` |" in line and " 0.451 [" in line for line in lines)
