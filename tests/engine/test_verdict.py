"""Verdicts rest on what was scored, and agree with the units that are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Result, ResultSummary, Score, ScoreJson, Unit
from veridical.engine.verdict import judge_record
from veridical.text.scripts import UNREAD
from veridical.text.spans import Span

CONTEXT = ["The tower was built in 1912. It is 57 m tall."]
RECORD = Record(row=0, response="It is 57 m tall. It is red.", contexts=CONTEXT, samples=["A."])


def of(record: Record, **scores: Score) -> tuple[Any, ...]:
    bound = [REGISTRY.parse(name)[0] for name in scores]
    record_verdict = judge_record(
        record,
        bound,
        {b.key: ScoreJson.of(s) for b, s in zip(bound, scores.values(), strict=True)},
    )
    return record_verdict.by, *record_verdict.verdict


def judged(*labels: str, risk: float = 0.9) -> Score:
    units = [
        Unit.of(Span(i, i + 1, RECORD.response[i]), 0.1 if x == "entailment" else 0.9, label=x)
        for i, x in enumerate(labels)
    ]
    return Score.of(risk, units=units)


@pytest.mark.parametrize(
    ("labels", "verdict"),
    [
        (("entailment", "entailment"), "supported"),
        (("entailment", "neutral"), "unsupported"),
        (("neutral", "contradiction", "entailment"), "contradicted"),
    ],
)
def test_the_worst_statement_makes_the_verdict(labels: tuple[str, ...], verdict: str) -> None:
    assert of(RECORD, nli_grounding=judged(*labels)) == ("nli_grounding", verdict, None)


def test_every_flagged_unit_has_a_kind_and_no_other_has() -> None:
    record = Record(row=0, response="Built in 1950. It is red. It is 57 m tall.", contexts=CONTEXT)
    spans = [Span(0, 14, "Built in 1950."), Span(15, 25, "It is red."), Span(26, 42, "It is 57 m.")]
    labels = ("contradiction", "neutral", "entailment")
    units = [
        Unit.of(span, 0.9 if label != "entailment" else 0.1, label=label, kind=kind)
        for span, label, kind in zip(spans, labels, ("date", None, "other"), strict=True)
    ]
    kinds = {}
    for name in ("nli_grounding", "summac_zs", "cosine"):
        bound = REGISTRY.parse(name)[0]
        samples = Record(row=0, response=record.response, samples=["Built in 1912."])
        record_verdict = judge_record(
            samples if name == "cosine" else record,
            [bound],
            {bound.key: ScoreJson.of(Score.of(0.9, units=units))},
        )
        made = json.loads(record_verdict.scores[bound.key].text)["units"]
        kinds[name] = [unit.get("kind", "absent") for unit in made]
    assert kinds["nli_grounding"] == kinds["summac_zs"] == ["date", "addition", "absent"]
    assert kinds["cosine"] == ["date", None, "absent"]  # samples name no kind


@pytest.mark.parametrize(
    ("name", "risk", "verdict"),
    [
        ("support", 0.0, ("unchecked", "not_judged")),
        ("knowledge_f1", 0.9, ("unchecked", "not_judged")),
        ("knowledge_bertscore", 0.9, ("unchecked", "not_judged")),
        ("cosine", 0.2, ("consistent", None)),
        ("semantic_entropy", 0.9, ("unchecked", "not_judged")),  # it has no fitted threshold
        ("noncontradiction", 0.5, ("inconsistent", None)),
        ("hhem", 0.2, ("supported", None)),
        ("hhem", 0.8, ("unsupported", None)),
    ],
)
def test_what_a_score_rests_on(name: str, risk: float, verdict: tuple[str, str | None]) -> None:
    assert of(RECORD, **{name: Score.of(risk)}) == (name, *verdict)


def test_the_basis_is_what_was_compared_with() -> None:
    own = Record(row=0, response="It is.", samples=["Yes."])
    assert REGISTRY.parse("claims")[0].basis(RECORD) == "sources"
    assert REGISTRY.parse("claims")[0].basis(own) == "agreement"
    assert REGISTRY.parse("nli_grounding(against=samples)")[0].basis(RECORD) == "agreement"
    assert REGISTRY.parse("judge")[0].basis(own) == "words"
    assert REGISTRY.parse("judge")[0].basis(RECORD) == "sources"
    assert REGISTRY.parse("avg_logprob")[0].basis(own) == "agreement"
    assert REGISTRY.parse("ngram")[0].basis(own) == "words"


@pytest.mark.parametrize("response", ["", " \n", "I don't know.", "Sorry, I cannot answer that."])
def test_no_statement_is_never_supported(response: str) -> None:
    record = Record(row=0, response=response, contexts=CONTEXT, samples=["A."])
    assert of(record, nli_grounding=judged("entailment"))[1:] == ("unchecked", "no_statement")


def test_courtesies_are_no_statement_whatever_was_scored() -> None:
    record = Record(row=0, response="Certainly! I hope this helps.", contexts=["It is."])
    assert of(record, nli_grounding=judged("neutral"))[1:] == ("unchecked", "no_statement")


def test_why_nothing_was_scored() -> None:
    nothing = Score.not_applicable("no")
    bare = Record(row=0, response="It is.")
    assert of(bare, nli_grounding=nothing) == (None, "unchecked", "nothing_to_check")
    assert of(RECORD, nli_grounding=nothing) == (None, "unchecked", "not_judged")
    unread = Score.not_applicable(f"the model reads en; {UNREAD}")
    assert of(RECORD, nli_grounding=unread) == (None, "unchecked", "language")
    failed = of(RECORD, nli_grounding=Score.failed("broke"), support=nothing)
    assert failed == (None, "unchecked", "failed")


def test_a_mean_of_several_is_a_score_with_sentences(tmp_path: Path) -> None:
    results = veridical.check(
        [{"response": RECORD.response, "contexts": CONTEXT}], "support, nli_grounding"
    )
    [result] = results
    assert result.by == "quantile_mean"
    assert result.verdict in ("unsupported", "contradicted")
    score = result.scores["quantile_mean"]
    assert score.risk == result.risk
    assert [u.text for u in score.units] == ["It is 57 m tall.", "It is red."]
    first, second = (u.risk for u in score.units)
    assert first is not None and second is not None and first < second
    summary = results.summary()
    assert summary.verdicts == {result.verdict: 1} and not summary.unchecked
    assert list(summary.scorers) == ["support", "nli_grounding"]


def test_lines_of_earlier_versions_are_unchecked() -> None:
    line = json.dumps({"id": 1, "row": 0, "risk": 0.1, "by": "cosine", "scores": {}})
    for model in (Result, ResultSummary):
        result = model.model_validate_json(line)
        assert (result.verdict, result.reason) == ("unchecked", "earlier_version")


def test_what_speaks_of_something_else_makes_no_verdict_and_joins_no_risk() -> None:
    record = RECORD.model_copy(update={"reference": ("It is 57 m tall.",)})
    recall = Score.of(0.9)
    assert of(record, context_recall=recall) == ("context_recall", "unchecked", "not_judged")
    both = of(record, context_recall=recall, citations=Score.of(0.2))
    assert both == ("quantile_mean", "unchecked", "not_judged")
    joined = of(record, factual_correctness=judged("entailment", risk=0.1), context_recall=recall)
    assert joined == ("factual_correctness", "supported", None)
    agreeing = of(record, answer_relevancy=Score.of(0.1), cosine=Score.of(0.1))
    assert agreeing == ("cosine", "consistent", None)
    nothing = Score.not_applicable("the response cites nothing")
    assert of(record, citations=nothing) == (None, "unchecked", "nothing_to_check")
    unscored = of(record, cosine=nothing, context_recall=recall)  # which is no risk of the answer
    assert unscored == (None, "unchecked", "not_judged")
