"""Values that UQLM's own tests expect (github.com/cvs-health/uqlm, tests/, 0.6), as plain numbers.

Where a scorer here gives another number by design, the test says which;
docs/scorers/index.md lists
it. UQLM's numbers are confidences, and so are the raw values here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from embedding_evidence import FixedEvidence
from llm_evidence import FixedReplies
from nli_evidence import FixedVerdicts

from veridical.core.messages import Reply
from veridical.core.records import Record, TokenLogprob
from veridical.core.scores import Score
from veridical.scorers.consistency._centrality import CENTRALITIES
from veridical.scorers.consistency._clusters import entropy
from veridical.scorers.consistency.claim_samples import claim_graph
from veridical.scorers.consistency.cosine import cosine
from veridical.scorers.consistency.luq import luq, matched_unit
from veridical.scorers.judges.judge import judge
from veridical.scorers.judges.verbalized import verbalized
from veridical.scorers.probability.cocoa import cocoa
from veridical.scorers.probability.p_true import p_true
from veridical.scorers.probability.token_probabilities import sequence_probability

ASKED = Record(prompt="What is 2+2?", response="4")
TEMPLATES = {"true_false_uncertain": "correct_incorrect"}  # another name; the rest have UQLM's


# test_p_true.py


@pytest.mark.parametrize(
    ("token", "logprob", "expected"),
    [
        ("True", -0.1, 0.9048374180359595),
        ("False", -2.0, 0.8646647167633873),
        ("True", -0.1, 0.9048),
        ("False", -0.1, 0.0952),
    ],
)
async def test_p_true(token: str, logprob: float, expected: float) -> None:
    said = Reply(token, "stop", logprobs=(TokenLogprob(token=token, logprob=logprob),))
    found = await p_true(ASKED, FixedReplies(ASKED, lambda request, llm: said))
    assert found.raw == pytest.approx(expected, rel=1e-3 if expected < 0.1 else 1e-4)


async def test_p_true_of_another_word_is_no_number() -> None:
    said = Reply("Unknown", "stop", logprobs=(TokenLogprob(token="Unknown", logprob=-0.1),))
    found = await p_true(ASKED, FixedReplies(ASKED, lambda request, llm: said))
    assert found.status == "failed" and found.risk is None  # NaN there


# test_llmjudge.py, test_verbalizedconfidence.py


async def judged(template: str, text: str, **more: object) -> float | None:
    evidence = FixedReplies(ASKED, text)
    name = TEMPLATES.get(template, template)
    score = await judge(ASKED, evidence, template=name, form="text", **more)  # type: ignore[arg-type]
    return None if score.risk is None else 1 - score.risk


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        *(("likert", str(n), (n - 1) / 4) for n in (5, 4, 3, 2, 1)),
        *(("continuous", str(n), n / 100) for n in (95, 50, 0)),
        ("true_false", "correct", 1.0),
        ("true_false", "incorrect", 0.0),
        ("true_false_uncertain", "correct", 1.0),
        ("true_false_uncertain", "uncertain", 0.5),
        ("true_false_uncertain", "incorrect", 0.0),
        ("likert", "random text", None),
        ("continuous", "no numbers here", None),
        ("true_false_uncertain", "completely unrelated", None),
    ],
)
async def test_judge_phrases(template: str, text: str, expected: float | None) -> None:
    assert await judged(template, text) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Score: correct\nExplanation: This is correct.", 1.0),
        ("Score: incorrect\nExplanation: This is incorrect.", 0.0),
        ("Score: correct", 1.0),
        ("Explanation: This is just an explanation without a score.", None),
    ],
)
async def test_judge_with_explanations(text: str, expected: float | None) -> None:
    found = await judged("true_false_uncertain", text, explanations=True)
    assert found == expected


async def test_grades_that_are_read_in_another_way_by_design() -> None:
    """UQLM reads a grade in words (0.5 of "partially correct"), and joins all digits of a text."""
    assert await judged("likert", "partially correct") is None  # asked once more, then failed
    assert await judged("continuous", "95 out of 100") == pytest.approx(0.95)  # NaN there
    assert await judged("continuous", "95100") is None


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("no chance", 0.0),
        ("little chance", 0.2),
        ("less than even", 0.4),
        ("fairly possible", 0.6),
        ("very good chance", 0.8),
        ("almost certain", 1.0),
        ("unknown phrase", None),
    ],
)
@pytest.mark.parametrize("template", ["verbalized_phrases", "verbalized_code"])
async def test_verbalized_phrases(template: str, phrase: str, expected: float | None) -> None:
    found = await verbalized(ASKED, FixedReplies(ASKED, phrase), template=template)
    assert (None if found.risk is None else 1 - found.risk) == (
        None if expected is None else pytest.approx(expected)
    )


async def test_a_verbalized_phrase_is_asked_for_once_more() -> None:
    replies = iter(["???", "almost certain"])
    evidence = FixedReplies(ASKED, lambda request, llm: next(replies))
    found = await verbalized(ASKED, evidence, template="verbalized_phrases")
    assert found.risk == pytest.approx(0) and len(evidence.asked) == 2


# test_bert_cosine_scorers.py, test_logprobs_scorer_unit.py


async def test_cosine_of_equal_vectors() -> None:
    record = Record(response="response", samples=["cand1", "cand2"])
    vectors = {text: [1.0, 0.0, 0.0, 0.0] for text in ("response", "cand1", "cand2")}
    found = await cosine(record, FixedEvidence(record, vectors), rescale=True)
    assert found.raw == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("similarity", "probability", "expected"), [(0.8, 0.5, 0.4), (0.9, 0.4, 0.36)]
)
async def test_cocoa_is_the_product(similarity: float, probability: float, expected: float) -> None:
    token = TokenLogprob(token="r", logprob=math.log(probability))
    record = Record(prompt="p", response="r", samples=["s"], logprobs=(token,))
    scores = {"cosine(rescale=true)": Score.of(1 - similarity, raw=similarity)}
    found = await cocoa(record, FixedReplies(record, scores=scores))
    assert found.raw == pytest.approx(expected, abs=1e-9)


# test_luq.py, test_luq_matched.py: P = (contradiction 0.1, neutral 0.1, entailment 0.8)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("entailment", 0.8), ("noncontradiction", 0.9), ("contrasted_entailment", 0.8 / 0.9)],
)
@pytest.mark.parametrize("scorer", [luq, matched_unit])
async def test_long_text_scores(scorer, measure: str, expected: float) -> None:
    claim, candidate = "The Earth is round.", "The Earth is an oblate spheroid."
    record = Record(response=claim, samples=[candidate])
    evidence = FixedVerdicts(record, {(candidate, claim): (0.8, 0.1, 0.1)})
    found = await scorer(record, evidence, measure=measure)
    assert found.units[0].raw == pytest.approx(expected)
    assert found.raw == pytest.approx(expected)


# test_graphuq.py: entailment of each claim (rows) by each of the answers


@pytest.mark.parametrize(
    ("entailment", "expected"),
    [
        ([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]], [0.75, 0.75, 0.25, 0.25]),
        ([[1, 1, 1, 0], [1, 0, 0, 0]], [0.75, 0.25]),
        ([[0.9, 0.8, 0.7, 0]], [0.6]),
        ([[0.9, 0.8, 0, 0]], [0.425]),  # the same with a threshold of 0.8
        ([[1.0, 0.5], [0, 1.0]], [0.75, 0.5]),
        ([[1, 0], [0, 1]], [0.5, 0.5]),
    ],
)
def test_degree_of_the_claim_graph(entailment: list[list[float]], expected: list[float]) -> None:
    """Their degree is ours by weights; and no centrality leaves [0, 1], as theirs once did."""
    table = np.array(entailment, dtype=float)
    assert CENTRALITIES["strength"](table).tolist() == pytest.approx(expected)
    for name in CENTRALITIES:
        values = CENTRALITIES[name](table)
        assert ((values >= 0) & (values <= 1)).all(), name


async def test_edges_under_the_threshold_are_left_out() -> None:
    """[0.9, 0.8, 0.7, 0]: 0.6 with the default threshold, 0.425 with 0.8."""
    claim, others = "The sky is blue.", ["Second answer.", "Third answer.", "Fourth answer."]
    record = Record(response=claim, samples=others)
    table = {(text, claim): (e, 1 - e, 0.0) for text, e in zip(others, (0.8, 0.7, 0), strict=True)}
    options = {"centrality": "strength", "extractor": "sentences"}
    for threshold, expected in ((0.5, (1 + 0.8 + 0.7) / 4), (0.8, (1 + 0.8) / 4)):
        evidence = FixedVerdicts(record, table)  # the response entails its own claim: 1, not 0.9
        found = await claim_graph(record, evidence, threshold=threshold, **options)  # type: ignore[arg-type]
        assert found.raw == pytest.approx(expected)


# test_functional_entropy.py: the arithmetic that code and text share


def test_entropy_of_clusters() -> None:
    equal = np.zeros(2)
    assert entropy([[0], [1]], equal) == pytest.approx(abs(0.5 * math.log(0.5) * 2))
    assert entropy([[0, 1]], equal) == 0


async def test_length_normalised_probability() -> None:
    tokens = tuple(TokenLogprob(token=t, logprob=-1.0) for t in ("a", "b"))
    record = Record(prompt="p", response="ab", logprobs=tokens)
    found = await sequence_probability(record, FixedReplies(record))
    assert found.raw == pytest.approx(math.exp(-2 * 0.5))
