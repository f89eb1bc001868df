"""AlignScore (Zha et al. 2023): an encoder with three heads.

The heads have three classes, two classes and one value.

``veridical models convert`` creates the folder of the published checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS, Pair, Window
from veridical.errors import ModelError, UsageError
from veridical.models import torch_loading as loading
from veridical.models.folder import max_length, read_json
from veridical.models.nli.chunks import even_chunks, sentences_of
from veridical.models.nli.labels import Order
from veridical.models.nli.names import SOURCES
from veridical.models.nli.pairs import merge
from veridical.models.nli.tokens import PairWindower
from veridical.models.nli.windowed import SUPPORTED_FIRST, SUPPORTED_LAST, WindowedNli


class Head(NamedTuple):
    """A linear layer over the pooled vector.

    Attributes:
        layer: its name in the checkpoint.
        order: order of its classes.
        value: maps its (batch, width) outputs to probabilities.
    """

    layer: str
    order: Order
    value: Callable[[Any], Any]


def _shares(outputs: Any) -> Any:
    return outputs.softmax(dim=-1)


def _clipped(outputs: Any) -> Any:
    import torch

    value = outputs[:, :1].clamp(0, 1)
    return torch.cat([value, 1 - value], dim=-1)


HEADS = {
    "nli": Head("tri_layer", Order(LABELS), _shares),  # aligned, neutral, contradict
    "bin": Head("bin_layer", SUPPORTED_LAST, _shares),
    "reg": Head("reg_layer", SUPPORTED_FIRST, _clipped),
}
#: Published modes: a head, on chunks and sentences (``_sp``) or on the whole.
MODES = tuple(head + form for head in HEADS for form in ("_sp", ""))


class AlignScoreNli(WindowedNli):
    """AlignScore from a folder of its published tensors.

    The folder has the tensors (``base_model.*``, ``tri_layer.*``, ``bin_layer.*``, ``reg_layer.*``)
    in ``model.safetensors``, the encoder's ``config.json``, and its tokenizer. In the modes
    ``*_sp`` a premise is read in chunks of about 350 words (:func:`even_chunks`) and a hypothesis
    by sentences. A pair takes the mean over its sentences: P(entailment) is the maximum over
    chunks, and the other two are merged by :func:`~.pairs.merge`, capped. In other modes the pair
    is judged whole. Longer inputs are windowed, where the published code truncates. The regression
    head's value is clipped to [0, 1] and used as P(entailment). Thread-safe.

    Args:
        name_or_path: folder, or the name of one created by ``veridical models convert``.
        mode: one of :data:`MODES`; ``nli_sp`` is the published default.

    Raises:
        UsageError: the mode is unknown.
        ModelError: torch is missing, there is no such folder, or it lacks tensors. Or the answers
            to plain pairs do not fit the published order of classes (aligned, neutral, contradict).
    """

    def __init__(
        self,
        name_or_path: str,
        *,
        mode: str = "nli_sp",
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        if mode not in MODES:
            raise UsageError(f"unknown mode of AlignScore: {mode!r}; known: {', '.join(MODES)}")
        if name_or_path.endswith(".ckpt"):
            raise ModelError(
                f"{name_or_path} is pickled, which is not supported; run: "
                f"veridical models convert {name_or_path}"
            )
        if name_or_path in SOURCES and not loading.converted(name_or_path).is_dir():
            raise ModelError(
                f"{SOURCES[name_or_path]} is not installed; run, with a network: "
                f"{loading.convert_command(name_or_path)}"
            )
        super().__init__(name_or_path, device=device, threads=threads, revision=None)
        self._head = HEADS[mode.removesuffix("_sp")]
        self._split = mode.endswith("_sp")
        config = read_json(self._root / "config.json", {})
        with loading.explained(self._root, config):
            self._build()
            length = max_length({}, config, read_json(self._root / "tokenizer_config.json", {}))
            windower = PairWindower(
                self._tokenizer(self._root), length, chunks=even_chunks if self._split else None
            )
            pad = config.get("pad_token_id")
            files = [self._root / "config.json", *loading.own_files(self._root, None)]
            self._settle(windower, pad or 0, self._head.order, files, "alignscore", mode)

    def _build(self) -> None:
        import torch
        import transformers
        from safetensors.torch import load_file

        weights = self._root / "model.safetensors"
        if not weights.is_file():
            raise ModelError(
                f"{self._root} has no model.safetensors, so it is not an AlignScore folder"
            )
        settings = transformers.AutoConfig.from_pretrained(self._root, **loading.LOCAL)
        automatic: Any = transformers.AutoModel
        encoder = automatic.from_config(settings, trust_remote_code=False)
        tensors = load_file(weights)
        encoder_tensors = {
            name.removeprefix("base_model."): tensor
            for name, tensor in tensors.items()
            if name.startswith("base_model.")
        }
        report = encoder.load_state_dict(encoder_tensors, strict=False)
        layer = self._head.layer
        heads = [tensors[n] for n in (f"{layer}.weight", f"{layer}.bias") if n in tensors]
        if report.missing_keys or len(heads) < 2:
            missing = ", ".join(report.missing_keys[:4] or [layer])
            raise ModelError(f"{self._root} has no tensors for {missing}, so it is not AlignScore")
        dtype = getattr(torch, self._dtype)
        self._encoder = encoder.to(self._device, dtype).eval()
        self._weight, self._bias = (head.to(self._device, dtype) for head in heads)

    def _forward(self, ids: Any, mask: Any) -> Any:
        import torch

        pooled = self._encoder(input_ids=ids, attention_mask=mask).pooler_output
        outputs = torch.nn.functional.linear(pooled, self._weight, self._bias)
        return self._head.value(outputs.float())

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        if not self._split:
            return self._windower(pairs)
        split = [sentences_of(hypothesis) for _, hypothesis in pairs]
        flat = [
            Pair(p, s) for (p, _), sentences in zip(pairs, split, strict=True) for s in sentences
        ]
        windowed = iter(self._windower(flat))
        return [
            [
                Window(w.length, w.content._replace(group=group))
                for group, _ in enumerate(sentences)
                for w in next(windowed)
            ]
            for sentences in split
        ]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        rows = []
        for group in range(windows[-1].content.group + 1):
            mine = [i for i, w in enumerate(windows) if w.content.group == group]
            rows.append(merge([windows[i] for i in mine], [outputs[i] for i in mine], capped=True))
        table = np.array(rows, dtype=np.float64)
        mean: NDArray[np.float32] = (table.sum(axis=0) / len(table)).astype(np.float32)
        return mean
