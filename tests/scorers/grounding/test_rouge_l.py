"""ROUGE-L against hand-worked subsequences and direct calls of the library."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.rouge_l import UnicodeTokenizer, rouge_l


async def raw(against: str = "reference", stat: str = "f1", **fields: Any) -> float:
    score = await rouge_l(Record(**fields), None, against=against, stat=stat)  # type: ignore[arg-type]
    assert isinstance(score.raw, float)
    assert score.risk == pytest.approx(1 - score.raw)
    return score.raw


async def test_by_hand() -> None:
    # Lin 2004, section 3.1: "police kill the gunman" keeps 2 and 3 words of the reference's 4.
    reference = "police killed the gunman"
    assert await raw(response="police kill the gunman", reference=reference) == 0.75
    assert await raw(response="the gunman kill police", reference=reference) == 0.5
    fields = {"response": "police the gunman today then", "reference": reference}
    assert await raw(stat="recall", **fields) == 0.75
    assert await raw(stat="precision", **fields) == 0.6
    assert await raw(stat="f1", **fields) == pytest.approx(2 * 0.75 * 0.6 / 1.35)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The quick brown fox jumps over the lazy dog", "The quick brown dog jumps on the log."),
        ("one Two\n three_four 5.5", "two, THREE four; 5"),
        ("same", "other"),
    ],
)
async def test_equals_the_library(a: str, b: str) -> None:
    direct = RougeScorer(["rougeL"]).score(b, a)["rougeL"]
    fields = {"response": a, "reference": b}
    assert await raw(stat="f1", **fields) == direct.fmeasure
    assert await raw(stat="recall", **fields) == direct.recall
    assert await raw(stat="precision", **fields) == direct.precision


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_tokens_equal_the_librarys(text: str) -> None:
    assert UnicodeTokenizer().tokenize(text) == DefaultTokenizer().tokenize(text)


async def test_other_scripts() -> None:
    assert UnicodeTokenizer().tokenize("Ein Übel, 東京都 и Ёж!") == [
        *("ein", "übel", "東", "京", "都", "и", "ёж"),
    ]
    assert await raw(response="東京へ行く", reference="東京に行く") == pytest.approx(0.8)


async def test_several_sources() -> None:
    texts = ["a b", "c"]
    assert await raw("contexts", response="a c", contexts=texts) == 0.8
    assert await raw("reference", response="a c", reference=texts) == pytest.approx(2 / 3)
    assert await raw("samples", response="a c", samples=texts) == pytest.approx((0.5 + 2 / 3) / 2)


async def test_not_applicable() -> None:
    with pytest.raises(NotApplicable, match="no words"):
        await raw(response="...", reference="x")
    with pytest.raises(NotApplicable, match="too long"):
        await raw(response="x " * 2001, reference="y " * 2000)


def test_the_library_is_imported_when_used() -> None:
    code = (
        "import sys, veridical.scorers.grounding.rouge_l, veridical.scorers.grounding.sacre_bleu\n"
        "print({'rouge_score', 'nltk', 'sacrebleu'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
