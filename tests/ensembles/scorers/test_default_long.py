"""The default's rule for long answers by their samples: by hand, and by the embedded models."""

from __future__ import annotations

import math

import pytest
from member_scores import Fixed, odds, run

import veridical
from veridical.core.evidence import guarded
from veridical.core.identity import Identity
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Score, Unit
from veridical.engine.risk import table_of
from veridical.ensembles.scorers import default_set as default

LONG = " ".join(
    f"The tower number {i} is {i} metres high and it stands in town {i}." for i in range(8)
)
LIGHTHOUSE = (
    "The lighthouse at Morrow Point was finished in 1871 and stands 38 metres above the sea. "
    "It was designed by Edith Calloway, who also built the harbour wall of the town. Its "
    "lamp burned whale oil until 1902, when it was changed to kerosene. The last keeper, Tom "
    "Berrin, left the station in 1964, and the light has been automatic since then. Today "
    "the tower is a museum that some 20 000 people visit each year."
)
AGREEING = (
    "Morrow Point's lighthouse was completed in 1871 and is 38 metres high. Edith Calloway, "
    "the builder of the town's harbour wall, designed it. The lamp burned whale oil and from "
    "1902 on kerosene. Tom Berrin, its last keeper, left in 1964, since when it has been "
    "automatic. The tower is now a museum with about 20 000 visitors a year.",
    "Finished in 1871, the lighthouse at Morrow Point rises 38 metres above the sea. Its "
    "architect was Edith Calloway, who built the harbour wall too. It was lit with whale oil "
    "until kerosene replaced it in 1902. The light became automatic when the last keeper, "
    "Tom Berrin, left the station in 1964. Today it is a museum, visited by some 20 000 "
    "people each year.",
)
OTHERS = (
    "The lighthouse at Morrow Point was opened in 1902. It was built by John Aldous and is "
    "21 metres high. The lamp was electric from the start. Its keeper lived there until "
    "1988. It was torn down in 1991.",
    "The lighthouse was designed by Peter Hale in 1920. It burned coal. The last keeper was "
    "Anna Reed, who left in 1977. It is a hotel today.",
)
#: Of each member: the risk that it gives the response, its weight, and whether it tells sentences.
GIVEN = {
    "selfcheck_nli": (0.9, 0.3, True),
    "support(against=samples)": (0.4, 0.2, True),
    "checkembed": (0.1, 0.2, False),
    "ngram": (0.5, 0.15, True),
    "ngram_presence": (0.6, 0.15, True),
}
READER = "explained_surprisal(proxy=smollm2)"


def quantile(key: str, risk: float, samples: int) -> float:
    table = table_of(Identity.read(key), samples)
    assert table is not None
    return table(risk)


def mean(risks: dict[str, float], samples: int, weights: dict[str, float]) -> float:
    total = sum(weights[key] for key in risks)
    return sum(weights[key] * quantile(key, r, samples) for key, r in risks.items()) / total


def by_fit(quantile_mean: float, read: str = "plain") -> float:
    fit = default.shipped()["by_nli"]["veridical-nli-mini"]["samples"]["long"][read]
    return 1 / (1 + math.exp(-(fit["intercept"] + fit["coefficient"] * odds(quantile_mean))))


def scores_of(record: Record, keys=GIVEN) -> dict[str, Score]:
    """The given risks, the first sentence half as risky and the others as the response."""
    made = {}
    for key in keys:
        risk, _, tells = GIVEN[key]
        risks = [risk / 2, *[risk] * (len(record.sentences) - 1)]
        units = [Unit.of(s, r) for s, r in zip(record.sentences, risks, strict=True)]
        made[key] = Score.of(risk, units=units if tells else ())
    return made


async def test_the_mean_quantile_is_calibrated_and_a_sentence_is_half_its_own() -> None:
    record = Record(response=LONG, samples=("a", "b", "c"))
    score = await run(record, scores_of(record))
    weights = {key: w for key, (_, w, _) in GIVEN.items()}
    whole = mean({key: r for key, (r, _, _) in GIVEN.items()}, 3, weights)
    own = mean({key: r / 2 for key, (r, _, tells) in GIVEN.items() if tells}, 3, weights)
    assert score.risk == pytest.approx(by_fit(whole), abs=1e-6)
    assert score.units[0].risk == pytest.approx(by_fit((own + whole) / 2), abs=1e-6)
    assert score.units[0].risk < score.units[1].risk
    assert [u.label for u in score.units] == [None] * 8 and score.raw["judged"] == "samples"
    assert score.raw["weights"] == pytest.approx(weights)
    assert "entailment" not in score.raw["components"]


async def test_of_members_that_are_missing_the_others_count() -> None:
    record = Record(response=LONG, samples=("a", "b", "c"))
    score = await run(record, scores_of(record, ("selfcheck_nli", "checkembed")))
    weights = {"selfcheck_nli": 0.3, "checkembed": 0.2}
    assert score.risk == pytest.approx(
        by_fit(mean({"selfcheck_nli": 0.9, "checkembed": 0.1}, 3, weights)), abs=1e-6
    )
    assert score.raw["weights"] == pytest.approx({"selfcheck_nli": 0.6, "checkembed": 0.4})
    assert score.raw["missing"]["ngram"] == "not_applicable: not given"


async def test_words_alone_count_as_of_a_short_answer() -> None:
    """Where no model reads the text: agreement of words says nothing of long texts by itself."""
    record = Record(response=LONG, samples=("a", "b", "c"))
    words = scores_of(record, ("ngram", "ngram_presence", "support(against=samples)"))
    score = await run(record, words)
    fit = default.fit("samples", frozenset({"support"}))
    expected = 1 / (1 + math.exp(-(fit.intercept + fit.coefficients["support"] * odds(0.4))))
    assert score.risk == pytest.approx(expected, abs=1e-6)
    assert score.raw["judged"] == "lexical"
    assert score.raw["weights"].keys() == {"support(against=samples)"}
    without = await run(record, {key: words[key] for key in ("ngram", "ngram_presence")})
    assert without.status == "not_applicable"


def test_a_script_that_no_model_here_reads_is_unchecked() -> None:
    answer = "灯塔位于莫罗角，于一八七一年建成，高出海面三十八米。" * 20
    other = answer.replace("莫罗角", "海岸")
    (result,) = veridical.check([{"response": answer, "samples": [other, other]}])
    assert (result.verdict, result.reason, result.risk) == ("unchecked", "language", None)


async def test_a_sentence_of_which_nothing_is_said_has_no_risk() -> None:
    record = Record(response=LONG, samples=("a", "b"))
    score = await run(record, {"checkembed": 0.4})
    assert score.risk is not None and [u.risk for u in score.units] == [None] * 8


async def test_a_language_model_that_has_read_it_has_a_fit_of_its_own() -> None:
    record = Record(response=LONG, samples=("a", "b", "c"))
    text = "ensemble(language_model=smollm2)"
    given = {**scores_of(record), READER: 0.7}
    score = await run(record, given, text)
    weights = {key: w for key, (_, w, _) in GIVEN.items()} | {READER: 0.6}
    risks = {key: r for key, (r, _, _) in GIVEN.items()} | {READER: 0.7}
    assert score.risk == pytest.approx(by_fit(mean(risks, 3, weights), "read"), abs=1e-6)
    without = await run(record, scores_of(record), text)
    assert without.risk == (await run(record, scores_of(record))).risk


async def test_which_answers_are_long() -> None:
    over = default.long_over()
    assert over == 400
    for length, long in ((over, False), (over + 1, True)):
        record = Record(response="a" * (length - 1) + ".", samples=("a",))
        evidence = Fixed(record, {"selfcheck_nli": 0.5})
        (bound,) = REGISTRY.parse("ensemble")
        await guarded(bound, record, evidence)
        assert ("checkembed" in evidence.asked) == long
        assert ("entailment" in evidence.asked) == (not long)


async def test_beside_contexts_it_moves_the_risk_and_does_not_turn_it() -> None:
    record = Record(response=LONG, contexts=("c",), samples=("a", "b", "c"))
    units = [Unit.of(s, 0.2, level="claim", label="entailment") for s in record.sentences]
    claims = Score.of(0.2, units=units)
    alone = (await run(record, {"claims": claims})).risk
    both = (await run(record, {"claims": claims, **scores_of(record)})).risk
    assert alone is not None and both is not None and alone < both < 0.5


async def test_a_riskier_member_never_lowers_the_risk_of_a_long_answer() -> None:
    record = Record(response=LONG, samples=("a", "b", "c"))
    for key in GIVEN:
        risks = []
        for step in range(11):
            given = {**scores_of(record), key: Score.of(step / 10)}
            risks.append((await run(record, given)).risk)
        assert risks == sorted(risks) and risks[0] < risks[-1]


def test_agreeing_and_disagreeing_samples_of_a_long_answer() -> None:
    rows = [{"response": LIGHTHOUSE, "samples": samples} for samples in (AGREEING, OTHERS)]
    low, high = veridical.check(rows)
    assert low.verdict == "consistent" and low.risk < 0.5
    assert high.verdict == "inconsistent" and high.risk > 2 / 3
    units = [r.scores["ensemble"].units for r in (low, high)]
    assert max(u.risk for u in units[0]) < 0.5 < min(u.risk for u in units[1])
    assert all(u.evidence for u in units[0])
