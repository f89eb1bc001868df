"""The reading service: each text is read once after each prompt, and kept whole and exact."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.protocols import Window
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.engine.batching import IdleSignal
from veridical.engine.reading import LanguageService, fault
from veridical.errors import ModelError
from veridical.files.store import Store


def rows(n: int, **changes: Any) -> TokenProbabilities:
    value = TokenProbabilities(
        starts=np.arange(n),
        ends=np.arange(n) + 1,
        logprobs=-np.linspace(0.1, 3, n),
        top=np.tile([-0.1, -1.0, -np.inf], (n, 1)),
        entropy=np.full(n, 1.5),
        lowest=np.full(n, -20.0),
    )
    return replace(value, **changes)


class Letters:
    """A token a letter; log-probabilities from the letter and the prompt's length."""

    name, batch_tokens, workers = "letters", 64, 1

    def __init__(self, revision: str = "r1", whole: bool = True) -> None:
        self.revision = revision
        self.whole = whole
        self.read: list[GivenText] = []

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        return [[Window(len(t.text) + 1, t)] for t in texts]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self.read += [w.content for w in batch]
        return [w.content for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        (given,) = outputs
        if given.text == "bad":
            return rows(3, logprobs=np.array([-1.0, np.nan, -1.0]))
        n = len(given.text)
        value = rows(n, logprobs=-(np.array([ord(c) for c in given.text]) + len(given.prompt)) / 7)
        return value if self.whole else replace(value, entropy=None, lowest=None, top=None)

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        return "".join(f"[{m['content']}]" for m in messages)


def same(a: TokenProbabilities, b: TokenProbabilities) -> bool:
    names = ("starts", "ends", "logprobs", "top", "entropy", "lowest")
    pairs = [(getattr(a, n), getattr(b, n)) for n in names]
    return all(
        (x is None and y is None) or (x is not None and y is not None and np.array_equal(x, y))
        for x, y in pairs
    )


def asked(model: Any, texts: list[GivenText], store: Store | None = None) -> Any:
    async def run() -> Any:
        service = LanguageService(model, IdleSignal(0.05), store)
        try:
            return await asyncio.gather(*(service.ask([t], []) for t in texts)), service.work
        finally:
            service.close()

    found, work = asyncio.run(run())
    return [f for (f,) in found], work


def test_equal_requests_are_read_once_and_prompts_tell_them_apart() -> None:
    model = Letters()
    a, b = GivenText("p", "text"), GivenText("pp", "text")
    found, work = asked(model, [a, b, a, a])
    assert sorted(model.read) == [a, b] and work.requests == 2 and work.shared == 2
    assert same(found[0], found[2]) and not np.array_equal(found[0].logprobs, found[1].logprobs)
    expected = -(np.array([ord(c) for c in "text"]) + 1) / 7
    np.testing.assert_allclose(found[0].logprobs, expected, rtol=1e-6)


@pytest.mark.parametrize("whole", [True, False])
def test_a_warm_store_gives_the_same_numbers(tmp_path: Path, whole: bool) -> None:
    texts = [GivenText("p", "some text"), GivenText("", "\u6771\U0001f600"), GivenText("p", "")]
    store = Store(tmp_path / "store")
    cold, _ = asked(Letters(whole=whole), texts, store)
    assert len(store) == 3  # one matrix a text
    model = Letters(whole=whole)
    warm, work = asked(model, texts, store)
    assert model.read == [] and work.stored == 3
    assert all(same(c, w) for c, w in zip(cold[:2], warm[:2], strict=True))
    assert len(cold[2]) == len(warm[2]) == 0
    assert (cold[0].entropy is None) == (not whole) == (cold[0].top is None)
    other = Letters("r2", whole)
    asked(other, texts, store)
    assert len(other.read) == 3  # another model has said nothing yet
    store.close()


def test_a_bad_answer_fails_its_askers_only() -> None:
    async def run() -> Any:
        service = LanguageService(Letters(), IdleSignal(0.05), None)
        try:
            bad, good = service.ask([GivenText("", "bad")], []), service.ask(
                [GivenText("", "good")], []
            )  # fmt: skip
            return await asyncio.gather(bad, good, return_exceptions=True)
        finally:
            service.close()

    bad, good = asyncio.run(run())
    assert isinstance(bad, ModelError) and "letters" in str(bad) and "not finite" in str(bad)
    assert len(good[0]) == 4


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (rows(3, starts=np.arange(2)), "one row per token"),
        (rows(3, top=np.zeros((2, 4))), "one row per token"),
        (rows(3, logprobs=np.array([-1, -np.inf, -1])), "not finite"),
        (rows(3, logprobs=np.array([-1, 0.5, -1])), "instead of a log-probability"),
        (rows(3, entropy=np.array([1, np.nan, 1])), "entropy"),
        (rows(3, starts=np.array([0, 2, 1])), "not in order"),
        (rows(3, starts=np.array([-1, 0, 1])), "before they begin"),
        (rows(3, starts=np.array([2, 2, 2])), "before they begin"),
    ],
)
def test_answers_that_are_no_answers(value: TokenProbabilities, words: str) -> None:
    assert words in (fault(value) or "")
    assert fault(rows(3)) is None and fault(rows(0)) is None


def test_chat_prompts_come_from_the_model() -> None:
    async def run() -> str:
        service = LanguageService(Letters(), IdleSignal(0.05), None)
        try:
            return await service.chat_prompt([{"role": "user", "content": "Hi"}])
        finally:
            service.close()

    assert asyncio.run(run()) == "[Hi]"


class Spelling(Letters):
    """Tells which tokens its alternatives are."""

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        value = super().assemble(windows, outputs)
        return replace(value, top_ids=np.tile([70_000, 7, 0], (len(value), 1)))

    def spell(self, token: int) -> str:
        return f" t{token}"


def test_alternatives_are_spelled_whether_the_store_is_warm_or_cold(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for reads in (1, 0):
        model = Spelling()
        ((value,), _) = asked(model, [GivenText("p", "text")], store)
        assert len(model.read) == reads
        assert value.top_text is not None and value.bounded().top_text is value.top_text
        assert value.top_text(3) == [" t70000", " t7", " t0"]
        assert value.top is not None and value.top.shape == (4, 3)
    ((value,), _) = asked(Letters(), [GivenText("p", "text")])
    assert value.top_text is None and value.top_ids is None


def test_alternatives_are_named_one_by_one() -> None:
    assert "one id each" in str(fault(rows(3, top_ids=np.zeros((3, 2), np.int64))))
    assert "one id each" in str(fault(rows(3, top=None, top_ids=np.zeros((3, 3), np.int64))))
