"""Weights of the NLI model veridical-nli-base; veridical finds and runs them."""

from pathlib import Path

#: The model: ``model.onnx``, ``tokenizer.json``, ``config.json``, ``calibration.json``.
FOLDER = Path(__file__).parent / "model"
