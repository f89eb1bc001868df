"""Knowledge-F1 against hand-worked values and the published BEGIN figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.knowledge_f1 import (
    knowledge_f1,
    normalized_tokens,
    token_f1,
)


async def raw(against: str = "contexts", **fields: Any) -> float:
    score = await knowledge_f1(Record(**fields), None, against=against)  # type: ignore[arg-type]
    assert isinstance(score.raw, float)
    assert score.risk == pytest.approx(1 - score.raw)
    return score.raw


def test_tokens_are_squad_tokens() -> None:
    assert normalized_tokens("The cat's  A-hat, an 'owl'!") == ["cats", "ahat", "owl"]


async def test_f1_by_hand() -> None:
    # response: cat sat cat (3), knowledge: cat is mat (3), one shared: P = R = 1/3
    assert await raw(response="The cat sat, cat!", contexts="a cat is the mat") == pytest.approx(
        1 / 3
    )
    assert await raw(response="x", contexts="y") == 0
    assert await raw(response="x y", contexts="Y, X.") == 1


async def test_several_sources() -> None:
    texts = ["a b c", "d"]
    # "x d": contexts joined have b c d ("a" is an article): 2 * 1 / (2 + 3)
    assert await raw(response="x d", contexts=texts) == pytest.approx(0.4)
    assert await raw("reference", response="x d", reference=texts) == pytest.approx(2 / 3)
    assert await raw("samples", response="x d", samples=texts) == pytest.approx(1 / 3)


@pytest.mark.parametrize("response", [" ", "The ..."])
async def test_not_applicable(response: str) -> None:
    with pytest.raises(NotApplicable):
        await raw(response=response, contexts="y")
    with pytest.raises(NotApplicable, match="no contexts"):
        await raw(response="x")


def average_precision(positive: Sequence[bool], risk: Sequence[float]) -> float:
    """Sum of precision times recall step over distinct thresholds, the plain way."""
    total, area, hits, seen = sum(positive), 0.0, 0, 0
    for threshold in sorted(set(risk), reverse=True):
        group = [p for p, r in zip(positive, risk, strict=True) if r == threshold]
        seen += len(group)
        hits += sum(group)
        area += sum(group) / total * hits / seen
    return area


@pytest.mark.data
@pytest.mark.parametrize(
    ("part", "n", "expected"),
    [("test_wow", 3601, 0.895), ("dev_cmu", 337, 0.930), ("dev_tc", 381, 0.907)],
)
def test_begin(shared_data: Path, part: str, n: int, expected: float) -> None:
    text = (shared_data / "begin" / f"{part}.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.split("\n")[1:] if line]
    rows = [r for r in rows if r[5] != "Generic"]
    assert len(rows) == n
    risk = [1 - token_f1(normalized_tokens(r[4]), normalized_tokens(r[2])) for r in rows]
    positive = [r[5] != "Fully attributable" for r in rows]
    assert average_precision(positive, risk) == pytest.approx(expected, abs=0.002)
