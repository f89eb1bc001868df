"""Benchmark result with its views, from text to data frames."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from veridical.report.forms import write_report_as
from veridical.report.frames import frame_of
from veridical_lab.bench.report.bench_document import markdown, print_bench
from veridical_lab.bench.report.html import write_bench_report
from veridical_lab.bench.result import StoredBench

if TYPE_CHECKING:
    import pandas


class Bench(StoredBench):
    """A whole benchmark run, as ``veridical.bench`` returns it."""

    def __repr__(self) -> str:
        return f"<Bench {self.suite}: {len(self.rows)} figures of {len(self.splits)} splits>"

    def __str__(self) -> str:
        page = io.StringIO()
        print_bench(self, Console(file=page, width=100, highlight=False))
        return page.getvalue()

    def _repr_markdown_(self) -> str:
        return markdown(self)

    def figures(self) -> list[dict[str, Any]]:
        """Return the figures as flat rows, one a scorer, split and metric."""
        return [
            {
                name: value
                for name, value in row.model_dump().items()
                if not isinstance(value, (dict, list))
            }
            | {"flags": " ".join(row.flags)}
            for row in self.rows
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return :meth:`figures` as a data frame.

        Raises:
            UsageError: pandas is not installed.
        """
        return frame_of(self.figures())

    def write(self, path: str | Path) -> None:
        """Write a report, or the stored form: as the path ends in .html, .md, .txt, .csv, .tex or
        .json.

        Raises:
            UsageError: it ends in something else, or cannot be written.
        """
        write_report_as(
            Path(path),
            html=lambda to: write_bench_report(self, to),
            markdown=lambda: markdown(self),
            text=lambda console: print_bench(self, console),
            json=lambda: self.model_dump_json(indent=1),
            table=self.figures,
        )
