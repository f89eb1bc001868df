"""Records from files, standard input, rows in memory and data frames."""

from veridical.io.source import InputSource as Source
from veridical.io.source import open_source

__all__ = ["Source", "open_source"]
