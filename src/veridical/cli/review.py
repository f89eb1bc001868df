"""``veridical review RUN``: people look at the answers of a run, and label what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from veridical.cli.declared import argument, check_files, command, flag, flags, output
from veridical.cli.pages import PageFlags
from veridical.core.options import Group, Names
from veridical.errors import UsageError

REVIEW_EXAMPLES = (
    "Examples:\n\n  veridical review .veridical/runs/0123456789abcdef\n\n"
    "  veridical review RUN --annotators ann,ben --double 0.2\n\n"
    "  veridical review RUN --export labels.jsonl --redact\n\n"
    "Then: veridical tune answers.jsonl --labels labels.jsonl --alpha 0.1 --out ensemble.json"
)


#: Options that say something of the page alone, or of the export alone; and the orders that go by
#: a policy's threshold.
_OF_PAGE = ("order", "annotators", "double", "units", "policy", "show", "host", "port")
_OF_EXPORT = ("redact", "format", "worst")
_BY_THRESHOLD = ("mixed", "uncertain")


@flags()
class LabelFlags:
    """The run, who labels its answers, and what of them."""

    run: Path = argument("A run directory.", names=Names.OTHER)
    annotators: str | None = flag(
        "Names of those who label, comma-separated; each gets a link. With several, one more link "
        "is the adjudicator's.",
        Group.LABELS,
        metavar="NAMES",
    )
    units: Literal["auto", "claim", "sentence", "span"] = flag(
        "What is asked about; auto: claims where the run made any, else sentences.",
        Group.LABELS,
        "auto",
    )


@flags()
class ReviewOptions(LabelFlags, PageFlags):
    """The options of ``veridical review``."""

    order: Literal["mixed", "random", "neyman", "risk", "uncertain", "disagree"] = flag(
        "Which answer comes next. mixed: half drawn at random, which a guarantee can rest on, "
        "half by uncertain; risk, uncertain, disagree (of scorers) and neyman (by strata of the "
        "risk) go by scores.",
        Group.LABELS,
        "mixed",
    )
    double: float = flag(
        "Share of the answers that all annotators label.",
        Group.LABELS,
        0.2,
        least=0,
        most=1,
        after="annotators",
    )
    policy: Path | None = flag(
        "Policy whose threshold uncertain is nearest to; else 0.5.", Group.LABELS, after="units"
    )
    show: bool = flag(
        "Show scores from the start; labels are then not blind.",
        Group.LABELS,
        False,
        after="policy",
    )
    export: Path | None = output("Write the labels here, and open no page.")
    redact: bool = flag(
        "With --export: pseudonyms in place of names, no comments.", Group.OUTPUT, False
    )
    worst: bool = flag(
        "With --export: where people disagree, the worst of their labels. Default: the majority's, "
        "else none.",
        Group.OUTPUT,
        False,
    )
    format: Literal["labels", "refchecker"] = flag(
        "With --export: label and unit_labels; or RefChecker's triplets, a claim a line, or as "
        "published where FILE ends in .json.",
        Group.OUTPUT,
        "labels",
    )
    take: Path | None = flag(
        "Take labelled triplets in RefChecker's format.",
        Group.INPUT,
        called="--import",
        metavar="FILE",
        after="run",
    )


@command
def review(options: ReviewOptions) -> int:
    """Open a page in which people label the claims or sentences of a run's answers, blind; or
    export the labels for tune and bench."""
    from veridical.api import reopen
    from veridical.review.desk import Desk, people_of

    _check_together(options)
    check_files(options)
    people = people_of(options.annotators)
    if len(people) < 2 and options.double != ReviewOptions.double:
        raise UsageError("--double goes with --annotators of two names or more")
    threshold = _threshold(options.policy)
    if options.export is not None:
        return _export(options)
    if options.take is not None:
        return _import(options, options.take)

    from veridical.cli.figures import error_console
    from veridical.cli.pages import links
    from veridical.cli.progress import reading
    from veridical.review.items import Items
    from veridical.serve.pages.door import Door, listen, serve_pages
    from veridical.serve.pages.review_app import review_app

    listener = listen(options.host, options.port)
    results = reopen(options.run)
    with reading(results, error_console()):
        items = Items(results, units=options.units)
    if not len(items):
        raise UsageError(f"{options.run}: it has no result to review")
    desk = Desk(
        items,
        people,
        order=options.order,
        double=options.double if len(people) > 1 else 0.0,
        threshold=threshold,
        show=options.show,
    )
    try:
        door = Door(desk.visitors())
        code = serve_pages(review_app(desk, door), door, listener, options.host, links(door))
    finally:
        desk.close()
    done = sum(desk.labels.is_done(row) for row in desk.labels.of)
    print(f"{done:,} answers are labelled, in {results.path}", file=sys.stderr)
    return code


def _check_together(options: ReviewOptions) -> None:
    """
    Raises:
        UsageError: of two options one says nothing beside the other.
    """
    given = {n for n, value in vars(options).items() if value != getattr(ReviewOptions, n, None)}
    if {"take", "export"} <= given:
        raise UsageError("--import and --export are two commands: import first")
    for name in _OF_EXPORT:
        if name in given and "export" not in given:
            raise UsageError(f"--{name} goes with --export FILE")
    if options.worst and options.format != "labels":
        raise UsageError(f"--worst goes with --format labels, not {options.format}")
    for name, shown in (("take", "--import"), ("export", "--export")):
        for other in _OF_PAGE:
            if name in given and other in given:
                raise UsageError(f"--{other} is an option of the page, and {shown} opens none")
    if options.policy is not None and options.order not in _BY_THRESHOLD:
        raise UsageError(
            f"--policy names the threshold of --order mixed or uncertain; --order "
            f"{options.order} goes by none"
        )


def _export(options: ReviewOptions) -> int:
    from veridical.api import reopen
    from veridical.review.agreement import cross_table_text, cross_tables
    from veridical.review.export import export, labels_of, unlabelled_line
    from veridical.text.display import visible

    assert options.export is not None
    triplets = options.format == "refchecker"
    results = reopen(options.run)
    count = export(
        results,
        options.export,
        redact=options.redact,
        triplets=triplets,
        worst=options.worst,
    )
    print(f"{count:,} {'triplets' if triplets else 'answers'}: {options.export}", file=sys.stderr)
    labels = labels_of(results)
    if not triplets and (line := unlabelled_line(labels, worst=options.worst)):
        print(line, file=sys.stderr)
    if not options.redact:
        for (first, second), table in cross_tables(labels).items():
            print(cross_table_text((visible(first), visible(second)), table), file=sys.stderr)
    return 0


def _import(options: ReviewOptions, path: Path) -> int:
    from veridical.api import reopen
    from veridical.review.desk import Desk
    from veridical.review.items import Items
    from veridical.review.triplets import import_triplets

    items = Items(reopen(options.run))
    events = import_triplets(path, items)
    desk = Desk(items, ("reviewer",))
    try:
        desk.add(*events)
    finally:
        desk.close()
    labels = sum(event.event == "label" for event in events)
    print(f"{labels:,} labels of {len(events) - labels:,} answers", file=sys.stderr)
    return 0


def _threshold(policy: Path | None) -> float:
    from veridical.review.queue import THRESHOLD

    if policy is None:
        return THRESHOLD
    from veridical.decide.policy_file import read_policy

    accept = read_policy(policy).accept
    if accept is None:
        raise UsageError(f"{policy} has no threshold to accept by, which --order goes by")
    return accept
