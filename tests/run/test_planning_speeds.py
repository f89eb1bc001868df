"""How fast language models write, as plans of hours take it."""

from __future__ import annotations

import pytest

from veridical.errors import UsageError
from veridical.run.options import SPEEDS, SpeedOptions


def test_the_slowest_of_those_that_are_known_counts() -> None:
    speeds = SpeedOptions()
    assert speeds.speed_of(["local:smollm2", "local:qwen-0.5b"]) == SPEEDS["local:qwen-0.5b"]
    assert speeds.speed_of(["local:qwen-1.5b?threads=2"]) == SPEEDS["local:qwen-1.5b"]
    assert speeds.speed_of(["local:smollm2", "openai:gpt"]) is None
    assert speeds.speed_of([]) is None


def test_what_was_said_counts_for_all() -> None:
    assert SpeedOptions(tokens_per_second=7.5).speed_of(["local:smollm2", "openai:gpt"]) == 7.5


@pytest.mark.parametrize("speed", [0.0, -1.0, float("inf"), float("nan")])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(UsageError, match=r"tokens.per.second"):
        SpeedOptions(tokens_per_second=speed)
