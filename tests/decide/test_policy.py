"""Decisions by hand-worked cases, and policy files that are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

import veridical
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Result, ResultSummary, Score, Unit
from veridical.decide.policy import Policy
from veridical.decide.policy_file import read_policy
from veridical.errors import UsageError
from veridical.text.spans import Span

SCORERS = REGISTRY.parse("ngram, nli_grounding, support(against=contexts)")


def policy(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return Policy.read(path, SCORERS)[0]


def result(risk: float | None, **scores: Score) -> Result:
    known = {s.key: Score.not_applicable("no samples") for s in SCORERS}
    return Result(id="x", row=0, risk=risk, by=None, scores={**known, **scores})


def unit(risk: float | None, label: str | None = None, level: Any = "sentence") -> Unit:
    return Unit.of(Span(0, 1, "x"), risk, label=label, level=level)


@pytest.mark.parametrize(
    ("risk", "decision", "why"),
    [
        (0.0, "accept", "risk at most 0.3"),
        (0.3, "accept", "risk at most 0.3"),
        (0.1 + 0.2, "accept", "risk at most 0.3"),
        (0.300001, "review", "risk over 0.3"),
        (0.799999, "review", "risk over 0.3"),
        (0.79999999, "reject", "risk at least 0.8"),
        (0.8, "reject", "risk at least 0.8"),
        (1.0, "reject", "risk at least 0.8"),
        (None, "review", "risk is null"),
    ],
)
def test_thresholds(tmp_path: Path, risk: float | None, decision: str, why: str) -> None:
    found = policy(tmp_path, "accept = 0.3\nreject = 0.8").decide(result(risk))
    assert found == (decision, (why,))


def test_a_threshold_that_is_not_there_is_never_reached(tmp_path: Path) -> None:
    only_accept = policy(tmp_path, "accept = 0.5")
    assert [only_accept.decide(result(r)).decision for r in (0.5, 0.6, 1.0)] == [
        "accept",
        "review",
        "review",
    ]
    only_reject = policy(tmp_path, "reject = 0.5")
    assert [only_reject.decide(result(r)).decision for r in (0.0, 0.4, 0.5)] == [
        "review",
        "review",
        "reject",
    ]
    two_way = policy(tmp_path, "accept = 0.5\nreject = 0.5")
    assert [two_way.decide(result(r)).decision for r in (0.4, 0.5)] == ["accept", "reject"]


def test_the_risk_of_a_scorer(tmp_path: Path) -> None:
    made = policy(tmp_path, 'on = "ngram"\naccept = 0.3\nunscored = "reject"')
    assert made.decide(result(0.9, ngram=Score.of(0.2))) == ("accept", ("ngram at most 0.3",))
    assert made.decide(result(0.1, ngram=Score.failed("boom"))) == ("reject", ("ngram is null",))


def test_scorers_are_named_as_a_run_names_them(tmp_path: Path) -> None:
    made = policy(tmp_path, 'on = "support( against = contexts )"\naccept = 0.3')
    assert made.on == SCORERS[2].key


def test_strata_have_thresholds_of_their_own_and_inherit_the_rest(tmp_path: Path) -> None:
    made = policy(
        tmp_path,
        'by = "task"\naccept = 0.3\nreject = 0.9\n'
        '[strata.qa]\naccept = 0.1\n[strata.chat]\nreject = 0.6\n[strata."7"]\naccept = 0.5',
    )

    def decide(risk: float, **meta: Any) -> str:
        return made.decide(result(risk), made.stratum(Record(response="", meta=meta))).decision

    assert decide(0.2, task="qa") == "review"
    assert decide(0.95, task="qa") == "reject"
    assert decide(0.7, task="chat") == "reject"
    assert decide(0.2, task="chat") == "accept"
    assert decide(0.4, task=7) == "accept"
    for other in ({}, {"task": "else"}, {"task": None}, {"task": ["qa"]}, {"task": {"qa": 1}}):
        assert decide(0.2, **other) == "accept"
        assert decide(0.4, **other) == "review"


def test_rules_make_decisions_more_severe_and_never_milder(tmp_path: Path) -> None:
    made = policy(
        tmp_path,
        """
accept = 0.5
reject = 0.9
[[rules]]
scorer = "nli_grounding"
unit = { label = "contradiction", over = 0.8 }
then = "review"
[[rules]]
scorer = "ngram"
over = 0.7
then = "reject"
[[rules]]
status = "failed"
then = "review"
""",
    )

    def decide(risk: float, **scores: Score) -> tuple[str, tuple[str, ...]]:
        return made.decide(result(risk, **scores))

    def grounding(*units: Unit) -> Score:
        return Score.of(0.1, units=units)

    assert decide(0.1, nli_grounding=grounding(unit(0.8, "contradiction")))[0] == "accept"
    assert decide(0.1, nli_grounding=grounding(unit(0.9, "neutral")))[0] == "accept"
    assert decide(0.1, nli_grounding=grounding(unit(None, "contradiction")))[0] == "accept"
    found = decide(0.1, nli_grounding=grounding(unit(0.2), unit(0.81, "contradiction")))
    assert found == (
        "review",
        ("rules[0]: a unit of nli_grounding labelled contradiction over 0.8",),
    )
    assert decide(0.95, nli_grounding=grounding(unit(0.9, "contradiction")))[0] == "reject"
    assert decide(0.1, ngram=Score.of(0.7))[0] == "accept"
    assert decide(0.1, ngram=Score.of(0.71)) == ("reject", ("rules[1]: ngram over 0.7",))
    assert decide(0.1, ngram=Score.failed("boom")) == ("review", ("rules[2]: a score failed",))
    both = decide(0.6, ngram=Score.failed("boom"))
    assert both == ("review", ("risk over 0.5", "rules[2]: a score failed"))


def test_unit_rules_by_level_and_by_any_scorer(tmp_path: Path) -> None:
    made = policy(
        tmp_path, 'accept = 1\n[[rules]]\nunit = {level = "claim", over = 0.5}\nthen = "reject"'
    )
    claim, sentence = unit(0.6, level="claim"), unit(0.6)
    assert made.decide(result(0.1, ngram=Score.of(0.1, units=[claim]))).decision == "reject"
    assert made.decide(result(0.1, ngram=Score.of(0.1, units=[sentence]))).decision == "accept"


def test_checkembeds_rule_of_thumb(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    rule = 'scorer = "checkembed(stat=frobenius)"\nrule = false\nthen = "review"'
    path.write_text(f"accept = 1\n[[rules]]\n{rule}")
    made = Policy.read(path, REGISTRY.parse("checkembed(stat=frobenius)"))[0]
    assert made.reads_units

    def decide(*samples: str) -> Any:
        row = {"response": samples[0], "samples": samples}
        (found,) = veridical.check([row], "checkembed(stat=frobenius)", store="none")
        return made.decide(found)

    assert decide("Paris is in France.", "Paris is in France.").decision == "accept"
    torn = decide("Paris is in France.", "Bananas are yellow.")
    cause = "rules[0]: checkembed(stat=frobenius)'s rule does not hold"
    assert torn == ("review", (cause,))
    unscored = result(0.1, **{"checkembed(stat=frobenius)": Score.failed("boom")})
    assert made.decide(unscored).decision == "accept"


def test_a_headline_is_enough_unless_a_rule_reads_units(tmp_path: Path) -> None:
    plain = policy(tmp_path, 'accept = 0.5\n[[rules]]\nstatus = "failed"\nthen = "review"')
    line = result(0.2, ngram=Score.failed("boom")).model_dump_json()
    assert not plain.reads_units
    assert plain.decide(ResultSummary.model_validate_json(line)).decision == "review"
    assert policy(
        tmp_path, 'accept = 1\n[[rules]]\nunit = {label = "neutral"}\nthen = "review"'
    ).reads_units


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "requires accept, reject or ensemble"),
        ("accept = 0.3\nrejct = 0.8", "unknown field 'rejct'; did you mean 'reject'"),
        ("accept = 1\n[[rules]]\nthen = 'review'\nrule = false", 'requires scorer = "checkembed"'),
        ("accept = 1.5", "accept: Input should be less than or equal to 1, not 1.5"),
        ("accept = nan", "accept: "),
        ("accept = inf", "accept: "),
        ('accept = "0.3"', "accept: Input should be a valid number, not '0.3'"),
        ("accept = true", "accept: Input should be a valid number"),
        ("accept = 0.9\nreject = 0.1", "accept (0.9) must not exceed reject (0.1)"),
        ("accept = 0.3\nveridical_policy = 2", "veridical_policy: Input should be 1"),
        ("accept = 0.3\non = 'ngrm'", "on: unknown scorer 'ngrm'; did you mean 'ngram'"),
        ("accept = 0.3\non = 'ngram(n=2)'", "on: the run does not score it"),
        ("accept = 0.3\non = 'cosine'", "the run does not score it; add it to --scorers"),
        ("accept = 0.3\non = 'ngram, cosine'", "must name one scorer"),
        ("accept = 0.3\non = '__import__(1)'", "on: "),
        ("accept = 0.3\n[strata.a]\naccept = 0.1", "strata require by"),
        ("accept = 0.3\nby = 't'\n[strata.a]\nreject = 0.1", "strata.a: accept (0.3) must"),
        ("accept = 0.3\nby = 't'\n[strata.a]\nacept = 0.1", "strata.a: unknown field 'acept'"),
        ("accept = 0.3\nunscored = 'ignore'", "unscored: "),
        ("accept = 0.3\n[[rules]]\nthen = 'accept'\nover = 0.1", "rules[0].then: "),
        ("accept = 0.3\n[[rules]]\nthen = 'review'", "rules[0]: requires exactly one of"),
        (
            "accept = 0.3\n[[rules]]\nthen = 'review'\nover = 0.1\nstatus = 'failed'",
            "rules[0]: requires exactly one of",
        ),
        ("accept = 0.3\n[[rules]]\nthen = 'review'\nunit = {}", "rules[0].unit: requires label"),
        (
            "accept = 0.3\n[[rules]]\nthen = 'review'\nunit = {label = 'Contradicton'}",
            "rules[0].unit: label 'Contradicton': did you mean 'contradiction'?",
        ),
        (
            "accept = 0.3\n[[rules]]\nthen = 'review'\nunit = {ovr = 0.1}",
            "rules[0].unit: unknown field 'ovr'; did you mean 'over'",
        ),
        (
            "accept = 0.3\n[[rules]]\nthen = 'review'\nover = 0.1\n"
            "[[rules]]\nscorer = 'nli'\nstatus = 'failed'\nthen = 'review'",
            "rules[1].scorer: unknown scorer 'nli'",
        ),
        ("accept = 0.3\nrules = 7", "rules: "),
        ("accept = ", "is not a TOML file"),
        ("accept = 0.3\n\x00", "is not a TOML file"),
        ("x = " + "[" * 5000, "is not a TOML file"),
        ("accept = 0.3\nensemble = 'absent.json'", "guarantee determines accept"),
        ("ensemble = 'absent.json'", "ensemble: "),
        ("ensemble = 'absent.json'\non = 'ngram'", "leave out on"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as e:
        policy(tmp_path, text)
    assert message in str(e.value)
    assert "policy.toml" in str(e.value)
    assert "\n" not in str(e.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"accept = \xff")
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 20) + b"\naccept = 0.3")
    for name, message in (
        ("absent.toml", "cannot read policy"),
        (".", "cannot read policy"),
        ("bytes.toml", "is not a TOML file"),
        ("large.toml", "is larger than"),
    ):
        with pytest.raises(UsageError, match=message):
            Policy.read(tmp_path / name, SCORERS)


def test_the_policies_of_the_docs_are_policies(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tuning.md").read_text("utf-8")
    first, second = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    made = policy(tmp_path, first)
    assert made.strata is not None and set(made.strata) == {"qa", "summarization"}
    (tmp_path / "second.toml").write_text(second, "utf-8")
    assert read_policy(tmp_path / "second.toml").ensemble == "ensemble.json"


def test_an_unclear_answer_is_at_least_reviewed(tmp_path: Path) -> None:
    made = policy(tmp_path, "accept = 0.9\nreject = 0.95")
    unclear = result(0.5).model_copy(update={"verdict": "unclear", "reason": None})
    assert made.decide(unclear) == ("review", ("the verdict is unclear",))
    assert made.decide(result(0.5)).decision == "accept"
    risky = result(0.96).model_copy(update={"verdict": "unclear", "reason": None})
    assert made.decide(risky).decision == "reject"


def test_a_policy_may_name_the_operating_point(tmp_path: Path) -> None:
    assert policy(tmp_path, 'accept = 0.3\nstrictness = "low"').strictness == "low"
    assert policy(tmp_path, "accept = 0.3").strictness is None
    with pytest.raises(UsageError, match="strictness"):
        policy(tmp_path, 'accept = 0.3\nstrictness = "severe"')
