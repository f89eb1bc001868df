"""Stand-ins for models in a dry run.

They count requests and compute almost nothing. :func:`stand_in` selects the class for each kind of
model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.kinds import Kind
from veridical.core.messages import ChatRequest, LlmError, Reply, Usage
from veridical.core.protocols import LABELS, Encoded, Encoder, NliModel, Window
from veridical.core.tokens import TokenProbabilities
from veridical.engine.reading import tokens_read
from veridical.llm.asking import BARE
from veridical.llm.budget import CHARACTERS_PER_TOKEN, longest_answer, rough_tokens
from veridical.llm.cost_accounting import Account
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal
from veridical.llm.ledger import Ledger
from veridical.llm.llms import Llms
from veridical.llm.pretend import pretend
from veridical.llm.scheduling import Text, prompt_text, shared
from veridical.llm.service import LlmService
from veridical.run.pretending import nothing_follows

_RESTATED = 64  # approximate tokens of the rule that is added if a reply has no verdict
_TIMED = 3  # real forwards that determine the rate


class _Counting:
    """Counting stand-in: tokenises like its model, without computation except a few timed forwards
    of a local model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.workers: int = model.workers  # among which a few windows are split
        self.name: str = model.name
        self.revision: str = model.revision
        self.scripts: frozenset[str] | None = getattr(model, "scripts", None)
        self.languages: frozenset[str] | None = getattr(model, "languages", None)
        self.batch_tokens: int = model.batch_tokens
        self._timings: list[tuple[int, float]] = []
        self._timing = threading.Lock()  # one at a time, so that timings do not affect each other

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        windows: list[list[Window]] = self._model.windows(requests)
        return windows

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch)
        return [None] * len(batch)

    def _timed(
        self, batch: Sequence[Window], *mode: bool, forward: str = "run"
    ) -> list[Any] | None:
        """Return the outputs of a real forward; None once enough were timed. As many run
        concurrently as in a run, so that shared cores are timed as shared."""
        if not self.local or len(self._timings) >= _TIMED:
            return None
        with self._timing, ThreadPoolExecutor(self.workers) as pool:
            started = time.perf_counter()
            forwards = [
                pool.submit(getattr(self._model, forward), batch, *mode)
                for _ in range(self.workers)
            ]
            outputs: list[list[Any]] = [f.result() for f in forwards]
            spent = time.perf_counter() - started
            self._timings.append((self._size(batch) * self.workers, spent))
        return outputs[0]

    def _size(self, batch: Sequence[Window]) -> int:
        """Count the tokens that a forward over ``batch`` processes."""
        return len(batch) * max(w.length for w in batch)

    @property
    def local(self) -> bool:
        """True if the model runs on this computer."""
        return getattr(self._model, "local", True)

    @property
    def timed(self) -> float:
        """Seconds of the timed forwards."""
        return sum(seconds for _, seconds in self._timings)

    def seconds(self, padded: int) -> float | None:
        """Estimate the time for ``padded`` tokens by the timed rate of all workers together; None
        if unknown."""
        timed = self._timings[1:] or self._timings  # the first forward warms up
        if not padded:
            return 0.0
        if not timed:
            return None
        return padded * sum(s for _, s in timed) / sum(n for n, _ in timed)


class CountingEncoder(_Counting):
    """Stand-in for an :class:`Encoder`."""

    def __init__(self, model: Encoder) -> None:
        super().__init__(model)
        self.has_tokens = model.has_tokens
        self._dims = (1, 1)

    def run(self, batch: Sequence[Window], tokens: bool = False) -> list[Any]:
        outputs = self._timed(batch, tokens)
        if outputs is not None:
            first = self._model.assemble(batch[:1], outputs[:1], tokens)
            width = 0 if first.tokens is None else first.tokens.shape[1]
            self._dims = (first.vector.shape[0], width)
        return [None] * len(batch)

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        places: list[NDArray[np.int64]] = self._model.offsets(texts)
        return places

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        vector = np.zeros(self._dims[0], np.float32)
        if not tokens:
            return Encoded(vector=vector)
        first = windows[0].content
        special = first.head + first.tail
        n = special + sum(w.length - w.overlap - special for w in windows)
        content = np.zeros(n, np.bool_)
        content[first.head : n - first.tail] = True
        return Encoded(
            vector=vector,
            tokens=np.zeros((n, self._dims[1]), np.float32),
            token_ids=np.zeros(n, np.int64),
            content=content,
        )


class CountingNli(_Counting):
    """Stand-in for an :class:`NliModel`."""

    def __init__(self, model: NliModel) -> None:
        super().__init__(model)
        self.contradicts = model.contradicts
        self.tells_words = getattr(model, "tells_words", False)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        words = windows[0].content.words.total if self.tells_words else 0
        return nothing_follows(len(LABELS) + words)


class CountingReader(_Counting):
    """Stand-in for a :class:`LanguageModel`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.chat_prompt = model.chat_prompt
        self.state_shape = getattr(model, "state_shape", None)
        if hasattr(model, "shared"):
            self.order, self.shared = model.order, model.shared

    def _size(self, batch: Sequence[Window]) -> int:
        return tokens_read(self, batch) if hasattr(self, "shared") else super()._size(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        """Return one token with probability about one half: lengths do not count here."""
        place, even = np.zeros(1, np.int64), np.full(1, -0.7)
        return TokenProbabilities(
            place, place + 1, even, even[:, None], np.full(1, 0.7), np.full(1, -9.0)
        )

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        windows: list[list[Window]] = self._model.state_windows(texts)
        return windows

    def states(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch, forward="states")
        return [np.zeros(self.state_shape, np.float32) for _ in batch]


class CountingModel(_Counting):
    """Stand-in for a :class:`Checkpoint`, or any other back end that can ``pretend``."""

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch)
        return [self._model.pretend(window) for window in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = self._model.assemble(windows, outputs)
        return answer


_COUNTING: dict[str, type[_Counting]] = {
    "embedder": CountingEncoder,
    "token_encoder": CountingEncoder,
    "nli": CountingNli,
    "proxy": CountingReader,
}


def stand_in(kind: Kind, back_end: Any) -> Any:
    """Make the counting stand-in for ``back_end``."""
    return _COUNTING.get(kind.name, CountingModel)(back_end)


class CountingLlm:
    """Stand-in for an LLM client: counts calls, and returns suitable answers.

    Args:
        endpoint: endpoint with the prices.
        again: ledger of the repeated calls after replies without a verdict.

    Attributes:
        shares_prefixes: as for the real client. The part of each prompt that it shares with the
            one before counts as cached, approximately, by characters.
    """

    def __init__(self, endpoint: Endpoint, again: Ledger | None = None) -> None:
        self._endpoint = endpoint
        self._again = again
        self.shares_prefixes = endpoint.llama_cpp
        self._last: Text = ()

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        replies: list[Reply | LlmError] = []
        for _ in ordinals:
            usage = self._usage(request)
            reply = pretend(request, usage)
            replies.append(reply)
            if request.verdict is not None and self._again is not None:
                longer = Usage(
                    (usage.prompt or 0) + _RESTATED, BARE if request.cut else usage.completion
                )
                cost = self._endpoint.cost(longer.prompt, longer.completion)
                self._again.calls += 1
                self._again.answer(replace(reply, usage=longer), cost)
        return replies

    def _usage(self, request: ChatRequest) -> Usage:
        """Estimate the tokens of one answer to ``request``: its maximum."""
        tokens, cached = rough_tokens(request), None
        if self.shares_prefixes:
            text = prompt_text(request)
            cached = min(tokens, shared(self._last, text) // CHARACTERS_PER_TOKEN)
            self._last = text
        return Usage(tokens, longest_answer(self._endpoint, request), cached)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class CountingAnswers(CountingLlm):
    """Stand-in that answers each prompt by a different short sentence, as equal ones would be
    judged once."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._answered = 0

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        first = self._answered
        self._answered += len(ordinals)
        return [
            Reply(f"Answer {first + i}.", "stop", usage=self._usage(request))
            for i in range(len(ordinals))
        ]


class CountingChat:
    """Counted calls of sampling, on separate accounts.

    Attributes:
        needed: ledger of draws below number ``least``, and of greedy responses.
        further: ledger of further draws, which adaptive sampling may not need.
    """

    def __init__(self, endpoint: Endpoint, identity: str, journal: Journal, least: int) -> None:
        self._service = LlmService(endpoint, client=CountingAnswers(endpoint))
        self._service.identity = identity
        self._least = max(1, least)  # a response, even without samples
        self.needed, self.further = Account(journal), Account(journal)

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        needed = [r for r in requests if r.ordinal < self._least]  # ordinals only increase
        further = requests[len(needed) :]
        return [
            *await self._service.chat_each(needed, self.needed),
            *await self._service.chat_each(further, self.further),
        ]


class CountingLlms(Llms):
    """Counting stand-ins for the engine's LLMs.

    Attributes:
        again: maximum calls repeated after replies without a verdict.
    """

    def __init__(self, real: Llms) -> None:
        self.again = Ledger()
        self._real = real
        super().__init__(real.default, connect=lambda endpoint: CountingLlm(endpoint, self.again))

    def endpoint(self, spec: str | None = None) -> Endpoint:
        return self._real.endpoint(spec)

    def service(self, spec: str | None = None) -> LlmService:
        service = super().service(spec)
        service.identity = self._real.identity(spec)
        return service
