"""Several checkers on a claim: how they are named, what most of them say, and a run of them."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from fake_models import FakeNli

import veridical
from veridical.claims import checkers
from veridical.claims.attribution import Verdict
from veridical.claims.claim import Claim
from veridical.claims.majority import CheckerChoice, choices, find_checkers, majority, models_of
from veridical.core.protocols import LABELS
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.errors import ModelError, UsageError

SOURCE, ANSWER = "Ada lived in Rome.", "Ada was in Rome."
CLAIM = Claim("Ada lived.", 0, 10, 0)


def verdict(label, p=0.8):
    rest = (1 - p) / 2
    probabilities = {x: p if x == label else rest for x in LABELS}
    return Verdict(CLAIM, label, probabilities, (), (), False, None)


def test_the_label_of_most_and_of_equally_many_the_first():
    for labels in product(LABELS, repeat=3):
        found = majority({f"c{i}": verdict(x) for i, x in enumerate(labels)})
        # RefChecker's major_agg
        assert found.label == Counter(labels).most_common(1)[0][0]
        assert [v.label for v in found.votes] == list(labels)
    two = {"a": verdict("neutral"), "b": verdict("contradiction")}
    assert majority(two).label == "neutral"
    assert majority(dict(reversed(two.items()))).label == "contradiction"


def test_probabilities_are_the_mean_of_those_that_say_it():
    found = majority(
        {"a": verdict("entailment", 0.9), "b": verdict("neutral"), "c": verdict("entailment", 0.5)}
    )
    assert found.probabilities == pytest.approx(
        {"entailment": 0.7, "neutral": 0.15, "contradiction": 0.15}
    )
    assert found.risk == pytest.approx(0.3)
    assert [(v.checker, v.probabilities["entailment"]) for v in found.votes] == [
        ("a", 0.9),
        ("b", pytest.approx(0.1)),
        ("c", 0.5),
    ]


def test_names():
    assert choices(" nli ,nli|base,llm | mine") == [
        CheckerChoice("nli"),
        CheckerChoice("nli", "base"),
        CheckerChoice("llm", "mine"),
    ]
    assert models_of("nli, nli_words|base, llm, repc", nli="mini") == {
        "nli": ["mini", "base"],
        "llm": [None],
    }
    found = find_checkers("nli|base, nli_words, llm", nli="mini", shots=3)
    assert list(found) == ["nli|base", "nli_words", "llm"]
    assert [c.nli for c in list(found.values())[:2]] == ["base", "mini"]
    assert found["llm"].shots == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("checker=''", "checker must be names separated by commas"),
        ("checker='nli,,llm'", "checker must be names separated by commas"),
        ("checker='nli|'", "checker must be names separated by commas"),
        ("checker='|base'", "checker must be names separated by commas"),
        ("checker='nli, nil'", "unknown claim checker 'nil'"),
        ("checker='nli, nli'", "the checker nli is named twice"),
        ("checker='nli|a, nli | a'", "the checker nli|a is named twice"),
        ("checker='repc|m.json'", "checker repc uses no NLI model and no LLM"),
        ("checker='nli, repc'", "name the trained model"),
        ("checker='nli|base, llm', nli=mini", "does not use nli; remove nli=mini"),
        ("checker='nli, llm|a', llm=b", "does not use llm; remove llm=b"),
        ("checker='nli, nli_words', shots=3", "does not use shots; remove shots=3"),
        ("checker='nli|/no/such/folder, nli_words'", "/no/such/folder"),
    ],
)
def test_what_does_not_fit_is_said_before_any_work(arguments, message):
    rows = [{"response": "Ada lived.", "contexts": "Ada."}]
    with Engine(processes=0) as engine, pytest.raises(UsageError) as found:
        veridical.check(rows, f"claims({arguments})", engine=engine)
    assert message in str(found.value)


def test_from_python():
    with pytest.raises(UsageError, match="has no open option 'nli'"):
        veridical.claims.check("a", "b", checker="nli|mini, llm", nli="mini")
    with pytest.raises(UsageError, match="has no open option 'shots'"):
        veridical.claims.check("a", "b", checker="nli, nli_words", shots=3)


def test_only_the_models_that_are_asked_are_loaded():
    def named(text, kind="nli"):
        (bound,) = REGISTRY.parse(text)
        return bound.models(kind)

    assert named("claims(checker='nli|a, nli_words|b')") == ("a", "b")
    assert named("claims(checker='nli|a, nli_words')") == ("a", None)
    assert named("claims(checker='nli|a, nli_words', nli=c)") == ("a", "c")
    assert named("claims(checker='nli|a, llm', select=cross_encoder, ranker=r)") == ("a", "r")
    assert named("claims(checker='nli, llm|x', extractor=llm_triplets)", "llm") == ("x", None)
    (bound,) = REGISTRY.parse("claims(checker='nli,llm_joint')")
    assert bound.costs == {"nli", "llm"}
    assert bound.arguments == {"checker": "nli, llm_joint"}
    assert {p.partition("@")[0] for p in bound.prompts} >= set(checkers.prompts_of("llm_joint"))
    (again,) = REGISTRY.parse(bound.spec)
    assert again.key == bound.key


@pytest.fixture
def two_models(monkeypatch):
    """Models called ``yes`` and ``no``, that say so."""

    def load(spec, **_):
        row = (0.0, 0.1, 0.9) if spec == "no" else (0.9, 0.1, 0.0)
        return FakeNli({(SOURCE, ANSWER): row})

    monkeypatch.setattr("veridical.models.load_nli", load)


def test_a_run_tells_what_each_says(two_models):
    text = "nli|yes, nli|no, nli_words|no"
    rows = [{"response": ANSWER, "contexts": SOURCE}]
    with Engine(processes=0) as engine:
        (result,) = veridical.check(rows, f"claims(checker='{text}')", engine=engine)
        (found,) = veridical.claims.check(ANSWER, SOURCE, checker=text, engine=engine)
    (score,) = result.scores.values()
    (unit,) = score.units
    assert unit.label == score.raw["label"] == result.verdict.replace("ed", "ion") == found.label
    assert unit.label == "contradiction"
    assert unit.evidence[0].text == SOURCE
    (claim,) = score.raw["claims"]
    assert [(v["checker"], v["label"]) for v in claim["votes"]] == [
        ("nli|yes", "entailment"),
        ("nli|no", "contradiction"),
        ("nli_words|no", "contradiction"),
    ]
    assert [v._asdict() for v in found.votes] == claim["votes"]
    assert score.signature.count("nli:fake-nli") == 2


def test_a_checker_that_fails_is_not_voted_over(two_models, monkeypatch):
    from veridical.claims.checkers.nli_words import NliWordsChecker

    async def fails(*args):
        raise ModelError("out of order")

    monkeypatch.setattr(NliWordsChecker, "__call__", fails)
    rows = [{"response": ANSWER, "contexts": SOURCE}]
    scorer = "claims(checker='nli|yes, nli|no, nli_words|no')"
    with Engine(processes=0) as engine:
        (result,) = veridical.check(rows, scorer, engine=engine)
    (score,) = result.scores.values()
    assert (score.status, score.risk) == ("failed", None)
    assert "out of order" in score.reason
