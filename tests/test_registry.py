from __future__ import annotations

from typing import Literal

import pytest

from veridical.errors import UsageError
from veridical.evidence import Evidence
from veridical.records import Record
from veridical.registry import REGISTRY, Registry, Scorer, resolve, scorer
from veridical.scores import Score


async def sample_scorer(
    record: Record, evidence: Evidence, *, n: int = 1, stat: Literal["avg", "max"] = "max"
) -> Score:
    """Says nothing.

    More text.
    """
    return Score.of(0.5)


def made(name: str = "s", function: object = sample_scorer, **more: object) -> Scorer:
    settings = {
        "level": "response",
        "needs": frozenset(),
        "cost": "free",
        "source": "here",
        "raw_is": "risk",
        "raw_key": None,
        "presets": frozenset({"auto"}),
        "version": 1,
    }
    return Scorer(name=name, function=function, **{**settings, **more})  # type: ignore[arg-type]


def test_calls_are_read_as_calls_and_never_evaluated() -> None:
    bound = REGISTRY.parse("exact_match, ngram(n=2, stat=avg), ngram(n=3)")
    assert [b.key for b in bound] == ["exact_match", "ngram(n=2,stat=avg)", "ngram(n=3)"]
    for bad in (
        "ngram(__import__('os').system('x'))",
        "ngram(n=2",
        "[ngram]",
        "ngram.x",
        "a b",
        "ngram(2)",
        "ngram(n=1, n=2)",
        "*ngram",
        "ngram(**{'n': 1})",
        "(" * 500,
    ):
        with pytest.raises(UsageError):
            REGISTRY.parse(bad)


def test_default_parameters_do_not_show_in_the_key_but_do_in_the_signature() -> None:
    (bound,) = REGISTRY.parse("ngram(n=1)")
    assert bound.key == "ngram"
    assert "n:1" in bound.signature("m").split("|")
    assert bound.signature("m").startswith("ngram|v1|m|")
    (again,) = REGISTRY.parse(bound.spec)
    assert again.key == bound.key and again.arguments == bound.arguments


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ngrm", "did you mean 'ngram'"),
        ("ngram(m=2)", "no parameter 'm'; it takes: "),
        ("ngram(n=two)", "n='two'"),
        ("ngram(stat=median)", "stat='median'"),
        ("ngram, ngram(n=1)", "asked for twice"),
        ("", "no scorers"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        resolve(text)


def test_against_goes_to_the_scorers_that_take_it_and_yields_to_an_explicit_one() -> None:
    keys = [
        b.key for b in resolve("ngram, checkembed, cosine(against=reference)", against="contexts")
    ]
    assert keys == ["ngram(against=contexts)", "checkembed", "cosine(against=reference)"]
    (bound,) = resolve("ngram", against="contexts")
    assert bound.needs == {"contexts"}
    assert [b.key for b in resolve("knowledge_bertscore", against="samples")] == [
        "knowledge_bertscore"  # which cannot compare with samples
    ]


def test_presets_are_those_of_the_contract() -> None:
    """All that needs no language model; ``halocheck`` is left out for its cost."""
    fast = {b.key for b in resolve(None, "fast")}
    assert fast == {"exact_match", "ngram", "ngram_presence", "support", "knowledge_f1"}
    auto = {b.key for b in resolve(None)}
    assert auto == fast | {
        "rouge_l",
        "sacrebleu",
        "cosine",
        "checkembed",
        "bert_score",
        "selfcheck_bertscore",
        "knowledge_bertscore",
        "selfcheck_nli",
        "noncontradiction",
        "entailment",
        "semantic_entropy",
        "semantic_negentropy",
        "semantic_sets",
        "semantic_density",
        "eigv",
        "degree",
        "eccentricity",
        "kle",
        "luq",
        "matched_unit",
        "summac_zs",
        "nli_grounding",
    }
    with pytest.raises(UsageError, match="preset"):
        resolve(None, "slow")


def test_two_functions_under_one_name_collide_and_a_reload_does_not() -> None:
    registry = Registry()
    registry.register(made())
    registry.register(made())

    async def other(record: Record, evidence: Evidence) -> Score:
        return Score.of(0)

    with pytest.raises(UsageError, match="registered twice"):
        registry.register(made(function=other))
    with pytest.raises(UsageError, match="async"):
        scorer("sync", level="response", source="here")(lambda r, e: Score.of(0))  # type: ignore[arg-type, return-value]


def test_signed_raw_grows_with_risk() -> None:
    assert made(raw_is="risk").signed_raw(Score.of(0.2, raw=3.0)) == 3.0
    assert made(raw_is="confidence").signed_raw(Score.of(0.2, raw=0.8)) == -0.8
    assert made(raw_key="f1").signed_raw(Score.of(0.2, raw={"f1": 0.7})) == 0.7
    assert made(raw_key="f1").signed_raw(Score.of(0.2, raw={"p": 0.7})) is None
    assert made().signed_raw(Score.failed("x")) is None
    assert made().summary == "Says nothing."
