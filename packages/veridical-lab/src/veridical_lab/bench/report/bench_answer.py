"""Summary of a benchmark: best scorer, equals, usage and warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from veridical.report import formats
from veridical.report.document import Opening, Severity
from veridical.report.formats import interval, metric_name, number, share, some
from veridical_lab.bench.judgements import RISK
from veridical_lab.bench.report.flags import ordered
from veridical_lab.bench.report.view import LOWER_IS_BETTER, Line, SplitView
from veridical_lab.bench.result import BASELINES, Row, StoredBench, Suggested
from veridical_lab.bench.tuned_row import TUNED

#: Flags of a scorer that should not be recommended for its figure.
_USELESS = {
    "inverted": "its score looks turned round",
    "constant": "all its scores are the same",
    "not_better_than_constant": "one and the same score for all would do as well",
    "not_better_than_length": "it is not shown to be better than the length of the answer",
}
_TRIVIAL = {
    "random": "a random order",
    "constant": "the same score for all",
    "length": "the length of the answer",
    "majority": "always the most frequent class",
}
_NOUNS = {"response": "answers", "sentence": "sentences", "claim": "claims"}


class Warned(NamedTuple):
    """A flag that occurs, and who has it: scorers, or a whole split."""

    label: str
    explanation: str
    severity: Severity
    names: str

    @property
    def words(self) -> str:
        """Return its meaning and the affected scorers, after the label."""
        return f"{self.explanation} Raised for: {self.names}.".strip()


def answer(shown: Iterable[SplitView]) -> Opening | None:
    """Return the summary of the main task, the first on which any scorer has a figure."""
    for view in shown:
        best = next((x for x in view.lines if (row := _headline(view, x)) and _known(row)), None)
        if best is not None:
            return _of(view, best)
    return None


def warned(bench: StoredBench, shown: Iterable[SplitView]) -> list[Warned]:
    """Return every flag that occurs, worst first, with its scorers or splits."""
    who: dict[str, dict[str, None]] = {}
    flagged = [(x.scorer, x.flags) for v in shown for x in v.lines]
    flagged += [(v.title, v.flags) for v in shown]
    for split in bench.study.alignment if bench.study is not None else []:
        flagged += [(a.scorer, ordered(a.flags)) for a in split.scorers]
    for name, flags in flagged:
        for flag in flags:
            who.setdefault(flag.name, {})[name] = None
    return [
        Warned(f.label.partition(" (")[0], f.explanation, f.severity, some(list(who[f.name])))
        for f in ordered(who)
    ]


def check_command(scorer: str, fail_over: float | None) -> list[str]:
    """Return the command that uses a scorer, in parts.

    ``risk`` is the default's output; ``tuned`` is tuned again on the user's graded answers.
    """
    if scorer == TUNED:
        return ["veridical tune graded.jsonl", "--out ensemble.json"]
    return formats.check_command("" if scorer == RISK else scorer, fail_over)


def _of(view: SplitView, best: Line) -> Opening:
    row = _headline(view, best)
    assert row is not None
    bounds = interval(row.ci_low, row.ci_high)
    figure = f"{metric_name(view.main[0])} {number(row.value)}" + (f" {bounds}" if bounds else "")
    why = next((_USELESS[f.name] for f in best.flags if f.name in _USELESS), None)
    sentence = f"Best at {_aim(view)}: {best.scorer}; {figure}, {view.title}"
    meaning = [_equals(view, best), *_beside(view, row)]
    if why is not None:
        return Opening(
            f"No scorer can be recommended for {_aim(view)}. The highest figure is that of "
            f"{best.scorer}: {figure}, {view.title}",
            [f"Do not use {best.scorer}: {why}.", *meaning],
        )
    if view.split.kind == "extraction":
        return Opening(sentence, meaning)
    suggested = next((s for s in view.split.suggested if s.scorer == best.scorer), None)
    meaning.append(_threshold(view, suggested))
    fail_over = None if suggested is None else suggested.threshold
    return Opening(sentence, meaning, check_command(best.scorer, fail_over))


def _aim(view: SplitView) -> str:
    """Return the purpose of a split's scorers."""
    noun = _NOUNS.get(view.split.level, f"{view.split.level} targets")
    return {
        "graded": f"ordering {noun} as people grade them",
        "classes": f"telling the classes of {noun} apart",
        "spans": f"finding {view.split.positive} spans",
        "extraction": "extracting claims",
    }.get(view.split.kind, f"finding {_positive(view, noun)}")


def _positive(view: SplitView, noun: str) -> str:
    """Return the positives; a bare condition on a label is called wrong."""
    positive = view.split.positive
    return f"wrong {noun} ({positive})" if positive.startswith("label ") else f"{positive} {noun}"


def _equals(view: SplitView, best: Line) -> str:
    """List the scorers without a significant difference from the best."""
    others = [x for x in view.lines if x.scorer != best.scorer]
    if not others:
        return "No other scorer was measured."
    tested = [d for d in view.pairings if d.p is not None]
    level = [d.other for d in tested if not d.distinguishable]
    if not tested:
        return "No paired test compares it with the others: a small lead may be chance."
    if level:
        return f"No significant difference from it (paired test, p > 0.05): {some(level)}."
    if len(tested) < len(others):
        return f"Better than {len(tested)} of {len(others)} others (paired test, p <= 0.05)."
    return "Better than every other scorer (paired tests, p <= 0.05)."


def _beside(view: SplitView, row: Row) -> list[str]:
    """List the baselines' figures on the same targets."""
    values = {name: getattr(row.baselines, name) for name in _TRIVIAL}
    for line in view.baselines:
        of_line = _headline(view, line)
        if of_line is not None and line.scorer in values:
            values[line.scorer] = of_line.value
    known = {name: value for name, value in values.items() if value is not None}
    if known.get("random") == known.get("constant"):
        known.pop("constant", None)
    if not known:
        return []
    lower = view.main[0] in LOWER_IS_BETTER
    ranked = sorted(known.items(), key=lambda item: item[1] if lower else -item[1])
    listed = ", ".join(f"{_TRIVIAL[name]} {number(value)}" for name, value in ranked)
    return [f"Without any method: {listed}."]


def _threshold(view: SplitView, suggested: Suggested | None) -> str:
    noun = _NOUNS.get(view.split.level, "targets")
    if suggested is None:
        if view.split.kind == "binary" and view.split.level != "response":
            return "A gate looks at whole answers, so no threshold follows from single sentences."
        if any(isinstance(r.threshold, float) for x in view.lines for r in x.cells.values()):
            return "No threshold is suggested: none was fitted on other folds."
        return (
            "No threshold follows from these labels; `veridical tune` fits one to graded answers."
        )
    return (
        f"Suggested threshold: {suggested.threshold:g}, fitted to all these labels. Fitted without "
        f"the {noun} it is judged on, it finds {share(suggested.caught)} of "
        f"them; {share(suggested.false_alarms)} of the others are false alarms."
    )


def _headline(view: SplitView, line: Line) -> Row | None:
    return line.cells.get(view.main[0]) if view.main else None


def _known(row: Row) -> bool:
    return row.value is not None and row.scorer not in BASELINES
