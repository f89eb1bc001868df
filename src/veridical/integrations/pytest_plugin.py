"""The pytest plugin: a fixture ``veridical`` that asserts that an answer is supported.

It is loaded with every pytest session of an environment, so it prints nothing and imports nothing
but what pytest has imported already; models load with the first assertion, once a process (a
worker of pytest-xdist is one).
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False  # typing's own would be most of what the import costs
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from veridical.core.scores import Result

_MARKER = (
    "veridical(**options): a test whose answers are checked; options such as nli='base' or "
    "llm='NAME' are those of veridical.check_one. Tests with the fixture have the marker by "
    "themselves."
)


class AnswerChecker:
    """What the fixture ``veridical`` is.

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
            answer: what is checked.
            sources: a text, or several, that it must follow.
            question: what was asked.

        Raises:
            AssertionError: a sentence is contradicted or unsupported, or the answer could not be
                checked; the message has the sentence and the evidence.
            UsageError: an argument or an option does not fit.
        """
        __tracebackhide__ = True
        result = self._check(answer, question=question, contexts=sources)
        self._judge(result, "supported", answer, question)
        return result

    def assert_consistent(self, answer: str, samples: Sequence[str]) -> Result:
        """Assert that other answers to the same question agree with an answer.

        Args:
            samples: the other answers; the answer is none of them.

        Raises:
            AssertionError: they disagree, or the answer could not be checked.
            UsageError: an argument or an option does not fit.
        """
        __tracebackhide__ = True
        result = self._check(answer, samples=samples)
        self._judge(result, "consistent", answer, None)
        return result

    def _check(self, answer: str, **given: Any) -> Result:
        from veridical.single import check_one

        options: dict[str, Any] = {}
        if self._item is not None:
            for marker in reversed(list(self._item.iter_markers("veridical"))):  # nearest last
                options |= marker.kwargs
        return check_one(answer, **given, **options)

    def _judge(self, result: Result, wanted: str, answer: str, question: str | None) -> None:
        __tracebackhide__ = True
        from veridical.integrations.words import told

        if self._item is not None:
            facts = {"verdict": result.verdict, "risk": result.risk}
            self._item.user_properties += [
                (f"veridical_{name}", value) for name, value in facts.items() if value is not None
            ]
        if result.verdict != wanted:
            lines = "\n  ".join(told(result, answer, question))
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
    """Tell the checker which test it is in."""
    checker = item.config.stash[_CHECKER]
    checker._item = item
    yield
    checker._item = None


@pytest.fixture(scope="session")
def veridical(request: pytest.FixtureRequest) -> AnswerChecker:
    """Asserts that answers are supported by sources, or consistent with other answers."""
    return request.config.stash[_CHECKER]
