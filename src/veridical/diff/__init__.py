"""Two runs compared: are they different, by how much, and which records changed."""

from veridical.diff.comparing import diff
from veridical.diff.result import Diff

__all__ = ["Diff", "diff"]
