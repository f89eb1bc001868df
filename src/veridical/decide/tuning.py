"""``tune``: score graded answers, and tune an ensemble of the scorers on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from veridical.decide.cascade import in_order, learn, lines
from veridical.decide.cascade_file import save as save_cascade
from veridical.decide.cascade_search import Goal
from veridical.decide.ensemble_file import Method
from veridical.decide.fitting import Recipe
from veridical.decide.graded import Level, every_sentence, gather
from veridical.decide.label_file import put_over, read_review
from veridical.decide.nested import Tell
from veridical.decide.tuned import Origin, Tuned, tune_graded, usable
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.engine import Engine
    from veridical.registry import BoundScorer
    from veridical.results import Results

    Watch = Callable[[Job], Results]


def tune(
    inputs: Any,
    scorers: str | Iterable[str | BoundScorer] | None = None,
    *,
    objective: str = "auroc",
    joint: bool = False,
    beta: float = 1.0,
    method: str = "weighted",
    calibrate: str | None = None,
    alpha: float | None = None,
    delta: float = 0.1,
    by: str | None = None,
    simultaneous: bool = False,
    level: Level = "response",
    labels: str | Path | None = None,
    grader: str | None = None,
    cv: int = 5,
    bootstrap: int = 1000,
    seed: int = 0,
    out: str | Path | None = None,
    cascade: str | Path | None = None,
    keep: float = 0.99,
    hour: float = 1.0,
    run: str | Path | None = None,
    preset: str = "auto",
    retry_failed: bool = False,
    engine: Engine | None = None,
    tell: Tell | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> Tuned:
    """Score graded answers, and tune an ensemble of the scorers on them.

    Args:
        inputs: records with ``label`` (``unit_labels`` at level ``sentence``), as
            :func:`veridical.check` takes them.
        scorers: the components; default: those of ``preset`` that the records' fields allow.
        objective: auroc, average_precision, brier, log_loss, f1, f_beta, balanced_accuracy or
            accuracy.
        joint: choose weights and threshold together (eq. 23 of the tunable ensemble) instead of
            weights first (eq. 20-22).
        beta: of ``f_beta``.
        method: weighted, logistic, boosted (trees; needs scikit-learn) or famd (no labels; needs
            prince).
        calibrate: platt, isotonic, beta or temperature.
        alpha, delta: promise that at most ``alpha`` of the accepted answers are hallucinated,
            with probability 1 - ``delta``. Half of the independent units are then kept for the
            promise alone.
        by: field of ``meta`` whose values get fits, thresholds and promises of their own.
        simultaneous: the promises of all values of ``by`` hold at once with probability
            1 - ``delta`` (each is made at ``delta`` divided by their number), instead of each by
            itself.
        level: what is judged: responses, or their sentences.
        labels: file of reviewers' labels, by ``row`` or ``id`` of the record, which are put over
            the records' own (:func:`veridical.decide.label_file.read_review`).
        grader: makes the labels: exact, contains, numeric, choice, llm (see ``bench qa``).
        cv: folds of the nested cross-validation.
        bootstrap: resamples behind each interval.
        seed: of folds, search, trees and resamples.
        out: where to save the ensemble.
        cascade: where to save a cascade of the same scorers: the dear ones are asked only where
            the cheap ones leave doubt (see :func:`veridical.decide.cascade.learn`). It has one
            fit for all strata.
        keep: share of the full ensemble's AUROC that the cascade is to keep.
        hour: what an hour of models and processors counts beside money for LLM calls.
        run: directory of the scoring run; the same one resumes. Default: a temporary one.
        preset, settings: as of :func:`veridical.check`; ``watch`` waits for its job.
        tell: is told how far it is.

    Raises:
        UsageError: something of this is unknown or does not go together, or the graded answers
            are too few.
    """
    from veridical.api import Job
    from veridical.engine import Engine

    recipe = Recipe(cast(Method, method), objective, joint, beta, calibrate, seed)
    recipe.check()
    _check(alpha, delta, cv, level, grader, labels)
    if simultaneous and (alpha is None or by is None):
        raise UsageError("--simultaneous is about guarantees of groups: it needs --alpha and --by")
    goal = Goal(keep=keep, hour=hour)
    goal.check()
    if cascade is not None and level != "response":
        raise UsageError("a cascade stops whole records: it goes with level response")
    review = [] if labels is None else read_review(labels)  # before hours of scoring
    with ExitStack() as stack:
        if engine is None:
            own = {k: settings.pop(k) for k in list(settings) if k not in _OF_JOB}
            engine = Engine(**own)
            stack.callback(engine.close)
        has_llm = engine.llms.default is not None
        graders = None
        if grader is not None:
            from veridical.decide.grading import open_grader

            graders = open_grader(grader, has_llm)
        chosen = components(scorers, preset, settings, has_llm, engine.proxy)
        job: Job = Job(
            inputs, chosen, out=run, engine=engine, retry_failed=retry_failed, **settings
        )
        results = job.wait() if watch is None else watch(job)
        given: Mapping[int, float | None] | None = None
        notes, source = [], "label" if level == "response" else "unit_labels"
        if labels is not None:
            given = put_over(review, results)
            source = f"label, and {Path(labels).name}"
            notes = [f"{len(review)} labels are from {Path(labels).name}"]
        if graders is not None:
            from veridical.decide.grading import grade

            grades = grade(results, graders, engine, retry=retry_failed)
            given, source = grades.labels, f"grader {graders.name}: {graders.rule}"
            notes = [
                f"not graded, {len(rows)} times, first row {rows[0]}: {why}"
                for why, rows in list(grades.reasons.items())[:3]
            ]
            if grades.told:
                notes.append(f"the grader agrees with {grades.agree} of {grades.told} labels")
        if cascade is not None:
            from veridical.decide.costs import measured

            spent = measured(engine, results, in_order(chosen), given, seed)
    graded, missing = gather(results, level=level, by=by, labels=given)
    if level == "response" and not len(graded) and grader is None:
        raise UsageError(
            "no record has a label (0 right .. 1 hallucinated): grade some, name their --labels or "
            "a --grader; "
            "for unit_labels see --level sentence"
        )
    if level == "sentence" and not len(graded):
        raise UsageError(
            'no record has unit_labels ([{"start", "end", "label"}], label 0 right .. 1 '
            "hallucinated), which --level sentence is tuned on"
        )
    tuned = tune_graded(
        graded,
        recipe,
        cv=cv,
        bootstrap=bootstrap,
        alpha=alpha,
        delta=delta,
        by=by,
        simultaneous=simultaneous,
        origin=_origin(results, chosen, source),
        spread=every_sentence(results, graded) if level == "sentence" else None,
        tell=tell,
    )
    tuned = replace(
        tuned, notes=[*_left_out(missing), *notes, *tuned.notes], missing=missing, results=results
    )
    if cascade is not None:
        if tell is not None:
            tell("cascade")
        fitted_on = tuned.ensemble.fitted_on
        learned = learn(usable(graded)[0], spent, fitted_on, recipe=recipe, goal=goal, count=cv)
        save_cascade(cascade, learned)
        tuned = replace(tuned, notes=[*tuned.notes, *lines(learned)], cascade=learned)
    if out is not None:
        tuned.save(out)
    return tuned


#: Settings of the scoring run; the others are the engine's.
_OF_JOB = (
    "against",
    "samples",
    "limit",
    "mapping",
    "reader",
    "strict",
    "claims",
    "corpus",
    "corpus_top",
    "notify",
    "sampling",
)


def components(
    scorers: str | Iterable[str | BoundScorer] | None,
    preset: str,
    settings: Mapping[str, Any],
    has_llm: bool,
    proxy: str | None,
) -> list[BoundScorer]:
    """The scorers to tune: those named, else the preset's that are no ensembles themselves.

    Raises:
        UsageError: one of those named is an ensemble.
    """
    from veridical.registry import resolve

    found = resolve(
        scorers, preset, settings.get("against"), has_llm, proxy, settings.get("claims", False)
    )
    made_of_others = [b.key for b in found if b.scorer.parts is not None]
    if made_of_others and scorers is not None:
        raise UsageError(f"{made_of_others[0]} is made of scorers: name those to tune instead")
    return [b for b in found if b.scorer.parts is None]


def _check(
    alpha: float | None,
    delta: float,
    cv: int,
    level: str,
    grader: str | None,
    labels: str | Path | None,
) -> None:
    for name, value in (("alpha", alpha), ("delta", delta)):
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} must be between 0 and 1, not {value}")
    if cv < 2:
        raise UsageError(f"cv must be at least 2 folds, not {cv}")
    if level not in ("response", "sentence"):
        raise UsageError(f"level is response or sentence, not {level!r}")
    if grader is not None and labels is not None:
        raise UsageError("labels come from --labels or from a --grader, not from both")
    if labels is not None and level == "sentence":
        raise UsageError("--labels are of whole responses: they go with level response")
    if grader is not None and level == "sentence":
        raise UsageError("graders judge whole responses: they go with level response")


def _origin(results: Results, chosen: Iterable[BoundScorer], labels: str) -> Origin:
    from veridical.evidence.rundir import RunFiles

    manifest = RunFiles(results.path).manifest()
    identity = manifest["identity"]
    files = [str(entry["path"]) for entry in manifest["request"]["inputs"]]
    return Origin(
        file=", ".join(Path(f).name for f in files)[:4096],
        fingerprint=str(identity.get("inputs", "")),
        labels=labels,
        models=tuple(f"{role}: {name}" for role, name in identity.get("models", {}).items()),
        prompts=tuple(sorted({p for b in chosen for p in b.prompts})),
    )


def _left_out(missing: Mapping[str, int]) -> list[str]:
    shown = list(missing.items())[:5]
    notes = [f"left out: {n} records: {why}" for why, n in shown]
    if len(missing) > len(shown):
        notes.append(f"left out: {sum(list(missing.values())[5:])} more, for other reasons")
    return notes
