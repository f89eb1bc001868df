"""``veridical review RUN``: human labelling of a run's answers."""

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


#: Options of the page only, of the export only, and orders that use a policy's threshold.
_OF_PAGE = ("order", "annotators", "double", "units", "policy", "show", "host", "port")
_OF_EXPORT = ("redact", "format", "worst")
_BY_THRESHOLD = ("mixed", "uncertain")


@flags()
class LabelFlags:
    """Options of the run, its annotators and the units to label."""

    run: Path = argument("Run directory.", names=Names.OTHER)
    annotators: str | None = flag(
        "Names of annotators, comma-separated; each gets a link. Several names also create an "
        "adjudicator's link.",
        Group.LABELS,
        metavar="NAMES",
    )
    units: Literal["auto", "claim", "sentence", "span"] = flag(
        "Units to label; auto: claims if the run has any, otherwise sentences.",
        Group.LABELS,
        "auto",
    )


@flags()
class ReviewOptions(LabelFlags, PageFlags):
    """Options of ``veridical review``."""

    order: Literal["mixed", "random", "neyman", "risk", "uncertain", "disagree"] = flag(
        "Order of answers. mixed: half random, half uncertain. neyman: by risk strata. disagree: "
        "by disagreement of scorers.",
        Group.LABELS,
        "mixed",
    )
    double: float = flag(
        "Share of the answers that every annotator labels.",
        Group.LABELS,
        0.2,
        least=0,
        most=1,
        after="annotators",
    )
    policy: Path | None = flag(
        "Policy file with the threshold of --order uncertain and mixed. Default threshold: 0.5.",
        Group.LABELS,
        after="units",
    )
    show: bool = flag(
        "Show scores before labelling, so that labels are not blind.",
        Group.LABELS,
        False,
        after="policy",
    )
    export: Path | None = output("Write the labels to this file instead of opening the page.")
    redact: bool = flag(
        "With --export: replace names by pseudonyms and omit comments.", Group.OUTPUT, False
    )
    worst: bool = flag(
        "With --export: use the worst label if annotators disagree. Default: the majority label, "
        "or no label.",
        Group.OUTPUT,
        False,
    )
    format: Literal["labels", "refchecker"] = flag(
        "With --export: labels (label and unit_labels) or RefChecker's triplets, one claim per "
        "line; .json files use the published layout.",
        Group.OUTPUT,
        "labels",
    )
    take: Path | None = flag(
        "Import labelled triplets in RefChecker's format.",
        Group.INPUT,
        called="--import",
        metavar="FILE",
        after="run",
    )


@command
def review(options: ReviewOptions) -> int:
    """Label the claims or sentences of a run in a local web page.

    Scores are hidden from annotators by default. --export writes the labels for tune and bench.
    """
    from veridical.api import reopen
    from veridical.review.service import ReviewService, people_of

    _check_together(options)
    check_files(options)
    people = people_of(options.annotators)
    if len(people) < 2 and options.double != ReviewOptions.double:
        raise UsageError("--double requires two or more names in --annotators")
    threshold = _threshold(options.policy)
    if options.export is not None:
        return _export(options)
    if options.take is not None:
        return _import(options, options.take)

    from veridical.cli.figures import error_console
    from veridical.cli.pages import links
    from veridical.cli.progress import reading
    from veridical.review.items import Items
    from veridical.serve.pages.access import PageAccess, listen, serve_pages
    from veridical.serve.pages.review_app import review_app

    listener = listen(options.host, options.port)
    results = reopen(options.run)
    with reading(results, error_console()):
        items = Items(results, units=options.units)
    if not len(items):
        raise UsageError(f"no results to review: {options.run}")
    service = ReviewService(
        items,
        people,
        order=options.order,
        double=options.double if len(people) > 1 else 0.0,
        threshold=threshold,
        show=options.show,
    )
    try:
        access = PageAccess(service.visitors())
        code = serve_pages(
            review_app(service, access), access, listener, options.host, links(access)
        )
    finally:
        service.close()
    done = sum(service.labels.is_done(row) for row in service.labels.of)
    print(f"{done:,} answers are labelled, in {results.path}", file=sys.stderr)
    return code


def _check_together(options: ReviewOptions) -> None:
    """Refuse combinations of options that have no effect.

    Raises:
        UsageError: two options cannot be combined.
    """
    given = {n for n, value in vars(options).items() if value != getattr(ReviewOptions, n, None)}
    if {"take", "export"} <= given:
        raise UsageError("--import and --export cannot be combined: import first")
    for name in _OF_EXPORT:
        if name in given and "export" not in given:
            raise UsageError(f"--{name} requires --export FILE")
    if options.worst and options.format != "labels":
        raise UsageError(f"--worst requires --format labels, not {options.format}")
    for name, shown in (("take", "--import"), ("export", "--export")):
        for other in _OF_PAGE:
            if name in given and other in given:
                raise UsageError(
                    f"--{other} cannot be combined with {shown}, which opens no page: remove it"
                )
    if options.policy is not None and options.order not in _BY_THRESHOLD:
        raise UsageError(
            f"--policy has no effect with --order {options.order}: use --order mixed or uncertain"
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
    from veridical.review.items import Items
    from veridical.review.service import ReviewService
    from veridical.review.triplets import import_triplets

    items = Items(reopen(options.run))
    events = import_triplets(path, items)
    service = ReviewService(items, ("reviewer",))
    try:
        service.add(*events)
    finally:
        service.close()
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
        raise UsageError(f"--policy: no accept threshold in {policy}; add `accept = RISK`")
    return accept
