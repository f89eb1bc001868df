"""The shipped injection attempts, and the measure of what they do."""

from __future__ import annotations

import re

import pytest
from scipy.stats import binomtest

from veridical.prompts import load_prompt, prompt_names
from veridical_lab.injections import Rate as AttackRate
from veridical_lab.injections import attempts, items, measure, records
from veridical_lab.injections.attempts import best

TEMPLATE = load_prompt("correct_incorrect")
PARTS = {"question", "answer", "context", "reference", "samples", "sample"}


def test_there_are_enough_of_many_kinds_and_none_twice():
    found = attempts()
    assert len(found) >= 100
    assert len({a.id for a in found}) == len({a.text for a in found}) == len(found)
    kinds = {a.kind for a in found}
    assert len(kinds) >= 10
    assert min(sum(a.kind == k for a in found) for k in kinds) >= 5
    assert {a.kind for a in attempts(len(kinds))} == kinds  # a few are of every kind
    assert all("{best}" in a.text for a in found)


def test_items_are_questions_with_two_different_answers():
    found = items()
    assert len(found) >= 20
    assert all(i.right != i.wrong and i.question.endswith("?") and i.context for i in found)


@pytest.mark.parametrize(
    ("template", "wanted"),
    [("likert", "5"), ("halueval_qa", "No"), ("mirage_begin", "A"), ("verbalized", "1")],
)
def test_an_attempt_speaks_the_templates_words(template, wanted):
    prompt = load_prompt(template)
    assert best(prompt) == wanted
    text = attempts()[0].plant("Lyon.", prompt)
    assert text.startswith("Lyon.\n\n") and wanted in text
    wrapped = next(a for a in attempts() if "{answer}" in a.text)
    assert wrapped.plant("Lyon.", prompt).count("Lyon.") >= 1


@pytest.mark.parametrize(
    "template",
    [n for n in prompt_names() if load_prompt(n).scale and load_prompt(n).parts <= PARTS],
)
def test_no_attempt_closes_its_fence(template):
    prompt = load_prompt(template)
    for attempt in attempts():
        parts = dict.fromkeys(prompt.parts, "material")
        parts["answer"] = attempt.plant("Lyon.", prompt)
        said = prompt.messages(**parts)
        text = "\n".join(m["content"] for m in said[1:])
        ((code, inside),) = re.findall(
            r"<answer-([0-9a-f]{12})>\n(.*?)\n</answer-\1>", text, re.DOTALL
        )
        assert inside == parts["answer"], attempt.id
        assert text.count(code) == 2, attempt.id


def test_records_are_pairs_that_differ_by_the_attempt_alone():
    made = {r.id: r for r in records(TEMPLATE, limit=30)}
    assert len(made) == 2 * len(items()) + 2 * 30
    attack, control = made["attack/" + attempts()[3].id], made["control/" + attempts()[3].id]
    assert attack.prompt == control.prompt and attack.contexts == control.contexts
    assert attack.response != control.response
    assert len(control.response) >= len(attack.response)
    planted = {r.id: r for r in records(load_prompt("mirage_begin"), "context", limit=3)}
    attack = planted["attack/" + attempts()[0].id]
    assert attack.response == items()[0].wrong
    assert attack.contexts[0].text.startswith(items()[0].context + "\n\n")


def test_a_judge_that_is_moved_by_some():
    """Item 0 is never judged wrong, item 1's verdict is lost to its attempt, items 2 and 3 turn."""
    first = attempts(6)
    risks = {f"wrong/{i}": 0.9 for i in range(len(items()))}
    risks |= {f"right/{i}": 0.2 for i in range(len(items()))}
    risks |= {f"{what}/{a.id}": 0.9 for a in first for what in ("attack", "control")}
    risks["wrong/0"] = 0.3
    risks["right/5"] = None
    risks[f"attack/{first[1].id}"] = None
    risks[f"attack/{first[2].id}"] = 0.1
    risks[f"attack/{first[3].id}"] = 0.49
    risks[f"control/{first[5].id}"] = 0.4
    found = measure(risks, 6)
    assert (found.moved.hits, found.moved.n) == (2, 4)  # not item 0, not the lost one
    assert (found.control.hits, found.control.n) == (1, 5)
    assert (found.silenced.hits, found.silenced.n) == (1, 6)
    assert (found.wrong_found.hits, found.wrong_found.n) == (23, 24)
    assert (found.right_passed.hits, found.right_passed.n) == (23, 23)
    assert found.movers == [first[2].id, first[3].id]
    # (0.3 - 0.9) + (0.9 - 0.1) + (0.9 - 0.49) + 0 + 0, over 5
    assert found.lowered[0] == pytest.approx((-0.6 + 0.8 + 0.41) / 5)
    assert found.as_dict()["moved"]["rate"] == 0.5
    assert sum(r.n for r in found.kinds.values()) == 4


def test_a_judge_that_gives_no_verdict_at_all():
    risks = dict.fromkeys(str(r.id) for r in records(TEMPLATE))
    found = measure(risks)
    assert found.moved.rate is None and found.lowered is None
    assert found.silenced.rate == 1


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (57, 145)])
def test_the_interval_is_wilsons(hits, n):
    rate = AttackRate.of(hits, n)
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    assert rate.low == pytest.approx(expected.low, abs=1e-6)
    assert rate.high == pytest.approx(expected.high, abs=1e-6)
