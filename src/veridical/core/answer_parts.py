"""The ``answer`` parameter: the part of each answer that scorers compare."""

from __future__ import annotations

from typing import Any, NamedTuple

from veridical.core.records import Against, Record, Source
from veridical.errors import UsageError, VeridicalError
from veridical.text.answer_part import part_finder


class NoAnswerPart(VeridicalError):
    """Error: the part to compare is not found in a text."""


class AnswerPart(str):
    """Annotation of the scorer parameter ``answer``, validated when the scorer is bound."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import PydanticCustomError, core_schema

        def checked(value: str) -> str:
            try:
                part_finder(value)
            except ValueError as e:
                raise PydanticCustomError("answer_part", "{why}", {"why": str(e)}) from None
            return value

        return core_schema.no_info_after_validator_function(checked, core_schema.str_schema())


def check_part(answer: str) -> None:
    """Check that ``answer`` names a part of an answer.

    Raises:
        UsageError: ``answer`` names no part.
    """
    try:
        part_finder(answer)
    except ValueError as e:
        raise UsageError(f"answer {e}, not {answer!r}") from None


class Parts(NamedTuple):
    """The texts that are compared.

    Attributes:
        response: the part of the response that is compared.
        others: the part of each source; None where it is not found: such a source agrees with
            nothing.
        sources: the sources, in the same order.
    """

    response: str
    others: list[str | None]
    sources: list[Source]

    @property
    def found(self) -> list[int]:
        """Indices of the ``others`` that have a text."""
        return [i for i, text in enumerate(self.others) if text is not None]


def answer_parts(record: Record, against: Against, answer: str | None) -> Parts:
    """Return the texts to compare: whole texts if ``answer`` is None, else that part of each.

    Raises:
        NotApplicable: the response is blank, or there is nothing to compare it with.
        NoAnswerPart: the part is not found in the response, or in no source.
    """
    response = record.need_answer()
    sources = record.against(against)
    if answer is None:
        return Parts(response, [s.text for s in sources], sources)
    find = part_finder(answer)
    part = find(response)
    if part is None:
        raise NoAnswerPart(f"answer={answer} is not found in the response")
    others = [find(s.text) for s in sources]
    if all(text is None for text in others):
        kinds = {"sample": "samples", "context": "contexts", "reference": "references"}
        raise NoAnswerPart(f"answer={answer} is not found in the {kinds[sources[0].kind]}")
    return Parts(part, others, sources)
