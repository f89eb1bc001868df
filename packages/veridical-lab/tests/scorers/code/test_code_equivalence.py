"""The scorers of what code does: by normal forms, and by a scripted LLM."""

from __future__ import annotations

import math

import pytest
from llm_evidence import FixedReplies

import veridical
from veridical.core.evidence import score_locally
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Score
from veridical.errors import NotApplicable, UsageError
from veridical.llm.fake import FakeLlm

LOOP = "def total(values):\n    s = 0\n    for v in values:\n        s += v\n    return s"
RENAMED = (
    "Sure:\n```python\ndef total(xs):\n    n = 0  # sum\n    for x in xs:\n        n += x\n"
    "    return n\n```"
)
BUILTIN = "```\ndef total(values):\n    return sum(values)\n```"
WRONG = "def total(values):\n    return max(values)"
RECORD = Record(response=LOOP, samples=[RENAMED, BUILTIN, WRONG, "```\n```"])
SCORERS = "functional_equivalence", "functional_negentropy", "functional_sets"


def by_form(record: Record, scorers: str = ", ".join(SCORERS)) -> list[Score]:
    return score_locally(record, REGISTRY.parse(scorers))


def test_by_form_by_hand() -> None:
    rate, negentropy, sets = by_form(RECORD)
    # loop and renamed are one; builtin, wrong and the answer without code are each another
    assert rate.raw == 1 / 4
    h = -(0.4 * math.log(0.4) + 3 * 0.2 * math.log(0.2))
    assert negentropy.raw == pytest.approx(1 - h / math.log(5))
    assert sets.raw == pytest.approx((5 - 4) / 4)
    for score in (rate, negentropy, sets):
        assert score.risk == pytest.approx(1 - score.raw)


def test_all_the_same_and_none() -> None:
    for samples, raw in (([LOOP, RENAMED], 1), ([BUILTIN, WRONG], 0)):
        for score in by_form(Record(response=LOOP, samples=samples)):
            assert score.raw == pytest.approx(raw)


def test_other_languages_by_tokens() -> None:
    java = "int f(int a) { return a + 1; } // one more"
    same, other = "int f(int a)\n{\n  return a + 1;\n}", "int f(int b) { return b + 1; }"
    record = Record(response=java, samples=[same, other])
    (score,) = by_form(record, "functional_equivalence(language=java)")
    assert score.raw == 0.5  # names count there
    record = Record(response="SELECT a FROM t -- x", samples=["select A\nfrom T"])
    (score,) = by_form(record, "functional_equivalence(language=sql)")
    assert score.raw == 1


def test_python_that_cannot_be_parsed_goes_by_tokens() -> None:
    record = Record(response="def f(: # x", samples=["def f(:", "def g(:"])
    assert by_form(record)[0].raw == 0.5


def test_references_one_of_which_is_enough() -> None:
    record = Record(response=LOOP, reference=[WRONG, RENAMED])
    (score,) = by_form(record, "functional_equivalence(against=reference)")
    assert score.raw == 1


def test_no_code_is_never_a_match() -> None:
    for response in ("```python\n```", "# nothing", " "):
        for score in by_form(Record(response=response, samples=[response, LOOP])):
            assert score.status == "not_applicable"
    rate, _, sets = by_form(Record(response=LOOP, samples=["# a", "# a"]))
    assert rate.raw == 0 and sets.raw == 0


def says(first: str, second: str) -> FixedReplies:
    def answer(request, llm):
        text = request.messages[-1]["content"]
        return "Yes" if first in text and second in text else "No"

    return FixedReplies(RECORD, answer)


async def test_by_an_llm_by_hand() -> None:
    evidence = says("s += v", "sum(values)")
    (bound,) = REGISTRY.parse("functional_equivalence(by=llm)")
    assert bound.costs == {"llm"} and bound.prompts[0].startswith("code_equivalence@")
    found = await bound(RECORD, evidence)
    # renamed is the same by its form, the builtin by the LLM; nothing without code is asked
    assert found.raw == 0.5
    ((_, asked),) = evidence.asked
    assert len(asked) == 2 and not any("n += x" in str(r.messages) for r in asked)

    evidence = says("s += v", "sum(values)")
    found = await REGISTRY.parse("functional_sets(by=llm)")[0](RECORD, evidence)
    assert found.raw == pytest.approx((5 - 3) / 4)
    ((_, asked),) = evidence.asked
    assert len(asked) == 3  # three forms, each pair once, in one round

    evidence = says("s += v", "sum(values)")
    found = await REGISTRY.parse("functional_negentropy(by=llm)")[0](RECORD, evidence)
    h = -(0.6 * math.log(0.6) + 2 * 0.2 * math.log(0.2))
    assert found.raw == pytest.approx(1 - h / math.log(5))


async def test_an_unclear_verdict_fails_the_score() -> None:
    (bound,) = REGISTRY.parse("functional_equivalence(by=llm)")
    with pytest.raises(LlmError):
        await bound(RECORD, FixedReplies(RECORD, "It depends."))
    with pytest.raises(NotApplicable, match="no code"):
        await bound(Record(response="```\n```", samples=["a"]), FixedReplies(RECORD))


def test_a_whole_run_by_an_llm() -> None:
    llm = FakeLlm({"sum(values)": "Yes", "": "No"})
    row = {"response": LOOP, "samples": RECORD.sample_texts}
    (result,) = veridical.check([row], "functional_sets(by=llm)", llm=llm, store=None)
    # the builtin does the same as the loop, and as the wrong one: by order it joins the loop
    assert next(iter(result.scores.values())).raw == pytest.approx((5 - 3) / 4)


@pytest.mark.parametrize("name", SCORERS)
def test_an_llm_that_is_not_asked_is_refused(name: str) -> None:
    (bound,) = REGISTRY.parse(f"{name}(llm=mine)")
    with pytest.raises(UsageError, match="by=form does not use llm=mine; remove it"):
        bound.check()
    assert REGISTRY.parse(name)[0].costs == {"free"}
    assert not REGISTRY.get(name).presets
