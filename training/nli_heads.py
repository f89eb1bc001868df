"""Pruning of an MPNet cross-encoder: fewer heads and narrower layers.

The depth stays. Whole attention heads and whole neurons are cut, so that the rest is a smaller
dense model. A part's importance is the mean squared gradient of the loss by a factor before it,
taken pair by pair. This is diagonal Fisher information (Kwon et al. 2022). The parts with the
highest importance per weight are kept.

Needs: torch, transformers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

#: Minimum number of heads of a layer, and the step of its number of neurons.
FEWEST_HEADS, NEURONS = 2, 32


class Parts(NamedTuple):
    """Heads and inner neurons of each layer, or a value for each of them."""

    heads: list[torch.Tensor]
    neurons: list[torch.Tensor]


def layers_of(model: Any) -> Any:
    """Return the layers of an MPNet for sequence classification."""
    return model.mpnet.encoder.layer


def keep(linear: torch.nn.Linear, rows: torch.Tensor, inputs: bool = False) -> None:
    """Leave ``rows`` of a layer's outputs, or of its ``inputs``."""
    weight = linear.weight.detach()
    linear.weight = torch.nn.Parameter((weight[:, rows] if inputs else weight[rows]).clone())
    linear.out_features, linear.in_features = linear.weight.shape
    if not inputs:
        linear.bias = torch.nn.Parameter(linear.bias.detach()[rows].clone())


def heads_of(config: Any) -> list[list[int]]:
    """List, for each layer, the places of its heads among those of the distances' table."""
    everything = [list(range(config.num_attention_heads))] * config.num_hidden_layers
    return getattr(config, "kept_heads", None) or everything


def rows_of(heads: torch.Tensor, width: int) -> torch.Tensor:
    """Return the rows of query, key and value that belong to some heads."""
    return (heads[:, None] * width + torch.arange(width)).reshape(-1)


def cut(model: Any, kept: Parts) -> None:
    """Leave some heads and neurons of ``model``, by their places among those that it has.

    ``model.config.kept_heads`` has the places of the heads among those of the distances' table,
    ``kept_neurons`` the number of neurons. :func:`shaped` makes a model of that shape.
    """
    config = model.config
    width = config.hidden_size // config.num_attention_heads
    before = heads_of(config)
    for layer, heads, neurons in zip(layers_of(model), *kept, strict=True):
        attention = layer.attention.attn
        rows = rows_of(heads, width)
        for part in (attention.q, attention.k, attention.v):
            keep(part, rows)
        keep(attention.o, rows, inputs=True)
        attention.all_head_size, attention.num_attention_heads = len(rows), len(heads)
        keep(layer.intermediate.dense, neurons)
        keep(layer.output.dense, neurons, inputs=True)
    config.kept_heads = [
        [had[i] for i in heads.tolist()] for had, heads in zip(before, kept.heads, strict=True)
    ]
    config.kept_neurons = [len(neurons) for neurons in kept.neurons]
    for layer, places in zip(layers_of(model), config.kept_heads, strict=True):
        attention = layer.attention.attn
        if hasattr(attention, "distances"):
            attention.distances.remove()
        attention.distances = attention.register_forward_pre_hook(_of_heads(places))


def _of_heads(places: Sequence[int]) -> Callable[[Any, Any], Any]:
    """Return a hook that leaves the bias for distances of these heads."""

    def hook(module: Any, inputs: Any) -> Any:
        hidden, mask, bias, *others = inputs
        return (hidden, mask, bias[:, list(places)], *others)

    return hook


def shaped(model: Any) -> Any:
    """Make ``model`` as narrow as its configuration says; its weights are meaningless then."""
    config = model.config
    heads, neurons = config.kept_heads, config.kept_neurons
    config.kept_heads = None
    cut(
        model,
        Parts([torch.tensor(places) for places in heads], [torch.arange(n) for n in neurons]),
    )
    return model


def widened(model: Any) -> Any:
    """Build an uncut model with the output of a cut one: the cut parts are present and add nothing.

    Any program that reads MPNet can read it.
    """
    config = copy.deepcopy(model.config)
    width = config.hidden_size // config.num_attention_heads
    places, config.kept_heads, config.kept_neurons = config.kept_heads, None, None
    whole = type(model)(config)
    with torch.no_grad():
        for layer, narrow, heads in zip(layers_of(whole), layers_of(model), places, strict=True):
            rows = rows_of(torch.tensor(heads), width)
            ours, theirs = layer.attention.attn, narrow.attention.attn
            for name in "qkv":
                wide = getattr(ours, name)
                wide.weight.zero_()[rows] = getattr(theirs, name).weight
                wide.bias.zero_()[rows] = getattr(theirs, name).bias
            ours.o.weight.zero_()[:, rows] = theirs.o.weight
            inner, few = layer.intermediate.dense, narrow.intermediate.dense
            inner.weight.zero_()[: len(few.weight)] = few.weight
            inner.bias.zero_()[: len(few.weight)] = few.bias
            layer.output.dense.weight.zero_()[:, : len(few.weight)] = narrow.output.dense.weight
        there = whole.state_dict()
        same = {k: v for k, v in model.state_dict().items() if v.shape == there[k].shape}
        whole.load_state_dict(same, strict=False)
    return whole


def weights_of(model: Any) -> int:
    """Count the weights of the layers' matrices: the cost of a token."""
    return sum(p.numel() for p in layers_of(model).parameters() if p.ndim == 2)


class Importance:
    """Sums the squared gradients of heads and neurons over the pairs of all batches.

    Within it, a forward of ``model`` has a factor of one before each head and each neuron; after
    the backward, :meth:`add`.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._factors: dict[tuple[str, int], torch.Tensor] = {}
        self._sums: dict[tuple[str, int], torch.Tensor] = {}

    def __enter__(self) -> Importance:
        self._trained = [p for p in self._model.parameters() if p.requires_grad]
        for parameter in self._trained:
            parameter.requires_grad_(False)
        self._hooks = []
        config = self._model.config
        for number, layer in enumerate(layers_of(self._model)):
            width = config.hidden_size // config.num_attention_heads
            for kind, module, repeat in (
                ("heads", layer.attention.attn.o, width),
                ("neurons", layer.output.dense, 1),
            ):
                hook = self._factor((kind, number), repeat)
                self._hooks.append(module.register_forward_pre_hook(hook))
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()
        for parameter in self._trained:
            parameter.requires_grad_(True)

    def _factor(self, key: tuple[str, int], repeat: int) -> Callable[[Any, Any], Any]:
        def hook(module: Any, inputs: Any) -> Any:
            (values,) = inputs
            shape = (len(values), 1, values.shape[2] // repeat)
            self._factors[key] = factor = torch.ones(shape, requires_grad=True)
            return (values * factor.repeat_interleave(repeat, dim=2).to(values.dtype),)

        return hook

    def add(self) -> None:
        """Count the pairs of the last backward."""
        for key, factor in self._factors.items():
            assert factor.grad is not None
            found = (factor.grad.float() ** 2).sum(dim=(0, 1))
            self._sums[key] = self._sums.get(key, torch.zeros_like(found)) + found

    def most(self, share: float) -> Parts:
        """Choose the heads and neurons to keep: ``share`` of an uncut model's weights in layers."""
        config = self._model.config
        per_head = 4 * config.hidden_size * (config.hidden_size // config.num_attention_heads)
        per_neuron = 2 * config.hidden_size
        whole = config.num_attention_heads * per_head + config.intermediate_size * per_neuron
        room = share * whole * config.num_hidden_layers
        price = {"heads": per_head, "neurons": per_neuron}
        step = {"heads": 1, "neurons": NEURONS}
        counts = {
            (kind, layer): min(len(values), FEWEST_HEADS if kind == "heads" else NEURONS)
            for (kind, layer), values in self._sums.items()
        }
        room -= sum(count * price[kind] for (kind, _), count in counts.items())
        ordered = sorted(
            (
                (float(value) / price[kind], kind, layer)
                for (kind, layer), values in self._sums.items()
                for value in values.sort(descending=True).values[counts[kind, layer] :]
            ),
            reverse=True,
        )
        for _, kind, layer in ordered:
            if price[kind] <= room:
                counts[kind, layer] += 1
                room -= price[kind]
        found = Parts([], [])
        for (kind, layer), values in sorted(self._sums.items(), key=lambda i: i[0][1]):
            count = counts[kind, layer] // step[kind] * step[kind]
            getattr(found, kind).append(values.topk(count).indices.sort().values)
        return found
