"""Encoder-decoders and readers of multiple-choice questions, and how they are asked for."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.models.protocols import Answerability, MultipleChoice, Seq2Seq

M = TypeVar("M")

#: COMMIT pins a hub id to a commit, tag or branch.
SEQ2SEQ_FORMS = (
    "org/name[?revision=COMMIT] (a hub id)",
    "a local folder",
    "torch:HUB_ID_OR_FOLDER[?revision=COMMIT]",
)
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_FAILURE_HOLDS = 60.0  # seconds before a model that failed to load is tried again


def load_seq2seq(spec: str, *, threads: int | None = None, device: str | None = None) -> Seq2Seq:
    """The encoder-decoder (T5, BART and their like) that ``spec`` names.

    Args:
        spec: one of :data:`SEQ2SEQ_FORMS`.
        threads: threads of one forward on the CPU.
        device: torch device; default: ``cuda`` where there is one, else ``cpu``.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded.
    """
    from veridical.models.seq2seq.generation import TorchSeq2Seq

    name, options = _named(spec)
    return TorchSeq2Seq(name, device=device, threads=threads, **options)


def load_multiple_choice(
    spec: str, *, threads: int | None = None, device: str | None = None
) -> MultipleChoice:
    """The multiple-choice reader that ``spec`` names; arguments and errors as
    :func:`load_seq2seq`."""
    from veridical.models.seq2seq.choice import TorchMultipleChoice

    name, options = _named(spec)
    return TorchMultipleChoice(name, device=device, threads=threads, **options)


def load_answerability(
    spec: str, *, threads: int | None = None, device: str | None = None
) -> Answerability:
    """The judge of answerability that ``spec`` names; arguments and errors as
    :func:`load_seq2seq`."""
    from veridical.models.seq2seq.answerability import TorchAnswerability

    name, options = _named(spec)
    return TorchAnswerability(name, device=device, threads=threads, **options)


class _Shared:
    """Models of this process by what loads them: each is loaded once, whoever asks first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[tuple[str, str], Future[Any]] = {}
        self._failed: dict[tuple[str, str], float] = {}  # when

    def __call__(self, load: Callable[[str], M], spec: str) -> M:
        key = (load.__name__, spec)
        with self._lock:
            if time.monotonic() - self._failed.get(key, math.inf) > _FAILURE_HOLDS:
                del self._failed[key], self._models[key]
            found = self._models.get(key)
            mine = found is None
            if found is None:
                found = self._models[key] = Future()
        if mine:
            try:
                found.set_result(load(spec))
            except BaseException as e:
                with self._lock:
                    self._failed[key] = time.monotonic()
                found.set_exception(e)
        model: M = found.result()
        return model


#: ``shared(load_seq2seq, spec)``: the process's one model of that name, loaded on first use.
#: Thread-safe; others wait for who loads. A failure is kept for a minute, so that a run of many
#: records does not try each time.
shared = _Shared()


def _named(spec: str) -> tuple[str, dict[str, str]]:
    """Hub id or folder, and options."""
    name, _, query = spec.removeprefix("torch:").partition("?")
    local = name.startswith((".", "/", "~")) or Path(name).is_dir()
    if not name or not (local or _HUB_ID.fullmatch(name)):
        forms = "\n  ".join(SEQ2SEQ_FORMS)
        raise UsageError(f"{spec!r} names no model. Known forms:\n  {forms}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for key in options:
        if key != "revision":
            raise UsageError(f"torch models have no option {key!r}; known: revision")
    return name, options


__all__ = [
    "SEQ2SEQ_FORMS",
    "load_answerability",
    "load_multiple_choice",
    "load_seq2seq",
    "shared",
]
