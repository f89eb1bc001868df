from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import now
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.selfcheck_nli import selfcheck_nli

A, B = "Ann was born in Rome.", "She died in 1950."
S = "Ann came from Rome. She lived long."
T = "Nobody knows her. Ann was born in Oslo. She died in 1950."
#: of the two classes alone: A 0.1, 0.75; B 0.5, 0.2
TABLE = {
    (S, A): (0.72, 0.2, 0.08),
    (T, A): (0.2, 0.2, 0.6),
    (S, B): (0.1, 0.8, 0.1),
    (T, B): (0.8, 0.0, 0.2),
}


async def score(table=TABLE, *, contradicts=True, fields=None, **parameters):
    record = Record(response=f"{A} {B}", **({"samples": [S, "", T]} if fields is None else fields))
    evidence = FixedVerdicts(record, table, contradicts=contradicts)
    found = await selfcheck_nli(record, evidence, **parameters)
    assert len(evidence.asked) == 1
    return found, evidence.asked[0]


async def test_plain_texts_are_judged_as_they_are():
    record = Record(prompt="How many?", response="5 kg", samples=["5000 g", "6 kg"])
    table = {("5000 g", "5 kg"): (0.6, 0.2, 0.2), ("6 kg", "5 kg"): (0.1, 0.1, 0.8)}
    evidence = FixedVerdicts(record, table)
    found = await selfcheck_nli(record, evidence, texts="plain")
    assert evidence.asked[0] == list(table)
    assert found.raw == pytest.approx((0.2 / 0.8 + 0.8 / 0.9) / 2)
    stated = await selfcheck_nli(record, FixedVerdicts(record, table))
    assert stated.raw == 0.5  # by notation: the same weight, and another


async def test_equations_9_and_10_and_the_mean_over_sentences():
    found, asked = await score()
    born, died = found.units
    assert sorted(asked) == sorted(TABLE)  # premise sample, hypothesis sentence
    assert (born.text, died.text) == (A, B)
    assert born.raw == born.risk == pytest.approx((0.1 + 0.75) / 2)
    assert died.raw == died.risk == pytest.approx((0.5 + 0.2) / 2)
    assert found.raw == found.risk == pytest.approx((0.425 + 0.35) / 2)


async def test_units_show_mean_probabilities_and_their_label():
    born, died = (await score())[0].units
    assert born.probabilities == pytest.approx(
        {"entailment": 0.46, "neutral": 0.2, "contradiction": 0.34}
    )
    assert (born.label, died.label) == ("entailment", "entailment")
    found, _ = await score({**TABLE, (S, A): (0.1, 0.2, 0.7)})
    assert [u.label for u in found.units] == ["contradiction", "entailment"]


async def test_evidence_is_the_nearest_sentence_of_the_most_contradicting_samples():
    born, died = (await score())[0].units
    assert [(e.kind, e.index, e.text) for e in born.evidence] == [
        ("sample", 2, "Ann was born in Oslo."),
        ("sample", 0, "Ann came from Rome."),
    ]
    assert [e.probability for e in born.evidence] == pytest.approx([0.75, 0.1])
    assert [(e.index, e.text) for e in died.evidence] == [
        (0, "She lived long."),
        (2, "She died in 1950."),
    ]
    for item in (*born.evidence, *died.evidence):
        assert [S, "", T][item.index][item.start : item.end] == item.text


async def test_three_samples_are_shown_at_most_the_earlier_of_equals():
    samples = ["It a.", "It b.", "It c.", "It d.", "..."]
    table = {("It c.", "It is."): (0, 0, 1.0)}
    record = Record(response="It is.", samples=samples)
    found = await selfcheck_nli(record, FixedVerdicts(record, table, default=(0.5, 0, 0.5)))
    assert [e.index for e in found.units[0].evidence] == [2, 0, 1]


async def test_a_sample_of_white_space_is_not_compared():
    table = {("It c.", "It is."): (0, 0, 1.0), (" \n", "It is."): (1.0, 0, 0)}
    record = Record(response="It is.", samples=[" \n", "It c."])
    evidence = FixedVerdicts(record, table)
    found = await selfcheck_nli(record, evidence)
    assert found.raw == 1 and evidence.asked == [[("It c.", "It is.")]]
    assert [(e.index, e.text) for e in found.units[0].evidence] == [(1, "It c.")]
    blank = Record(response="It is.", samples=[" \n"])
    with pytest.raises(NotApplicable, match="no samples"):
        await selfcheck_nli(blank, FixedVerdicts(blank))


async def test_the_packages_order_has_the_sentence_as_premise():
    swapped = {(h, p): v for (p, h), v in TABLE.items()}
    found, asked = await score(swapped, order="code")
    assert sorted(asked) == sorted(swapped)
    assert found == (await score())[0]


@pytest.mark.parametrize("against, kind", [("contexts", "context"), ("reference", "reference")])
async def test_the_most_supportive_context_counts(against, kind):
    found, _ = await score(fields={against: [S, T]}, against=against)
    born, died = found.units
    assert (born.risk, died.risk) == (pytest.approx(0.1), pytest.approx(0.2))
    assert found.raw == found.risk == pytest.approx(0.15)
    assert [(e.kind, e.index, e.text) for e in born.evidence] == [(kind, 0, "Ann came from Rome.")]
    assert [(e.kind, e.index, e.text) for e in died.evidence] == [(kind, 1, B)]
    assert born.evidence[0].probability == pytest.approx(0.1)
    assert died.probabilities == pytest.approx(
        {"entailment": 0.8, "neutral": 0, "contradiction": 0.2}
    )


async def test_a_head_of_two_classes_gives_its_own_probabilities():
    found, _ = await score(dict.fromkeys(TABLE, (0.3, 0, 0.7)))
    assert found.risk == pytest.approx(0.7)


async def test_a_sample_equal_to_the_sentence_does_not_contradict_it():
    record = Record(response=A, samples=[A])
    found = await selfcheck_nli(record, FixedVerdicts(record))
    assert (found.risk, found.units[0].label) == (0, "entailment")


async def test_blank_given_sentences_are_left_out():
    record = Record(response=f"{A}  ", samples=[S], sentences=[(0, len(A)), (len(A), len(A) + 2)])
    found = await selfcheck_nli(record, FixedVerdicts(record, TABLE))
    assert [u.text for u in found.units] == [A]
    record = Record(response=f"{A}  ", samples=[S], sentences=[(len(A), len(A) + 2)])
    with pytest.raises(NotApplicable, match="no sentences"):
        await selfcheck_nli(record, FixedVerdicts(record))


async def test_not_applicable():
    with pytest.raises(NotApplicable, match="contradiction"):
        await score(contradicts=False)
    with pytest.raises(NotApplicable, match="no samples"):
        await score(fields={"samples": [""]})
    record = Record(response=" ", samples=[S])
    with pytest.raises(NotApplicable, match="empty"):
        await selfcheck_nli(record, FixedVerdicts(record))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=7),
    st.sampled_from(["samples", "contexts", "reference"]),
    st.randoms(),
)
def test_bounded_and_independent_of_the_order_of_samples(pairs, against, random):
    texts = [f"Text {i}." for i in range(len(pairs))]
    rows = [(a, (1 - a) * b, (1 - a) * (1 - b)) for a, b in pairs]
    table = {(t, A): row for t, row in zip(texts, rows, strict=True)}

    def found():
        record = Record(response=A, **{against: texts})
        return now(selfcheck_nli(record, FixedVerdicts(record, table), against=against))

    before = found()
    random.shuffle(texts)
    assert found().risk == pytest.approx(before.risk, abs=1e-12)
    assert 0 <= before.risk <= 1
    assert all(0 <= p <= 1 for p in before.units[0].probabilities.values())


def test_registered_as_a_sentence_level_risk_by_nli():
    scorer = REGISTRY.get("selfcheck_nli")
    assert (scorer.level, scorer.raw_is, scorer.cost) == ("sentence", "risk", "nli")
    assert scorer.presets == {"all", "auto"}
