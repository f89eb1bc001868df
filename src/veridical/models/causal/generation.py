"""Local generation from a causal model (extra ``[torch]``).

Base models are supported: without a chat template the prompt is the text itself. A server is
faster; this is for decodings that servers lack (beam search), and for grids of small models.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

from veridical.core.messages import ChatRequest, LlmError, Reply, Usage
from veridical.core.records import TokenLogprob, TopToken
from veridical.core.tokens import GivenText
from veridical.errors import ModelError, UsageError
from veridical.llm.endpoints import Endpoint
from veridical.models.causal.torch import TorchLanguageModel, read_torch

_DEFAULT_MAX_TOKENS = 512
_LONGEST_SEED = 1 << 63


def check_torch_chat(endpoint: Endpoint) -> tuple[str, dict[str, Any]]:
    """Return the arguments of the model that ``endpoint`` names, without loading it.

    Raises:
        UsageError: there is no such file or option, or ``extra_body`` has other keys than
            ``num_beams``.
    """
    for key in endpoint.extra_body:
        if key != "num_beams":
            raise UsageError(f"LLM {endpoint.name!r}: a local model has no option {key!r}")
    return read_torch(endpoint.base_url)


class TorchChat(TorchLanguageModel):
    """A chat client (see :class:`veridical.llm.service.ChatClient`) over transformers.

    ``temperature=0`` is greedy, or beam search if the endpoint's ``extra_body`` has ``num_beams``.
    Sampling uses only ``temperature``, ``top_k`` and ``top_p``, not the model's own generation
    settings. Log-probabilities are the model's, before any of these. Requests are processed one at
    a time, the ordinals of each together.

    Args:
        endpoint: with base URL ``torch:`` and the form of :func:`.torch.read_torch`.

    Raises:
        ModelError: torch is not installed, or the model cannot be found or built.
        UsageError: as in :func:`check_torch_chat`.
    """

    def __init__(self, endpoint: Endpoint, **options: Any) -> None:
        place, said = check_torch_chat(endpoint)
        super().__init__(place, **said, **options)
        self._beams = int(endpoint.extra_body.get("num_beams", 1))
        #: Everything that a reply depends on, except the request.
        self.identity = f"torch:{self.revision}:beams={self._beams}"

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """Return one reply per ordinal, in order; an error is repeated for all."""
        try:
            replies = await asyncio.to_thread(self._answer, request, ordinals)
        except LlmError as e:
            return [e] * len(ordinals)
        except ModelError as e:
            return [LlmError("rejected", str(e))] * len(ordinals)
        return [*replies]

    async def close(self) -> None:
        """Do nothing: the engine releases the model."""

    def _answer(self, request: ChatRequest, ordinals: Sequence[int]) -> list[Reply]:
        torch = self._torch
        count = len(ordinals)
        most = request.max_tokens or _DEFAULT_MAX_TOKENS
        ids = self._prompt_ids(request, most)
        with self._lock, torch.inference_mode(), torch.random.fork_rng():
            if request.seed is None:
                torch.seed()
            else:
                torch.manual_seed((request.seed + ordinals[0]) % _LONGEST_SEED)
            draws = request.temperature > 0
            inputs = torch.tensor([ids], device=self._device)
            written = self._model.generate(
                input_ids=inputs,
                attention_mask=torch.ones_like(inputs),
                generation_config=self._settings(request, most, count if draws else 1),
            )[:, len(ids) :].tolist()
            answers = [self._reply(ids, tokens, request) for tokens in written]
        return answers if draws else answers * count

    def _prompt_ids(self, request: ChatRequest, most: int) -> list[int]:
        """Tokenise the prompt, checking that an answer fits.

        Raises:
            LlmError: an answer of ``most`` tokens does not fit after the prompt.
        """
        ((window, *more),) = self.windows([GivenText(self.chat_prompt(request.messages), "a")])
        ids: list[int] = window.content.ids[: window.content.first].tolist()
        limit = self._windower.max_length
        # A full window may have lost the beginning of the prompt.
        if more or window.length >= limit or len(ids) + most > limit:
            raise LlmError(
                "rejected",
                f"the prompt and an answer of {most} tokens do not fit into the {limit} tokens "
                f"of {self.name}",
            )
        return ids

    def _settings(self, request: ChatRequest, most: int, count: int) -> Any:
        import transformers

        automatic: Any = transformers.GenerationConfig
        settings: dict[str, Any] = {
            "max_new_tokens": most,
            "pad_token_id": self._pad,
            "eos_token_id": self._ends() or None,
            "use_cache": True,
        }
        if request.temperature > 0:
            settings |= {
                "do_sample": True,
                "num_return_sequences": count,
                "temperature": request.temperature,
                "top_k": max(request.top_k or 0, 0),
                "top_p": 1.0 if request.top_p is None else request.top_p,
            }
        else:
            settings |= {"do_sample": False, "num_beams": self._beams}
        return automatic(**settings)

    def _ends(self) -> list[int]:
        """Return the ids of tokens that end an answer."""
        ends = getattr(self._model.generation_config, "eos_token_id", None)
        own_ends = ends if isinstance(ends, list) else [ends]
        return [i for i in {*own_ends, self._chat.eos_token_id} if isinstance(i, int)]

    def _reply(self, prompt: list[int], tokens: list[int], request: ChatRequest) -> Reply:
        ends = self._ends()
        stop = next((i for i, t in enumerate(tokens) if t in ends), None)
        answer = tokens if stop is None else tokens[:stop]
        pieces = self._pieces(answer)
        text = "".join(pieces)
        cut = min((at for s in request.stop if (at := text.find(s)) >= 0), default=None)
        if cut is not None:
            text, stop = text[:cut], len(answer)
        logprobs = None
        if request.logprobs is not None:
            logprobs = self._logprobs(prompt, answer, pieces, request.logprobs)
            if cut is not None:
                logprobs = _within(logprobs, cut)
        return Reply(
            text=text,
            finish_reason="length" if stop is None else "stop",
            logprobs=logprobs,
            usage=Usage(len(prompt), len(answer) + (stop is not None)),
            model=self.name,
        )

    def _pieces(self, tokens: list[int]) -> list[str]:
        """Return the text of each token; a character of several tokens belongs to the last."""
        pieces, before = [], ""
        for i in range(1, len(tokens) + 1):
            now = self._chat.decode(
                tokens[:i], skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
            whole = i == len(tokens) or not now.endswith("\N{REPLACEMENT CHARACTER}")
            grown = whole and now.startswith(before)
            pieces.append(now[len(before) :] if grown else "")
            before = now if grown else before
        return pieces

    def _logprobs(
        self, prompt: list[int], tokens: list[int], pieces: list[str], most: int
    ) -> tuple[TokenLogprob, ...]:
        if not tokens:
            return ()
        torch = self._torch
        ids = torch.tensor([prompt + tokens], device=self._device)
        logits = self._model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
        logs = torch.log_softmax(logits.float(), dim=-1)
        chosen = logs[torch.arange(len(tokens)), ids[0, len(prompt) :]].tolist()
        top = logs.topk(min(most, logs.shape[1]), dim=-1) if most else None
        logprobs = []
        for i, (piece, logprob) in enumerate(zip(pieces, chosen, strict=True)):
            others: tuple[TopToken, ...] = ()
            if top is not None:
                others = tuple(
                    TopToken(token=self._chat.decode([token]), logprob=min(value, 0.0))
                    for token, value in zip(
                        top.indices[i].tolist(), top.values[i].tolist(), strict=True
                    )
                    if value > -math.inf
                )
            logprobs.append(TokenLogprob(token=piece, logprob=min(logprob, 0.0), top=others))
        return tuple(logprobs)


def _within(tokens: tuple[TokenLogprob, ...], end: int) -> tuple[TokenLogprob, ...]:
    """Return the tokens that begin before offset ``end``, truncating the last one."""
    inside, at = [], 0
    for t in tokens:
        if at >= end:
            break
        inside.append(t.model_copy(update={"token": t.token[: end - at]}))
        at += len(t.token)
    return tuple(inside)
