"""Lexical support: hand-worked values, and its rank correlation with human labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.records import Record
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.grounding.support import support


async def scored(against: str = "auto", **fields: Any) -> Score:
    return await support(Record(**fields), None, against=against)  # type: ignore[arg-type]


TWO = "He was born in 1942 in London. It was fine. He left in 1950."
SPLIT = [(0, 30), (31, 43), (44, 60)]


async def test_shares_of_samples_by_hand() -> None:
    samples = ["In London in 1942.", "In London, 1942.", "In 1942.", "He left in 1950; London."]
    score = await scored(response=TWO, sentences=SPLIT, samples=samples)
    # 1942: 3/4, London: 3/4; 1950: 1/4
    first, second, third, span = score.units
    assert (first.raw, second.raw, third.raw, span.raw) == (0.75, 1, 0.25, 0.25)
    assert score.raw == 0.5 and score.risk == 0.5
    assert (second.risk, second.label) == (0, "nothing to look up")
    assert (span.level, span.label, span.text, span.risk) == ("span", "date", "1950", 0.75)
    assert TWO[span.start : span.end] == "1950"
    assert [(e.kind, e.index, e.text, e.probability) for e in first.evidence] == [
        ("sample", 0, "1942", 0.75),
        ("sample", 0, "London", 0.75),
    ]


async def test_samples_vote_on_each_year_of_a_span_and_state_no_year_between_two() -> None:
    samples = ["She led it from 1971 to 1983.", "She led it from 1971 to 1980.", "In 1971."]
    score = await scored(response="She led it from 1971 to 1980.", samples=samples)
    sentence, span = score.units
    assert (span.text, span.label, span.raw) == ("1980", "date", pytest.approx(1 / 3))
    assert sentence.raw == pytest.approx(((1 + 1 / 3) / 2 + 1 / 3) / 2)
    score = await scored(response="She left in 1975.", samples=samples)
    assert [(u.text, u.raw) for u in score.units[1:]] == [("1975", 0)]
    score = await scored(response="She led it in 1975.", contexts=samples)  # as the sources have it
    assert score.risk == 0


async def test_one_wrong_item_shows_and_more_show_more() -> None:
    async def risk(contexts: str) -> float:
        score = await scored(response="in 1942 Ann met Bob", contexts=contexts)
        assert score.risk is not None
        return score.risk

    assert await risk("in 1942 Ann met Bob") == 0
    assert await risk("in 1942 Ann met Bill") == pytest.approx(1 - (2 / 3 + 0) / 2)
    assert await risk("Ann met Bill. In 1943 it rained.") == pytest.approx(1 - (1.1 / 3 + 0) / 2)
    assert await risk("in 1943 Ann met Bill") == 1  # another year in its place
    assert await risk("nobody") == pytest.approx(1 - 0.1 / 6)


async def test_auto_prefers_contexts_then_samples_then_reference() -> None:
    fields = {"contexts": ["x", "1942"], "samples": ["x", "1942"], "reference": ["x", "1942"]}
    raws, kinds = [], []
    for _ in range(3):
        score = await scored(response="in 1942", **fields)
        raws.append(score.raw)
        kinds.append(score.units[0].evidence[0].kind)
        fields.pop(next(iter(fields)))
    assert raws == [1, 0.5, 1]  # in any context, in half of the samples, in any reference
    assert kinds == ["context", "sample", "reference"]
    assert (
        await scored("reference", response="in 1942", reference="1943", samples="1942")
    ).raw == 0


async def test_negation() -> None:
    yes, no = "He attended Oxford University.", "He did not attend Oxford University."
    score = await scored(response=no, contexts=["It rained.", yes])
    span = score.units[-1]
    assert (span.label, span.text, span.risk) == ("negation", "not", 1)
    assert (span.evidence[0].index, span.evidence[0].text) == (1, yes[:-1])
    assert score.raw == 0 and score.units[0].label == "contradiction"
    score = await scored(response=yes, contexts=no)
    assert score.units[-1].text == yes and score.units[-1].label == "negation"
    score = await scored(response=no, samples=[no, no, yes, "It rained."])
    assert score.raw == pytest.approx((0.75 + 2 / 3) / 2 / 2 + 2 / 3 / 2)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"response": " ", "samples": "x"}, "empty"),
        ({"response": "in 1942"}, "no contexts, samples or reference"),
        ({"response": "it was fine", "samples": "x"}, "nothing to look up"),
    ],
)
async def test_not_applicable(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        await scored(**fields)


@pytest.mark.parametrize(
    ("response", "contexts", "label", "spans"),
    [
        (
            "The pump weighs 5.3 kg.",
            "The pump weighs 3.5 kg.",
            "contradiction",
            [("number", "figure")],
        ),
        (
            "The pump weighs 3.5 mg.",
            "The pump weighs 3.5 kg.",
            "contradiction",
            [("number", "unit")],
        ),
        ("It opened in May 1990.", "It opened in May 1992.", "contradiction", [("date", "date")]),
        ("Rome sold Oslo a ship.", "Oslo sold Rome a ship.", "contradiction", [("order", "order")]),
        ("The pump weighs 3500 g.", "The pump weighs 3.5 kg.", "figures found", []),
    ],
)
async def test_what_is_wrong_has_a_kind(
    response: str, contexts: str, label: str, spans: list[tuple[str, str]]
) -> None:
    score = await scored(response=response, contexts=contexts)
    sentence, *others = score.units
    assert sentence.label == label
    assert [(u.label, u.kind) for u in others] == spans
    assert (score.risk == 1) == bool(spans)


@pytest.mark.parametrize(
    ("response", "contexts", "prompt"),
    [
        ("The UN met in May.", "The United Nations met in May.", None),
        ("The United States exports wheat.", "The U.S. exports wheat.", None),
        ("No, it is free from nuts.", "It is free from nuts and milk.", "Does it hold nuts?"),
        ("Nothing is decided on the Ulm ferry yet.", "The Ulm ferry may be replaced.", None),
        ("Lea Brandt never paid by card.", "Some member paid nothing by card.", "Did Lea Brandt?"),
    ],
)
async def test_other_words_for_the_same_are_supported(
    response: str, contexts: str, prompt: str | None
) -> None:
    try:
        score = await scored(response=response, contexts=contexts, prompt=prompt)
    except NotApplicable:
        return  # nothing of it can be looked up
    assert score.risk == 0


async def test_a_name_that_no_one_gave_is_not_supported() -> None:
    score = await scored(response="It was Lea Brandt.", contexts="It was Ivo.", prompt="Who?")
    assert score.risk == 1


async def test_a_computed_value_has_its_derivation() -> None:
    score = await scored(
        response="Together they hold 42 boats.",
        contexts="The north pier holds 30 boats and the south pier 12 boats.",
    )
    (sentence,) = score.units
    assert sentence.label == "figures found" and score.risk == 0
    assert [e.computed for e in sentence.evidence] == ["30 + 12 = 42"]
    wrong = await scored(
        response="Together they hold 52 boats.",
        contexts="The north pier holds 30 boats and the south pier 12 boats.",
    )
    assert wrong.risk is not None and wrong.risk > 0.8


def ranks(values: list[float]) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


@pytest.mark.data
async def test_wikibio(shared_data: Path) -> None:
    weight = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
    risks, labels = [], []
    for line in (shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        try:
            score = await scored(response=row["gpt3_text"], samples=row["gpt3_text_samples"])
        except NotApplicable:
            continue
        for unit in score.units:
            assert unit.text == row["gpt3_text"][unit.start : unit.end]
            for e in unit.evidence:
                assert e.text and e.text == row["gpt3_text_samples"][e.index][e.start : e.end]
        assert score.risk is not None
        risks.append(score.risk)
        labels.append(sum(weight[a] for a in row["annotation"]) / len(row["annotation"]))
    assert len(risks) >= 236
    assert np.corrcoef(ranks(risks), ranks(labels))[0, 1] >= 0.69


async def test_a_citation_is_no_figure_to_look_up() -> None:
    cited = await scored(response="Ann left in 1950 [7].", contexts="Ann left in 1950.")
    assert cited.risk == 0 and [u.level for u in cited.units] == ["sentence"]
    list_of = await scored(response="The codes are [7, 8].", contexts="The codes are [7, 9].")
    assert [u.text for u in list_of.units if u.level == "span"] == ["8"]


@pytest.mark.parametrize(
    ("response", "source", "wrong"),
    [
        ("It is open on Wednesdays and Fridays.", "Mon, Wed, Fri 9-12", "It is open on Sundays."),
        ("The desk is open from Monday to Thursday.", "Desk: Mon-Thu", "The desk opens on Friday."),
        (
            "The job ended at 04:12 UTC.",
            '{"ended": "2024-05-02T04:12:55Z"}',
            "It ended at 04:21 UTC.",
        ),
        (
            "The CISO signs it.",
            "The chief information security officer signs it.",
            "The CTIO signs it.",
        ),
        ("It arrives on Friday.", '{"eta": "2025-03-14T13:00"}', "It arrives on Monday."),
        ("Hi! It ends at Elm.", "It ends at Elm.", "Hi! It ends at Oak."),
        ("It ends at Elm International.", "Last stop: Elm Intl", "It ends at Oak."),
    ],
)
async def test_names_in_another_form(response: str, source: str, wrong: str) -> None:
    assert (await scored(response=response, contexts=[source])).risk == 0
    assert (await scored(response=wrong, contexts=[source])).risk > 0
