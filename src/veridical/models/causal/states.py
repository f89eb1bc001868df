"""Hidden states of the last token, per layer, of torch models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models.windows import padded

_UNKNOWN = "hidden states are not supported for this model's architecture"
_ROUNDING = 0.05  # relative to a state's norm, in half precision and another batch
_PROBE = ([1, 2, 3, 4, 5, 6], [6, 5, 4])  # token ids of texts for testing the hooks


class LastStates:
    """Hidden states of the last token after each layer of a model.

    Layers are numbered as in transformers. Layer 0 is the input of the first layer, L the output of
    the last one after the final norm. Hooks keep only the last token's states, so that the states
    of all tokens are freed after the next layer.

    Args:
        model: a causal language model of transformers, in evaluation mode.

    Attributes:
        shape: (layers + 1, width).

    Raises:
        ModelError: its layers cannot be identified, or the hooks' values differ from the model's
            own hidden states.
    """

    def __init__(self, model: Any, device: Any) -> None:
        import torch

        self._torch = torch
        self._device = device
        config = model.config.get_text_config()
        self.shape = shape_of(config)
        self._body = model.base_model
        stacks = (
            m
            for m in self._body.modules()
            if isinstance(m, torch.nn.ModuleList) and len(m) == self.shape[0] - 1
        )
        self._layers = next(stacks, None)
        if self._layers is None:
            raise ModelError(_UNKNOWN)
        self._check(model, int(config.vocab_size))

    def __call__(self, texts: Sequence[NDArray[np.int64]], pad: int) -> NDArray[np.float32]:
        """Return the (n, layers + 1, width) states of each text's last token, in one forward.

        Args:
            texts: token ids of each text, at least one.
            pad: token id that pads shorter texts on the right, masked.
        """
        torch = self._torch
        ids, mask = padded(texts, pad)
        rows = torch.arange(len(texts), device=self._device)
        last = torch.tensor([len(t) - 1 for t in texts], device=self._device)
        layers: list[Any] = []

        def keep(states: Any) -> None:
            layers.append(states[rows, last])

        with torch.inference_mode(), ExitStack() as hooks:
            for handle in self._hooked(keep):
                hooks.callback(handle.remove)
            output = self._body(
                input_ids=torch.from_numpy(ids).to(self._device),
                attention_mask=torch.from_numpy(mask.astype(np.int64)).to(self._device),
                use_cache=False,
            )
            layers[-1] = output.last_hidden_state[rows, last]  # after the final norm
            last_states: NDArray[np.float32] = torch.stack(layers, dim=1).float().cpu().numpy()
        if last_states.shape[1:] != self.shape:
            raise ModelError(
                f"hidden states have shape {last_states.shape[1:]}, expected {self.shape}"
            )
        return last_states

    def _hooked(self, keep: Callable[[Any], None]) -> list[Any]:
        def entering(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            keep(args[0] if args else kwargs["hidden_states"])

        def leaving(_: Any, __: Any, output: Any) -> None:
            keep(output[0] if isinstance(output, tuple) else output)

        layers: Any = self._layers
        first = layers[0].register_forward_pre_hook(entering, with_kwargs=True)
        return [first, *(layer.register_forward_hook(leaving) for layer in layers)]

    def _check(self, model: Any, vocabulary: int) -> None:
        torch = self._torch
        texts = [np.array(t, np.int64) % vocabulary for t in _PROBE]
        hooked = self(texts, 0)
        for text, states in zip(texts, hooked, strict=True):
            with torch.inference_mode():
                ids = torch.from_numpy(text[None]).to(self._device)
                reported = model(input_ids=ids, use_cache=False, output_hidden_states=True)
            expected = torch.stack([h[0, -1] for h in reported.hidden_states]).float().cpu().numpy()
            if expected.shape != states.shape:
                raise ModelError(_UNKNOWN)
            away = np.linalg.norm(states - expected, axis=1)
            if (away > _ROUNDING * np.linalg.norm(expected, axis=1) + 1e-6).any():
                raise ModelError(_UNKNOWN)


def shape_of(config: Any) -> tuple[int, int]:
    """Return (layers + 1, width) from a model's configuration; zeros if missing."""
    layers = getattr(config, "num_hidden_layers", None)
    width = getattr(config, "hidden_size", None)
    if not isinstance(layers, int) or not isinstance(width, int):
        return 0, 0
    return layers + 1, width
