"""``tune``: score graded answers, and tune an ensemble on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.ensembles.cascade import in_order, learn, lines
from veridical.ensembles.graded import Graded, every_sentence, gather
from veridical.errors import UsageError
from veridical.files.outputs import check_outputs
from veridical.files.trained_files import write_trained
from veridical.tuning.draws import Drawn, drawn, remarks
from veridical.tuning.label_file import check_promise, labels_and_draws, read_review
from veridical.tuning.labelled import labelled_job, no_labels
from veridical.tuning.nested import Tell
from veridical.tuning.options import TuneOptions, split_options
from veridical.tuning.tuned import Origin, Tuned, tune_graded, usable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical.api import Job
    from veridical.core.registry import BoundScorer
    from veridical.engine.engine import Engine
    from veridical.ensembles.cascade_file import Cost
    from veridical.report.results import Results
    from veridical.tuning.label_file import ReviewLabel
    from veridical.tuning.options import TuneKeywords

    Watch = Callable[[Job], Results]


def tune(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None = None,
    *,
    engine: Engine | None = None,
    tell: Tell | None = None,
    watch: Watch | None = None,
    **options: Unpack[TuneKeywords],
) -> Tuned:
    """Score graded answers, and tune an ensemble of the scorers on them.

    Args:
        inputs: records with ``label`` (``unit_labels`` at level ``sentence``), as for
            :func:`veridical.check`.
        scorers: the components; default: those of ``preset`` that the records' fields allow.
        engine: a warm engine; otherwise one is made with the engine options in ``options``.
        tell: callback(text) with the progress.
        watch: function that waits for the scoring run's job.
        objective: auroc, average_precision, brier, log_loss, f1, f_beta, balanced_accuracy or
            accuracy.
        positive: the positive class of f1, f_beta and average_precision, and of the F1 that
            selects a threshold. It is hallucinated, or correct as in UQLM and its paper.
        min_precision: minimum precision of ``positive``; the threshold then has the highest
            recall that reaches it, instead of the best F1.
        joint: choose weights and threshold jointly (eq. 23 of the tunable ensemble), not in turn.
        beta: parameter of ``f_beta``.
        method: weighted, logistic, boosted (needs scikit-learn), famd (no labels; needs prince).
        calibrate: platt, isotonic, beta or temperature.
        alpha, delta: guarantee that at most ``alpha`` of the accepted answers are hallucinated,
            with probability 1 - ``delta``. Half of the independent units are then reserved for
            the guarantee.
        by: field of ``meta`` whose values get their own fits, thresholds and guarantees.
        simultaneous: the guarantees of all values of ``by`` hold together with probability
            1 - ``delta``, not separately. Each is made at ``delta`` divided by their number.
        level: ``response`` or ``sentence``.
        labels: file of reviewers' labels, by ``row`` or ``id`` of the record, which replace the
            records' own (:func:`veridical.tuning.label_file.read_review`).
        grader: labels answers: exact, contains, numeric, choice, llm (see ``bench qa``).
        cv, bootstrap: folds of the nested cross-validation, resamples for each interval.
        seed: seed of folds, search, trees and resamples.
        out: file for the ensemble.
        cascade: file for a cascade of the same scorers, with one fit for all strata (see
            :func:`veridical.ensembles.cascade.learn`).
        keep: share of the full ensemble's AUROC that the cascade must keep.
        hour: price of an hour of models and processors, relative to money for LLM calls.
        run: directory of the scoring run; an existing one is resumed. Default: temporary.
        preset, against, paper_forms, samples, limit, mapping, reader, strict, retry_failed, claims,
            corpus, corpus_top, corpus_query, corpus_pages, notify, sampling: as for
            :func:`veridical.check`.

    Raises:
        UsageError: options are unknown or cannot be combined, or too few answers are graded.
    """
    from veridical.engine.engine import Engine

    tuning, scoring, of_engine = split_options(options)
    of_engine.refuse_with(engine)
    files = [*(inputs if isinstance(inputs, (list, tuple)) else [inputs]), tuning.labels]
    check_outputs(
        *(tuning.out, tuning.cascade),
        reads=[path for path in files if isinstance(path, (str, Path))],
        runs=[] if tuning.run is None else [tuning.run],
    )
    review = [] if tuning.labels is None else read_review(tuning.labels)  # before hours of work
    if tuning.labels is not None and tuning.alpha is not None:
        check_promise(review, tuning.labels)
    if tuning.labels is not None and tell is not None:
        wrong = sum(said.label >= 0.5 for said in review)
        tell(
            f"{len(review):,} labels of {Path(tuning.labels).name}: {len(review) - wrong:,} right, "
            f"{wrong:,} hallucinated"
        )
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(Engine(of_engine))
        scored = _score(inputs, scorers, tuning, scoring, review, engine, watch, tell)
    graded, missing = _gathered(scored, tuning)
    tuned = tune_graded(
        graded,
        tuning,
        origin=_origin(scored),
        spread=every_sentence(scored.results, graded) if tuning.level == "sentence" else None,
        draws=scored.draws,
        tell=tell,
    )
    notes = [
        *_left_out(missing),
        *scored.notes,
        *remarks(scored.draws, graded.rows),
        *tuned.notes,
    ]
    tuned = replace(tuned, notes=notes, missing=missing, results=scored.results)
    if tuning.cascade is not None:
        if tell is not None:
            tell("cascade")
        tuned = _with_cascade(tuned, graded, scored, tuning, tuning.cascade)
    if tuning.out is not None:
        tuned = replace(tuned, file=tuned.save(tuning.out))
    return tuned


@dataclass(frozen=True)
class _Scored:
    """Graded answers with scores.

    Attributes:
        untuned: key of the default ensemble, for comparison; None if scorers were named.
        labels: row -> label, if they are not the records' own; ``source`` names their source.
        costs: costs of the scorers, if a cascade is to be learned.
        draws: row -> draw of the answer, where known.
    """

    results: Results
    scorers: list[BoundScorer]
    untuned: str | None
    labels: Mapping[int, float | None] | None
    source: str
    notes: list[str]
    costs: dict[str, Cost] | None
    draws: Mapping[int, Drawn]


def _with_cascade(
    tuned: Tuned, graded: Graded, scored: _Scored, tuning: TuneOptions, path: str | Path
) -> Tuned:
    """Return ``tuned`` with a cascade of the same scorers, saved at ``path``."""
    assert scored.costs is not None
    cascade = learn(
        usable(graded)[0],
        scored.costs,
        tuned.ensemble.fitted_on,
        recipe=tuning.recipe,
        goal=tuning.goal,
        count=tuning.cv,
    )
    write_trained(path, cascade)
    return replace(tuned, notes=[*tuned.notes, *lines(cascade)], cascade=cascade)


def _score(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None,
    tuning: TuneOptions,
    scoring: Mapping[str, Any],
    review: list[ReviewLabel],
    engine: Engine,
    watch: Watch | None,
    tell: Tell | None,
) -> _Scored:
    """Score and grade the answers."""
    has_llm = engine.llms.default is not None
    grader = None
    if tuning.grader is not None:
        from veridical.tuning.grading import open_grader

        grader = open_grader(tuning.grader, has_llm)
    components = components_of(scorers, scoring, has_llm, engine.proxy, engine.spans)
    default = None if scorers is not None else default_of(scoring, has_llm, engine)
    scored = [*components, *([] if default is None else [default])]
    job = labelled_job(tuning, bool(review), tell, inputs, scored, engine=engine, **scoring)
    results = job.wait() if watch is None else watch(job)
    labels: Mapping[int, float | None] | None = None
    draws: dict[int, Drawn] = {}
    notes, source = [], "label" if tuning.level == "response" else "unit_labels"
    if tuning.labels is not None:
        labels, draws = labels_and_draws(review, results)
        source = f"label, and {Path(tuning.labels).name}"
        notes = [f"{len(review)} labels are from {Path(tuning.labels).name}"]
    if grader is not None:
        from veridical.tuning.grading import grade

        grades = grade(results, grader, engine, retry=bool(scoring.get("retry_failed")))
        labels, source = grades.labels, f"grader {grader.name}: {grader.rule}"
        notes = [
            f"not graded, {len(rows)} times, first row {rows[0]}: {why}"
            for why, rows in list(grades.reasons.items())[:3]
        ]
        if grades.compared:
            notes.append(f"the grader agrees with {grades.agree} of {grades.compared} labels")
    costs = None
    if tuning.cascade is not None:
        from veridical.ensembles.costs import measured

        costs = measured(engine, results, in_order(components), labels, tuning.seed)
    if grader is None:
        draws = {**_own_draws(results), **draws}
    untuned = None if default is None else default.call
    return _Scored(results, components, untuned, labels, source, notes, costs, draws)


def _own_draws(results: Results) -> dict[int, Drawn]:
    """Return the draws of answers in an exported review, by row."""
    draws = {}
    for record, line in results.records():
        if line is not None and (draw := drawn(record.meta)) is not None:
            draws[record.row] = draw
    return draws


def _gathered(scored: _Scored, tuning: TuneOptions) -> tuple[Graded, dict[str, int]]:
    """Return the graded targets with their risks, and the number of left-out records by reason.

    Raises:
        UsageError: there is no target, although labels were expected in the records.
    """
    graded, missing = gather(scored.results, level=tuning.level, by=tuning.by, labels=scored.labels)
    if not len(graded) and (tuning.level == "sentence" or tuning.grader is None):
        raise no_labels(tuning.level)
    return graded if scored.untuned is None else graded.with_untuned(scored.untuned), missing


def default_of(scoring: Mapping[str, Any], has_llm: bool, engine: Engine) -> BoundScorer | None:
    """Return the preset's own ensemble; None if it has none of its own."""
    bound = _resolved(None, scoring, has_llm, engine.proxy, engine.spans)
    return next((b for b in bound if b.scorer.name == "ensemble"), None)


def components_of(
    scorers: str | Iterable[str | BoundScorer] | None,
    scoring: Mapping[str, Any],
    has_llm: bool,
    proxy: str | None,
    spans: str | None = None,
) -> list[BoundScorer]:
    """Return the scorers to tune: the named ones, or the preset's without ensembles.

    Raises:
        UsageError: a named scorer is an ensemble.
    """
    bound = _resolved(scorers, scoring, has_llm, proxy, spans)
    made_of_others = [b.key for b in bound if b.scorer.parts is not None]
    if made_of_others and scorers is not None:
        raise UsageError(f"{made_of_others[0]} is an ensemble; name the scorers to tune instead")
    return [b for b in bound if b.scorer.parts is None]


def _resolved(
    scorers: str | Iterable[str | BoundScorer] | None,
    scoring: Mapping[str, Any],
    has_llm: bool,
    proxy: str | None,
    spans: str | None,
) -> list[BoundScorer]:
    from veridical.core.resolving import resolve

    return resolve(
        scorers,
        scoring.get("preset", "all"),
        scoring.get("against"),
        has_llm,
        proxy,
        scoring.get("claims", False),
        spans=spans,
        answer=scoring.get("answer"),
        paper_forms=scoring.get("paper_forms", False),
    )


def _origin(scored: _Scored) -> Origin:
    from veridical.files.rundir import RunFiles

    manifest = RunFiles(scored.results.path).manifest()
    identity = manifest["identity"]
    files = [str(entry["path"]) for entry in manifest["request"]["inputs"]]
    return Origin(
        file=", ".join(Path(f).name for f in files)[:4096],
        fingerprint=str(identity.get("inputs", "")),
        labels=scored.source,
        models=tuple(f"{role}: {name}" for role, name in identity.get("models", {}).items()),
        prompts=tuple(sorted({p for b in scored.scorers for p in b.prompts})),
    )


def _left_out(missing: Mapping[str, int]) -> list[str]:
    """Describe in one line how many records are left out, and why."""
    if not missing:
        return []
    reasons = list(missing.items())[:5]
    listed = "; ".join(f"{n:,}: {why}" for why, n in reasons)
    if len(missing) > len(reasons):
        listed += f"; {sum(list(missing.values())[5:]):,} for other reasons"
    return [f"left out: {sum(missing.values()):,} records ({listed})"]
