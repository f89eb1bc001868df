"""Sentence BLEU against direct calls of the library and a hand-worked value."""

from __future__ import annotations

import math
from typing import Any

import pytest
import sacrebleu as library
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.sacre_bleu import sacrebleu


async def bleu(against: str = "reference", tokenize: str = "13a", **fields: Any) -> float:
    score = await sacrebleu(Record(**fields), None, against=against, tokenize=tokenize)  # type: ignore[arg-type]
    assert isinstance(score.raw, dict)
    assert score.risk == pytest.approx(1 - score.raw["bleu"] / 100)
    assert f"tok:{tokenize}" in score.raw["signature"]
    assert f"version:{library.__version__}" in score.raw["signature"]
    return float(score.raw["bleu"])


async def test_by_hand() -> None:
    # precisions 3/4, 2/3, 1/2, and 0 of 1 smoothed to 1/2; equal lengths, so no penalty
    expected = 100 * math.exp((math.log(3 / 4 * 2 / 3 * 1 / 2 * 1 / 2)) / 4)
    assert await bleu(response="a b c d", reference="a b c x") == pytest.approx(expected)
    assert await bleu(response="a b c d", reference="a b c d") == pytest.approx(100)
    assert await bleu(response="a b", reference="c d") == 0


A = "The quick brown fox, jumps over the lazy dog."
B = ["The quick brown dog jumps on the log.", "A fox jumps over a lazy dog!"]


async def test_equals_the_library() -> None:
    def direct(references: list[str], **options: Any) -> float:
        return float(
            library.sentence_bleu(A, references, use_effective_order=True, **options).score
        )

    assert await bleu(response=A, reference=B) == direct(B)
    assert await bleu("contexts", response=A, contexts=B) == direct(["\n".join(B)])
    mean = (direct(B[:1]) + direct(B[1:])) / 2
    assert await bleu("samples", response=A, samples=B) == pytest.approx(mean)
    assert await bleu(tokenize="char", response=A, reference=B) == direct(B, tokenize="char")


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        ("  他于1990年出生在罗马, born in 1990-91.\n", "他1990年在罗马出生。 Born in 1990."),
        ("☀☀ 3.5,x-7 ㈠。", "☀ 3.5, x - 7㈠"),
    ],
)
async def test_chinese_equals_the_library(response: str, reference: str) -> None:
    direct = library.sentence_bleu(
        response, [reference], tokenize="zh", use_effective_order=True
    ).score
    assert direct > 0
    assert await bleu(response=response, reference=reference, tokenize="zh") == direct


async def test_nothing_stays_in_the_librarys_caches() -> None:
    await bleu(response=A, reference=B)
    assert Tokenizer13a.__call__.cache_info().currsize == 0


async def test_not_applicable() -> None:
    with pytest.raises(NotApplicable, match="too long"):
        await bleu(response="x", reference="y" * 2_000_000)
    with pytest.raises(NotApplicable, match="no reference"):
        await bleu(response="x")
