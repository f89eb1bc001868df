"""Pytest plugin: fixture ``veridical`` with assertions about answers.

It is loaded with every pytest session of an environment, so it prints nothing and imports only what
pytest has imported already. Models load with the first assertion, once per process (or worker of
pytest-xdist).
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False  # importing typing would dominate the plugin's import time
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from veridical.core.scores import Result

_MARKER = (
    "veridical(**options): a test whose answers are checked; options such as nli='base' or "
    "llm='NAME' are those of veridical.check_one. Tests with the fixture get the marker "
    "automatically."
)


class AnswerChecker:
    """Value of the fixture ``veridical``.

    Its assertions return the :class:`~veridical.Result`, and add the properties
    ``veridical_verdict`` and ``veridical_risk`` to the test, which JUnit XML shows.
    """

    def __init__(self) -> None:
        self._item: pytest.Item | None = None

    def assert_supported(
        self, answer: str, sources: str | Sequence[str], question: str | None = None
    ) -> Result:
        """Assert that the sources support every sentence of an answer.

        Args:
            answer: the text to be checked.
            sources: one or several texts that must support it.
            question: the question it answers.

        Raises:
            AssertionError: a sentence is contradicted or unsupported, or the answer could not be
                checked; the message has the sentence and the evidence.
            UsageError: an argument or an option is invalid.
        """
        __tracebackhide__ = True
        result = self._check(answer, question=question, contexts=sources)
        self._judge(result, "supported", answer, question)
        return result

    def assert_consistent(self, answer: str, samples: Sequence[str]) -> Result:
        """Assert that other answers to the same question agree with an answer.

        Args:
            samples: the other answers, without this one.

        Raises:
            AssertionError: they disagree, or the answer could not be checked.
            UsageError: an argument or an option is invalid.
        """
        __tracebackhide__ = True
        result = self._check(answer, samples=samples)
        self._judge(result, "consistent", answer, None)
        return result

    def _check(self, answer: str, **given: Any) -> Result:
        from veridical.single import check_one

        options: dict[str, Any] = {}
        if self._item is not None:
            for marker in reversed(list(self._item.iter_markers("veridical"))):  # the nearest last
                options |= marker.kwargs
        return check_one(answer, **given, **options)

    def _judge(self, result: Result, wanted: str, answer: str, question: str | None) -> None:
        __tracebackhide__ = True
        from veridical.integrations.words import lines_of

        if self._item is not None:
            facts = {"verdict": result.verdict, "risk": result.risk}
            self._item.user_properties += [
                (f"veridical_{name}", value) for name, value in facts.items() if value is not None
            ]
        if result.verdict != wanted:
            lines = "\n  ".join(lines_of(result, answer, question))
            raise AssertionError(f"the answer is not {wanted}:\n  {lines}")


_CHECKER = pytest.StashKey[AnswerChecker]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_CHECKER] = AnswerChecker()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that use the fixture."""
    if "veridical" in getattr(item, "fixturenames", ()):
        item.add_marker("veridical")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, None, None]:
    """Set the checker's current test."""
    checker = item.config.stash[_CHECKER]
    checker._item = item
    yield
    checker._item = None


@pytest.fixture(scope="session")
def veridical(request: pytest.FixtureRequest) -> AnswerChecker:
    """Provide assertions that answers are supported by sources, or consistent with samples."""
    return request.config.stash[_CHECKER]
