"""The output rail in a real NeMo Guardrails app, whose model is scripted."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("nemoguardrails")
RIGHT, WRONG = "The tower is 57 m tall.", "The tower is 70 m tall."
REFUSED = "I can only say what the sources say."
CONFIG = """
models: []
rails:
  output:
    flows:
      - veridical check output
"""
BOT = f"""
define bot inform answer unknown
  "{REFUSED}"
"""


def answer(text: str, chunks: Any = RIGHT, **options: Any) -> tuple[str, Any]:
    """Return an app's answer in the place of ``text``, and the rail's notes."""
    from nemoguardrails import LLMRails, RailsConfig

    from veridical.integrations.nemo_guardrails import FLOW, nemo_action

    rails = LLMRails(RailsConfig.from_content(colang_content=BOT + FLOW, yaml_content=CONFIG))
    rails.register_action(nemo_action(store=None, nli="mini", **options), "veridical_check_output")
    context = {"role": "context", "content": {"relevant_chunks": chunks}}
    asked = {"role": "user", "content": "How tall is the tower?"}
    said = {"role": "assistant", "content": text}
    made = rails.generate(
        messages=[context, asked, said],
        options={"rails": ["output"], "output_vars": ["veridical"]},
    )
    assert made.response and made.output_data is not None
    return made.response[0]["content"], made.output_data["veridical"]


def test_a_supported_message_passes() -> None:
    said, note = answer(RIGHT)
    assert said == RIGHT and note["verdict"] == "supported"
    assert answer(RIGHT, ["It rains.", RIGHT])[0] == RIGHT


def test_a_wrong_message_is_stopped() -> None:
    said, note = answer(WRONG)
    assert said == REFUSED
    assert note["verdict"] == "contradicted" and "57 m" in note["reason"]


def test_what_was_not_checked_is_stopped_unless_allowed() -> None:
    said, note = answer(RIGHT, "")
    assert said == REFUSED and note["verdict"] == "unchecked"
    assert answer(RIGHT, "", allow_unchecked=True)[0] == RIGHT
    assert answer(WRONG, allow_unchecked=True)[0] == REFUSED
