"""BEGIN, second release (Dziri, Rashkin, Linzen and Reitter 2022): attribution of dialogue turns.

Responses of dialogue systems to a message, given knowledge. By the Mirage protocol (Kulkarni et
al. 2025, appendix A.1) generic responses, which state nothing, are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from veridical.errors import RowError, UsageError
from veridical.evaluate.datasets.files import (
    checked,
    data_files,
    first_named,
    has_records,
    nothing_in,
)
from veridical.evaluate.datasets.suite import (
    BadItem,
    Item,
    Labelled,
    Options,
    Suite,
    Task,
    by_part,
)
from veridical.io import open_source
from veridical.io.problems import display
from veridical.records import Record

_PARTS = ("cmu/dev", "cmu/test", "tc/dev", "tc/test", "wow/dev", "wow/test")
_NEEDS = (
    "the second release's dev_cmu.tsv, dev_tc.tsv, dev_wow.tsv, test_wow.tsv (also test_cmu.tsv, "
    "test_tc.tsv, or begin_dev_wow.tsv and so on): tab separated, with knowledge, message, "
    "response and begin_label (Fully attributable, Not fully attributable, Generic)"
)


def _load(path: Path, options: Options) -> Iterator[Item | BadItem]:
    return checked(_items(path, options), path, "begin", _NEEDS)


def _items(path: Path, options: Options) -> Iterator[Item | BadItem]:
    for part, file in _files(path):
        for row in open_source(file, reader="begin").rows():
            if isinstance(row, RowError):
                yield BadItem(part, row)
            elif not _second_release(row):
                raise UsageError(f"{display(file)} is of the first release, which is not used")
            elif row.label is not None:
                yield _item(row, part, generic=False)
            elif options.keep_generic:
                yield _item(row.model_copy(update={"label": 1.0}), part, generic=True)


def _files(path: Path) -> list[tuple[str, Path]]:
    if not path.is_dir():
        return [(_part_of(path), path)]
    inside = data_files(path)
    found = []
    for part in _PARTS:
        source, fold = part.split("/")
        names = (f"{fold}_{source}.tsv", f"begin_{fold}_{source}.tsv")
        found += [(part, file) for file in first_named(inside, names)]
    found = found or [(_part_of(f), f) for f in inside if has_records(f, "begin", _second_release)]
    if not found:
        raise nothing_in(path)
    return found


def _part_of(path: Path) -> str:
    """The part a file name tells, else the name without its extension."""
    told = re.search(r"(?<![a-z])(dev|test)_(cmu|tc|wow)(?![a-z])", path.name)
    return f"{told[2]}/{told[1]}" if told else path.name.split(".")[0]


def _second_release(record: Record) -> bool:
    return "begin_label" in record.meta


def _item(record: Record, part: str, *, generic: bool) -> Item:
    """The group is the knowledge and message: several systems answer the same one."""
    asked = f"{record.contexts[0].text}\0{record.prompt}"
    return Item(
        record,
        part,
        hashlib.blake2b(asked.encode(), digest_size=12).hexdigest(),
        facets={
            "model": str(record.meta.get("model_name") or ""),
            "generic": "yes" if generic else "",
        },
    )


def _tasks(labelled: Labelled) -> list[Task]:
    generic = labelled.facets.get("generic")
    kept = generic is not None and bool((generic == "yes").any())
    return by_part(
        labelled, "not fully attributable" + (", or generic (kept as asked)" if kept else "")
    )


SUITE = Suite(
    name="begin",
    summary="dialogue responses, attributable to the given knowledge or not",
    needs=_NEEDS,
    source="Dziri, Rashkin, Linzen and Reitter 2022 (BEGIN)",
    load=_load,
    tasks=_tasks,
    against="contexts",
    quick=None,
)
