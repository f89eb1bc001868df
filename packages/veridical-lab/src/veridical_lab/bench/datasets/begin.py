"""BEGIN, second release (Dziri et al. 2022): attribution of dialogue turns.

Responses of dialogue systems to a message, given knowledge. By the Mirage protocol (Kulkarni et
al. 2025, appendix A.1) generic responses, which state nothing, are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.text.display import display
from veridical_lab.bench.datasets.files import data_files, first_named, has_records, nothing_in
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite, by_part_or_generic
from veridical_lab.bench.suite_options import GenericOptions

_PARTS = ("cmu/dev", "cmu/test", "tc/dev", "tc/test", "wow/dev", "wow/test")
_NEEDS = (
    "the second release's dev_cmu.tsv, dev_tc.tsv, dev_wow.tsv, test_wow.tsv (also test_cmu.tsv, "
    "test_tc.tsv, or begin_dev_wow.tsv and so on): tab separated, with knowledge, message, "
    "response and begin_label (Fully attributable, Not fully attributable, Generic)"
)


def _items(path: Path, options: GenericOptions) -> Iterator[Item | BadItem]:
    for part, file in _files(path):
        for row in open_source(file, reader="begin").rows():
            if isinstance(row, RowError):
                yield BadItem(part, row)
            elif not _second_release(row):
                raise UsageError(
                    f"{display(file)} belongs to the first release, which is not supported"
                )
            elif row.label is not None:
                yield _item(row, part, generic=False)
            elif options.keep_generic:
                yield _item(row.model_copy(update={"label": 1.0}), part, generic=True)


def _files(path: Path) -> list[tuple[str, Path]]:
    if not path.is_dir():
        return [(_part_of(path), path)]
    inside = data_files(path)
    files = []
    for part in _PARTS:
        source, fold = part.split("/")
        names = (f"{fold}_{source}.tsv", f"begin_{fold}_{source}.tsv")
        files += [(part, file) for file in first_named(inside, names)]
    files = files or [(_part_of(f), f) for f in inside if has_records(f, "begin", _second_release)]
    if not files:
        raise nothing_in(path)
    return files


def _part_of(path: Path) -> str:
    """Return the part in a file name, else the name without its extension."""
    match = re.search(r"(?<![a-z])(dev|test)_(cmu|tc|wow)(?![a-z])", path.name)
    return f"{match[2]}/{match[1]}" if match else path.name.split(".")[0]


def _second_release(record: Record) -> bool:
    return "begin_label" in record.meta


def _item(record: Record, part: str, *, generic: bool) -> Item:
    """Build an item; its group is the knowledge and message, shared by several systems."""
    question = f"{record.contexts[0].text}\0{record.prompt}"
    return Item(
        record,
        part,
        hashlib.blake2b(question.encode(), digest_size=12).hexdigest(),
        facets={
            "model": str(record.meta.get("model_name") or ""),
            "generic": "yes" if generic else "",
        },
    )


SUITE = Suite(
    name="begin",
    summary="dialogue responses, attributable to the given knowledge or not",
    needs=_NEEDS,
    source="Dziri, Rashkin, Linzen and Reitter 2022 (BEGIN)",
    read=_items,
    tasks=partial(by_part_or_generic, positive="not fully attributable"),
    options=GenericOptions,
    against="contexts",
    quick=None,
)
