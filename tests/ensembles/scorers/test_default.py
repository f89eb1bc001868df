"""The fitted default: by hand-worked scores of its members, and by the embedded models."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from member_scores import Fixed, odds, run

import veridical
from veridical.core.evidence import guarded
from veridical.core.language_gate import LanguageGate
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.ensembles.scorers import default_set as default
from veridical.errors import UsageError
from veridical.text.spans import Span

TEXT = "One is here. Two is there."
SAME = "The tower is 93 metres high."
TOKENS = [{"token": SAME, "logprob": -0.01}]


def judged(record: Record, *units: tuple[float, str], level: str = "claim") -> Score:
    """A score with one unit a sentence, of that risk and label."""
    made = []
    for span, (risk, label) in zip(record.sentences, units, strict=True):
        rest = {"neutral": 0.0, "contradiction": 0.0}
        rest["contradiction" if label == "contradiction" else "neutral"] = risk
        item = EvidenceItem(kind="context", index=0, context=0, start=0, end=1, text=label[0])
        made.append(
            Unit.of(
                span,
                risk,
                level=level,  # type: ignore[arg-type]
                label=label,
                probabilities={"entailment": 1 - risk, **rest},
                evidence=[item],
            )
        )
    return Score.of(max(r for r, _ in units), units=made)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# --- by hand ----------------------------------------------------------------------------------


async def test_a_response_is_as_risky_as_its_worst_sentence_which_has_a_risk_of_its_own() -> None:
    record = Record(response=TEXT, contexts=("c",))
    claims = judged(record, (0.05, "entailment"), (0.95, "contradiction"))
    score = await run(record, {"claims": claims})
    fit = default.fit("contexts", frozenset({"claims"}))
    odds = [fit.intercept + fit.coefficients["claims"] * default.log_odds(r) for r in (0.05, 0.95)]
    less = default.of_many("contexts", default.MINI, 2)
    expected = [sigmoid(o - less) for o in odds]
    assert [u.risk for u in score.units] == pytest.approx(expected, abs=1e-6)
    assert score.risk == max(u.risk for u in score.units)
    assert [u.label for u in score.units] == ["entailment", "contradiction"]
    assert all(sum(u.probabilities.values()) == pytest.approx(1) for u in score.units)
    assert score.raw["judged"] == "sources" and score.raw["sets"] == ["contexts"]
    assert score.raw["components"]["claims"] == 0.95
    assert score.raw["missing"]["support"] == "not_applicable: not given"


async def test_labels_agree_with_risks() -> None:
    record = Record(response="One is here.", contexts=("c",))
    cuts = default.cuts("contexts")
    labels = {"good": "entailment", "unclear": "unclear", "flagged": "neutral"}
    found = set()
    for step in range(41):
        score = await run(record, {"claims": judged(record, (step / 40, "neutral"))})
        (unit,) = score.units
        assert unit.label == labels[cuts.zone(unit.risk)]
        found.add(unit.label)
    assert found == set(labels.values())


async def test_a_contradiction_needs_a_source_that_contradicts_and_most_of_the_risk() -> None:
    record = Record(response="One is here.", contexts=("no",))
    against = judged(record, (0.99, "contradiction"))
    silent = judged(record, (0.99, "neutral"), level="sentence")
    alone = await run(record, {"claims": against})
    assert [u.label for u in alone.units] == ["contradiction"]
    half = await run(record, {"claims": against, "nli_grounding": silent})
    share = half.units[0].probabilities["contradiction"] / half.units[0].risk
    expected = share >= default.contradicted_from("contexts").share
    assert half.units[0].label == ("contradiction" if expected else "neutral")
    unlabelled = against.model_copy(
        update={"units": tuple(u.model_copy(update={"label": "neutral"}) for u in against.units)}
    )
    hidden = await run(record, {"claims": unlabelled})
    assert [u.label for u in hidden.units] == ["neutral"]


@pytest.mark.parametrize("nli", default.nli_models())
@pytest.mark.parametrize("field", default.FIELDS)
def test_a_stricter_point_cuts_no_higher(field: default.Field, nli: str) -> None:
    low, balanced, high = (default.cuts(field, nli, s) for s in ("low", "balanced", "high"))
    for name in ("unclear", "flagged"):
        cuts = [getattr(c, name) for c in (low, balanced, high)]
        assert cuts == sorted(cuts, reverse=True)
    assert all(0 < c.unclear <= c.flagged < 1 for c in (low, balanced, high))


async def test_a_riskier_member_never_lowers_the_risk() -> None:
    record = Record(response=SAME, contexts=("c",), samples=("x",))
    keys = ("claims", "nli_grounding", "support", "entailment", "selfcheck_nli")
    for key in keys:
        risks = [
            (await run(record, {**dict.fromkeys(keys, 0.5), key: step / 10})).risk
            for step in range(11)
        ]
        assert risks == sorted(risks)


async def test_the_evidence_of_the_member_that_decided_is_first() -> None:
    record = Record(response="One is here.", contexts=("no",))
    claims = judged(record, (0.95, "contradiction"))
    other = judged(record, (0.1, "neutral"), level="sentence")
    score = await run(record, {"claims": claims, "nli_grounding": other})
    (unit,) = score.units
    assert unit.label == "contradiction" and unit.evidence[0].text == "c"


async def test_samples_move_the_risk_by_contexts_and_do_not_turn_it() -> None:
    record = Record(response=SAME, contexts=("c",), samples=("x", "y"))
    claims = judged(record, (0.2, "entailment"))
    without = (await run(record, {"claims": claims})).risk
    worse = (await run(record, {"claims": claims, "entailment": 1.0, "selfcheck_nli": 1.0})).risk
    better = (await run(record, {"claims": claims, "entailment": 0.0, "selfcheck_nli": 0.0})).risk
    assert better < without < worse < 0.5


async def test_where_contexts_have_words_alone_samples_may_turn_the_risk() -> None:
    record = Record(response=SAME, contexts=("c",), samples=("x",))
    support = Score.of(1.0, units=[Unit.of(record.sentences[0], 1.0)])
    alone = await run(record, {"support": support})
    assert alone.raw["judged"] == "lexical" and alone.units[0].label is None
    sampled = await run(
        record,
        {
            "support": Score.of(0.0, units=[Unit.of(record.sentences[0], 0.0)]),
            "entailment": 1.0,
            "selfcheck_nli": 1.0,
        },
    )
    assert sampled.raw["sets"] == ["contexts", "samples"]
    assert alone.risk > 0.5


async def test_units_by_samples_have_no_label() -> None:
    record = Record(response=SAME, samples=("x", "y"))
    score = await run(record, {"entailment": 0.9})
    (unit,) = score.units
    assert score.raw["judged"] == "samples"
    assert unit.label is None and unit.probabilities is None and unit.risk == score.risk


async def test_log_probabilities_alone_do() -> None:
    record = Record(response=SAME, logprobs=TOKENS)
    sure = await run(record, {"avg_logprob": 0.05, "min_probability": 0.1})
    unsure = await run(record, {"avg_logprob": 0.8, "min_probability": 0.99})
    assert sure.raw["judged"] == "logprobs" and sure.risk < unsure.risk


@pytest.mark.parametrize("nli", default.nli_models())
@pytest.mark.parametrize("field", default.FIELDS)
def test_there_is_a_fit_for_every_choice_of_members(field, nli) -> None:
    names = default.member_names(field, nli)
    for choice in range(1, 2 ** len(names)):
        some = frozenset(n for i, n in enumerate(names) if choice >> i & 1)
        fit = default.fit(field, some, nli)
        assert all(w >= 0 for w in fit.coefficients.values())
        assert set(fit.coefficients) <= {*some, *(n for n in names if default.lexical(n))}
    low, balanced, high = (default.cuts(field, nli, s) for s in ("low", "balanced", "high"))
    assert 1 > low.flagged >= balanced.flagged >= high.flagged >= high.unclear > 0


async def test_an_answer_that_declines_is_not_scored_as_supported() -> None:
    record = Record(response="I don't know.", contexts=("c",))
    evidence = Fixed(record, {"claims": 1.0})
    (bound,) = REGISTRY.parse("ensemble")
    score = await guarded(bound, record, evidence)
    assert score.risk == 0 and score.raw["abstained"] is True and not evidence.asked
    assert score.units == ()


async def test_small_talk_has_no_risk_whatever_is_said_of_it() -> None:
    record = Record(response="Sure! It is there. I hope this helps.", contexts=("c",))
    claims = judged(record, *[(r, "neutral") for r in (0.99, 0.1, 0.99)])
    score = await run(record, {"claims": claims})
    assert [u.risk is None for u in score.units] == [True, False, True]
    assert score.risk == score.units[1].risk < 0.5
    thanks = Record(response="You're welcome! Anything else?", contexts=("c",))
    score = await run(thanks, {"claims": 1.0})
    assert (score.risk, score.raw["abstained"], score.units) == (0, True, ())
    found = veridical.check_one("You're welcome!", contexts=["The tower is in Paris."])
    assert (found.risk, found.verdict, found.reason) == (0, "unchecked", "no_statement")


async def test_without_anything_to_check_by_it_does_not_apply() -> None:
    score = await run(Record(response="a"), {})
    assert score.status == "not_applicable" and "has no contexts, reference" in score.reason
    score = await run(Record(response="a", contexts=("c",)), {"claims": Score.failed("broken")})
    assert score.status == "failed" and "claims: broken" in score.reason


# --- prior ------------------------------------------------------------------------------------


async def test_a_prior_shifts_risks_by_odds_and_no_label() -> None:
    record = Record(response=TEXT, contexts=("c",))
    given = {"claims": judged(record, (0.3, "entailment"), (0.6, "contradiction"))}
    even = await run(record, given)
    rare = await run(record, given, "ensemble(prior=0.1)")
    for a, b in zip(even.units, rare.units, strict=True):
        odds = a.risk / (1 - a.risk) / 9
        assert b.risk == pytest.approx(odds / (1 + odds), abs=1e-5)
        assert (a.label, a.probabilities) == (b.label, b.probabilities)
    assert rare.risk == max(u.risk for u in rare.units)
    assert rare.raw["even_risk"] == even.risk == even.raw["even_risk"]


def test_a_prior_needs_a_calibrated_risk() -> None:
    (bound,) = [b for b in resolve(None, prior=0.2) if b.scorer.name == "ensemble"]
    assert bound.key == "ensemble(prior=0.2)"
    with pytest.raises(UsageError, match="requires the scorer ensemble, whose calibrated risk"):
        resolve("ngram", prior=0.2)
    with pytest.raises(UsageError, match="requires weights=default; label-free weights give"):
        resolve("ensemble(weights=label_free)", prior=0.2)
    with pytest.raises(UsageError, match="less than 1"):
        resolve(None, prior=1.0)


# --- what it is -------------------------------------------------------------------------------


def test_the_preset_is_the_ensemble_and_its_members() -> None:
    members = {n for field in default.FIELDS for n in default.member_names(field)}
    shown = members - default.READERS - {default.WORDS}  # the ensemble's own units have the words
    assert {b.scorer.name for b in resolve(None)} == {*shown, "ensemble"}
    named = {b.key for b in resolve(None, proxy="smollm2")} - {b.key for b in resolve(None)}
    assert "ensemble(language_model=smollm2)" in named  # and others that read by it
    asking = {b.key for b in resolve(None, llm=True)}
    assert asking - {b.key for b in resolve(None)} == {
        "statement_judge",
        "ensemble(judge=true)",
    }


def test_the_signature_changes_with_the_file(monkeypatch) -> None:
    (bound,) = resolve("ensemble")
    assert f"weights:default@{default.version()}" in bound.signature()
    assert resolve(f"ensemble(weights='default@{default.version()}')")[0].key == bound.key
    with pytest.raises(UsageError, match="not 00000000"):
        resolve("ensemble(weights='default@00000000')")
    with pytest.raises(UsageError, match="did you mean 'label_free'"):
        resolve("ensemble(weights=labelfree)")


def said_by_a_judge(record: Record, *risks: float) -> Score:
    units = [Unit.of(s, r, raw=r) for s, r in zip(record.sentences, risks, strict=True)]
    return Score.of(max(risks), units=units)


async def beside_a_judge(
    record: Record, member: str, risk: float, judge: float
) -> tuple[float, Score]:
    """The log-odds of both sentences by a member alone, and the score of member and judge."""
    scores = {member: judged(record, (risk, "neutral"), (risk, "neutral"))}
    text = "ensemble(judge=true)"
    alone = (await run(record, scores, text)).units[0].risk
    scores["statement_judge"] = said_by_a_judge(record, judge, judge)
    return math.log(alone / (1 - alone)), await run(record, scores, text)


@pytest.mark.parametrize(
    ("members", "judge"), [(0.3, 0.1), (0.9, 0.1), (0.9, 0.45), (0.1, 0.55), (0.9, 0.95)]
)
async def test_a_judge_leads_and_the_members_move_its_risk(members: float, judge: float) -> None:
    record = Record(prompt="q", response=TEXT, contexts=("c",))
    before, score = await beside_a_judge(record, "claims", members, judge)
    wanted = odds(judge) + 0.25 * before
    if (wanted >= 0) != (judge >= 0.5):  # on the judge's side of even, and next to it
        wanted = math.copysign(0.04, judge - 0.5)
    for unit in score.units:
        assert unit.risk == pytest.approx(1 / (1 + math.exp(-wanted)), abs=1e-5)
        assert (unit.risk >= 0.5) == (judge >= 0.5)
    assert score.raw["weights"]["statement_judge"] == 1.0
    of_claims = default.fit("contexts", frozenset({"claims"})).coefficients["claims"]
    assert score.raw["weights"]["claims"] == pytest.approx(0.25 * of_claims, abs=1e-5)


@pytest.mark.parametrize(("members", "judge"), [(0.9, 0.3), (0.1, 0.6), (0.7, 0.02), (0.3, 0.98)])
async def test_by_a_reference_judge_and_members_add_up(members: float, judge: float) -> None:
    record = Record(prompt="q", response=TEXT, reference=("r",))
    before, score = await beside_a_judge(record, "reference_match", members, judge)
    wanted = 1 / (1 + math.exp(-odds(judge) - before))
    assert [u.risk for u in score.units] == pytest.approx([wanted] * 2, abs=1e-5)
    # the surer one decides
    surer = judge if abs(odds(judge)) > abs(before) else members
    assert (score.risk >= 0.5) == (surer >= 0.5)


async def test_a_judge_alone() -> None:
    text = "ensemble(judge=true)"
    record = Record(prompt="q", response=TEXT)
    closed = await run(record, {"statement_judge": said_by_a_judge(record, 0.2, 0.9)}, text)
    assert closed.raw["judged"] == "llm" and closed.raw["sets"] == []
    assert [u.label for u in closed.units] == [None, None]
    assert closed.risk == closed.units[1].risk == pytest.approx(0.02 + 0.96 * 0.9, abs=1e-5)
    # the embedded model reads none of it, the judge does
    record = Record(prompt="q", response=TEXT, contexts=("c",))
    score = await run(record, {"statement_judge": said_by_a_judge(record, 0.2, 0.3)}, text)
    assert score.raw["judged"] == "sources" and score.risk < 0.5
    assert score.raw["weights"] == {"statement_judge": 1.0}


async def test_a_judge_moves_the_risk_by_samples_and_by_certainty() -> None:
    text = "ensemble(judge=true)"
    record = Record(prompt="q", response=TEXT, logprobs=[{"token": TEXT, "logprob": -0.2}])
    given = {"avg_logprob": 0.3, "min_probability": 0.3}
    without = await run(record, given, text)
    for risk, higher in ((0.99, True), (0.01, False)):
        judge = (
            said_by_a_judge(record, 0.5, risk) if higher else said_by_a_judge(record, 0.01, 0.01)
        )
        score = await run(record, {**given, "statement_judge": judge}, text)
        assert (score.risk > without.risk) == higher and score.raw["judged"] == "logprobs"


# --- by the embedded models -------------------------------------------------------------------


def test_agreeing_samples_give_a_low_risk_and_disagreeing_ones_a_high_one() -> None:
    agreeing = ["The tower is 93 metres high.", "The tower is 93 metres tall.", "93 metres."]
    others = ["The tower is 41 metres high.", "It is 60 metres tall.", "The tower is 12 m high."]
    low, high = veridical.check([{"response": SAME, "samples": s} for s in (agreeing, others)])
    assert low.risk < 1 / 3 and low.verdict == "consistent"
    assert high.risk > 2 / 3 and high.verdict == "inconsistent"


def test_a_prior_changes_no_verdict() -> None:
    rows = [{"response": SAME, "samples": ["It is 41 m.", "It is 60 metres tall.", "12 metres."]}]
    (even,), (rare,) = veridical.check(rows), veridical.check(rows, prior=0.05)
    assert rare.risk < 0.5 < even.risk and rare.verdict == even.verdict == "inconsistent"


def test_risk_units_and_verdict_agree_by_contexts() -> None:
    context = "The tower in Lund was built in 1911. It is 93 metres high and made of brick."
    rows = [
        {"response": "The tower was built in 1911.", "contexts": context},
        {"response": "It is made of brick. It is 41 metres high.", "contexts": context},
        {"response": "I cannot answer that.", "contexts": context},
    ]
    right, wrong, none = veridical.check(rows)
    assert right.verdict == "supported" and right.risk < 1 / 3 and right.by == "ensemble"
    units = wrong.scores["ensemble"].units
    assert wrong.verdict in ("contradicted", "unsupported") and wrong.risk == units[1].risk
    assert units[0].risk < 0.5 < units[1].risk and units[0].label == "entailment"
    assert all(e.text == context[e.start : e.end] for u in units for e in u.evidence)
    assert (none.verdict, none.reason) == ("unchecked", "no_statement")


GERMAN = "Die Brücke wurde 1932 gebaut und ist zwei Kilometer lang."


@pytest.mark.parametrize(
    ("response", "contexts"),
    [
        ("Die Brücke ist 1932 gebaut worden und nicht sehr lang.", [GERMAN]),
        ("The bridge was built in 1932.", [GERMAN]),
        ("Die Brücke ist seit 1932 fertig und wird gern benutzt.", ["The bridge opened in 1932."]),
        ("Мост был построен в 1932 году.", ["Мост построили в 1932 году."]),
        ("桥建于1932年。", ["这座桥建于1932年。"]),
        ("Anna Keller.", ["Die Leiterin des Museums ist Anna Keller, und das seit Jahren."]),
    ],
)
def test_what_no_model_reads_is_unchecked(response: str, contexts: list[str]) -> None:
    results = veridical.check([{"response": response, "contexts": contexts}])
    (result,) = results
    assert (result.verdict, result.reason, result.risk) == ("unchecked", "language", None)
    units = result.scores["ensemble"].units
    assert units and all(u.risk is None and u.reason == "language" for u in units)
    assert results.summary().unread == 1


@pytest.mark.parametrize(
    ("response", "context"),
    [
        ("Die Brücke wurde 1951 gebaut und ist nicht lang.", GERMAN),
        ("El puente se construyó en 1951 y no es largo.", "El puente se construyó en 1932."),
        ("Башня была построена в 1951 году.", "Башню построили в 1932 году."),
        (
            "Das Gerät wiegt 12 kg und ist nicht schwer.",
            "Das Gerät wiegt 15 kg und hat zwei Räder.",
        ),
        ("The bridge was built in 1951.", GERMAN),
        ("Het museum wordt geleid door Piet Bakker.", "Het museum wordt geleid door Anna Keller."),
    ],
)
def test_wrong_figures_and_names_are_flagged_in_any_language(response: str, context: str) -> None:
    (result,) = veridical.check([{"response": response, "contexts": context}])
    assert result.verdict in ("unsupported", "contradicted") and result.risk > 0.5
    assert "--" not in result.explain()


@pytest.mark.parametrize(
    ("response", "context"),
    [
        ("Die Pause dauert 3 Tage und ist nicht bezahlt.", "Die Pause dauert drei Tage."),
        ("The break lasts 12 hours.", "La pausa dura doce horas y no se paga."),
        ("Le Pont Neuf est le plus vieux pont de la ville.", "Le pont est le plus vieux."),
    ],
)
def test_what_may_stand_in_words_is_not_flagged(response: str, context: str) -> None:
    (result,) = veridical.check([{"response": response, "contexts": context}])
    assert result.verdict == "unchecked"


def test_the_readable_part_of_an_answer_is_judged() -> None:
    contexts = ["The bridge was built in 1932. It is two kilometres long."]
    english, german = "The bridge was built in 1932.", "Die Brücke ist sehr schön und wird geliebt."
    wrong = "The bridge has never been built."
    mixed, flagged, other = veridical.check(
        [
            {"response": f"{english} {german}", "contexts": contexts},
            {"response": f"{wrong} {german}", "contexts": contexts},
            {"response": english, "contexts": [*contexts, GERMAN]},
        ]
    )
    first, second = mixed.scores["ensemble"].units
    assert first.risk is not None and (second.risk, second.reason) == (None, "language")
    assert (mixed.verdict, mixed.reason) == ("unchecked", "language") or mixed.risk > 0.5
    assert flagged.verdict in ("contradicted", "unsupported", "unclear")
    assert other.scores["nli_grounding"].units[0].risk is not None


def test_an_llm_judge_reads_any_language() -> None:
    gate = LanguageGate(None, "", None)
    assert gate.open and gate.reads("Cyrillic") and gate.reads_sentence(Span(0, 1, "Да"))


def test_the_file_says_what_it_was_fitted_on() -> None:
    path = Path(default.__file__).with_name("default.json")
    content = json.loads(path.read_text("utf-8"))
    assert content["labels_used"] is True and content["models"]
    assert set(content["models"]) == set(content["by_nli"]) == set(default.nli_models())
    for entry in (e for fields in content["by_nli"].values() for e in fields.values()):
        assert sum(entry["fitted_on"].values()) > 50


async def test_a_wrong_sentence_shows_its_wrong_words() -> None:
    """By an NLI model that tells them; the verdict and the worst sentence stay. The first sentence
    is right for sure: each sentence's risk is drawn towards the answer's mean."""
    record = Record(response=TEXT, contexts=("c",))
    first, second = record.sentences
    words = [
        Unit.of(first, 0.1, raw=0.1),
        Unit.of(second, 0.9, raw=0.9),
        *(
            Unit.of(span, risk, raw=risk, level="span", label="unsupported")
            for span, risk in ((Span(0, 3, "One"), 0.6), (Span(20, 25, "there"), 0.9))
        ),
    ]
    said = judged(record, (0.002, "entailment"), (0.98, "contradiction"))
    evidence = Fixed(
        record, {"claims": said, "nli_grounding": said, "spans": Score.of(0.9, units=words)}
    )
    evidence.nli = "veridical-nli-base"
    (bound,) = REGISTRY.parse("ensemble")
    score = await guarded(bound, record, evidence)
    shown = [(u.level, u.text, u.label) for u in score.units]
    assert shown == [
        ("sentence", "One is here.", "entailment"),
        ("sentence", "Two is there.", "contradiction"),
        ("span", "there", "unsupported"),  # that of the right sentence is left out
    ]
    result = Result(
        id="a",
        row=0,
        risk=score.risk,
        by="ensemble",
        verdict="contradicted",
        scores={"ensemble": score},
    )
    assert [u.text for u in result.spans] == ["One is here.", "Two is there.", "there"]
    assert result.worst is not None and result.worst.text == "Two is there."
    told = result.explain()
    assert 'wrong words: "there"' in told and told.count("there") == 2
