"""Adapters of the checkers of veridical, which finds and runs them."""

from pathlib import Path

#: A folder for each checker: ``adapter.gguf`` and ``checker.json``.
FOLDER = Path(__file__).parent
