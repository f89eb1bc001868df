"""alignscore, hhem, critic and minicheck: the arithmetic over an NLI model's verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable

BORN, DIED = "He was born in London.", "He died in Paris."
RESPONSE = f"{BORN} {DIED}"
CITY, END = "The painter was born in London.", "The painter died in Rome in 1912."
BOTH = f"{CITY}\n{END}"
TABLE = {
    (BOTH, BORN): (0.9, 0.1, 0.0),
    (BOTH, DIED): (0.2, 0.1, 0.7),
    (BOTH, RESPONSE): (0.4, 0.6, 0.0),
    (CITY, BORN): (0.8, 0.2, 0.0),
    (CITY, DIED): (0.1, 0.9, 0.0),
    (CITY, RESPONSE): (0.3, 0.7, 0.0),
    (END, BORN): (0.3, 0.7, 0.0),
    (END, DIED): (0.4, 0.1, 0.5),
    (END, RESPONSE): (0.5, 0.3, 0.2),
}


class Named(FixedVerdicts):
    """Keeps the models that were named."""

    def __init__(self, *given, **more) -> None:
        super().__init__(*given, **more)
        self.models: list[str | None] = []

    async def nli(self, pairs, model=None):
        self.models.append(model)
        return await super().nli(pairs, model)


async def score(name: str, *, fields=None, contradicts=True, **arguments):
    fields = fields or {"contexts": [CITY, END]}
    record = Record(response=RESPONSE, **fields)
    evidence = Named(record, TABLE, contradicts=contradicts)
    bound = REGISTRY.bind(name, arguments)
    return await bound(record, evidence), evidence


async def test_alignscore_is_the_mean_over_sentences():
    found, evidence = await score("alignscore")
    assert found.raw == pytest.approx((0.9 + 0.2) / 2) and found.risk == pytest.approx(0.45)
    assert [(u.level, u.raw, u.risk) for u in found.units] == [
        ("sentence", pytest.approx(0.9), pytest.approx(0.1)),
        ("sentence", pytest.approx(0.2), pytest.approx(0.8)),
    ]
    assert [u.label for u in found.units] == ["entailment", "contradiction"]
    assert found.units[1].probabilities == pytest.approx(
        {"entailment": 0.2, "neutral": 0.1, "contradiction": 0.7}
    )
    assert evidence.asked == [[(BOTH, BORN), (BOTH, DIED)]]
    assert evidence.models == ["alignscore-large"]
    (city,), (end,) = (u.evidence for u in found.units)
    assert (city.context, city.text, city.probability) == (0, CITY, pytest.approx(0.9))
    assert (end.context, end.start, end.text) == (1, 0, END) and end.probability == 0.7


async def test_alignscore_of_the_whole_response():
    found, evidence = await score("alignscore", piece="response", nli="alignscore:x?mode=bin")
    assert found.raw == pytest.approx(0.4) and [u.level for u in found.units] == ["response"]
    assert found.units[0].end == len(RESPONSE)
    assert evidence.models == ["alignscore:x?mode=bin"]


@pytest.mark.parametrize("name", ["hhem", "critic"])
async def test_the_whole_response_or_its_worst_sentence(name):
    found, evidence = await score(name, contradicts=False)
    raw = {"hhem": 0.4, "critic": 0.6}[name]
    assert found.raw == pytest.approx(raw) and found.risk == pytest.approx(0.6)
    assert found.units[0].raw == pytest.approx(raw) and evidence.models == [name]
    found, _ = await score(name, piece="sentence")
    assert found.risk == pytest.approx(0.8) and len(found.units) == 2
    assert found.raw == pytest.approx(0.2 if name == "hhem" else 0.8)


async def test_minicheck_takes_the_least_supported_sentence():
    found, evidence = await score("minicheck")
    assert found.raw == pytest.approx(0.2) and found.risk == pytest.approx(0.8)
    assert evidence.models == ["minicheck-flan-t5"]
    found, _ = await score("minicheck", piece="response")
    assert found.raw == pytest.approx(0.4)


async def test_the_best_reference_and_the_mean_of_samples():
    found, _ = await score("alignscore", fields={"reference": [CITY, END]}, against="reference")
    assert [u.raw for u in found.units] == pytest.approx([0.8, 0.4])
    assert [u.evidence[0].index for u in found.units] == [0, 1]
    found, _ = await score("alignscore", fields={"samples": [CITY, END]}, against="samples")
    assert [u.raw for u in found.units] == pytest.approx([0.55, 0.25])
    assert found.units[1].probabilities == pytest.approx(
        {"entailment": 0.25, "neutral": 0.5, "contradiction": 0.25}
    )
    assert [e.index for e in found.units[1].evidence] == [1, 0]


@pytest.mark.parametrize("name", ["alignscore", "hhem", "critic", "minicheck"])
async def test_nothing_to_compare_with_and_nothing_said(name):
    bound = REGISTRY.bind(name, {})
    for record in (Record(response=" ", contexts=[CITY]), Record(response=BORN, contexts=[])):
        with pytest.raises(NotApplicable):
            await bound(record, Named(record, TABLE))
    assert bound.scorer.presets == frozenset() and bound.costs == {"nli"}
    assert bound.models("nli") == (bound.scorer.parameters["nli"].default,)


async def test_every_slice_is_exact():
    text = " \u2028".join(["Ä ö ü. 東京。", CITY, "naïve café?"])
    record = Record(response=f"{CITY} {END}", contexts=[text, END])
    found = await REGISTRY.bind("alignscore", {})(record, Named(record))
    for unit in found.units:
        assert record.response[unit.start : unit.end] == unit.text
        for item in unit.evidence:
            assert record.contexts[item.index].text[item.start : item.end] == item.text
    assert np.isfinite(found.risk)
