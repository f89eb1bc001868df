"""The server's LiteLLM route, asked by LiteLLM's own guardrail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("litellm")
pytest.importorskip("fastapi")
SOURCE = "The tower is 57 m tall."
WRONG = "The tower is 70 m tall."


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("serve")
    log = folder / "log.txt"
    command = [sys.executable, "-m", "veridical", "serve", "--port", "0"]
    with log.open("w") as file:
        child = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
    try:
        yield _address(child, log)
    finally:
        child.terminate()
        child.wait(30)


def _address(child: subprocess.Popen[bytes], log: Path) -> str:
    import time

    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and child.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text()):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


async def ask(address: str, answer: str, *messages: dict[str, Any], call: str) -> Any:
    """What becomes of an answer to a request with these messages."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm.proxy.guardrails.guardrail_hooks.generic_guardrail_api.generic_guardrail_api import (  # noqa: E501
        GenericGuardrailAPI,
    )

    guardrail = GenericGuardrailAPI(api_base=address, guardrail_name="veridical")
    logging = SimpleNamespace(litellm_call_id=call, litellm_trace_id=None, model_call_details={})
    asked: Any = {"texts": ["How tall?"], "structured_messages": list(messages)}
    await guardrail.apply_guardrail(asked, {}, "request", logging)
    return await guardrail.apply_guardrail({"texts": [answer]}, {}, "response", logging)


TOOL = {"role": "tool", "tool_call_id": "1", "content": SOURCE}
USER = {"role": "user", "content": "How tall?"}


async def test_a_supported_answer_passes(address: str) -> None:
    assert (await ask(address, SOURCE, USER, TOOL, call="a"))["texts"] == [SOURCE]


@pytest.mark.parametrize(
    ("answer", "messages", "why"),
    [(WRONG, [USER, TOOL], "contradicted"), (SOURCE, [USER], "unchecked")],
)
async def test_a_wrong_answer_and_an_unchecked_one_are_blocked(
    address: str, answer: str, messages: list[Any], why: str
) -> None:
    from litellm.exceptions import GuardrailRaisedException

    with pytest.raises(GuardrailRaisedException, match=why):
        await ask(address, answer, *messages, call=why)
