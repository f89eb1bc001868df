"""Prompt whose last hidden state encodes an NLI label.

Wording: RefChecker 0.2.17, ``refchecker/checker/repc/repc_checker.py`` (Apache-2.0). There it is
formatted as ChatML; here with the chat template of the model, which gives the same for a ChatML
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.errors import ModelError

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence

SYSTEM = "Consider the NLI label between the user given premise and hypothesis."
PREMISE = "Premise: "
HYPOTHESIS = "\nHypothesis: "
ANSWER = "The NLI label (Entailment, Neutral, Contradiction) is"

#: Stand for premise and hypothesis while a chat template is filled in; of no script.
_MARKS = ("\ue000", "\ue001")

Template = tuple[str, str, str]


async def template(evidence: Evidence, proxy: str | None) -> Template:
    """Return the texts before, between and after premise and hypothesis for the model ``proxy``.

    If its chat template takes no system message, the text is in the user's message.

    Raises:
        NotApplicable: no proxy was named.
        ModelError: its chat template cannot hold the two texts.
    """
    user = f"{PREMISE}{_MARKS[0]}{HYPOTHESIS}{_MARKS[1]}"
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]
    try:
        text = await evidence.chat_prompt(messages, proxy)
    except ModelError:
        messages = [{"role": "user", "content": f"{SYSTEM}\n\n{user}"}]
        text = await evidence.chat_prompt(messages, proxy)
    before, _, remainder = text.partition(_MARKS[0])
    between, _, after = remainder.partition(_MARKS[1])
    if text.count(_MARKS[0]) != 1 or remainder.count(_MARKS[1]) != 1:
        raise ModelError("the proxy's chat template does not show the user's message once, whole")
    return before, between, after + ANSWER


def pieces(frame: Template, premise: str, hypothesis: str) -> tuple[str, ...]:
    """Return one text as :meth:`~veridical.core.evidence.Evidence.hidden` takes it."""
    before, between, after = frame
    return before, premise, between, hypothesis, after
