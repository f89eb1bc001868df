"""Hidden states behind the coalescer: by layer, stored, bounded, and each failing alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.protocols import Window
from veridical.engine.batching import IdleSignal
from veridical.engine.reading import LanguageService
from veridical.engine.states import Capacity
from veridical.errors import ModelError
from veridical.files.store import Store


class Codes:
    """States of 3 layers and width 2: the layer, and the sum of the text's character codes."""

    name, revision, batch_tokens, workers = "codes", "r1", 64, 1
    state_shape = (4, 2)

    def __init__(self) -> None:
        self.batches: list[int] = []

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        if any("long" in t for t in texts):
            raise ModelError("too long")
        return [[Window(sum(map(len, t)), "".join(t))] for t in texts]

    def states(self, batch: Sequence[Window]) -> list[Any]:
        self.batches.append(len(batch))
        return [
            np.array([[layer, self.code(w.content)] for layer in range(4)], np.float32)
            for w in batch
        ]

    @staticmethod
    def code(text: str) -> float:
        return float("nan") if text == "bad" else float(sum(map(ord, text)))


def service(model: Any, store: Store | None = None) -> LanguageService:
    return LanguageService(model, IdleSignal(0.01), store)


async def test_layers_and_order() -> None:
    model = Codes()
    made = service(model)
    texts = [("a", "b"), ("c",), ("a", "b")]
    found = await made.hidden(texts, None)
    assert found.shape == (3, 4, 2) and found.dtype == np.float32
    assert found[:, :, 0].tolist() == [[0, 1, 2, 3]] * 3
    assert found[:, 0, 1].tolist() == [195, 99, 195]
    chosen = await made.hidden(texts, [3, 1])
    assert (chosen == found[:, [3, 1]]).all()
    assert (await made.hidden([], [2])).shape == (0, 1, 2)
    assert made.work.windows == 4 and model.batches == [2, 2]
    with pytest.raises(ModelError, match="has layers 0 to 3"):
        await made.hidden(texts, [4])
    made.close()


async def test_stored_states_are_not_computed_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    first, again = Codes(), Codes()
    made, other = service(first, store), service(again, store)
    found = await made.hidden([("a",), ("b",)], [2])
    assert (await other.hidden([("b",), ("a",)], [2]) == found[::-1]).all()
    assert not again.batches and other.work.stored == 2
    await other.hidden([("a",)], [1])  # of another layer nothing is known
    await other.hidden([("a", "")], [2])  # nor of a text in other pieces
    assert again.batches == [1, 1]
    made.close()
    other.close()
    store.close()


async def test_one_text_fails_alone() -> None:
    made = service(Codes())
    texts = [("bad",), ("long",), ("good",)]
    found = await asyncio.gather(*(made.hidden([t], None) for t in texts), return_exceptions=True)
    assert isinstance(found[0], ModelError) and "not finite" in str(found[0])
    assert isinstance(found[1], ModelError) and "too long" in str(found[1])
    assert found[2].shape == (1, 4, 2)
    made.close()


async def test_a_model_without_states() -> None:
    model = Codes()
    model.state_shape = None  # type: ignore[assignment]
    with pytest.raises(ModelError, match="codes has no accessible hidden states"):
        await service(model).hidden([("a",)], None)


async def test_room_is_given_in_turn_and_never_twice() -> None:
    room, held, most, order = Capacity(10), [0], [0], []

    async def take(name: int, size: int) -> None:
        async with room.take(size):
            order.append(name)
            held[0] += min(size, 10)
            most[0] = max(most[0], held[0])
            await asyncio.sleep(0)
            held[0] -= min(size, 10)

    sizes = [4, 5, 3, 99, 1, 1, 8, 2]
    await asyncio.gather(*(take(i, n) for i, n in enumerate(sizes)))
    assert order == list(range(8)) and most[0] <= 10 and held[0] == 0


async def test_who_gives_up_waiting_keeps_no_room() -> None:
    room = Capacity(10)

    async def take(size: int, until: asyncio.Event) -> None:
        async with room.take(size):
            await until.wait()

    until = asyncio.Event()
    first = asyncio.create_task(take(10, until))
    waiting = [asyncio.create_task(take(6, until)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    until.set()
    await asyncio.wait([first])
    waiting[1].cancel()  # in the very turn in which it was its turn
    await asyncio.wait(waiting)
    assert waiting[2].done() and not waiting[2].cancelled()
    async with room.take(10):
        pass
