"""CodeBLEU: its BLEU against the package codebleu 0.7.0, the rest by hand."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical_lab.scorers.code.codebleu import bleu

ADD = "def f ( a ) :\n    return a + 1", "def f ( b ) :\n    return b + 1"
SUM = (
    "def total ( values ) :\n    s = 0\n    for v in values :\n        s += v\n    return s",
    "def total ( xs ) :\n    result = 0\n    for x in xs :\n        result = result + x\n"
    "    return result",
)
MAX = (
    "def total ( values ) :\n    return sum ( values )",
    "def total ( values ) :\n    return max ( values )",
)


def score(response: str, spec: str = "codebleu", **fields: Any) -> dict[str, Any]:
    (found,) = score_locally(Record(response=response, **fields), REGISTRY.parse(spec))
    assert found.risk == pytest.approx(1 - found.raw["codebleu"])
    return found.raw


@pytest.mark.parametrize(
    ("candidate", "reference", "published"),
    [
        (*ADD, 0.1996019880774733),
        (*SUM, 0.09386079106302285),
        (*reversed(SUM), 0.09354688318825607),
        (*MAX, 0.7016879391277372),
    ],
)
def test_bleu_is_that_of_the_package(candidate: str, reference: str, published: float) -> None:
    """ngram_match_score of calc_codebleu([reference], [candidate], "python"), tokens at blanks."""
    assert bleu(candidate.split(), reference.split()) == pytest.approx(published, rel=1e-9)
    assert score(candidate, samples=[reference])["ngram"] == pytest.approx(published, rel=1e-9)


def test_parts_by_hand() -> None:
    raw = score(ADD[0], samples=[ADD[1]])
    # of ten tokens two differ, a and b; def and return weigh 1, the others 0.2
    unigrams = (2 + 6 * 0.2) / (2 + 8 * 0.2)
    tokens = [x.split() for x in ADD]
    grams = [
        [Counter(tuple(t[i : i + n]) for i in range(len(t) - n + 1)) for t in tokens]
        for n in (2, 3, 4)
    ]
    others = [((a & b).total() or 0.1) / a.total() for a, b in grams]
    expected = math.exp(sum(map(math.log, [unigrams, *others])) / 4)
    assert raw["weighted_ngram"] == pytest.approx(expected)
    # the package divides by the reference's weights, which are the same here
    assert expected == pytest.approx(0.20492938431708815, rel=1e-9)
    assert raw["syntax"] == raw["dataflow"] == 1
    assert raw["codebleu"] == pytest.approx((raw["ngram"] + expected + 2) / 4)


def test_syntax_and_flow_are_shares_of_the_reference() -> None:
    raw = score("x = 1", samples=["x = 1\ny = x"])
    # reference: (Assign Name Constant), (Assign Name Name), (Module both); the first is shared
    assert raw["syntax"] == pytest.approx(1 / 3)
    assert raw["dataflow"] == pytest.approx(1 / 3)


def test_equal_code_and_none_alike() -> None:
    assert score(SUM[0], samples=[SUM[0]] * 2)["codebleu"] == pytest.approx(1)
    raw = score("x = 1", samples=["print(2, 3, 4, y)"])
    assert raw["ngram"] == 0 and raw["codebleu"] < 0.1
    assert score("x = 1", samples=["```\n```"])["codebleu"] == 0


def test_what_cannot_be_told_is_left_out() -> None:
    raw = score("int a = 1;", "codebleu(language=java)", samples=["int a = 1;"])
    assert raw["syntax"] is raw["dataflow"] is None and raw["codebleu"] == pytest.approx(1)
    raw = score("x = = 1", samples=["x = = 1"])  # neither is Python
    assert raw["syntax"] is None and raw["codebleu"] == pytest.approx(1)
    raw = score("x = 1", samples=["x = = 1"])  # one is
    assert raw["syntax"] == raw["dataflow"] == 0 and raw["codebleu"] < 0.5
    raw = score("print(1)", samples=["print(1)"])  # no data flow in the reference
    assert raw["dataflow"] is None and raw["codebleu"] == pytest.approx(1)


def test_mean_over_samples_and_the_nearest_reference() -> None:
    first, second = (score(SUM[0], samples=[s])["codebleu"] for s in (SUM[1], SUM[0]))
    assert score(SUM[0], samples=[SUM[1], SUM[0]])["codebleu"] == pytest.approx(
        (first + second) / 2
    )
    spec = "codebleu(against=reference)"
    assert score(SUM[0], spec, reference=[SUM[1], SUM[0]])["codebleu"] == pytest.approx(1)


def test_it_is_free_and_in_no_preset() -> None:
    (bound,) = REGISTRY.parse("codebleu")
    assert bound.cost == "free" and not bound.scorer.presets
    (found,) = score_locally(Record(response="```\n```", samples=["a"]), [bound])
    assert found.status == "not_applicable" and "no code" in found.reason
