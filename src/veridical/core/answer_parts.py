"""The parameter ``answer`` of scorers that compare answers: which part of each they compare."""

from __future__ import annotations

from typing import Any, NamedTuple

from veridical.core.records import Against, Record, Source
from veridical.errors import UsageError, VeridicalError
from veridical.text.answer_part import part_finder


class NoAnswerPart(VeridicalError):
    """A text in which the part that is to be compared is not found."""


class AnswerPart(str):
    """Annotation of a scorer's parameter ``answer``: checked when the scorer is bound."""

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
    """
    Raises:
        UsageError: it names no part.
    """
    try:
        part_finder(answer)
    except ValueError as e:
        raise UsageError(f"answer {e}, not {answer!r}") from None


class Parts(NamedTuple):
    """What is compared.

    Attributes:
        response: text of the response.
        others: of each source, None where nothing was found: it agrees with nothing.
        sources: they, in the same order.
    """

    response: str
    others: list[str | None]
    sources: list[Source]

    @property
    def found(self) -> list[int]:
        """Places of the others that have a text."""
        return [i for i, text in enumerate(self.others) if text is not None]


def answer_parts(record: Record, against: Against, answer: str | None) -> Parts:
    """The response and what it is compared with: whole texts where ``answer`` is None, else that
    part of each.

    Raises:
        NotApplicable: the response is blank, or there is nothing to compare it with.
        NoAnswerPart: it is not found in the response, or in none of the sources.
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
