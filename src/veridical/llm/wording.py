"""What an endpoint's failure means, in words that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.core.messages import Trouble

_UNREACHED = ("ConnectError", "ConnectTimeout")


def meaning(
    trouble: Trouble | None,
    status: int | None,
    message: str,
    *,
    model: str = "",
    key: str | None = None,
    address: str = "",
    empty: bool = False,
) -> str:
    """Words for the failure of a call, "" where its message says enough.

    Args:
        trouble: its class.
        status: of the HTTP reply; None where there was none.
        message: the server's words, or the client's.
        model: as the server knows it.
        key: the variable that the key is in; None where none is sent.
        address: of the server.
        empty: the account has no money or quota left.
    """
    if status == 401:
        return f"the key in {key} was not accepted" if key else "it wants a key (key_env names one)"
    if status == 403:
        return f"the key in {key} may not do this" if key else "it may not be used without a key"
    if status == 402 or empty:
        return "the account has no quota or money left"
    if status == 429 and trouble == "rate_limited":
        return "too many calls (rate limit)"
    if status == 404:
        return f"it has no model {model!r}, or another address" if model else "wrong address"
    if status in (503, 529):
        return "the server is overloaded"
    if status is not None and status >= 500:
        return "the server failed"
    if trouble == "timeout":
        return "timeout"
    if trouble == "connection":
        unreached = message.startswith(_UNREACHED)
        return f"nobody answers at {address}" if unreached else "the connection broke"
    return ""


def told(words: str, message: str) -> str:
    """``message`` after what it means."""
    return f"{words}: {message}" if words else message
