"""Files of labelled pairs: JSON lines with ``premise``, ``hypothesis`` and ``label``."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from veridical.core.protocols import LABELS
from veridical.errors import UsageError
from veridical.io.lines import read_lines
from veridical.io.problems import RowProblem
from veridical.models.nli.labels import ENTAILMENT, REST, class_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


FEWEST = 10  #: pairs of each class that a part to train, choose or measure on must have


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Premise and hypothesis with their relation.

    The label is one of LABELS, or ``not_entailment`` if the source has two classes.
    """

    premise: str
    hypothesis: str
    label: str


@dataclass(frozen=True)
class LabelledPairs:
    """Pairs that were read.

    Attributes:
        missing: reason -> number of omitted rows.
    """

    pairs: tuple[LabelledPair, ...]
    missing: Mapping[str, int]

    @property
    def two_way(self) -> bool:
        """Return True if some label is only ``not_entailment``."""
        return any(p.label == REST for p in self.pairs)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the classes, entailment first."""
        return (ENTAILMENT, REST) if self.two_way else LABELS

    def truth(self) -> NDArray[np.int64]:
        """Return the index (n,) of each label in :attr:`classes`; with two, all but entailment is
        1.
        """
        if self.two_way:
            return np.array([int(p.label != ENTAILMENT) for p in self.pairs], np.int64)
        return np.array([LABELS.index(p.label) for p in self.pairs], np.int64)

    def groups(self) -> NDArray[np.int64]:
        """Return the number (n,) of each pair's premise: pairs that share one are resampled
        together.
        """
        names = {t: i for i, t in enumerate(dict.fromkeys(p.premise for p in self.pairs))}
        return np.array([names[p.premise] for p in self.pairs], np.int64)

    def take(self, places: Iterable[int]) -> LabelledPairs:
        """Return the pairs at ``places``, in that order."""
        return LabelledPairs(tuple(self.pairs[i] for i in places), self.missing)

    def sample(self, most: int | None, seed: int) -> LabelledPairs:
        """Return at most ``most`` of the pairs, at random; all if None."""
        if most is None or len(self.pairs) <= most:
            return self
        return self.take(np.random.default_rng(seed).permutation(len(self.pairs))[:most])

    def hash(self) -> str:
        """Return 16 hexadecimal digits of a hash of the pairs and their order."""
        h = hashlib.blake2b(digest_size=8)
        for p in self.pairs:
            h.update(repr((p.premise, p.hypothesis, p.label)).encode())
        return h.hexdigest()


def check_enough(part: str, truth: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Check that a part has enough pairs to train, choose or measure on.

    Raises:
        UsageError: it has fewer than :data:`FEWEST` pairs of a class.
    """
    counts = np.bincount(truth, minlength=len(classes))
    if counts.min() < FEWEST:
        listed = ", ".join(f"{n} {label}" for n, label in zip(counts, classes, strict=True))
        raise UsageError(f"the {part} part has {listed}; it needs {FEWEST} of each")


def read_pairs(paths: Sequence[str | Path], *, limit: int | None = None) -> LabelledPairs:
    """Read the pairs of the files in order, also .gz; each pair once.

    Labels are read in any case and spelling (``entailment``, ``Entailed``, ``NOT_ENTAILMENT``). An
    invalid row is left out, and counted by the reason.

    Args:
        limit: of rows read in all.

    Raises:
        UsageError: a file is unreadable, or no row is a labelled pair.
    """
    pairs: dict[tuple[str, str], LabelledPair] = {}
    missing: Counter[str] = Counter()
    rows = 0
    for path in paths:
        try:
            with ExitStack() as stack:
                stream = stack.enter_context(_opened(Path(path)))
                for _, line in read_lines(stream):
                    if isinstance(line, bytes) and not line.strip():
                        continue
                    if limit is not None and rows >= limit:
                        break
                    rows += 1
                    pair = _pair(line)
                    if isinstance(pair, str):
                        missing[pair] += 1
                        continue
                    key = (pair.premise, pair.hypothesis)
                    if key not in pairs:
                        pairs[key] = pair
                    elif pairs[key].label == pair.label:
                        missing["the pair occurs twice"] += 1
                    else:
                        missing["the pair occurs with another label"] += 1
        except OSError as e:
            raise UsageError(f"cannot read {path}: {e.strerror or e}") from None
    if not pairs:
        why = "; ".join(f"{n} rows: {reason}" for reason, n in missing.most_common(3))
        raise UsageError(
            f"no labelled pairs in {', '.join(map(str, paths))} ({why or 'no rows'}): JSON lines "
            "with premise, hypothesis and label are read"
        )
    return LabelledPairs(tuple(pairs.values()), dict(missing.most_common()))


def _opened(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _pair(line: bytes | RowProblem) -> LabelledPair | str:
    """Parse the pair in a line, or return the reason of failure."""
    if isinstance(line, RowProblem):
        return str(line)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "no JSON"
    if not isinstance(row, dict):
        return "no JSON object"
    for field in ("premise", "hypothesis", "label"):
        if not isinstance(row.get(field), str) or not row[field].strip():
            return f"no {field}"
    label = class_of(row["label"])
    if label is None:
        return "an unknown label"
    return LabelledPair(row["premise"], row["hypothesis"], label)
