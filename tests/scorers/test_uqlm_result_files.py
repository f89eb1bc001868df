"""Values of the data files behind UQLM's own tests (github.com/cvs-health/uqlm, tests/data), as
plain numbers: log-probabilities, answers and samples go in, the published scores come out.

UQLM's tests run microsoft/deberta-large-mnli, of which the files keep no verdicts. The verdicts
here are the least that the published numbers say of them: which answers entail each other, and how
far one contradicts another. What hangs on every verdict (semanticdensity_results_file.json) or on
another model (bert_result of similarity_results_file.json) is left out.

UQLM's numbers are confidences, and so are the raw values here. Where a scorer here gives another
number by design, the test says which, and docs/scorers/index.md lists it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from embedding_evidence import ModelEvidence
from ensemble_files import component, weighted
from llm_evidence import FixedReplies
from nli_evidence import FixedVerdicts

from veridical.core.messages import ChatRequest, Reply
from veridical.core.records import Record, TokenLogprob
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Score
from veridical.ensembles.apply import risk_of
from veridical.ensembles.ensemble_file import Fit
from veridical.scorers.consistency.cosine import cosine
from veridical.scorers.consistency.exact_match import exact_match
from veridical.scorers.consistency.pairwise_nli import noncontradiction
from veridical.scorers.consistency.semantic_density import semantic_density
from veridical.scorers.consistency.semantic_entropy import semantic_entropy, semantic_negentropy
from veridical.scorers.judges.bsdetector import bsdetector
from veridical.scorers.judges.panel import panel
from veridical.scorers.probability.token_probabilities import min_probability, sequence_probability
from veridical.stats.objectives import objective_named
from veridical.stats.thresholds import best_threshold
from veridical.stats.weights import combine
from veridical.text.token_spans import MisalignedTokens

Table = dict[tuple[str, str], tuple[float, float, float]]
ENTAILS = (0.9, 0.1, 0.0)


def tokens(*pairs: tuple[str, float]) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob(token=text, logprob=logprob) for text, logprob in pairs)


# scorers/whitebox_results_file.json, of today and of an earlier version


@pytest.mark.parametrize(
    ("logprobs", "normalized", "least"),
    [
        ([("30", -9.0883464e-07)], 0.999999091165773, 0.999999091165773),
        ([("8", -1.2664457e-06)], 0.9999987335551019, 0.9999987335551019),
        ([("17", -0.0007860411)], 0.9992142677493774, 0.9992142677493774),
        ([("$", -0.038273167), ("5", -0.00026145502)], 0.9809171172485425, 0.9624499954009256),
        ([("11", -2.5226382e-05)], 0.9999747739361825, 0.9999747739361825),
        (  # the file names no tokens of this one; there are seven
            [
                ("Doug", -0.024325532838702202),
                (" lost", -1.9361264946837764e-07),
                (" ", 0.0),
                ("17", -0.2779192626476288),
                (" mar", 0.0),
                ("bles", 0.0),
                (".", -9.088346359931165e-07),
            ],
            0.9577409109786664,
            0.7573579661229575,
        ),
        (
            [("$", -0.1616811454296112), ("5", -0.029750484973192215)],
            0.9087222244198528,
            0.8507124148411718,
        ),
    ],
)
async def test_white_box(
    logprobs: list[tuple[str, float]], normalized: float, least: float
) -> None:
    record = Record(response="".join(t for t, _ in logprobs), logprobs=tokens(*logprobs))
    evidence = FixedReplies(record)
    assert (await sequence_probability(record, evidence)).raw == pytest.approx(normalized, rel=1e-9)
    assert (await min_probability(record, evidence)).raw == pytest.approx(least, rel=1e-9)


# scorers/blackbox_results_file.json: exact_match, noncontradiction, semantic_negentropy


def verdicts(one: str, other: str, contradiction: float, entails: bool) -> Table:
    """What is said of two answers, of which ``one`` may entail ``other`` (never the other way
    round); ``contradiction`` is the mean of both directions."""
    less, more = contradiction * 0.5, contradiction * 1.5
    return {
        (one, other): (0.7 if entails else 0.2, (0.3 if entails else 0.8) - less, less),
        (other, one): (0.2, 0.8 - more, more),
    }


BLACK_BOX = [
    ("30", "30", 0.0, False, 1.0, 1.0, 1.0),
    ("8", "8 emails", 0.1097010374069215, False, 0.8, 0.9780597925186157, 0.7485370014199393),
    ("17", "17 marbles", 0.126096308231354, True, 0.8, 0.9747807383537292, 1.0),
]


@pytest.mark.parametrize(
    ("answer", "second", "contradiction", "entails", "match", "consistent", "negentropy"), BLACK_BOX
)
async def test_black_box(
    answer: str,
    second: str,
    contradiction: float,
    entails: bool,
    match: float,
    consistent: float,
    negentropy: float,
) -> None:
    """Of five samples the second differs; the file has the mean over five, so that the pair's
    contradiction is five times what that lacks of 1."""
    record = Record(response=answer, samples=[answer, second, answer, answer, answer])
    table = {} if second == answer else verdicts(second, answer, contradiction, entails)
    evidence = FixedVerdicts(record, table)
    assert (await exact_match(record, evidence)).raw == pytest.approx(match)
    assert (await noncontradiction(record, evidence)).raw == pytest.approx(consistent, rel=1e-9)
    either = await semantic_negentropy(record, evidence, cluster="either")
    assert either.raw == pytest.approx(negentropy, rel=1e-9)


async def test_meanings_are_mutual_unless_told_otherwise() -> None:
    """That "17 marbles" entails "17" is enough for UQLM, which gives 1; printed is: each other."""
    record = Record(response="17", samples=["17", "17 marbles", "17", "17", "17"])
    evidence = FixedVerdicts(record, verdicts("17 marbles", "17", 0.126096308231354, True))
    found = await semantic_negentropy(record, evidence)
    assert found.raw == pytest.approx(0.7485370014199393, rel=1e-9)  # as of "8 emails" above


# scorers/semanticentropy_results_file.json: five entropies and confidences


@pytest.mark.parametrize(
    ("answers", "one_way", "nats", "confidence", "mutual"),
    [
        # the answer, then five samples; a pair of which one entails the other; the two published
        # numbers; the entropy where meanings must be mutual
        (["5", "5", "5", "5", "5", "5 miles"], ("5 miles", "5"), 0.0, 1.0, 0.45056120886630463),
        (  # the third sample, which is long, by its last sentence
            ["$3", "$9", "$6", "Therefore, the cost of the box of cookies is $3.", "$6", "$9"],
            None,
            1.3296613488547582,
            0.25790187148969435,
            1.3296613488547582,
        ),
        (
            ["12", "12", "36", "12", "12", "36"],
            None,
            0.6365141682948128,
            0.644754678724236,
            0.6365141682948128,
        ),
        (
            ["308", "308", "308", "308", "315", "308"],
            None,
            0.45056120886630463,
            0.7485370014199393,
            0.45056120886630463,
        ),
        (  # 32.5 and 32 are one meaning there, 35 and "30." two others
            ["35", "32.5", "32", "32.5", "30.", "32"],
            ("32.5", "32"),
            0.8675632284814612,
            0.5158037429793888,
            1.3296613488547582,
        ),
    ],
)
async def test_semantic_entropy(
    answers: list[str],
    one_way: tuple[str, str] | None,
    nats: float,
    confidence: float,
    mutual: float,
) -> None:
    record = Record(response=answers[0], samples=answers[1:])
    evidence = FixedVerdicts(record, {one_way: ENTAILS} if one_way else {})
    either = await semantic_entropy(record, evidence, cluster="either")
    share = await semantic_negentropy(record, evidence, cluster="either")
    printed = await semantic_entropy(record, evidence)
    assert either.raw == pytest.approx(nats, abs=1e-12)
    assert share.raw == pytest.approx(confidence, rel=1e-9)
    assert printed.raw == pytest.approx(mutual, rel=1e-9)


async def test_density_of_samples_too_improbable_for_a_float() -> None:
    """test_semanticdensity.py: P = (0.8, 0.1, 0.1) and a log-probability of -1000 are NaN there,
    as exp(-1000) is 0. Weights stay logarithms here: one sample has all the weight."""
    samples = [{"text": "candidate", "logprobs": [{"token": "x", "logprob": -1000}]}]
    record = Record(prompt="prompt", response="response", samples=samples)
    table = {("prompt\nresponse", "prompt\ncandidate"): (0.8, 0.1, 0.1)}
    found = await semantic_density(record, FixedVerdicts(record, table), weights="probability")
    assert found.raw == pytest.approx(1 - (0.1 + 0.1 / 2))


# scorers/ensemble_results_file.json: its three ensembles, and those of an earlier version


class Answered(FixedVerdicts):
    """Fixed verdicts of an NLI model, and one reply of a language model to all it is asked."""

    def __init__(self, record: Record, reply: str, table: Table | None = None) -> None:
        super().__init__(record, table)
        self.reply = reply

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        return [Reply(self.reply, "stop") for _ in requests]


JUDGE = "judge(form=text)"


def bound(call: str) -> BoundScorer:
    (one,) = REGISTRY.parse(call)
    return one


async def ensemble(
    record: Record, evidence: Answered, weights: Mapping[str, float]
) -> tuple[float, float]:
    """The ensemble's confidence: as its arithmetic gives it, and as the scorer does."""
    risks = {call: (await bound(call)(record, evidence)).risk for call in weights}
    assert None not in risks.values()
    row = np.array([list(risks.values())], dtype=np.float64)
    exact = combine(row, np.array(list(weights.values())))
    file = weighted(
        components=tuple(component(call, models="some-model") for call in weights),
        fit=Fit(weights=dict(weights), n=5, positive=1),
    )
    made = risk_of(file, risks).risk
    assert made is not None
    return 1 - float(exact[0]), 1 - made


FOUR = dict.fromkeys(("exact_match", "noncontradiction", "min_probability", JUDGE), 0.25)
TWO = dict.fromkeys(("min_probability", JUDGE), 0.5)


@pytest.mark.parametrize(
    ("weights", "logprobs", "said", "least", "expected"),
    [
        # ensemble1
        (FOUR, [("30", -1.3856493e-06)], "Correct", 0.99999861435166, 0.999999653587915),
        (FOUR, [("8", -2.4584822e-06)], "Correct", 0.9999975415208221, 0.9999993853802055),
        (FOUR, [("17", -0.0032221528)], "Correct", 0.9967830327632791, 0.9991957581908197),
        (
            FOUR,
            [("$", -0.08705069), ("5", -0.000911702)],
            "Correct",
            0.9166306304488447,
            0.9791576576122112,
        ),
        (FOUR, [("11", -5.5122365e-07)], "Correct", 0.9999994487765019, 0.9999998621941255),
        # ensemble2
        (TWO, [("17", -0.0012972581)], "Correct", 0.9987035829755523, 0.9993517914877761),
        (TWO, [("5", -3.049079)], "Correct", 0.04740256205256365, 0.5237012810262818),
        # ensemble, of an earlier version
        (FOUR, [("17", -0.0014931997)], "Incorrect", 0.9985079145679948, 0.7496269786419987),
        (
            FOUR,
            [("$", -0.17274486), ("5", -0.00014001218)],
            "Correct",
            0.8413522500755267,
            0.9603380625188817,
        ),
        (
            FOUR,
            [("11", -2.2365493e-05), (" apples", -3.2884471)],
            "Correct",
            0.03731174584100298,
            0.7593279364602508,
        ),
    ],
)
async def test_ensembles(
    weights: Mapping[str, float],
    logprobs: list[tuple[str, float]],
    said: str,
    least: float,
    expected: float,
) -> None:
    """Five samples equal the answer. A tuned ensemble rounds risks to six decimals, as tuning saw
    them."""
    answer = "".join(t for t, _ in logprobs)
    record = Record(
        prompt="How many?", response=answer, samples=[answer] * 5, logprobs=tokens(*logprobs)
    )
    evidence = Answered(record, said)
    assert (await min_probability(record, evidence)).raw == pytest.approx(least, rel=1e-9)
    exact, rounded = await ensemble(record, evidence, weights)
    assert exact == pytest.approx(expected, abs=1e-11)
    assert rounded == pytest.approx(expected, abs=1e-6)


async def test_tokens_must_spell_the_answer() -> None:
    """The file's fourth answer is "5", without the "$" that its tokens begin with."""
    record = Record(response="5", logprobs=tokens(("$", -0.08705069), ("5", -0.000911702)))
    with pytest.raises(MisalignedTokens):
        await min_probability(record, FixedReplies(record))


#: "19" among five samples, the others "17". The mean over five is published: of the pair it
#: leaves a contradiction of 0.98825708 in the mean of both directions.
ASKED = Record(
    prompt="How many marbles did Doug lose?",
    response="17",
    samples=["17", "17", "19", "17", "17"],
)
OURS, OTHER = "Doug lost 17 marbles.", "Doug lost 19 marbles."
SPREAD: Table = {
    (OURS, OTHER): (0.0, 0.01, 0.99),
    (OTHER, OURS): (0.0, 0.013485839366913, 0.986514160633087),
}


async def test_the_ensemble_that_is_bsdetector() -> None:
    """Weights 0.7 * 0.8, 0.7 * 0.2 and 0.3, of an earlier version of the file."""
    weights = {"noncontradiction": 0.56, "exact_match": 0.14, JUDGE: 0.3}
    evidence = Answered(ASKED, "Correct", SPREAD)
    consistent = await noncontradiction(ASKED, evidence)
    assert consistent.raw == pytest.approx(0.8023485839366913, rel=1e-9)
    exact, rounded = await ensemble(ASKED, evidence, weights)
    assert exact == pytest.approx(0.8613152070045471, abs=1e-11)
    assert rounded == pytest.approx(0.8613152070045471, abs=1e-6)


async def test_short_answers_are_judged_as_statements() -> None:
    """UQLM's BlackBoxUQ has "17" and "19" judged, bare."""
    evidence = Answered(ASKED, "", SPREAD)
    await noncontradiction(ASKED, evidence)
    assert {text for pair in evidence.asked[0] for text in pair} == {OURS, OTHER}


async def test_bsdetector_gives_the_same_by_its_own_questions() -> None:
    """UQLM asks one question, the paper two: alike where both have the same answer."""
    evidence = Answered(ASKED, "explanation: it is so, answer: A", SPREAD)
    found = await bsdetector(ASKED, evidence)
    assert found.raw["confidence"] == pytest.approx(0.8613152070045471, rel=1e-9)


# scorers/bsdetector_results_file.json, of an earlier version: observed consistency and confidence
# with the default weights, and with tuned ones


@pytest.mark.parametrize(
    ("equal", "reflection", "consistency", "confidence", "tuned", "tuned_confidence"),
    [
        (0.0, "A", 0.799470615386963, 0.8596294307708741, 0.8454951459984235, 0.976214751274521),
        (0.2, "A", 0.5200800704956056, 0.6640560493469239, 0.5385066827051275, 0.9289554143270282),
        (
            0.2,
            "B",
            0.6808540296554566,
            0.47659782075881957,
            0.7085361990580302,
            0.10907560046902409,
        ),
    ],
)
async def test_bsdetector(
    equal: float,
    reflection: str,
    consistency: float,
    confidence: float,
    tuned: float,
    tuned_confidence: float,
) -> None:
    similar = (consistency - 0.2 * equal) / 0.8  # not in the file
    record = Record(prompt="q", response="a", samples=["b"])
    given = {"noncontradiction": Score.of(1 - similar), "exact_match": Score.of(1 - equal)}
    evidence = FixedReplies(record, f"explanation: it is so, answer: {reflection}", scores=given)
    plain = await bsdetector(record, evidence)
    assert plain.raw["confidence"] == pytest.approx(confidence, rel=1e-9)
    alpha, beta = 0.8460550066262872, 0.15394499337371276
    found = await bsdetector(record, evidence, alpha=alpha, beta=beta)
    assert found.raw["observed_consistency"] == pytest.approx(tuned, rel=1e-9)
    assert found.raw["confidence"] == pytest.approx(tuned_confidence, rel=1e-9)


# scorers/test_data_panelquantifier.json


@pytest.mark.parametrize("combine_by", ["mean", "max", "min", "median"])
@pytest.mark.parametrize(("said", "expected"), [("80", 0.8), ("90", 0.9)])
async def test_a_panel_of_two_that_agree(combine_by: str, said: str, expected: float) -> None:
    record = Record(prompt="q", response="a")
    judges = "one|continuous, two|continuous"
    found = await panel(record, FixedReplies(record, said), judges=judges, combine=combine_by)  # type: ignore[arg-type]
    assert found.raw["confidence"] == pytest.approx(expected)
    assert len(found.raw["judges"]) == 2 and found.raw["range"] == 0


# similarity/similarity_results_file.json: match_result and cosine_result

STARS = "The two stars on the national flag of Syria are "
BERRY = 'word "strawberry.'
SIMILAR = [
    (
        f"{STARS}red.",
        [f"{STARS}{which}." for which in ("both red", "red", "colored red", "black", "green")],
        0.9602501332759857,
    ),
    (
        f"There are no 'm's in the {BERRY}\"",
        [
            f"There are no 'm's in the {BERRY}\"",
            "There are no 'm's in the word strawberry.",
            "There is only one 'm' in the word \"strawberry\".",
            f"There are zero 'm's in the {BERRY}\"",
            f"There are 0 'm's in the {BERRY}\"",
        ],
        0.9782798647880554,
    ),
]


@pytest.mark.parametrize(("response", "samples", "similarity"), SIMILAR)
async def test_similarity(response: str, samples: list[str], similarity: float, encoder) -> None:
    """The embedded model is UQLM's, all-MiniLM-L6-v2, with quantised weights: within 0.001."""
    record = Record(response=response, samples=samples)
    evidence = ModelEvidence(record, encoder)
    assert (await exact_match(record, evidence)).raw == pytest.approx(0.2)
    rescaled = await cosine(record, evidence, rescale=True)
    assert rescaled.raw == pytest.approx(similarity, abs=1e-3)
    plain = await cosine(record, evidence)  # the paper's: not 0.5 + cos / 2
    assert plain.raw == pytest.approx(2 * similarity - 1, abs=2e-3)


# test_tuner.py


def test_threshold_of_four_scores() -> None:
    """UQLM's is 0.35, the first of a grid that is best: right is what is above. Here it lies midway
    between two scores, and is one of the risk: 0.625 is a confidence of 0.375. Both part alike."""
    confidences, right = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 1.0, 0.0, 1.0])
    risk, wrong = 1 - confidences, 1 - right
    found = best_threshold(wrong, risk, "f1", positive="correct")
    assert found == pytest.approx(0.625)
    theirs = confidences > 0.35
    assert ((risk < found) == theirs).all()
    f1 = objective_named("f1")
    assert f1.value(wrong, risk, found, positive="correct") == 1.0
    assert f1.value(wrong, risk, 0.7, positive="correct") == pytest.approx(0.8)  # no tie elsewhere
