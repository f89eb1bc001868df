"""Processor time of one NLI forward, by kind of operator.

    python benchmarks/nli_stages.py [--words 170] [--runs 20]

The forward reads one window on one thread. A document of 600 words is four windows of 170 words.
The matrix rate is that of one large product of bytes on the same thread.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

import onnxruntime
from nli_models import rate

from veridical.core.protocols import Pair
from veridical.models.nli.onnx import OnnxNli
from veridical.models.nli.packaged import need

STAGES = {
    "products of weights": {"MatMulIntegerToFloat", "FusedGemm", "Gemm", "MatMul"},
    "attention between tokens (float32)": {"MultiHeadAttention"},
    "rounding to bytes and scaling back": {
        *("Mul", "Div", "QuantizeLinear", "Abs", "ReduceMax", "Max"),
    },
    "normalisation, sums, activation": {"LayerNormalization", "Sum", "BiasGelu", "Add"},
}


def operator_times(words: int, runs: int) -> tuple[Counter[str], float, int]:
    """Return milliseconds of a forward by operator, operations of the products, and tokens."""
    with tempfile.TemporaryDirectory() as scratch:
        options = onnxruntime.SessionOptions

        class Profiling(options):  # type: ignore[misc, valid-type]
            def __init__(self) -> None:
                super().__init__()
                self.enable_profiling = True
                self.profile_file_prefix = f"{scratch}/forward"

        onnxruntime.SessionOptions = Profiling
        model = OnnxNli(need("veridical-nli-mini").folder, threads=1, precision="auto")
        onnxruntime.SessionOptions = options
        facts = [f"Works number {i} were sold to Smith in {1800 + i}." for i in range(words)]
        premise = " ".join(" ".join(facts).split()[:words])
        (window,) = model.windows([Pair(premise, "Smith bought works number 7 in 1807.")])[0]
        for _ in range(runs):
            model.run([window])
        path = Path(model._logits._graph._session.end_profiling())
        events = [e for e in json.loads(path.read_text()) if e["name"].endswith("_kernel_time")]
    times: Counter[str] = Counter()
    forwards = max(Counter(e["name"] for e in events).values())
    operations = 0.0
    for event in events:
        details = event["args"]
        times[details["op_name"]] += event["dur"] / 1000 / forwards
        if details["op_name"] == "MatMulIntegerToFloat":
            inside = next(iter(details["input_type_shape"][0].values()))[-1]
            outside = next(iter(details["output_type_shape"][0].values()))
            operations += 2 * inside * outside[-1] * outside[-2] / forwards
    return times, operations, window.length


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--words", type=int, default=170)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    speed = rate(1, True)
    times, operations, tokens = operator_times(args.words, args.runs)
    speed = max(speed, rate(1, True))
    total = sum(times.values())
    print(f"{tokens} tokens: {total:.1f} ms; a product of bytes: {speed:.3g} operations a second")
    print("| stage | ms | share of the time |\n|---|---|---|")
    left = dict(times)
    for stage, operators in STAGES.items():
        spent = sum(left.pop(o, 0.0) for o in operators)
        print(f"| {stage} | {spent:.1f} | {spent / total:.0%} |")
    print(f"| the rest | {sum(left.values()):.1f} | {sum(left.values()) / total:.0%} |")
    at_rate = 1000 * operations / speed
    products = times["MatMulIntegerToFloat"]
    print(f"products at {at_rate / products:.0%} of the rate, the forward at {at_rate / total:.0%}")


if __name__ == "__main__":
    main()
