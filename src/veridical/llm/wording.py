"""Explanations of endpoints' failures, for error messages."""

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
    """Return the explanation of a failed call, "" if the server's message is sufficient.

    Args:
        trouble: its class.
        status: of the HTTP reply; None without a reply.
        message: the server's words, or the client's.
        model: the server's name of it.
        key: the variable that contains the key; None if no key is sent.
        address: of the server.
        empty: the account has no money or quota left.
    """
    if status == 401:
        return (
            f"the key in {key} was not accepted"
            if key
            else ("it requires a key; set key_env to the variable that contains it")
        )
    if status == 403:
        return f"the key in {key} lacks permission for this" if key else "it requires a key"
    if status == 402 or empty:
        return "the account has no quota or money left"
    if status == 429 and trouble == "rate_limited":
        return "too many calls (rate limit)"
    if status == 404:
        return f"it has no model {model!r}; check model and base_url" if model else "wrong address"
    if status in (503, 529):
        return "the server is overloaded"
    if status is not None and status >= 500:
        return "the server failed"
    if trouble == "timeout":
        return "timeout"
    if trouble == "connection":
        unreached = message.startswith(_UNREACHED)
        return f"no server responds at {address}" if unreached else "the connection broke"
    return ""


def explained(words: str, message: str) -> str:
    """Return ``message`` after its explanation."""
    return f"{words}: {message}" if words else message
