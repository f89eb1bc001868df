"""Epochs of fine-tuning; the best by validation loss is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WARM_UP = 0.06
_WEIGHT_DECAY = 0.01
_VALIDATION = 0.15  # share of the fitting part for choosing the epoch


def parts_of(groups: NDArray[np.int64], held_out: float, seed: int) -> NDArray[np.int64]:
    """Assign groups (n,) to parts: 0 held out, 1 validation, 2 training."""
    shuffled = np.random.default_rng(seed).permutation(groups.max() + 1)
    held = max(1, round(held_out * len(shuffled)))
    validation = held + max(1, round(_VALIDATION * (len(shuffled) - held)))
    kinds = np.full(len(shuffled), 2)
    kinds[shuffled[:held]], kinds[shuffled[held:validation]] = 0, 1
    return kinds[groups]


def fit_epochs(
    torch: Any,
    model: Any,
    plan: Sequence[Sequence[NDArray[np.intp]]],
    loss_of: Callable[[NDArray[np.intp]], Any],
    validate: Callable[[], float],
    rate: float,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[int, tuple[float, ...]]:
    """Train by the batches of each epoch in ``plan``, and keep the epoch with the least loss.

    The loss is that of the validation part. Return the epoch, from 1, and all losses. AdamW with
    weight decay 0.01; the rate rises over the first 6 % of the steps and falls to 0.

    Args:
        loss_of: the loss of a batch, a tensor.
        validate: the loss on the validation part.
        rate: the highest.
        progress: called with the number of batches done, and of all.

    Raises:
        ModelError: the training did not converge.
    """
    steps, done = sum(map(len, plan)), 0
    optimiser, rates = _optimiser(torch, model, rate, steps)
    least, best, state = math.inf, 0, {}
    losses = []
    for epoch, shuffled in enumerate(plan, 1):
        model.train()
        for batch in shuffled:
            loss_of(batch).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            rates.step()
            optimiser.zero_grad()
            done += 1
            if progress is not None:
                progress(done, steps)
        losses.append(validate())
        if losses[-1] < least:
            least, best = losses[-1], epoch
            state = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
    if not best:
        raise ModelError(f"the training did not converge: loss {losses}; try a lower rate")
    model.load_state_dict(state)
    return best, tuple(losses)


def _optimiser(torch: Any, model: Any, rate: float, steps: int) -> tuple[Any, Any]:
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": _WEIGHT_DECAY},
        {"params": others, "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate)
    rise = max(1, int(_WARM_UP * steps))
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min((s + 1) / rise, (steps - s) / max(1, steps - rise))
    )
    return optimiser, rates
