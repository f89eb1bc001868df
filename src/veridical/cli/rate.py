"""``veridical rate RUN``: the hallucination rate, estimated from few labels."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from veridical.cli.declared import check_files, command, flag, flags, output
from veridical.cli.pages import PageFlags
from veridical.cli.review import LabelFlags
from veridical.core.options import Group
from veridical.errors import UsageError
from veridical.text.display import shown

if TYPE_CHECKING:
    from veridical.review.service import ReviewService

RATE_EXAMPLES = (
    "Examples:\n\n  veridical rate .veridical/runs/0123456789abcdef --budget 100\n\n"
    "  veridical rate RUN --budget 200 --width 0.1 --by model,task --json rate.json\n\n"
    "It ends at --budget labels, at an interval of --width, or by Ctrl-C. The same command "
    "resumes."
)
#: Seconds between the last label and the end, in which the page shows the estimate.
_LINGER = 2.0
_GROUPS = ("model", "group")


@flags()
class RateOptions(LabelFlags, PageFlags):
    """Options of ``veridical rate``."""

    budget: int = flag("Maximum answers to label.", Group.LABELS, MISSING, least=1)
    width: float | None = flag(
        "Width of the 95 % interval at which labelling ends, such as 0.1.", Group.LABELS
    )
    by: str | None = flag(
        "Input columns to report rates by. Default: model and group, if present.",
        Group.LABELS,
        metavar="COLUMNS",
    )
    json_path: str | None = output("Write the estimate as JSON; - for stdout.", "--json")


@command
def rate(options: RateOptions) -> int:
    """Estimate the hallucination rate of a run from few human labels.

    Answers are drawn by stratified sampling and labelled in a local web page. The estimate has a
    95 % confidence interval.
    """
    from veridical.api import reopen
    from veridical.cli.figures import error_console
    from veridical.cli.outputs import opened
    from veridical.cli.progress import reading
    from veridical.review.items import Items
    from veridical.review.service import ReviewService, people_of

    check_files(options)
    if options.width is not None and not 0 < options.width < 1:
        raise UsageError(f"--width must be between 0 and 1, not {options.width}")
    people = people_of(options.annotators)
    results = reopen(options.run)
    named = [name.strip() for name in (options.by or "").split(",") if name.strip()]
    with reading(results, error_console()):
        items = Items(results, units=options.units, fields=named or _GROUPS)
    if not len(items):
        raise UsageError(f"no results to label: {options.run}")
    for name in named:
        if not any(items.groups[name]):
            raise UsageError(f"--by: no answer of the run has a column {shown(name)}")
    service = ReviewService(
        items, people, order="neyman", budget=options.budget, width=options.width
    )
    try:
        if not service.is_done():
            _label(service, options)
        estimate = service.estimate()
    finally:
        service.close()
    with opened(options.json_path) as out:
        if out is not None:
            out.write(json.dumps(estimate) + "\n")
    print("\n".join(lines(estimate)), file=sys.stderr if options.json_path == "-" else sys.stdout)
    return 0


def _label(service: ReviewService, options: RateOptions) -> None:
    import threading

    from veridical.cli.pages import links
    from veridical.serve.pages.access import PageAccess, listen, serve_pages
    from veridical.serve.pages.review_app import review_app

    listener = listen(options.host, options.port)
    access = PageAccess(service.visitors())
    end = threading.Timer(_LINGER, signal.raise_signal, [signal.SIGINT])
    end.daemon = True
    app = review_app(service, access, finished=_once(end.start))
    try:
        serve_pages(app, access, listener, options.host, links(access))
    finally:
        end.cancel()


def _once(do: Callable[[], None]) -> Callable[[], None]:
    done: list[None] = []

    def call() -> None:
        if not done:
            done.append(None)
            do()

    return call


def lines(found: dict[str, Any]) -> list[str]:
    """Describe the estimate."""
    if found["rate"] is None:
        return ["no answer is labelled: the rate is between 0 % and 100 %"]
    out = [
        f"hallucinated: {_share(found['rate'])} of {found['n_total']:,} answers, 95 % interval "
        f"{_share(found['ci_low'])} to {_share(found['ci_high'])}",
        f"from {found['n']:,} labelled answers, {found['n_hallucinated']:,} of them hallucinated; "
        f"equivalent to {found['effective']:.0f} random answers",
    ]
    if found["undecided"]:
        out.append(
            f"annotators disagree on {found['undecided']:,} of them, which count as hallucinated "
            "until adjudicated (veridical review RUN)"
        )
    for field, groups in found["groups"].items():
        out.append(f"by {field}:")
        out += [
            f"  {name[:40]}: {_share(g['rate'])} [{_share(g['ci_low'])}, {_share(g['ci_high'])}], "
            f"{g['n']} labels of {g['n_total']:,} answers"
            for name, g in groups.items()
        ]
    width = found["ci_high"] - found["ci_low"]
    if found["more"]:
        more = ", ".join(f"{m['labels']} more {_share(m['width'])}" for m in found["more"])
        out.append(f"the interval is {_share(width)} wide; with labels like these: {more}")
    return out


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"
