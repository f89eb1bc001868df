"""Batches of the torch back ends of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.models import windows


def padded(rows: Sequence[Sequence[int]], pad: int, device: Any) -> tuple[Any, Any]:
    """Token ids (rows, longest) padded on the right, and their mask of 1 and 0, as tensors."""
    import torch

    ids, mask = windows.padded(rows, pad)
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask.astype(np.int64)).to(device)
