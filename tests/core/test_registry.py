from __future__ import annotations

import math
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, Registry, Scorer, scorer
from veridical.core.resolving import resolve
from veridical.core.scores import Score
from veridical.errors import UsageError
from veridical.prompts import Prompt, load_prompt


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
        ("ngram, ngram(n=1)", "named twice"),
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
    """``all`` is all that calls no LLM, and with one what asks little of it; ``halocheck`` and
    ``selfcheck_prompt`` are left out for their cost. ``auto`` is what makes the verdict."""
    fast = {b.key for b in resolve(None, "fast")}
    assert fast == {"exact_match", "ngram", "ngram_presence", "support", "knowledge_f1"}
    everything = {b.key for b in resolve(None, "all")}
    assert everything == fast | {
        "actions",
        "answer_relevancy",
        "citations",
        "context_precision",
        "context_recall",
        "factual_correctness",
        "turns",
        "tool_calls",
        "claims",
        "spans",
        "reference_match",
        "rouge_l",
        "sacrebleu",
        "cosine",
        "checkembed",
        "bert_score",
        "selfcheck_bertscore",
        "knowledge_bertscore",
        "knowledge_precision",
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
        "avg_logprob",
        "max_logprob",
        "avg_entropy",
        "max_entropy",
        "min_probability",
        "sequence_probability",
        "perplexity",
        "token_negentropy",
        "probability_margin",
        "monte_carlo_probability",
        "cocoa",
        "ensemble",
    }
    asking = {b.scorer.name for b in resolve(None, "all", llm=True)} - everything
    assert asking == {"judge", "statement_judge", "verbalized", "bsdetector", "p_true"}
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


# Every numeric parameter of a built-in scorer, with values just outside its limits.
OUTSIDE = {
    "answer_relevancy": {"questions": [0, 21]},
    "avg_entropy": {"k": [1, 10**7]},
    "bert_score": {"baseline": [-0.1, 1.0]},
    "boosted_prob": {"jump": [-0.1, 1.0], "least": [-0.1, 1.0]},
    "bsdetector": {"alpha": [-0.1, 1.1], "beta": [-0.1, 1.1]},
    "ccp": {"k": [1, 101], "least": [-0.1, 1.1]},
    "ces": {"k": [1, 10**7]},
    "claim_graph": {"threshold": [0.0, 1.1]},
    "claim_qa": {"questions": [0, 11], "answers": [0, 21], "temperature": [-0.1, 2.1]},
    "panel": {"repeats": [0, 101], "temperature": [-0.1, 2.1]},
    "sar": {"lam": [0.0, 1001.0]},
    "self_certainty": {"vocabulary": [1, 10**8], "k": [1, 10**7]},
    "snne": {"tau": [0.0, 1001.0]},
    "checkembed": {"rebase": [-1.1, 1.0]},
    "eccentricity": {"threshold": [0.0, 2.1]},
    "ensemble": {"prior": [0.0, 1.0]},
    "first_token_entropy": {"k": [1, 10**7]},
    "g_eval": {"draws": [0, 101]},
    "judge": {"temperature": [-0.1, 2.1], "max_tokens": [0, 10**9], "draw": [-1, 10**7]},
    "kle": {"t": [0.0, 1e7], "kappa": [0.0, 1e7], "nu": [0.0, 1e7]},
    "citations": {"top": [-1, 1001]},
    "context_precision": {"at": [0], "top": [0]},
    "context_recall": {"top": [0]},
    "factual_correctness": {"top": [0]},
    "turns": {"top": [-1, 1001]},
    "claims": {"weights": [(0.0, 0.5, 1.1)], "top": [0], "window": [99], "shots": [2]},
    "factool": {"top": [0]},
    "factscore": {"gamma": [-0.1], "top": [0]},
    "knowledge_bertscore": {"baseline": [-0.1, 1.0]},
    "max_entropy": {"k": [1, 10**7]},
    "nli_grounding": {"top": [-1, 1001]},
    "spans": {"top": [-1, 1001]},
    "ngram": {"n": [0, 6], "k": [-0.1, 1e7]},
    "ngram_presence": {"n": [0, 6], "k": [0.0, 1e7]},
    "selfcheck_bertscore": {"baseline": [-0.1, 1.0]},
    "selfcheck_qa": {
        "questions": [0, 51],
        "beta1": [0.0, 1.0],
        "beta2": [0.0, 1.0],
        "answerable": [-0.1, 1.1],
        "seed": [-1, 2**63],
    },
    "token_negentropy": {"k": [1, 10**7]},
}


def numeric(scorer: Scorer) -> list[str]:
    def is_number(annotation: object) -> bool:
        parts = get_args(annotation)
        if get_origin(annotation) is Literal:
            return any(type(p) is int for p in parts)
        return annotation in (int, float) or any(map(is_number, parts))

    return [n for n, p in scorer.parameters.items() if is_number(p.annotation)]


def test_every_numeric_parameter_has_limits() -> None:
    found = {s.name: names for s in REGISTRY.all() if (names := numeric(s))}
    installed = {n: p for n, p in found.items() if REGISTRY.installed(n)}
    assert installed == {name: list(limits) for name, limits in OUTSIDE.items()}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_value_outside_the_limits_is_named_when_the_scorer_is_read(name: str) -> None:
    for parameter, values in OUTSIDE[name].items():
        for value in [*values, math.inf, -math.inf, math.nan, "many", [1], 10**5000]:
            with pytest.raises(UsageError) as e:
                REGISTRY.bind(name, {parameter: value})
            assert str(e.value).startswith(f"{name}({parameter}=")
    with pytest.raises(
        UsageError, match=r"should be (greater|less) than|should be 1, 2|should be 0, 1 or 3"
    ):
        REGISTRY.parse(f"{name}({parameter}={OUTSIDE[name][parameter][0]})")


def test_every_default_keeps_its_own_limits() -> None:
    for s in REGISTRY.all():
        for name, parameter in s.parameters.items():
            if parameter.default is not None:
                s.validators[name](parameter.default)


def test_parameters_that_do_not_go_together_are_refused_before_a_run() -> None:
    for text, why in (
        ("ngram(k=0)", r"ngram\(k=0.0\): k must be above 0"),
        ("halludetect", "name the trained model"),
        ("judge(template=gpt_score_factuality)", "gpt_score_factuality must|requests no verdict"),
        ("judge(template=selfcheck_paper)", r"\{sentence\}, which this scorer does not fill"),
        ("verbalized(template=nli)", "does not fill"),
        ("panel(judges='self|nli')", "does not fill"),
        ("g_eval(template=mqag_questions)", "requests no verdict"),
        ("gpt_score(template=likert)", "a user message and an assistant message"),
        ("selfcheck_prompt(template=likert)", r"likert must contain \{sample\} and \{sentence\}"),
    ):
        with pytest.raises(UsageError, match=why):
            resolve(text)


# What a signature must hold of the templates that a scorer may ask by.
PROMPTS = {
    "judge": ["correct_incorrect"],
    "judge(template=likert)": ["likert"],
    "verbalized": ["verbalized"],
    "bsdetector": ["bsdetector_first", "bsdetector_second"],
    "g_eval": ["g_eval_consistency", "g_eval_form", "g_eval_steps"],
    "gpt_score": ["gpt_score_factuality"],
    "p_true": ["p_true", "p_true_samples"],
    "panel(judges='self, other|likert')": ["correct_incorrect", "likert"],
    "selfcheck_prompt": ["selfcheck_paper"],
    "selfcheck_qa(backend=llm)": ["mqag_answer", "mqag_answerable", "mqag_questions"],
    "selfcheck_qa": [],
    "ngram": [],
}


@pytest.mark.parametrize("text", PROMPTS)
def test_a_signature_holds_the_versions_of_the_templates(text: str) -> None:
    (bound,) = REGISTRY.parse(text)
    names = [p.partition("@")[0] for p in bound.prompts]
    assert names == PROMPTS[text]
    for prompt in bound.prompts:
        assert re.fullmatch(r"[a-z_]+@[0-9a-f]{8}", prompt)
        assert f"prompt:{prompt}" in bound.signature("m").split("|")


def test_a_scorer_that_asks_an_llm_says_by_which_templates() -> None:
    for s in REGISTRY.all():
        bound = REGISTRY.bind(s.name, {})
        if "llm" in bound.costs:
            assert bound.prompts, s.name
    whole = REGISTRY.bind("claims", {"extractor": "llm_triplets", "checker": "llm_joint"})
    part = REGISTRY.bind("claims", {"extractor": "llm_triplets"})
    assert set(part.prompts) < set(whole.prompts) and part.prompts
    assert not REGISTRY.bind("claims", {}).prompts


def test_a_changed_template_changes_the_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signature(text: str) -> str:
        return REGISTRY.parse(text)[0].signature()

    packaged = signature("bsdetector")
    changed = replace(load_prompt("bsdetector_second"), version="00000000")

    def edited(name: str) -> Prompt:
        return changed if name == changed.name else load_prompt(name)

    monkeypatch.setattr("veridical.prompts.prompt.load_prompt", edited)
    assert signature("bsdetector") != packaged
    assert signature("bsdetector").count("@00000000") == 1
    monkeypatch.undo()
    assert signature("bsdetector") == packaged

    own = tmp_path / "mine.toml"
    own.write_bytes((resources.files("veridical.prompts") / "likert.toml").read_bytes())
    spec = f"judge(template='{own}')"
    (bound,) = REGISTRY.parse(spec)
    before = bound.signature()
    (again,) = REGISTRY.parse(bound.spec)
    assert again.signature() == before
    own.write_text(own.read_text() + "\n# edited\n")
    assert signature(spec) != before
    # what was bound before keeps the version it was bound with, or is refused
    assert replace(bound).signature() == before
    with pytest.raises(UsageError, match="has changed"):
        REGISTRY.parse(bound.spec)


def test_the_old_name_of_auxiliary_holds_with_a_warning() -> None:
    async def function(record: object, evidence: object) -> None: ...

    with pytest.deprecated_call(match="apart is auxiliary now"):
        old = Scorer.of("x", function, level="response", source="-", apart=True)  # type: ignore[arg-type]
    assert old.auxiliary
    assert not Scorer.of("x", function, level="response", source="-").auxiliary  # type: ignore[arg-type]
