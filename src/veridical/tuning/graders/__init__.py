"""Graders: correctness of a response by the gold answers of its record.

``load_grader("numeric")`` returns one; ``await grader.grade(record, chat)`` returns a
:class:`Grade`.
"""

from __future__ import annotations

from veridical.errors import UsageError, unknown_name
from veridical.tuning.graders.grade import Chat, Grade, Grader

__all__ = ["GRADERS", "Chat", "Grade", "Grader", "load_grader"]

#: Criterion of each grader, by name.
GRADERS = {
    "choice": "multiple choice: the option named, by its letter or its text",
    "numeric": "the number the response ends up with",
    "exact": "the whole response is one of the gold answers, in normal form",
    "contains": "a gold answer occurs in the response, in normal form",
    "llm": "a language model says yes or no; llm:FILE.toml takes a prompt of your own",
}


def load_grader(spec: str) -> Grader:
    """Return the grader called ``spec``: a name of :data:`GRADERS`, or ``llm:TEMPLATE``.

    Raises:
        UsageError: there is no such grader, or its template cannot be read.
    """
    name, colon, template = spec.partition(":")
    if name not in GRADERS:
        raise unknown_name("grader", name, GRADERS)
    if colon and (name != "llm" or not template):
        raise UsageError(f"grader {spec!r}: only llm accepts an argument, as in llm:TEMPLATE")
    if name == "llm":
        from veridical.tuning.graders.llm import LlmGrader

        return LlmGrader.of(template or "grade_answer")
    from veridical.tuning.graders.choice import ChoiceGrader
    from veridical.tuning.graders.match import Contains, Exact
    from veridical.tuning.graders.numeric import Numeric

    by_rule: tuple[Grader, ...] = (ChoiceGrader(), Numeric(), Exact(), Contains())
    return next(grader for grader in by_rule if grader.name == name)
