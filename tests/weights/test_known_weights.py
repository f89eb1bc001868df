"""The table of weights: what it says of each file fits together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fake_weights import weights_of, write_table

from veridical.weights.download import SMOLLM2, WEIGHTS
from veridical.weights.table import Weights, read_weights

#: Sizes and beginnings of the SHA-256 of the publishers' own files.
PUBLISHED = {
    "smollm2": (98_362_432, "b179c9523d0e6a0f", 1),
    "qwen-0.5b": (491_400_064, "1d9614638d18024d", 6),
    "qwen-1.5b": (1_117_320_768, "cc324af070c2ecbf", 22),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=lambda w: w.name)
def test_each_file_is_its_parts(weights: Weights) -> None:
    size, digest, parts = PUBLISHED[weights.name]
    assert (weights.size, weights.sha256[:16], len(weights.parts)) == (size, digest, parts)
    assert sum(part.size for part in weights.parts) == weights.size
    hashes = [weights.sha256, *(part.sha256 for part in weights.parts)]
    assert all(re.fullmatch("[0-9a-f]{64}", h) for h in hashes)
    assert len({part.requirement for part in weights.parts}) == parts
    assert weights.urls and all(u.startswith("https://") for u in weights.urls)
    assert all(u.endswith(f"/{weights.file}") for u in weights.urls)
    assert weights.file.endswith(".gguf") and weights.licence == "Apache-2.0"


def test_who_may_judge() -> None:
    assert list(WEIGHTS) == list(PUBLISHED) and WEIGHTS["smollm2"] is SMOLLM2
    assert [w.name for w in WEIGHTS.values() if "judge" in w.tasks] == ["qwen-1.5b"]
    assert WEIGHTS["qwen-1.5b"].good_for == "writes, reads and judges"
    assert WEIGHTS["qwen-0.5b"].good_for == "writes and reads, too small to judge"


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    weights = weights_of(b"one", b"two, longer")
    assert read_weights(write_table(tmp_path / "t.toml", weights)) == {"tiny": weights}
    assert weights.parts[1].requirement == "tiny-part2==1.0"
    assert weights.offer == "Tiny (0 MB, Apache-2.0)"
