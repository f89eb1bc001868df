"""Encoder-decoders run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.core.requests import Packed
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.checkpoint import TorchCheckpoint
from veridical.models.folder import max_length
from veridical_lab.models.common import padded
from veridical_lab.models.requests import Reading, WindowRead, Writing, pack_likelihood, pack_texts
from veridical_lab.models.sources import VERSION, Tokens

#: Number of the most likely tokens for sampling: the default of transformers, and so of published
#: samples.
TOP_K = 50
_VERSION = "seq2seq-2"
_ROWS = 64  # texts that are written at once, at most
_TARGET = 4  # logits over the vocabulary weigh more than states: tokens of a target count for more


class _Read(NamedTuple):
    """A window of a source and the targets, each in its pieces."""

    source: list[int]
    start: int
    end: int
    targets: tuple[tuple[list[int], ...], ...]
    skip: int  # language tokens before a target


class _Write(NamedTuple):
    source: list[int]
    settings: Writing  # without source and draw
    draw: tuple[int, int, str] | None  # seed, turn, and the text


class TorchSeq2Seq(TorchCheckpoint):
    """Encoder-decoder built by ``AutoModelForSeq2SeqLM`` from safetensors: T5, BART, Pegasus, M2M.

    It answers :class:`~veridical.core.requests.Reading` and ``Writing`` requests. The encoder
    processes a source once for all its targets. Samples are from the :data:`TOP_K` most likely
    tokens at temperature 1. They depend on the source, the seed and the turn, never on the batch.
    Nothing is ever cut: sources and targets that are read are windowed (see
    :mod:`veridical_lab.models.sources`); a source for generation must fit the model. Code that
    comes with a model is never run. Thread-safe.
    """

    automatic = "AutoModelForSeq2SeqLM"
    what = "encoder-decoder"
    version = f"{_VERSION}/{VERSION}/{TOP_K}"

    def _open(self) -> None:
        with loading.explained(self._root, self._config):
            automatic = self._transformers.AutoTokenizer
            tokenizer = automatic.from_pretrained(self._root, **loading.LOCAL)
        # T5 and its kin have relative positions: only the architecture's cost bounds them.
        self.max_length = max_length({}, self._config, {})
        pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
        if pad is None or end is None:
            raise ModelError(f"{self._root}: the tokenizer has no padding or no end token")
        self._pad, self._end = int(pad), int(end)
        self._tokenizer = tokenizer
        self._tokens = Tokens(tokenizer, self.name, self.max_length)

    def windows(self, requests: Sequence[Reading | Writing]) -> list[list[Window]]:
        """Build at least one window per request.

        Raises:
            ModelError: a source leaves no room for its text, or is too long for generation.
        """
        with self._lock:
            return [
                [self._write_window(request)]
                if isinstance(request, Writing)
                else list(self._read_windows(request))
                for request in requests
            ]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Return for each window the log-probabilities of its targets, or the generated texts."""
        outputs: list[Any] = [None] * len(batch)
        kinds = [getattr(w.content, "settings", None) for w in batch]
        order = sorted(range(len(batch)), key=lambda i: repr(kinds[i]))
        with self._lock:
            for kind, members in groupby(order, key=lambda i: kinds[i]):
                places = list(members)
                contents = [batch[i].content for i in places]
                if kind is None:
                    answers: list[Any] = self._read(contents)
                else:
                    answers = []
                    rows = max(1, _ROWS // kind.beams)
                    for at in range(0, len(contents), rows):
                        answers += self._write(contents[at : at + rows], kind)
                for i, output in zip(places, answers, strict=True):
                    outputs[i] = output
        return outputs

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """Return the answer to one request, packed as in :mod:`veridical.core.requests`."""
        if isinstance(windows[0].content, _Write):
            return pack_texts(outputs[0])
        reads = [
            WindowRead(w.content.start, w.content.end, tuple(logprobs))
            for w, logprobs in zip(windows, outputs, strict=True)
        ]
        return pack_likelihood(reads)

    def pretend(self, window: Window) -> Any:
        """Return a placeholder result of :meth:`run` for ``window``.

        All tokens are equally likely, and texts differ as their sources do.
        """
        content = window.content
        if isinstance(content, _Read):
            return [
                np.full(sum(len(p) - content.skip for p in pieces), np.log(0.5))
                for pieces in content.targets
            ]
        mark = hashlib.blake2b(repr(content).encode(), digest_size=6).hexdigest()
        return [f"What is {mark}{i}?" for i in range(content.settings.returned)]

    def _read_windows(self, request: Reading) -> Iterator[Window]:
        tokens = self._tokens
        tokens.speak(request.language)
        language = None if request.language is None else tokens.language_id(request.language)
        pieces = tokens.targets(request.targets)
        skip = int(any(row[0] == language for rows in pieces for row in rows))
        longest = min(request.longest or self.max_length, self.max_length)
        weight = _TARGET * sum(len(row) for rows in pieces for row in rows)
        (windows,) = tokens.sources([request.source], longest)
        for ids, start, end in windows:
            content = _Read(ids, start, end, tuple(map(tuple, pieces)), skip)
            yield Window(len(ids) + weight, content)

    def _write_window(self, request: Writing) -> Window:
        if request.max_tokens < 1 or not 1 <= request.returned <= request.beams:
            raise ModelError(f"invalid generation request: {request}")
        (ids,) = self._tokens.whole([request.source])
        draw = request.draw and (*request.draw, self._tokens.filled(request.source))
        settings = replace(request, source=(), draw=None if draw is None else (0, 0))
        return Window(len(ids), _Write(ids, settings, draw))

    def _read(self, contents: Sequence[_Read]) -> list[list[NDArray[np.float64]]]:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        rows = [
            (i, t, piece)
            for i, content in enumerate(contents)
            for t, pieces in enumerate(content.targets)
            for piece in pieces
        ]
        ids, mask = padded([c.source for c in contents], self._pad, self._device)
        labels, attention = padded([row for _, _, row in rows], self._pad, self._device)
        owners = torch.tensor([i for i, _, _ in rows], device=self._device)
        with torch.inference_mode():
            states = self._model.get_encoder()(input_ids=ids, attention_mask=mask)[0]
            logits = self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states[owners]),
                attention_mask=mask[owners],
                labels=labels.masked_fill(attention == 0, -100),
            ).logits
            logprobs = logits.float().log_softmax(-1).gather(-1, labels[..., None])[..., 0]
            table: NDArray[np.float64] = logprobs.double().cpu().numpy()
        by_window: list[list[list[NDArray[np.float64]]]] = [
            [[] for _ in c.targets] for c in contents
        ]
        for (i, t, piece), values in zip(rows, table, strict=True):
            by_window[i][t].append(values[contents[i].skip : len(piece)])
        return [[np.concatenate(pieces) for pieces in targets] for targets in by_window]

    def _write(self, contents: Sequence[_Write], settings: Writing) -> list[list[str]]:
        import torch

        ids, mask = padded([c.source for c in contents], self._pad, self._device)
        draws = [_uniforms(*c.draw) for c in contents if c.draw is not None]
        options: dict[str, Any] = {"num_beams": settings.beams}
        if settings.beams > 1:
            options |= {"num_return_sequences": settings.returned, "early_stopping": True}
        if settings.no_repeat:
            options["no_repeat_ngram_size"] = settings.no_repeat
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=settings.max_tokens,
                do_sample=False,  # draws come from the processor: each row has its own
                logits_processor=[_Draws(draws)] if draws else [],
                **options,
            )
        texts = [self._text(row) for row in written.tolist()]
        n = settings.returned
        return [texts[i * n : (i + 1) * n] for i in range(len(contents))]

    def _text(self, row: list[int]) -> str:
        body = row[1:]  # without the decoder's start token
        if self._end in body:
            body = body[: body.index(self._end)]
        body = [i for i in body if i != self._pad]
        return str(self._tokenizer.decode(body, skip_special_tokens=False))


def _uniforms(seed: int, turn: int, text: str) -> np.random.Generator:
    """Return the random numbers of one sample, the same on every machine."""
    content = repr((seed, turn, text)).encode("utf-8", "replace")
    digest = hashlib.blake2b(content, digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


class _Draws:
    """A logits processor that leaves each row one token, drawn by the row's own random numbers."""

    def __init__(self, uniforms: Sequence[np.random.Generator]) -> None:
        self._uniforms = uniforms

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        top, tokens = scores.float().topk(min(TOP_K, scores.shape[-1]), dim=-1)
        sums = top.softmax(-1).cumsum(-1)
        draws = torch.tensor([u.random() for u in self._uniforms], device=scores.device)
        rank = (sums < draws[:, None]).sum(-1).clamp(max=tokens.shape[-1] - 1)
        chosen = tokens.gather(-1, rank[:, None])
        return torch.full_like(scores, -torch.inf).scatter(-1, chosen, 0.0)
