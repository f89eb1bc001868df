"""NeMo Guardrails output rail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from veridical.integrations.judgement import Judgement, judgement, texts_of
from veridical.single import acheck_one

#: Colang 1.0 flow that runs the action. ``config.yml`` names it under ``rails.output.flows``.
FLOW = """\
define flow veridical check output
  $veridical_passed = execute veridical_check_output
  if not $veridical_passed
    bot inform answer unknown
    stop
"""


def nemo_action(*, allow_unchecked: bool = False, **options: Any) -> Callable[..., Any]:
    """Create the action ``veridical_check_output``, for ``actions.py`` or ``register_action``.

    It checks the bot's message against ``relevant_chunks`` of the context (or
    ``relevant_chunks_sep``), and returns True if the message passes. The context gets
    ``veridical``: ``verdict``, ``risk`` and ``reason``.

    Args:
        allow_unchecked: pass messages that could not be checked, such as those without sources;
            contradicted and unsupported ones are stopped in any case.
        options: of :func:`veridical.check_one`.
    """
    from nemoguardrails.actions import action
    from nemoguardrails.actions.actions import ActionResult

    @action(name="veridical_check_output")  # type: ignore[untyped-decorator]
    async def veridical_check_output(context: Mapping[str, Any] | None = None) -> Any:
        known = context or {}
        answer = str(known.get("bot_message") or "")
        chunks = texts_of(known.get("relevant_chunks_sep")) or texts_of(
            known.get("relevant_chunks")
        )
        question = str(known.get("user_message") or "") or None
        result = await acheck_one(answer, contexts=chunks or None, question=question, **options)
        found = judgement(result)
        note = {"verdict": found.label, "risk": found.value, "reason": found.reason}
        return ActionResult(_passes(found, allow_unchecked), context_updates={"veridical": note})

    made: Callable[..., Any] = veridical_check_output
    return made


def _passes(found: Judgement, allow_unchecked: bool) -> bool:
    return found.passed or found.label == "unclear" or (allow_unchecked and not found.checked)
