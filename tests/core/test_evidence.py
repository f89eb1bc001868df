"""What a scorer sees without models, and what becomes of what it raises."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from veridical import Evidence, Record, Score, UsageError
from veridical.core.evidence import LocalEvidence, failure, guarded, score_locally
from veridical.core.registry import REGISTRY, ScorerFunction, scorer
from veridical.errors import NotApplicable
from veridical.text.words import words

RECORD = Record(response="It is in Mali.", samples=["It is in Mali.", "It is in Chad."])
CALLS: list[str] = []


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Scorers of this file, for the time of one test."""
    CALLS.clear()
    for name, function in FUNCTIONS.items():
        scorer(f"t_{name}", level="response", source="test")(function)
    scorer("t_needy", level="response", source="test", needs={"contexts"})(counted)
    yield
    for name in [*FUNCTIONS, "needy"]:
        REGISTRY._scorers.pop(f"t_{name}")


async def counted(record: Record, evidence: Evidence, *, p: int = 0) -> Score:
    """Counted."""
    CALLS.append(f"counted {p}")
    return Score.of(0.25, raw=p)


async def asks(record: Record, evidence: Evidence) -> Score:
    """Asks another scorer three times, in two spellings."""
    one = await evidence.score("t_counted")
    two = await evidence.score("t_counted", p=0)
    other = await evidence.score("t_counted", p=7)
    return Score.of((one.risk or 0) + (two.risk or 0), raw=other.raw)


async def a(record: Record, evidence: Evidence) -> Score:
    """A ring of three."""
    return await evidence.score("t_b")


async def b(record: Record, evidence: Evidence) -> Score:
    """B."""
    return await evidence.score("t_c")


async def c(record: Record, evidence: Evidence) -> Score:
    """C."""
    return await evidence.score("t_a")


async def itself(record: Record, evidence: Evidence) -> Score:
    """Asks for itself."""
    return await evidence.score("t_itself")


async def careful(record: Record, evidence: Evidence) -> Score:
    """Goes on without what failed."""
    found = await evidence.score("t_boom")
    return Score.of(1.0 if found.status == "failed" else 0.0)


async def boom(record: Record, evidence: Evidence) -> Score:
    """Boom."""
    raise ValueError("first line\nsecond   line\t" + "x" * 1000)


async def silent(record: Record, evidence: Evidence) -> Score:
    """An exception without words."""
    raise KeyError


async def declines(record: Record, evidence: Evidence) -> Score:
    """Declines."""
    raise NotApplicable("not today")


async def wrong(record: Record, evidence: Evidence) -> Any:
    """Returns a number."""
    return 0.5


async def over(record: Record, evidence: Evidence) -> Score:
    """A risk that is none."""
    return Score.of(1.5)


async def nan(record: Record, evidence: Evidence) -> Score:
    """A risk that is no number."""
    return Score.of(float("nan"))


async def waits(record: Record, evidence: Evidence) -> Score:
    """Waits."""
    await asyncio.sleep(0)
    return Score.of(0.0)


async def embeds(record: Record, evidence: Evidence) -> Score:
    """Embeds."""
    await evidence.embed(["a"])
    return Score.of(0.0)


async def matches(record: Record, evidence: Evidence) -> Score:
    """Matches."""
    await evidence.bertscore(["a"], ["b"])
    return Score.of(0.0)


async def unknown(record: Record, evidence: Evidence) -> Score:
    """Asks for a scorer that does not exist."""
    return await evidence.score("t_countd")


FUNCTIONS: dict[str, ScorerFunction] = {
    f.__name__: f
    for f in (
        *(counted, asks, a, b, c, itself, careful, boom, silent, declines, wrong, over, nan),
        *(waits, embeds, matches, unknown),
    )
}


def one(name: str, record: Record = RECORD) -> Score:
    (score,) = score_locally(record, REGISTRY.parse(name))
    return score


def test_another_scorers_score_is_computed_once() -> None:
    first, second, third = score_locally(
        RECORD, REGISTRY.parse("t_asks, t_counted, t_counted(p=7)")
    )
    assert first.risk == 0.5 and first.raw == 7
    assert CALLS == ["counted 0", "counted 7"]
    assert (second.raw, third.raw) == (0, 7)
    assert third.signature == "t_counted|v1|p:7"
    score_locally(RECORD, REGISTRY.parse("t_counted"))  # another record's evidence: asked anew
    assert CALLS == ["counted 0", "counted 7", "counted 0"]


@pytest.mark.parametrize(
    ("name", "ring"), [("t_a", "t_a -> t_b -> t_c"), ("t_b", "t_b -> t_c -> t_a")]
)
def test_rings_are_refused_and_named(name: str, ring: str) -> None:
    found = one(name)  # what fails is the innermost question; its asker hands the failure on
    assert found.status == "failed" and found.risk is None
    assert found.reason == f"UsageError: scorers depend on each other in a cycle: {ring}"
    assert found.signature == f"{name}|v1"


def test_a_scorer_that_asks_for_itself_fails() -> None:
    assert "t_itself" in str(one("t_itself").reason)


def test_a_ring_does_not_spoil_what_comes_after() -> None:
    ring, fine = score_locally(RECORD, REGISTRY.parse("t_a, exact_match"))
    assert ring.status == "failed" and fine.raw == 0.5


def test_a_failure_can_be_caught_by_who_asked() -> None:
    assert one("t_careful").risk == 1.0


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("declines", "not_applicable", "not today"),
        ("needy", "not_applicable", "the record has no contexts"),
        ("silent", "failed", "KeyError:"),
        ("wrong", "failed", "TypeError: the scorer returned float, not a Score"),
        ("waits", "failed", "a free scorer must not await"),
        (
            "embeds",
            "failed",
            "UsageError: a scorer requested embeddings",
        ),
        ("unknown", "failed", "UsageError:"),
        ("over", "failed", "ValidationError:"),
        ("nan", "failed", "ValidationError:"),
    ],
)
def test_what_a_scorer_raises_becomes_its_status(name: str, status: str, reason: str) -> None:
    found = one(f"t_{name}")
    assert found.status == status and found.risk is None and found.raw is None
    assert found.reason is not None and found.reason.startswith(reason)
    assert found.signature == f"t_{name}|v1" + ("|p:0" if name == "needy" else "")


def test_a_free_scorer_cannot_match_tokens() -> None:
    assert "requested token embeddings" in str(one("t_matches").reason)


def test_reasons_are_one_bounded_line() -> None:
    reason = one("t_boom").reason
    assert reason is not None and len(reason) == 300
    assert reason.startswith("ValueError: first line second line xxx") and reason.endswith("x...")
    assert failure(ValueError("short")) == "ValueError: short"
    assert len(failure(ValueError("x" * 288))) == 300  # with "ValueError: ", just fits
    assert failure(ValueError("x" * 288)).endswith("x")


async def test_cancelling_and_exiting_are_not_failures() -> None:
    async def leaves(record: Record, evidence: Evidence) -> Score:
        """Leaves."""
        raise KeyboardInterrupt

    async def cancelled(record: Record, evidence: Evidence) -> Score:
        """Cancelled."""
        raise asyncio.CancelledError

    for function, error in ((leaves, KeyboardInterrupt), (cancelled, asyncio.CancelledError)):
        try:
            scorer("t_stop", level="response", source="test")(function)
            with pytest.raises(error):
                await guarded(REGISTRY.parse("t_stop")[0], RECORD, LocalEvidence(RECORD))
        finally:
            REGISTRY._scorers.pop("t_stop")


async def test_models_are_in_the_signature() -> None:
    (bound,) = REGISTRY.parse("t_counted(p=3)")
    found = await guarded(bound, RECORD, LocalEvidence(RECORD), "embedder:m@1")
    assert found.signature == "t_counted|v1|embedder:m@1|p:3"


def test_words_are_split_once() -> None:
    evidence = LocalEvidence(RECORD)
    first = evidence.words("It is in Mali.")
    assert first == words("It is in Mali.") and evidence.words("It is in Mali.") is first


async def test_asking_for_what_does_not_exist_says_so() -> None:
    evidence = LocalEvidence(RECORD)
    with pytest.raises(UsageError, match="t_counted"):
        await evidence.score("t_countd")
    with pytest.raises(UsageError, match="it takes: p"):
        await evidence.score("t_counted", q=1)
