"""Adaptive sampling: the error rate of the rule, by enumeration and simulation."""

from __future__ import annotations

import json
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest
from sampling_chat import ScriptedChat, prompts

from veridical.core.messages import ChatRequest
from veridical.errors import UsageError
from veridical.io import open_source
from veridical.sampling.adaptive import Adaptive, SequentialTest, parse_count
from veridical.sampling.sampling import Answered, Sampler, Sampling, answers


def stop(xs: Any, most: int, threshold: float, alpha: float, least: int = 1) -> tuple[int, str]:
    """When the rule stops on ``xs``, and what it says."""
    race = SequentialTest(most, threshold, alpha)
    for k, x in enumerate(xs, 1):
        race.add(float(x))
        side = race.decided()
        if side is not None and k >= least:
            return k, side
    raise AssertionError("it never stopped")


@pytest.mark.parametrize("most", [8, 12])
@pytest.mark.parametrize(("threshold", "alpha"), [(0.5, 0.1), (0.3, 0.2), (0.7, 0.3)])
def test_exact_error_rate_over_all_orders(most: int, threshold: float, alpha: float) -> None:
    """Draws are exchangeable: given how many of them disagree, every order is as likely."""
    stopped_early = 0
    for ones in range(most + 1):
        truth = "over" if ones / most > threshold else "under"
        wrong = 0
        for places in combinations(range(most), ones):
            xs = np.zeros(most)
            xs[list(places)] = 1
            k, side = stop(xs, most, threshold, alpha)
            wrong += side != truth
            stopped_early += k < most
        assert wrong / comb(most, ones) <= alpha
    assert stopped_early


def test_error_rate_by_simulation_for_graded_disagreements() -> None:
    rng = np.random.default_rng(0)
    alpha, most, trials = 0.1, 20, 600
    for mean, spread in [(0.5, 2), (0.45, 8), (0.55, 1), (0.52, 30), (0.3, 4), (0.8, 4)]:
        wrong = 0
        for _ in range(trials):
            xs = rng.beta(mean * spread, (1 - mean) * spread, most)
            _, side = stop(xs, most, 0.5, alpha, least=3)
            wrong += side != ("over" if xs.mean() > 0.5 else "under")
        # 4 standard errors over the bound would be chance of 1 in 30 000
        assert wrong / trials <= alpha + 4 * (alpha * (1 - alpha) / trials) ** 0.5, (mean, spread)


def test_clear_cases_stop_after_five_of_twenty() -> None:
    assert stop(np.zeros(20), 20, 0.5, 0.05, least=3) == (5, "under")
    assert stop(np.ones(20), 20, 0.5, 0.05, least=3) == (5, "over")


def test_certainty_stops_whatever_alpha() -> None:
    assert stop(np.ones(10), 10, 0.5, 1e-300) == (6, "over")
    assert stop(np.zeros(10), 10, 0.5, 1e-300) == (5, "under") or stop(
        np.zeros(10), 10, 0.5, 1e-300
    ) == (6, "under")


def test_a_mean_exactly_at_the_threshold_is_not_over() -> None:
    assert stop([1, 1, 1, 1, 0, 0, 0, 0], 8, 0.5, 1e-300)[1] == "under"
    assert stop([0, 0, 0, 0, 1, 1, 1, 1], 8, 0.5, 1e-300)[1] == "under"


def test_least_more_is_least() -> None:
    """No continuation decides sooner than the number asked for at once."""
    for seen in product([0.0, 1.0], repeat=3):
        race = SequentialTest(9, 0.5, 0.2)
        for x in seen:
            race.add(x)
        if race.decided() is not None:
            continue
        more = race.least_more()
        soonest = 9
        for rest in product([0.0, 0.4, 1.0], repeat=6):
            trial = race.copy()
            for k, x in enumerate(rest, 1):
                trial.add(x)
                if trial.decided() is not None:
                    soonest = min(soonest, k)
                    break
        assert more == soonest


def script(request: ChatRequest) -> str:
    """Prompt 0 is always answered alike, prompt 1 never, prompt 2 half of the time."""
    number = int(request.messages[-1]["content"].split()[1])
    if request.temperature == 0 or number == 0:
        return "It is Paris"
    if number == 1:
        return f"some word{request.ordinal}"
    return "It is Paris" if request.ordinal % 2 else "who knows"


async def sampled(sampling: Sampling, chat: ScriptedChat, n: int = 3) -> list[Any]:
    source = open_source(prompts(n), prompts=True)
    return [o async for o in answers(source.rows(), Sampler(chat, sampling, {"run": "r"}))]


async def test_records_get_as_many_samples_as_they_need() -> None:
    chat = ScriptedChat(script)
    adaptive = Adaptive(3, 20, "exact_match", 0.5, 0.05)
    outcomes = await sampled(Sampling(n=3, adaptive=adaptive), chat)
    drawn = []
    for outcome in outcomes:
        assert isinstance(outcome, Answered)
        record = json.loads(outcome.line)
        assert len(record["samples"]) == outcome.drawn == 20 - outcome.saved
        drawn.append((outcome.drawn, record["meta"]["sampling"]["adaptive"]["decision"]))
    assert drawn[0] == (5, "under") and drawn[1] == (5, "over")
    assert drawn[2][0] > 15
    ordinals = [r.ordinal for r in chat.asked if r.messages[-1]["content"] == "question 0"]
    assert sorted(ordinals) == [0, 0, 1, 2, 3, 4], "greedy, and draws 0 to 4, each once"


async def test_blank_answers_decide_nothing_early() -> None:
    chat = ScriptedChat(lambda r: "Paris" if r.temperature == 0 else "")
    (outcome,) = await sampled(Sampling(n=3, adaptive=Adaptive(3, 8)), chat, 1)
    assert isinstance(outcome, Answered) and outcome.drawn == 8
    assert json.loads(outcome.line)["meta"]["sampling"]["adaptive"]["decision"] is None


async def test_the_decision_is_the_scorers_own() -> None:
    """For a scorer that averages over samples, that of all samples, unless alpha says."""
    from veridical.core.evidence import score_locally
    from veridical.core.registry import REGISTRY

    words = ["It is Paris", "It is in Paris now", "no idea", "Lyon it is", "It may be Paris"]

    def answer(request: ChatRequest) -> str:
        number = int(request.messages[-1]["content"].split()[1])
        return words[(number * 7 + request.ordinal * 3) % 5] if request.temperature else words[0]

    bound = REGISTRY.parse("rouge_l(against=samples)")
    for outcome in await sampled(
        Sampling(n=3, adaptive=Adaptive(3, 12, alpha=1e-12)), ScriptedChat(answer), 6
    ):
        record = next(iter(open_source([json.loads(outcome.line)]).rows()))
        (score,) = score_locally(record, bound)  # type: ignore[arg-type]
        side = json.loads(outcome.line)["meta"]["sampling"]["adaptive"]["decision"]
        if outcome.drawn == 12:
            assert side == ("over" if score.risk > 0.5 else "under")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"least": 0}, "at least 1"),
        ({"least": 9, "most": 3}, "LEAST:MOST"),
        ({"threshold": 1.0}, "threshold"),
        ({"alpha": 0.0}, "alpha"),
        ({"scorer": "cosine"}, "model-free"),
        ({"scorer": "nonsense"}, "unknown scorer"),
        ({"scorer": "rouge_l, exact_match"}, "one scorer"),
        ({"scorer": "rouge_l(against=reference)"}, "samples"),
    ],
)
def test_adaptive_settings_that_make_no_sense(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Adaptive(**{"least": 3, "most": 20, **settings})


def test_counts() -> None:
    assert parse_count("10") == (10, 10) and parse_count("3:20") == (3, 20)
    for text in ("", "x", "3:", ":3", "-1", "5:3", "0:4", "1e3", "1001"):
        with pytest.raises(UsageError):
            parse_count(text)
