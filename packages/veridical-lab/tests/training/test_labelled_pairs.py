"""Files of labelled pairs, and what is wrong with them."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical_lab.training.labelled_pairs import read_pairs


def row(premise="p", hypothesis="h", label="neutral"):
    return json.dumps({"premise": premise, "hypothesis": hypothesis, "label": label})


def test_rows_are_read_or_counted(tmp_path):
    lines = [
        row("a", "b", "Entailed"),
        row("a", "b", "entailment"),
        row("a", "b", "contradiction"),
        row("c", "d", "CONTRADICTION"),
        row("a", "e"),
        "",
        "{",
        "[]",
        '{"premise": "a", "hypothesis": 3, "label": "neutral"}',
        row(" "),
        row(label="true"),
        '{"premise": "a", "hypothesis": "b"}',
        "[" * 100_000,
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n")
    found = read_pairs([path])
    assert [(p.premise, p.hypothesis, p.label) for p in found.pairs] == [
        ("a", "b", "entailment"),
        ("c", "d", "contradiction"),
        ("a", "e", "neutral"),
    ]
    assert found.missing == {
        "no JSON": 3,
        "the pair occurs twice": 1,
        "the pair occurs with another label": 1,
        "no JSON object": 1,
        "no hypothesis": 1,
        "no premise": 1,
        "an unknown label": 1,
        "no label": 1,
    }
    assert found.truth().tolist() == [0, 2, 1] and found.groups().tolist() == [0, 1, 0]
    assert not found.two_way and len(found.classes) == 3


def test_two_way_sources(tmp_path):
    path = tmp_path / "rte.jsonl.gz"
    rows = [row("a", "b", "not_entailment"), row("a", "c", "entailment"), row("a", "d", "neutral")]
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    found = read_pairs([path])
    assert found.classes == ("entailment", "not_entailment")
    assert found.truth().tolist() == [1, 0, 1]


def test_samples_and_limits(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(row(str(i)) for i in range(50)))
    found = read_pairs([path, path], limit=30)
    assert len(found.pairs) == 30
    some = found.sample(7, 0)
    assert len(set(some.pairs)) == 7 and some.pairs == found.sample(7, 0).pairs
    assert found.sample(30, 0) is found and found.sample(None, 0) is found
    assert found.hash() != some.hash()
    assert np.bincount(found.truth()).tolist() == [0, 30]


def test_files_that_hold_none(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(UsageError, match=r"no labelled pairs in .*empty\.jsonl \(no rows\)"):
        read_pairs([empty])
    with pytest.raises(UsageError, match=r"cannot read .*none\.jsonl"):
        read_pairs([tmp_path / "none.jsonl"])
    bad = tmp_path / "bad.jsonl.gz"
    bad.write_bytes(b"no gzip")
    with pytest.raises(UsageError, match="bad"):
        read_pairs([bad])
