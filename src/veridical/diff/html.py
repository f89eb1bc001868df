"""A comparison as a self-contained page, whose only script sets colours."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from veridical.diff import view
from veridical.diff.result import Diff, DiffEndpoint
from veridical.report.html import asset, content_security_policy, environment, write_whole

#: Maximum changed answers on the page.
SHOWN_FLIPS = 300


def write_diff_report(diff: Diff, path: Path, title: str = "veridical comparison") -> None:
    """Write the page to ``path``, replacing it atomically.

    Raises:
        UsageError, OSError: the file cannot be written; an older page then remains.
    """
    style = asset("page.css") + asset("bench.css") + asset("diff.css")
    script = asset("theme.js")
    page = (
        environment()
        .get_template("diff.html")
        .generate(
            policy=content_security_policy(style, script),
            style=Markup(style),
            script=Markup(script),
            title=title,
            version=diff.version,
            diff=diff,
            said=view.said(diff),
            heads=view.HEADS,
            rows=_rows,
            flips=diff.flips[:SHOWN_FLIPS],
            total=sum(diff.n_flips.values()),
            outcome=view.outcome_of,
        )
    )
    write_whole(Path(path), page)


def _rows(endpoints: list[DiffEndpoint]) -> list[list[str]]:
    return [[name, *cells] for name, cells in view.rows(endpoints)]
