"""TOML files with something wrong in them, and readers that are given such."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from veridical.errors import UsageError

SLOWEST = 5.0  # seconds for one file, on a machine that others use too
#: In place of the value of a line of a TOML file.
TOML = (
    *("nan", "inf", "-inf", "-0.1", "1.1", "1e999", "true", "''", "'x'", "[]", "{}", "[[[]]]"),
    *("1979-05-27", "07:32:00", "0x7fffffffffffffffffff", "9" * 5000, "'" + "a" * 100_000 + "'"),
    *("[" * 3000 + "]" * 3000, "{a=" * 500 + "1" + "}" * 500, '"\\u0000"', '"\\U000e0041"', "0.5x"),
    *("'../../../../etc/passwd'", "'policy.toml'", "'ensemble(file=\"self.json\")'", "'/dev/zero'"),
    *("'ngram(n=1)'", "'__import__(\"os\")'", "'reject '", "'accept'", "'RISK'", "1", "0", "0.5"),
)


def toml_variants(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for i, line in enumerate(lines):
        rest = [*lines[:i]], [*lines[i + 1 :]]
        for made in (
            *(f"{line.partition('=')[0]}= {v}" for v in TOML if "=" in line),
            *("", f"{line}\n{line}", line.upper(), f"{line}\nnonsense = 1", f"#{line}", line[:-1]),
            *(line + "\x00", "﻿" + line, line.replace("=", ":"), f"[{line}]", line + " = 1"),
            *(f"{line}\n[strata.a.b]\naccept = 1", f"{line}\n[[rules]]\nthen = 'accept'"),
        ):
            yield "\n".join([*rest[0], made, *rest[1]]) + "\n"
    yield text + "".join(f'[strata."{i}"]\naccept = 0.1\n' for i in range(5000))
    yield text + "[[rules]]\nthen = 'review'\nover = 0.5\n" * 5000
    yield "a.b.c.d." * 50_000 + "e = 1\n" + text


def tried(variants: Iterator[str], read: Callable[[Path], None], path: Path) -> Counter[str]:
    """Return how many variants were read and how many refused."""
    found: Counter[str] = Counter()
    for text in variants:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        started = time.process_time()
        try:
            read(path)
            found["read"] += 1
        except UsageError as e:
            found["refused"] += 1
            assert len(str(e)) < 20_000 and str(e).strip()
        assert time.process_time() - started < SLOWEST, text[:200]
    print(f"{path.name}: {dict(found)}")
    return found
