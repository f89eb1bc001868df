"""An 8-bit graph of a float32 one, and the agreement that lets it be used."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models.protocols import Pair

#: Share of the agreement pairs that must keep their most probable class.
SAME_CLASS = 0.95
_FLOAT = 1  # onnx.TensorProto.FLOAT
#: Greatest mean difference of a probability, over pairs and classes.
DIFFERENCE = 0.03


@contextmanager
def int8_graph(graph: Path, shipped: Path) -> Iterator[Path]:
    """The file of the 8-bit graph: ``shipped`` if it exists, else made of ``graph``.

    Weights get one scale a column and are quantised once; activations are quantised as they
    come, by the range of the batch (ONNX Runtime's dynamic quantisation).

    Raises:
        ModelError: the package ``onnx`` is missing, or the graph cannot be quantised.
    """
    if shipped.is_file():
        yield shipped
        return
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as e:
        raise ModelError(f"precision=int8 needs the package onnx: pip install onnx ({e})") from e
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "model.int8.onnx"
        try:
            with _quiet():
                plain = _expanded(graph, Path(folder))
                quantize_dynamic(
                    *(plain, made),
                    per_channel=True,
                    weight_type=QuantType.QInt8,
                    extra_options={"DefaultTensorType": _FLOAT},  # of what fused operators give
                )
        except Exception as e:  # whatever the graph holds that cannot be quantised
            raise ModelError(f"{graph} cannot be quantised to int8: {e}") from e
        yield made


def _expanded(graph: Path, folder: Path) -> Path:
    """``graph`` with what is constant computed: weights that are stored packed, as in the embedded
    model, become plain matrices."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "expanded.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    return folder / "expanded.onnx"


def require_agreement(
    name: str, exact: NDArray[np.float32], quantised: NDArray[np.float32]
) -> None:
    """Compare (pairs, 3) probabilities of a model in two precisions.

    Raises:
        ModelError: fewer than 95 % of the pairs keep their most probable class, or probabilities
            differ by more than 0.03 on average.
    """
    same = float((exact.argmax(axis=1) == quantised.argmax(axis=1)).mean())
    difference = float(np.abs(exact - quantised).mean())
    if not (same >= SAME_CLASS and difference <= DIFFERENCE):
        raise ModelError(
            f"{name}: int8 gives the class of float32 for {same:.1%} of {len(exact)} pairs and "
            f"probabilities that differ by {difference:.3f} on average; at least {SAME_CLASS:.0%} "
            f"and at most {DIFFERENCE} are needed. Use float32"
        )


@cache
def agreement_pairs() -> list[Pair]:
    """Short and long pairs of many subjects, on which precisions are compared."""
    text = Path(__file__).with_name("agreement.json").read_text("utf-8")
    return [Pair(**entry) for entry in json.loads(text)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the quantiser's advice on how graphs might be prepared, which it logs as warnings."""
    root = logging.getLogger()
    root.addFilter(_nothing)
    try:
        yield
    finally:
        root.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False
