"""Factor levels as text: model sizes, kinds of tuning, families."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from veridical.errors import UsageError
from veridical.io.problems import RowProblem
from veridical.text.display import shown

PRETRAINED = ("pretrained", "pre-trained", "base", "foundation", "pt")
INSTRUCT = (
    "instruct",
    "instruct-tuned",
    "instruction",
    "instruction-tuned",
    "post-trained",
    "tuned",
    "chat",
    "it",
    "sft",
    "rlhf",
)
#: Lower edges, in billions of parameters (Mirage, appendix C.3).
BINS = (0.5, 4.0, 20.0, 70.0)

_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(b|bn|billion|m|mn|million)?", re.IGNORECASE)
_TOKEN = re.compile(r"\d+(?:\.\d+)?[bm]")
_LARGEST = 100_000.0  # billions; above it, someone wrote the number of parameters


def billions(value: object) -> float:
    """Parse a model size in billions of parameters: a number, or text such as ``7B`` or ``125M``.

    Raises:
        RowProblem: it is neither, or not a possible size.
    """
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e300 else math.inf
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        number = float(match[1])
        if (match[2] or "b")[0].lower() == "m":
            number /= 1000
    if not 0 < number < math.inf:
        raise RowProblem(
            "must be a size in billions of parameters, such as 7, '7B' or '125M', "
            f"got {shown(value)}",
            "size",
        )
    if number > _LARGEST:
        raise RowProblem(f"is in billions of parameters, and {shown(value)} is too many", "size")
    return number


def is_instruct(value: object) -> bool:
    """Return True if a word for the tuning means instruction-tuned, False for pretrained.

    Raises:
        RowProblem: it means neither.
    """
    word = re.sub(r"[\s_-]+", "-", value.strip().lower()) if isinstance(value, str) else ""
    if word in PRETRAINED:
        return False
    if word in INSTRUCT:
        return True
    raise RowProblem(
        f"must be one of {', '.join(PRETRAINED)}; or {', '.join(INSTRUCT)}; got {shown(value)}",
        "tuning",
    )


def family_of(model: str) -> str:
    """Return a model's family: its name without owner, size and words of tuning.

    ``meta-llama/Llama-2-7b-chat`` and ``Llama-2-7b`` are both ``llama-2``.
    """
    name = model.rsplit("/", 1)[-1].strip().lower()
    tuning = {*PRETRAINED, *INSTRUCT}
    named = [t for t in re.split(r"[\s_-]+", name) if t not in tuning and not _TOKEN.fullmatch(t)]
    return "-".join(named) or name


def bin_names(edges: Sequence[float]) -> list[str]:
    """Return the names of the size bins for ``edges``: one below the first, one from each on.

    Raises:
        UsageError: the edges are not positive and increasing.
    """
    pairs = list(pairwise(edges))
    rising = all(a < b for a, b in pairs) and all(0 < e < math.inf for e in edges)
    if not edges or not rising:
        raise UsageError(f"size bins must be positive and increasing, got {list(edges)}")
    between = [f"{a:g}-{b:g}B" for a, b in pairs]
    return [f"<{edges[0]:g}B", *between, f">={edges[-1]:g}B"]
