"""ensemble: label-free sets and tuned files, by hand-worked scores of their components."""

from __future__ import annotations

import json

import pytest

import veridical
from veridical.core.evidence import Evidence, guarded
from veridical.core.identity import Identity
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.core.scores import Score, Unit
from veridical.engine import risk as one_risk
from veridical.ensembles.ensemble_file import Component, Ensemble, Fit, FittedOn, Strata
from veridical.ensembles.scorers import off_the_shelf
from veridical.errors import UsageError
from veridical.files.trained_files import write_trained

TEXT = "One is here. Two is there."


def table_of(key: str, samples: int) -> one_risk.QuantileTable | None:
    return one_risk.table_of(Identity.read(key), samples)


def combine(risks: dict[str, float | None], samples: int) -> tuple[float | None, str | None]:
    """The one risk of risks by key."""
    return one_risk.combine({Identity.read(key): r for key, r in risks.items()}, samples)


OPEN = Record(prompt="q", response=TEXT * 5, samples=("x", "y", "z"))


class Fixed(Evidence):
    """Components whose scores are given, by key; others do not apply."""

    def __init__(self, record: Record, scores: dict[str, Score | float | None]) -> None:
        super().__init__(record)
        self.given = scores

    async def _score(self, bound) -> Score:
        found = self.given.get(bound.key)
        if found is None:
            return Score.not_applicable("not given")
        score = Score.of(found) if isinstance(found, float) else found
        return score.model_copy(update={"signature": score.signature or bound.signature()})


async def run(record: Record, scores, text: str = "ensemble(weights=label_free)") -> Score:
    (bound,) = REGISTRY.parse(text)
    return await guarded(bound, record, Fixed(record, scores))


def sentences(record: Record, *risks: float | None, label: str | None = None) -> tuple[Unit, ...]:
    return tuple(
        Unit.of(s, r, label=label)
        for s, r in zip(record.sentences, risks, strict=True)
        if r is not None
    )


# --- the label-free sets -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "response", "sets"),
    [
        ({"samples": ("b",)}, "Paris", ("closed",)),
        ({"samples": ("b",)}, "long " * 30, ("open",)),
        ({"contexts": ("c",)}, "Paris", ("grounded",)),
        ({"contexts": ("c",), "samples": ("b",)}, "Paris", ("grounded", "closed")),
        ({"reference": ("r",)}, "Paris", ("reference",)),
        ({}, "Paris", ()),
    ],
)
def test_the_sets_follow_the_fields_and_the_length(fields, response, sets) -> None:
    choice = off_the_shelf.choose(Record(response=response, **fields))
    assert choice.sets == sets
    if sets:
        assert sum(choice.weights.values()) == pytest.approx(1)


def test_every_member_has_a_table_is_in_the_preset_of_all_and_calls_no_llm() -> None:
    auto = {b.key for b in resolve(None, "all")}
    for bound in off_the_shelf.members():
        assert table_of(bound.key, 5) is not None
        assert bound.key in auto and "llm" not in bound.costs


async def test_the_risk_is_the_weighted_mean_of_quantiles() -> None:
    weights = off_the_shelf.choose(OPEN).weights
    given = {call: 0.1 + 0.1 * i for i, call in enumerate(weights)}
    score = await run(OPEN, given)
    expected = sum(w * table_of(c, 3)(given[c]) for c, w in weights.items())  # type: ignore[misc]
    assert score.risk == pytest.approx(expected)
    assert score.raw["components"] == given and score.raw["missing"] == {}
    assert score.raw["weights"] == pytest.approx(weights)


async def test_missing_components_are_left_out_and_named() -> None:
    weights = off_the_shelf.choose(OPEN).weights
    first, second, *others = weights
    given: dict[str, Score | float | None] = {first: 0.4, second: Score.failed("broken")}
    score = await run(OPEN, given)
    assert score.risk == pytest.approx(table_of(first, 3)(0.4))  # type: ignore[misc]
    assert score.raw["weights"] == {first: 1.0}
    assert score.raw["missing"] == {
        second: "failed: broken",
        **dict.fromkeys(others, "not_applicable: not given"),
    }


async def test_a_riskier_component_never_lowers_the_risk() -> None:
    calls = list(off_the_shelf.choose(OPEN).weights)
    for call in calls:
        risks = [
            (await run(OPEN, {**dict.fromkeys(calls, 0.5), call: step / 20})).risk
            for step in range(21)
        ]
        assert risks == sorted(risks)


async def test_without_scores_it_has_none_and_says_why() -> None:
    score = await run(Record(response="a"), {})
    assert score.status == "not_applicable" and "no contexts, samples" in score.reason
    score = await run(OPEN, {})
    assert score.status == "not_applicable" and "not given" in score.reason
    score = await run(OPEN, {"support": Score.failed("broken")})
    assert score.status == "failed" and "support: broken" in score.reason


async def test_a_sentence_is_half_its_own_scores_and_half_the_response() -> None:
    record = Record(response=TEXT + " " * 100, samples=("x",) * 3)  # long enough to be open
    weights = off_the_shelf.choose(record).weights
    ngram = Score.of(0.5, units=sentences(record, 0.9, 0.1))
    nli = Score.of(0.2, units=sentences(record, None, 0.6))
    score = await run(record, {"ngram": ngram, "selfcheck_nli": nli})
    risk = score.risk
    table, other = table_of("ngram", 3), table_of("selfcheck_nli", 3)
    a, b = weights["ngram"], weights["selfcheck_nli"]
    second = (a * table(0.1) + b * other(0.6)) / (a + b)
    assert [u.risk for u in score.units] == pytest.approx(
        [(table(0.9) + risk) / 2, (second + risk) / 2]
    )
    assert [u.text for u in score.units] == [s.text for s in record.sentences]


async def test_a_sentence_with_nothing_to_look_up_has_no_score_by_support() -> None:
    record = Record(response=TEXT + " " * 100, samples=("x",) * 3)
    support = Score.of(
        0.5,
        units=(
            Unit.of(record.sentences[0], 0.0, label="nothing to look up"),
            Unit.of(record.sentences[1], 0.8),
        ),
    )
    score = await run(record, {"support": support})
    assert score.units[0].risk == pytest.approx(score.risk)
    assert score.units[1].risk > score.units[0].risk


async def test_claims_count_where_they_are_asked_for() -> None:
    record = Record(response="Paris", contexts=("c",))
    assert "claims" in off_the_shelf.choose(record, claims=True).weights
    low = await run(
        record, {"knowledge_f1": 0.5, "claims": 0.0}, "ensemble(weights=label_free,claims=true)"
    )
    high = await run(
        record, {"knowledge_f1": 0.5, "claims": 1.0}, "ensemble(weights=label_free,claims=true)"
    )
    assert low.risk < high.risk
    with pytest.raises(UsageError, match="the default includes claims"):
        resolve("ensemble(claims=true)")


@pytest.mark.parametrize("against", ["auto", "samples"])
async def test_a_named_language_model_reads_samples_of_longer_responses(against) -> None:
    def reads(record: Record, model: str | None) -> list[str]:
        weights = off_the_shelf.choose(record, against, language_model=model).weights
        assert sum(weights.values()) == pytest.approx(1)
        return [key for key in weights if key.startswith("explained_surprisal")]

    (key,) = reads(OPEN, "smollm2")
    assert Identity.read(key).names("proxy") and "smollm2" in key
    assert reads(OPEN, None) == []
    assert reads(Record(response="Paris", samples=("x",)), "smollm2") == []
    assert key in {b.key for b in off_the_shelf.members(against, language_model="smollm2")}
    assert one_risk.tables()["explained_surprisal"].samples == [1, 2, 3, 5, 10, 20]
    call = f"ensemble(weights=label_free,against={against},language_model=smollm2)"
    low, high = [(await run(OPEN, {key: r, "support": 0.5}, call)).risk for r in (0.1, 0.9)]
    assert low < high


async def test_against_takes_the_sets_of_one_field() -> None:
    record = Record(response=TEXT, samples=("x",), contexts=("c",), reference=("r",))
    for field, name in (
        ("samples", "closed"),
        ("contexts", "grounded"),
        ("reference", "reference"),
    ):
        choice = off_the_shelf.choose(record, field)
        assert choice.sets == (name,)
        asked = {b.key for b in off_the_shelf.members(field)}
        assert set(choice.weights) <= asked
        assert {c for c in asked if c.startswith("support")} <= {f"support(against={field})"}
    (bound,) = [b for b in resolve(None, against="samples") if b.scorer.name == "ensemble"]
    assert bound.key == "ensemble(against=samples)"
    assert combine({bound.key: 0.3, "ngram": 0.9}, 3) == (0.3, "ensemble")
    score = await run(OPEN, {}, "ensemble(against=contexts,weights=label_free)")
    assert score.status == "not_applicable" and score.reason.endswith("no contexts")


@pytest.mark.parametrize("field", ["samples", "contexts", "reference"])
def test_claims_count_in_the_set_they_compare_with(field) -> None:
    record = Record(response=TEXT, **{field: ("x",)})
    for against in ("auto", field):
        weights = off_the_shelf.choose(record, against, claims=True).weights
        (own,) = [w for c, w in weights.items() if c.startswith("claims")]
        assert own == max(weights.values())


def test_a_part_that_was_tuned_on_a_data_set_makes_it_in_domain_there() -> None:
    (bound,) = resolve("ensemble(weights=label_free)")
    assert bound.in_domain("wikibio") and not bound.in_domain("ragtruth")


# --- tuned files ------------------------------------------------------------------------------

CALLS = ("ngram(n=2)", "support", "exact_match")


def component(call: str, part: str = "response") -> Component:
    (bound,) = REGISTRY.parse(call)
    return Component(scorer=call, part=part, signature=bound.signature())


def fitted(*weights: float, names: tuple[str, ...] = CALLS) -> Fit:
    return Fit(weights=dict(zip(names, weights, strict=True)), n=10, positive=4)


def file(path, **more) -> str:
    fields = {
        "version": "0",
        "level": "response",
        "method": "weighted",
        "components": tuple(map(component, CALLS)),
        "fit": fitted(0.5, 0.3, 0.2),
        "fitted_on": FittedOn(
            file="g", fingerprint="0", n=10, positive=4, groups=9, labels="label"
        ),
    }
    write_trained(path / "e.json", Ensemble(**{**fields, **more}))
    return f"ensemble(file='{path / 'e.json'}')"


async def test_a_tuned_ensemble_is_the_weighted_mean_of_risks(tmp_path) -> None:
    score = await run(OPEN, {"ngram(n=2)": 1.0, "support": 0.5, "exact_match": 0.0}, file(tmp_path))
    assert score.risk == pytest.approx(0.65)
    assert score.raw["weights"] == {"ngram(n=2)": 0.5, "support": 0.3, "exact_match": 0.2}
    score = await run(OPEN, {"ngram(n=2)": 1.0, "exact_match": 0.0}, file(tmp_path))
    assert score.risk == pytest.approx(5 / 7)
    assert score.raw["missing"] == {"support": "not_applicable: not given"}


@pytest.mark.parametrize(
    ("strictness", "unclear", "flagged"),
    [("low", 0.75, 6 / 7), ("balanced", 0.75, 0.75), ("high", 0.6, 0.6)],
)
async def test_a_tuned_ensemble_is_cut_at_its_own_threshold(
    tmp_path, strictness, unclear, flagged
) -> None:
    fit = fitted(0.5, 0.3, 0.2).model_copy(update={"threshold": 0.75})
    call = file(tmp_path, fit=fit)
    (bound,) = REGISTRY.parse(call)
    score = await run(OPEN, {"ngram(n=2)": 1.0, "support": 0.5, "exact_match": 0.0}, call)
    cuts = bound.cuts(score.raw, strictness)  # odds of 3, doubled and halved
    assert (cuts.unclear, cuts.flagged) == pytest.approx((unclear, flagged))
    assert (
        cuts.zone(score.risk) == {"low": "good", "balanced": "good", "high": "flagged"}[strictness]
    )


def test_a_language_model_is_for_shipped_weights(tmp_path) -> None:
    with pytest.raises(UsageError, match="a tuned ensemble has its own"):
        resolve(file(tmp_path).replace(")", ",language_model=smollm2)"))


async def test_it_refuses_components_that_are_not_what_it_was_tuned_with(tmp_path) -> None:
    changed = Score.of(0.5).model_copy(update={"signature": "support|v1|nli:other@1|against:auto"})
    score = await run(OPEN, {"support": changed, "ngram(n=2)": 0.5}, file(tmp_path))
    assert score.status == "failed" and score.risk is None
    assert "nli:other@1" in score.reason and "tuned with support|v" in score.reason


def test_what_can_be_known_before_the_run_is_refused_then(tmp_path) -> None:
    other = component("support").model_copy(update={"signature": "support|v0|against:auto"})
    text = file(tmp_path, components=(component(CALLS[0]), other, component(CALLS[2])))
    with pytest.raises(UsageError, match="tune again"):
        resolve(text)
    with pytest.raises(UsageError, match="cannot read"):
        resolve("ensemble(file='/no/such/file.json')")
    (tmp_path / "e.json").write_text("{}")
    with pytest.raises(UsageError, match="is not a valid ensemble model"):
        resolve(text)


def test_a_file_that_changes_is_another_scorer(tmp_path) -> None:
    (before,) = resolve(file(tmp_path))
    (after,) = resolve(file(tmp_path, fit=fitted(0.2, 0.3, 0.5)))
    assert before.key != after.key and before.signature() != after.signature()
    with pytest.raises(UsageError, match="has changed"):
        REGISTRY.parse(before.spec)


def test_claims_are_for_the_shipped_sets(tmp_path) -> None:
    with pytest.raises(UsageError, match="its own components"):
        resolve(file(tmp_path).replace(")", ", claims=true)"))


def test_it_costs_what_its_components_cost(tmp_path) -> None:
    (free,) = resolve(file(tmp_path))
    assert free.costs == {"free"}
    calls = (*CALLS[:2], "selfcheck_nli")
    (nli,) = resolve(
        file(
            tmp_path,
            components=tuple(map(component, calls)),
            fit=fitted(0.5, 0.3, 0.2, names=calls),
        )
    )
    assert nli.costs == {"free", "nli"} and nli.cost == "nli"
    (shipped,) = resolve("ensemble")
    assert "llm" not in shipped.costs


async def test_strata_by_a_field_of_meta(tmp_path) -> None:
    text = file(tmp_path, strata=Strata(by="task", of={"qa": fitted(0.0, 1.0, 0.0)}))
    given = {"ngram(n=2)": 1.0, "support": 0.5, "exact_match": 0.0}
    for meta, expected in (({"task": "qa"}, 0.5), ({"task": "x"}, 0.65), ({}, 0.65)):
        score = await run(OPEN.model_copy(update={"meta": meta}), given, text)
        assert score.risk == pytest.approx(expected)
        assert score.raw["stratum"] == meta.get("task")
    score = await run(OPEN.model_copy(update={"meta": {"task": [1]}}), given, text)
    assert score.status == "failed" and "task" in score.reason


async def test_sentences_of_a_weighted_ensemble_of_responses(tmp_path) -> None:
    record = Record(response=TEXT, samples=("x",))
    given: dict[str, Score | float | None] = {
        "ngram(n=2)": Score.of(0.5, units=sentences(record, 0.8, 0.2)),
        "support": Score.of(0.5, units=sentences(record, None, 0.6)),
        "exact_match": 1.0,
    }
    score = await run(record, given, file(tmp_path))
    assert [u.risk for u in score.units] == pytest.approx([0.8, (0.5 * 0.2 + 0.3 * 0.6) / 0.8])


async def test_an_ensemble_of_sentences(tmp_path) -> None:
    """The sentence's own n-grams and the whole response's support; the response is their mean."""
    parts = (component("ngram(n=2)", "unit"), component("support"))
    text = file(
        tmp_path,
        level="sentence",
        components=parts,
        fit=fitted(0.75, 0.25, names=tuple(c.name for c in parts)),
    )
    record = Record(response=TEXT, samples=("x",))
    given: dict[str, Score | float | None] = {
        "ngram(n=2)": Score.of(0.5, units=sentences(record, 0.8, 0.2)),
        "support": 0.4,
    }
    score = await run(record, given, text)
    assert [u.risk for u in score.units] == pytest.approx([0.7, 0.25])
    assert score.risk == pytest.approx(0.475)


# --- the record's one risk --------------------------------------------------------------------


def test_the_record_has_the_ensembles_risk() -> None:
    assert combine({"ngram": 0.9, "ensemble": 0.2}, 3) == (0.2, "ensemble")
    assert combine({"ensemble": 0.2}, 3) == (0.2, "ensemble")
    assert combine({"ensemble": 0.2, "ensemble(file=x@1)": 0.7}, 3) == (0.7, "ensemble")
    assert combine({"ensemble(against=samples,file=x@1)": None, "ensemble": 0.2}, 3) == (None, None)


def test_without_the_shipped_one_the_others_count_and_without_a_tuned_one_nothing() -> None:
    others, _ = combine({"ngram": 0.9, "support": 0.4}, 3)
    assert combine({"ngram": 0.9, "support": 0.4, "ensemble": None}, 3) == (others, "quantile_mean")
    assert combine({"ngram": 0.9, "ensemble(file=x@1)": None}, 3) == (None, None)


def test_in_a_run(tmp_path) -> None:
    rows = [
        {"response": "Rome is in Italy.", "samples": ["Rome is in Italy.", "Rome lies in Italy."]},
        {"response": "Oslo is in Italy.", "samples": ["Oslo is in Norway.", "In Norway."]},
        {"response": "Nothing to compare with."},
    ]
    calls = ("ngram", "exact_match", "support")
    text = file(
        tmp_path,
        components=tuple(map(component, calls)),
        fit=fitted(0.5, 0.3, 0.2, names=calls),
    )
    results = list(veridical.check(rows, [text, "ngram"]))
    assert results[0].by == "ensemble" and results[0].risk < results[1].risk
    (key,) = (k for k in results[0].scores if k.startswith("ensemble"))
    for result in results[:2]:
        assert result.risk == result.scores[key].risk
        assert result.scores[key].raw["components"]["ngram"] == result.scores["ngram"].risk
    assert results[2].risk is None and results[2].scores[key].status == "not_applicable"
    assert json.loads(results[0].model_dump_json())["scores"][key]["raw"]["file"] in key
