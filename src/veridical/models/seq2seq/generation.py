"""Encoder-decoders run by transformers and torch (the ``[torch]`` extra), on CPU or GPU."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import max_length
from veridical.models.seq2seq.common import batches, build, padded, readable

#: How many of the likeliest tokens a draw is from: what transformers draws from unless told
#: otherwise, so what published samples rest on.
TOP_K = 50
_VERSION = "seq2seq-1"
_ROWS = 64  # at most, of one batch that generates


class TorchSeq2Seq:
    """Any model that ``AutoModelForSeq2SeqLM`` can build from safetensors: T5, BART, Pegasus.

    Draws are from the :data:`TOP_K` likeliest tokens at temperature 1. A draw depends on its
    source, the seed and how often the source occurs before it in the same call, never on what
    shares a batch. Sources are never cut: one longer than the model takes is an error. Code that
    comes with a model is never run. Thread-safe.

    Args:
        name_or_path: hub id, or a local folder.
        device: torch device; default: ``cuda`` where there is one, else ``cpu``.
        dtype: ``float32``, ``bfloat16`` or ``float16``; default: ``float32`` on the CPU,
            ``bfloat16`` elsewhere.
        revision: commit, tag or branch of a hub id.
        threads: threads of one forward on the CPU.

    Raises:
        ModelError: torch is not installed, or the model cannot be found or built.
    """

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        threads: int | None = None,
    ) -> None:
        made = build(
            "AutoModelForSeq2SeqLM",
            "encoder-decoder",
            str(name_or_path),
            device=device,
            dtype=dtype,
            revision=revision,
            threads=threads,
            version=f"{_VERSION}/{TOP_K}",
        )
        import transformers

        self._model, self._device, self.name, self.revision = (
            made.model,
            made.device,
            made.name,
            made.revision,
        )
        with loading.explained(made.root, made.config):
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                made.root, trust_remote_code=False
            )
        # T5 and its kin have relative positions: only the architecture's cost bounds them.
        self.max_length = max_length({}, made.config, {})
        self._budget = loading.BATCH_TOKENS.get(self._device.type, loading.BATCH_TOKENS["cpu"])
        self._lock = threading.Lock()  # one forward at a time; the tokenizer is no thread's own
        pad, end = self._tokenizer.pad_token_id, self._tokenizer.eos_token_id
        if pad is None or end is None:
            raise ModelError(f"{made.root}: the tokenizer has no padding or no end token")
        self._pad, self._end = int(pad), int(end)

    def generate(
        self, sources: Sequence[str], *, max_tokens: int, sample: bool = False, seed: int = 0
    ) -> list[str]:
        """One output a source, in order, of at most ``max_tokens`` tokens. Special tokens other
        than padding, start and end are kept as text. Greedy unless ``sample``.

        Raises:
            ModelError: a source is longer than the model takes.
        """
        turns: Counter[str] = Counter()
        wanted: dict[tuple[str, int], int] = {}  # greedy outputs of equal sources are equal
        places = []
        for source in sources:
            key = (source, turns[source] if sample else 0)
            turns[source] += 1
            places.append(wanted.setdefault(key, len(wanted)))
        asked = list(wanted)
        with self._lock:
            rows = self._rows([source for source, _ in asked])
            outputs = [""] * len(asked)
            for batch in batches([len(r) for r in rows], self._budget, _ROWS):
                uniforms = [_uniforms(asked[i], seed) for i in batch] if sample else None
                texts = self._generate([rows[i] for i in batch], max_tokens, uniforms)
                for i, text in zip(batch, texts, strict=True):
                    outputs[i] = text
        return [outputs[i] for i in places]

    def loglikelihood(
        self, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """For each (source, target): ids of the target's tokens, the end token and whatever else
        the tokenizer adds among them, and the natural logarithm of each one's probability given
        the source and those before it.

        Raises:
            ModelError: a source or target is longer than the model takes.
        """
        with self._lock:
            sources = self._rows([source for source, _ in pairs])
            targets = self._rows([target for _, target in pairs], target=True)
            # Logits over the vocabulary weigh more than states: targets count for more.
            sizes = [len(s) + 4 * len(t) for s, t in zip(sources, targets, strict=True)]
            found: list[Any] = [None] * len(pairs)
            for batch in batches(sizes, self._budget):
                read = self._read([sources[i] for i in batch], [targets[i] for i in batch])
                for i, logprobs in zip(batch, read, strict=True):
                    found[i] = (np.array(targets[i], dtype=np.int64), logprobs)
        return found

    def _rows(self, texts: Sequence[str], target: bool = False) -> list[list[int]]:
        if not texts:
            return []
        given = [readable(t) for t in texts]
        encoded = self._tokenizer(text_target=given) if target else self._tokenizer(given)
        rows: list[list[int]] = encoded["input_ids"]
        longest = max(map(len, rows))
        if longest > self.max_length:
            raise ModelError(
                f"{self.name} reads {self.max_length} tokens at most; a text has {longest}"
            )
        return rows

    def _generate(
        self,
        rows: Sequence[Sequence[int]],
        max_tokens: int,
        uniforms: Sequence[np.random.Generator] | None,
    ) -> list[str]:
        import torch

        ids, mask = padded(rows, self._pad, self._device)
        drawing = [] if uniforms is None else [_Draws(uniforms)]
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=max_tokens,
                do_sample=False,  # draws come from the processor: each row has its own
                num_beams=1,
                logits_processor=drawing,
            )
        return [self._text(row) for row in written.tolist()]

    def _text(self, row: list[int]) -> str:
        body = row[1:]  # what follows the decoder's start token
        if self._end in body:
            body = body[: body.index(self._end)]
        body = [i for i in body if i != self._pad]
        return str(self._tokenizer.decode(body, skip_special_tokens=False))

    def _read(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float64]]:
        import torch

        ids, mask = padded(sources, self._pad, self._device)
        labels, given = padded(targets, self._pad, self._device)
        with torch.inference_mode():
            logits = self._model(
                input_ids=ids,
                attention_mask=mask,
                labels=labels.masked_fill(given == 0, -100),
            ).logits
            logprobs = logits.float().log_softmax(-1).gather(-1, labels[..., None])[..., 0]
            table: NDArray[np.float64] = logprobs.double().cpu().numpy()
        return [row[: len(t)].copy() for row, t in zip(table, targets, strict=True)]


def _uniforms(draw: tuple[str, int], seed: int) -> np.random.Generator:
    """The random numbers of one draw, the same on every machine."""
    content = repr((seed, draw[1], draw[0])).encode("utf-8", "replace")
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
