"""LoRA layers that compute in place, with few passes over memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from peft.tuners.lora import Linear
from torch.nn import functional


class Product(torch.autograd.Function):
    """``x W' + bias + scale (x A') B'`` for frozen ``W``, added up in place."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        a: torch.Tensor,
        b: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1]).to(weight.dtype)
        low_a, low_b = a.to(weight.dtype), (b * scale).to(weight.dtype)
        low = flat @ low_a.t()
        out = functional.linear(flat, weight, bias).addmm_(low, low_b.t())
        ctx.save_for_backward(flat, weight, low_a, low_b, low)
        ctx.scale, ctx.shape, ctx.types = scale, x.shape, (x.dtype, a.dtype, b.dtype)
        return out.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        flat, weight, low_a, low_b, low = ctx.saved_tensors
        x_type, a_type, b_type = ctx.types
        g = gradients[0].reshape(-1, weight.shape[0]).to(weight.dtype)
        to_low = g @ low_b
        of_b = (g.t() @ low).to(b_type) * ctx.scale
        of_a = (to_low.t() @ flat).to(a_type)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_x = (g @ weight).addmm_(to_low, low_a).view(ctx.shape).to(x_type)
        return of_x, None, None, of_a, of_b, None


def _forward(layer: Linear, x: torch.Tensor) -> torch.Tensor:
    base = layer.base_layer
    if layer.disable_adapters:
        return functional.linear(x, base.weight, base.bias)
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    found: torch.Tensor = Product.apply(x, base.weight, base.bias, a, b, layer.scaling["default"])
    return found


def fuse(model: torch.nn.Module) -> None:
    """Let every LoRA layer of ``model`` compute by :class:`Product` (of the adapter "default")."""
    for layer in model.modules():
        if isinstance(layer, Linear):
            layer.forward = partial(_forward, layer)
