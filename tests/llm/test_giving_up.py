"""A server that turns every call away is given up after a stated time, and found again later."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from faults import FaultServer
from test_client import ENDPOINT, always, ask, client_of, error_of
from virtual_time import run_virtually

from veridical.core.messages import LlmError, Reply


@pytest.mark.parametrize("asked", [None, 20.0])
def test_a_server_that_turns_everything_away_is_given_up(asked: float | None) -> None:
    """It took 346 s for the calls of four prompts."""
    server = FaultServer(always("429" if asked is None else "429 seconds"), retry_after=asked or 0)
    endpoint = replace(ENDPOINT, patience=30.0, attempts=100)

    async def main() -> list[LlmError]:
        client = client_of(server, endpoint)
        outcomes = await asyncio.gather(*(client.chat(ask(f"{i}")) for i in range(60)))
        late = await client.chat(ask("later"))  # at once, unless the server is to be tried again
        await client.close()
        return [error_of(o) for o in (*outcomes, late)]

    errors, seconds = run_virtually(main())
    assert seconds <= 31 + (asked or 0)
    assert {e.trouble for e in errors} == {"rate_limited"}
    assert all("rejected every call for 30 s" in str(e) or "429" in str(e) for e in errors)
    assert any("patience" in str(e) for e in errors)
    assert not any(e.possibly_paid for e in errors)


def test_a_server_that_was_given_up_is_found_again() -> None:
    def fault(number: int) -> str | None:
        return "429" if asyncio.get_running_loop().time() < 60 else None

    server = FaultServer(fault)
    endpoint = replace(ENDPOINT, patience=5.0, attempts=100)

    async def main() -> int:
        client = client_of(server, endpoint)
        lost = await asyncio.gather(*(client.chat(ask(f"{i}")) for i in range(30)))
        assert all(isinstance(o[0], LlmError) for o in lost)
        while not isinstance((await client.chat(ask("again")))[0], Reply):
            await asyncio.sleep(10.0)
        found = await asyncio.gather(*(client.chat(ask(f"{i}")) for i in range(30)))
        await client.close()
        return sum(isinstance(o[0], Reply) for o in found)

    assert run_virtually(main())[0] == 30
