"""What is no text, path or name is refused as such, by functions and by the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import veridical
from veridical import claims
from veridical.claims.api import ClaimCheckOptions
from veridical.errors import UsageError, option_named, typed_options
from veridical.tuning.options import TuneOptions


@pytest.mark.parametrize(
    ("function", "arguments", "why"),
    [
        (claims.check, (3, "x"), "claims must be a text, a Claim or a list of them, not 3"),
        (claims.check, (["a", 3], "x"), "a list of them, not a list with 3"),
        (claims.check, ("a", 3), "passages must be a text or a list of them, not 3"),
        (claims.check, ("a", {"a": 1}), "passages must be a text"),
        (claims.extract, (3,), "response must be a str or a Record, not 3"),
        (veridical.check, (3,), "cannot read records from int: pass a path, a dict"),
        (veridical.tune, (3,), "cannot read records from int"),
        (veridical.plan, (3,), "cannot read records from int"),
    ],
)
def test_what_is_taken_is_named(
    function: Callable[..., Any], arguments: tuple[Any, ...], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        function(*arguments)


def test_options_are_called_as_their_user_writes_them() -> None:
    assert option_named("keep_generic") == "keep_generic"
    assert option_named("llm", "NAME") == "llm=NAME"
    with pytest.raises(UsageError, match=r"^top must be at least 1, not 0"):
        ClaimCheckOptions(top=0)
    with pytest.raises(UsageError, match=r"^beta goes with objective=f_beta"):
        TuneOptions(beta=2.0)
    with typed_options():
        assert option_named("keep_generic") == "--keep-generic"
        assert option_named("llm", "NAME") == "--llm NAME"
        with pytest.raises(UsageError, match=r"^--top must be at least 1, not 0"):
            ClaimCheckOptions(top=0)
        with pytest.raises(UsageError, match=r"^--beta goes with --objective f_beta"):
            TuneOptions(beta=2.0)
    assert option_named("keep_generic") == "keep_generic"
