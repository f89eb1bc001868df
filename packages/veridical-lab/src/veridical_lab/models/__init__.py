"""Checkpoints that scorers name themselves: encoder-decoders, readers and regressors."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.model_names import ModelName, forms, no_model
from veridical.models.catalog import options_of
from veridical.plugins import import_string

if TYPE_CHECKING:
    from veridical.core.protocols import Checkpoint

CHECKPOINT_FORMS = forms("checkpoint")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


#: Back end of each kind.
_BACK_ENDS = {
    "seq2seq": "generation:TorchSeq2Seq",
    "reader": "extractive:TorchExtractive",
    "choice": "choice:TorchMultipleChoice",
    "answerability": "answerability:TorchAnswerability",
    "regressor": "regression:TorchRegressor",
}


def load_checkpoint(
    kind: str, spec: str, *, threads: int | None = None, device: str | None = None
) -> Checkpoint:
    """Load the model of a ``kind`` that ``spec`` names.

    Args:
        kind: ``seq2seq``, ``reader``, ``choice``, ``answerability`` or ``regressor``.
        spec: one of :data:`CHECKPOINT_FORMS`.
        threads: threads of one forward on the CPU.
        device: torch device; default: ``cuda`` if available, else ``cpu``.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded, or has another kind.
    """
    where, options = _named(spec)
    back_end = import_string(f"{__name__}.{_BACK_ENDS[kind]}")
    model: Checkpoint = back_end(where, device=device, threads=threads, **options)
    return model


load_seq2seq = partial(load_checkpoint, "seq2seq")
load_reader = partial(load_checkpoint, "reader")
load_choice = partial(load_checkpoint, "choice")
load_answerability = partial(load_checkpoint, "answerability")
load_regressor = partial(load_checkpoint, "regressor")


def _named(spec: str) -> tuple[str, dict[str, str]]:
    """Hub id or folder, and options."""
    model = ModelName.parse(spec)
    name = model.place_of("torch")
    local = name.startswith((".", "/", "~")) or Path(name).is_dir()
    if not name or not (local or _HUB_ID.fullmatch(name)):
        raise no_model(model, CHECKPOINT_FORMS)
    return name, options_of("torch", model, {"torch": {"revision": str}})
