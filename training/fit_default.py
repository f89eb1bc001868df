"""The default's fits: weights, calibration and thresholds of ``ensemble``. Labels are used.

    python training/fit_default.py --data ../shared/data --checker WORK/checker --nli mini base

Fits are made for each NLI model and each field (contexts, reference, samples, log-probabilities).
The members' risks on labelled answers become log-odds. Logistic regressions of these give the
log-odds of being wrong. Each subset of the members that read by a model has its own, for runs
without a reader (``--proxy``). Lexical members are in each of them, and add nothing if they find
nothing to compare. Every benchmark counts the same. So do its parts, and right and wrong answers of
each: the risk is calibrated to equal numbers. No coefficient is below 0. A member without which a
fit is as good out of fold is left out. By contexts, folds are benchmarks: each is judged by a fit
that has not seen it. By contexts and reference, a response is as risky as its worst sentence. The
regression uses that sentence, chosen again by each fit until the choice stays. By contexts, the
more sentences an answer has the less each of them counts. The share of the log of their number is
the one that orders best out of fold. The order by the mean, the expected number of wrong sentences
and the like is printed for comparison (``default_ways.py``). By samples and log-probabilities the
regression uses the response.

Verdicts are cut on these risks, out of fold (``default_cuts.py``). Each benchmark counts the same.
At ``low`` half as many right answers are flagged, at ``high`` half as many wrong ones are missed.
Below each cut, a zone with at most a tenth of the answers is ``unclear``. From the risk of
``contradicted``, three of four answers of even sets are wrong.

The output is ``ensembles/scorers/default.json``. Figures are printed for the fitted data (out of
fold, by group) and for held-out data. Those of constant risks and of the length are added.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from default_cuts import Judged, at_threshold, contradicted_from, cuts, errors
from default_data import Labelled, load
from default_ways import best_of_many, worst_of_many

import veridical
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Result, Score
from veridical.core.stated import stating_sentences
from veridical.ensembles.scorers import default_set as default
from veridical.models import load_nli
from veridical.stats.logistic import fit_logistic, sigmoid
from veridical.stats.metrics.calibration import ece
from veridical.stats.metrics.ranking import auroc

HOME = Path(__file__).parent.parent
OUT = HOME / "src" / "veridical" / "ensembles" / "scorers" / "default.json"
#: The members of each field, as far as there are scorers of these names.
MEMBERS: dict[default.Field, tuple[str, ...]] = {
    "contexts": (
        "claims",
        "nli_grounding",
        "spans",
        "explained_surprisal",
        "support",
        "knowledge_precision",
    ),
    "reference": ("reference_match",),  # which compares numbers and names itself
    "samples": ("entailment", "selfcheck_nli", "explained_surprisal", "support"),
    "logprobs": ("avg_logprob", "min_probability"),
}
#: They judge by one model's verdicts on the same pairs: a fit of several of them follows the sets.
SAME_PAIRS = ("claims", "nli_grounding", "spans")
KNOWN_WORDS = "knowledge_precision"
OF_SENTENCES = ("contexts", "reference")
RIDGE = 1.0
#: The benchmarks of contexts, each a fold.
BENCHMARKS = ("BEGIN", "HaluEval", "CG2C", "FaithDial", "SummEdits", "Written")
FOLDS = len(BENCHMARKS)
ROUNDS = 20
READ = 100  # answers of a set that the readers' language model reads
LONGEST_READ = 2500  # characters of sources that the readers' language model reads
#: The answers of several sentences with samples, by which longer ones are calibrated.
LONG = "GSM8K solutions"
LEAST_GAIN = 0.002  # of the mean log loss, in nats, for which a member counts
DIGITS = 4


class Answers(NamedTuple):
    """Log-odds of a set's members: for each answer (sentences, members), NaN where not scored.

    ``contradiction`` has each sentence's share of contradiction in the evidence against it."""

    of: Labelled
    features: list[np.ndarray]
    folds: np.ndarray
    contradiction: list[np.ndarray]

    @property
    def labels(self) -> np.ndarray:
        return np.array(self.of.labels)


@dataclass(frozen=True)
class Model:
    """One fit: its numbers, one a member, 0 for those that it does not read."""

    intercept: float
    coefficients: np.ndarray

    def odds(self, features: np.ndarray) -> np.ndarray:
        """Compute (n,) log-odds of (n, members)."""
        return np.nan_to_num(features) @ self.coefficients + self.intercept


def members(field: default.Field, words: bool) -> tuple[str, ...]:
    """Name the members of a field, with ``spans`` if the NLI model labels words."""
    return tuple(name for name in MEMBERS[field] if words or name != "spans")


def call(name: str, field: str, reader: str) -> BoundScorer:
    takes = field in REGISTRY.get(name).comparisons
    given = {"against": field} if takes else {}
    return REGISTRY.bind(name, given | ({"proxy": reader} if name in default.READERS else {}))


def read(
    one: Labelled, names: Sequence[str], engine: veridical.Engine, reader: str
) -> tuple[Answers, list[str]]:
    """Score a set's answers by ``names``; return them and the models that were asked."""
    read = [] if is_long(one) else one.rows[:: max(1, len(one.rows) // READ)]
    scored: dict[int, dict[str, Score]] = {id(row): {} for row in one.rows}
    asked: set[str] = set()
    for rows, part in (
        (one.rows, [n for n in names if n not in default.READERS]),
        (read, [n for n in names if n in default.READERS]),
    ):
        calls = [call(n, one.field, reader) for n in part]
        results = list(veridical.check(rows, calls, engine=engine)) if rows and part else []
        for row, result in zip(rows, results, strict=False):
            scored[id(row)] |= dict(zip(part, result.scores.values(), strict=False))
        asked |= models_of(results[:20])
    records = [veridical.Record.model_validate(_record(row)) for row in one.rows]
    features, shares_of = [], []
    for row, record in zip(one.rows, records, strict=True):
        scores = dict.fromkeys(names, Score.not_applicable("not asked")) | scored[id(row)]
        spans = stating_sentences(record)
        if one.field in OF_SENTENCES:
            said = [
                [default.sentence_risk(scores[n], span, len(spans) == 1) for n in names]
                for span in spans
            ]
        else:
            said = [[default.response_risk(scores[n]) for n in names]]
        features.append(
            np.array(
                [[np.nan if s is None else default.log_odds(s.risk) for s in row] for row in said]
            ).reshape(-1, len(names))
        )
        shares_of.append(np.array([contradiction_share(row) for row in said]))
    return Answers(one, features, folds_of(one), shares_of), sorted(asked)


def is_long(one: Labelled) -> bool:
    """Return True if a language model would take hours to read the set's sources."""
    return bool(np.median([len(str(r.get("contexts", ""))) for r in one.rows]) > LONGEST_READ)


def folds_of(one: Labelled) -> np.ndarray:
    """Return (n,) the fold of each answer: by contexts its benchmark's, else its group's."""
    if one.field == "contexts":
        return np.full(len(one.rows), BENCHMARKS.index(one.benchmark) if one.role == "fit" else -1)
    groups = {group: i for i, group in enumerate(dict.fromkeys(one.groups))}
    return np.array([groups[g] % FOLDS for g in one.groups])


def contradiction_share(said: Sequence[default.MemberRisk | None]) -> float:
    """Compute contradiction's share of the members' evidence against a sentence, in [0, 1]."""
    given = [s.probabilities for s in said if s is not None and s.probabilities is not None]
    neutral = sum(p.get("neutral", 0.0) for p in given)
    contradiction = sum(p.get("contradiction", 0.0) for p in given)
    return contradiction / (neutral + contradiction) if neutral + contradiction > 0 else 0.0


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "contexts": row.get("contexts", ()), "samples": row.get("samples", ())}


def models_of(results: Iterable[Result], scorer: str | None = None) -> set[str]:
    """Collect the models that were asked, as in signatures: by one ``scorer``, or by all."""
    return {
        part
        for result in results
        for name, score in result.scores.items()
        if scorer in (None, name)
        for part in score.signature.split("|")
        if "@" in part and "=" not in part
    }


def readable(features: np.ndarray, names: Sequence[str], reads: Sequence[int]) -> np.ndarray:
    """Return (n,) True where (n, members) have the input of a fit.

    That is all members that read by a model, or any lexical one if the fit reads no other."""
    models = [i for i in reads if not default.lexical(names[i])]
    known = ~np.isnan(features)
    return known[:, models].all(axis=1) if models else known[:, list(reads)].any(axis=1)


def shares(sets: Sequence[Answers]) -> list[float]:
    """Compute each set's weight; those of a benchmark add up to 1."""
    parts = Counter(one.of.benchmark for one in sets)
    return [1 / parts[one.of.benchmark] for one in sets]


def fitted(
    sets: Sequence[Answers],
    names: Sequence[str],
    reads: Sequence[int],
    used: Sequence[int],
    skip: int | None = None,
) -> Model:
    """Fit sentences that have the members at ``reads``, by those at ``used``, without a fold."""
    bags: list[np.ndarray] = []
    labels: list[float] = []
    weights: list[float] = []
    for one, share in zip(sets, shares(sets), strict=True):
        use = [
            (f[known][:, used], label)
            for f, label, fold in zip(one.features, one.labels, one.folds, strict=True)
            if fold != skip and (known := readable(f, names, reads)).any()
        ]
        wrong = sum(label for _, label in use)
        for f, label in use:
            bags.append(np.nan_to_num(f))
            labels.append(label)
            weights.append(share / (wrong if label else len(use) - wrong))
    counts = np.maximum(1, np.round(np.array(weights) / min(weights) * 4)).astype(int)
    model = Model(0.0, np.ones(len(used)))
    chosen: list[int] = []
    for _ in range(ROUNDS):
        now = [int(np.argmax(model.odds(bag))) for bag in bags]
        if now == chosen:
            break
        chosen = now
        x = np.array([bag[i] for bag, i in zip(bags, chosen, strict=True)])
        model = _not_falling(np.repeat(x, counts, axis=0), np.repeat(labels, counts))
    coefficients = np.zeros(len(names))
    coefficients[list(used)] = model.coefficients
    return Model(model.intercept, coefficients)


def averaged(
    sets: Sequence[Answers],
    names: Sequence[str],
    reads: Sequence[int],
    used: Sequence[int],
    skip: int | None = None,
) -> Model:
    """Take the mean of two fits, with the share of known words and without it.

    The share finds made-up answers, but also flags right paraphrases."""
    without = [i for i in used if names[i] != KNOWN_WORDS]
    models = [fitted(sets, names, reads, u, skip) for u in (used, without) if u]
    return Model(
        float(np.mean([m.intercept for m in models])),
        np.mean([m.coefficients for m in models], axis=0),
    )


def _not_falling(x: np.ndarray, labels: np.ndarray) -> Model:
    """Fit a logistic regression without the columns whose coefficients would be below 0."""
    used = list(range(x.shape[1]))
    while True:
        fit = fit_logistic(x[:, used], labels, ridge=RIDGE)
        if not used or fit.coefficients.min() >= 0:
            break
        used.pop(int(fit.coefficients.argmin()))
    coefficients = np.zeros(x.shape[1])
    coefficients[used] = fit.coefficients
    return Model(fit.intercept, coefficients)


def loss(
    sets: Sequence[Answers], names: Sequence[str], reads: Sequence[int], used: Sequence[int]
) -> float:
    """Compute the mean log loss out of fold, each benchmark and each label counting the same."""
    models = [fitted(sets, names, reads, used, skip) for skip in range(FOLDS)]
    means, weights = [], []
    for one, share in zip(sets, shares(sets), strict=True):
        by_label: tuple[list[float], list[float]] = ([], [])
        for f, label, fold in zip(one.features, one.labels, one.folds, strict=True):
            if (known := readable(f, names, reads)).any():
                odds = float(models[fold].odds(f[known]).max())
                by_label[int(label)].append(float(np.logaddexp(0, odds) - label * odds))
        means += [float(np.mean(losses)) for losses in by_label if losses]
        weights += [share for losses in by_label if losses]
    return float(np.average(means, weights=weights))


def helpful(sets: Sequence[Answers], names: Sequence[str], reads: Sequence[int]) -> tuple[int, ...]:
    """Select the members at ``reads`` without which the fit is worse by :data:`LEAST_GAIN`.

    Of several that ask the NLI model the same, only the first is used. Lexical members stay: they
    cost no time, and sets with edited claims hide their benefit on generated answers."""
    by_nli = [i for i in reads if names[i] in SAME_PAIRS]
    used = tuple(i for i in reads if i not in by_nli[1:])
    best = loss(sets, names, reads, used)
    while len(used) > 1 and (may_go := [i for i in used if not default.lexical(names[i])]):
        without = [tuple(i for i in used if i != one) for one in may_go]
        losses = [loss(sets, names, reads, fewer) for fewer in without]
        least = int(np.argmin(losses))
        if losses[least] > best + LEAST_GAIN:
            break
        used, best = without[least], min(best, losses[least])
    return used


class Ensemble:
    """The fits of one field: each sentence by that of the members that are scored there."""

    def __init__(
        self,
        sets: Sequence[Answers],
        names: Sequence[str],
        used: Mapping[str, Sequence[int]] | None = None,
        skip: int | None = None,
        of_many: float = 0.0,
    ) -> None:
        self.names, self.of_many = names, of_many
        lexical = [i for i, n in enumerate(names) if default.lexical(n)]
        others = [i for i in range(len(names)) if i not in lexical]
        subsets = [s for k in range(1, len(others) + 1) for s in itertools.combinations(others, k)]
        reads = [[*s, *lexical] for s in reversed(subsets)] + ([lexical] if lexical else [])
        self.used = used or {self._name(r): helpful(sets, names, r) for r in reads}
        self.models = {
            self._name(r): averaged(sets, names, r, self.used[self._name(r)], skip) for r in reads
        }

    def _name(self, scored: Sequence[int]) -> str:
        return default.fit_name(self.names, {self.names[i] for i in scored})

    def each(self, features: np.ndarray) -> np.ndarray:
        """Compute the log-odds of those of (sentences, members) that are scored."""
        return np.array(
            [
                float(self.models[self._name(known)].odds(row[None])[0])
                for row in features
                if (known := np.flatnonzero(~np.isnan(row)).tolist())
            ]
        )

    def worst(self, features: np.ndarray) -> float:
        """Compute the log-odds of the worst of (sentences, members); NaN if nothing is scored."""
        odds = self.each(features)
        return worst_of_many(self.of_many)(odds) if len(odds) else np.nan

    def odds(self, answers: Answers) -> np.ndarray:
        """Compute :meth:`worst` of each answer, (n,)."""
        return np.array([self.worst(f) for f in answers.features])


def alone(answers: Answers, i: int) -> np.ndarray:
    """Return (n,) the largest log-odds by one member."""
    largest = [np.max(f[:, i], initial=-np.inf, where=~np.isnan(f[:, i])) for f in answers.features]
    return np.where(np.isinf(largest), np.nan, largest)


def balanced(labels: np.ndarray) -> np.ndarray:
    """Return indices of as many right as wrong answers."""
    wrong, right = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    most = max(len(wrong), len(right))
    return np.concatenate([np.resize(wrong, most), np.resize(right, most)])


def figures(odds: np.ndarray, labels: np.ndarray, length: np.ndarray) -> dict[str, float]:
    known = ~np.isnan(odds)
    odds, labels, length = odds[known], labels[known], length[known]
    if not len(odds):
        return {
            **dict.fromkeys(HEAD, np.nan),
            "n": 0,
            "not scored": len(known),
            "length auroc": np.nan,
        }
    risk = np.asarray(sigmoid(odds))
    even = balanced(labels)
    return {
        "n": len(labels),
        "not scored": int((~known).sum()),
        "wrong": float(labels.mean()),
        "auroc": float(auroc(labels, risk)),
        "ece": float(ece(labels[even], risk[even])),
        "brier": float(np.mean((risk[even] - labels[even]) ** 2)),
        "best balanced": at_threshold(odds, labels)[0],
        "caught at 10 %": at_threshold(odds, labels)[1],
        "length auroc": float(auroc(labels, length)),
        "accuracy": float(((risk >= 0.5) == labels)[even].mean()),
    }


HEAD = (
    "n",
    "not scored",
    "wrong",
    "auroc",
    "ece",
    "brier",
    "accuracy",
    "best balanced",
    "caught at 10 %",
)


def show(title: str, row: Mapping[str, float]) -> None:
    cells = [f"{row[h]:>6.0f}" if h in HEAD[:2] else f"{row[h]:>6.3f}" for h in HEAD]
    print(f"{title:76}", *cells, f"{row['length auroc']:>6.3f}")


def fit_field(
    field: default.Field, names: Sequence[str], answers: Sequence[Answers]
) -> dict[str, Any]:
    """Return a field's entry of the file; print its figures, with a reader only where named."""
    own = [a for a in answers if a.of.role == "fit"]
    whole = Ensemble(own, names)
    by_fold = [Ensemble(own, names, whole.used, skip) for skip in range(FOLDS)]
    plain = [kept(a, [i for i, n in enumerate(names) if n not in default.READERS]) for a in answers]
    fitting = [a for a in plain if a.of.role == "fit"]
    of_many = 0.0
    if field == "contexts":
        each = [
            [by_fold[k].each(f) for f, k in zip(one.features, one.folds, strict=True)]
            for one in fitting
        ]
        of_many = best_of_many([a.of for a in fitting], each, shares(fitting))
    for one in (whole, *by_fold):
        one.of_many = of_many
    odds = [out_of_fold(by_fold, one) for one in fitting]
    cutting = [a for a in plain if a.of.role == "cut"]
    unseen = [*zip(odds, fitting, strict=True), *((whole.odds(one), one) for one in cutting)]
    weights = shares([*fitting, *cutting])
    rows = [judged(*row, weight) for row, weight in zip(unseen, weights, strict=True)]
    cut = cuts(rows)
    flagged = cut["balanced"]["flagged"]
    contradicted = contradicted_from(rows, flagged)
    for one, values in zip(fitting, odds, strict=True):
        report(f"{field}: {one.of.name} (out of fold)", one, values)
        _report_members(names, one)
    for one in plain:
        if one.of.role != "fit":
            report(f"{field}: {one.of.name} ({one.of.role})", one, whole.odds(one))
            _report_members(names, one)
    verdicts = {"of_many": of_many, "cuts": cut, "contradicted": contradicted}
    print(f"{field}: {verdicts}")
    for one, values in [
        *zip(fitting, odds, strict=True),
        *((one, whole.odds(one)) for one in plain if one.of.role != "fit"),
    ]:
        right, missed = errors([judged(values, one)], flagged)
        print(
            f"    {one.of.name:28} at the verdict: balanced accuracy {1 - (right + missed) / 2:.3f}"
            f", right flagged {right:.2f}, wrong missed {missed:.2f}"
        )
    print()
    return {
        "members": list(names),
        "fitted_on": {one.of.name: len(one.of.rows) for one in own},
        **(verdicts if field == "contexts" else {}),  # others have too few sets to choose cuts by
        "fits": {
            name: {
                "intercept": round(model.intercept, DIGITS),
                "coefficients": {
                    n: round(float(w), DIGITS)
                    for n, w in zip(names, model.coefficients, strict=True)
                    if w
                },
            }
            for name, model in whole.models.items()
        },
    }


def out_of_fold(by_fold: Sequence[Ensemble], one: Answers) -> np.ndarray:
    """Compute (n,) log-odds of a set's answers, each by the fit that has not seen its fold."""
    return np.array([by_fold[k].worst(f) for f, k in zip(one.features, one.folds, strict=True)])


def judged(odds: np.ndarray, one: Answers, weight: float = 1.0) -> Judged:
    """Select the answers of a set that are scored."""
    scored = ~np.isnan(odds)
    largest = np.array([s.max() if len(s) else 0.0 for s in one.contradiction])
    return Judged(odds[scored], one.labels[scored], largest[scored], weight)


def fit_long(sets: Sequence[Labelled], engine: veridical.Engine, reader: str) -> dict[str, Any]:
    """Return the entry of longer answers by samples, with and without a language model's reading.

    Prints figures of those held out, which are shorter."""
    (own,) = (one for one in sets if one.role == "fit")
    lengths = [len(row["response"]) for row in own.rows]
    entry: dict[str, Any] = {"over": int(np.ceil(np.percentile(lengths, 90) / 100)) * 100}
    for name, model in (("plain", None), ("read", reader)):
        given = {"against": "samples", "weights": "label_free", "language_model": model}
        bound = REGISTRY.bind("ensemble", {k: v for k, v in given.items() if v is not None})
        odds = {one.role: _long_odds(one, bound, engine) for one in sets}
        known = ~np.isnan(odds["fit"])
        x, y = odds["fit"][known, None], np.array(own.labels)[known]
        fit = fit_logistic(x, y, ridge=RIDGE)
        intercept, coefficient = float(fit.intercept), float(fit.coefficients[0])
        for one in sets:
            title = f"samples, as longer answers, {name}: {one.name} ({one.role})"
            report(
                title, Answers(one, [], folds_of(one), []), intercept + coefficient * odds[one.role]
            )
        entry[name] = {
            "intercept": round(intercept, DIGITS),
            "coefficient": round(coefficient, DIGITS),
        }
    return entry


def _long_odds(one: Labelled, bound: BoundScorer, engine: veridical.Engine) -> np.ndarray:
    """Return (n,) log-odds of the mean quantile of answers; NaN if too short for the set."""
    odds = []
    for result in veridical.check(one.rows, [bound], engine=engine):
        (score,) = result.scores.values()
        known = score.risk is not None and score.raw["sets"] == ["open"]
        odds.append(default.log_odds(score.risk or 0.0) if known else np.nan)
    return np.array(odds)


def _report_members(names: Sequence[str], one: Answers) -> None:
    for i, name in enumerate(names):
        report(f"    {name} alone", one, alone(one, i))


def kept(one: Answers, members: Sequence[int]) -> Answers:
    """Return a set as if only these members were scored."""
    use = np.array(sorted(members), int)
    features = []
    for f in one.features:
        some = np.full_like(f, np.nan)
        some[:, use] = f[:, use]
        features.append(some)
    return one._replace(features=features)


def report(title: str, one: Answers, odds: np.ndarray) -> None:
    length = np.array([float(len(row["response"])) for row in one.of.rows])
    show(title, figures(odds, one.labels, length))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--checker", type=Path, required=True, help="folder of checker_data.py")
    parser.add_argument("--store", type=Path, help="keeps what models said, for the next time")
    parser.add_argument("--nli", nargs="+", default=["mini"], help="models to fit for; see --nli")
    parser.add_argument("--most", type=int, help="answers of each set, at most")
    parser.add_argument("--reader", default="smollm2", help="language model; see --proxy")
    parser.add_argument("--fields", nargs="+", choices=default.FIELDS, default=default.FIELDS)
    parser.add_argument("--out", type=Path, default=OUT, help="file; keeps other entries")
    arguments = parser.parse_args()
    content = json.loads(arguments.out.read_text("utf-8")) if arguments.out.is_file() else {}
    by_nli, models = dict(content.get("by_nli", {})), dict(content.get("models", {}))
    for spec in arguments.nli:
        nli = load_nli(spec)
        asked: set[str] = set()
        answers: list[tuple[Answers, tuple[str, ...]]] = []
        sets = [
            one.first(arguments.most)
            for one in load(arguments.data, HOME, arguments.checker)
            if one.field in arguments.fields
        ]
        of_long = [one for one in sets if one.field == "samples" and one.name == LONG]
        with veridical.Engine(store=arguments.store, nli=spec) as engine:
            for one in sets:
                names = members(one.field, getattr(nli, "tells_words", False))  # type: ignore[arg-type]
                scored, of_set = read(one, names, engine, arguments.reader)
                answers.append((scored, names))
                asked.update(of_set)
                print(f"{one.field}: {one.name}, {one.role}: {len(one.rows)}", file=sys.stderr)
            long = fit_long(of_long, engine, arguments.reader) if of_long else None
        print(f"\n{nli.name}\n{'':76}", *(f"{h[:6]:>6}" for h in HEAD), "length")
        by_nli[nli.name] = dict(by_nli.get(nli.name, {}))
        for field in arguments.fields:
            own = [a for a, _ in answers if a.of.field == field]
            (names,) = {names for a, names in answers if a.of.field == field}
            by_nli[nli.name][field] = fit_field(field, names, own)
        if long:
            by_nli[nli.name]["samples"]["long"] = long
        if set(arguments.fields) != set(default.FIELDS):  # the others' are what they were
            asked.update(models.get(nli.name, ()))
        models[nli.name] = sorted(asked)
    made = {"version": 3, "labels_used": True, "models": models, "by_nli": by_nli}
    arguments.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print("a constant risk of 0.5: AUROC .5, Brier .25; the majority is 'wrong'")


if __name__ == "__main__":
    main()
