"""Training HalluDetect on labelled records, and measuring it on those held out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.registry import BoundScorer, Scorer
from veridical.core.scores import Score
from veridical.errors import UsageError
from veridical.scorers.probability._readings import Condition, read_response
from veridical.stats.logistic import fit_logistic
from veridical.stats.metrics import Targets, compute
from veridical.stats.resampling import Resampler, interval
from veridical_lab.scorers.halludetect_features import features
from veridical_lab.scorers.halludetect_fit import fit_network, standardised
from veridical_lab.scorers.halludetect_model import Detector, Kind, Layer

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record
    from veridical.engine.results import RunResults


METRICS = ("average_precision", "auroc", "f1", "balanced_accuracy", "brier", "log_loss", "ece")
_NAME = "halludetect_features"
_VALIDATION = 0.15  # share of the fitting records for early stopping of the network
_FEWEST = 10  # right and hallucinated records that each part must have


def features_scorer(proxy: str | None, condition: Condition) -> BoundScorer:
    """Return a scorer whose raw value contains a labelled record's features, label and group.

    Features are computed as at inference: with the same reader, engine and store.
    """

    async def read(
        record: Record,
        evidence: Evidence,
        *,
        proxy: str | None = None,
        condition: Condition = "all",
    ) -> Score:
        if record.label is None:
            raise ValueError("the record has no label")
        reading = await read_response(record, evidence, proxy, condition)
        raw = {
            "features": features(reading.tokens).tolist(),
            "label": record.label,
            "group": _group(record),
            "length": len(record.response),
        }
        return Score.of(record.label, raw=raw)

    reader = Scorer(
        name=_NAME,
        function=read,
        level="response",
        needs=frozenset({"logprobs"}),
        cost="probabilities",
        source="Quevedo 2024",
    )
    return BoundScorer(reader, {"proxy": proxy, "condition": condition})


def _group(record: Record) -> str:
    """Return the key shared by answers to the same prompt: they are split and resampled
    together.
    """
    if record.prompt is None and not record.contexts:
        return f"row {record.row}"
    what = [record.prompt, [c.text for c in record.contexts]]
    text = json.dumps(what, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, eq=False)
class LabelledAnswer:
    """The records that features could be made of.

    Attributes:
        x: (n, 4) features.
        truth: (n,) 1 for a label of at least 0.5 (hallucinated), else 0.
        groups: (n,) number of each one's prompt.
        length: (n,) characters of the response.
        total: records and bad rows that there were.
        missing: reason -> how many records have no features.
    """

    x: Floats
    truth: Floats
    groups: NDArray[np.int64]
    length: Floats
    total: int
    missing: Mapping[str, int]


def gather(results: RunResults) -> LabelledAnswer:
    """Read what :func:`features_scorer` wrote."""
    rows: list[dict[str, Any]] = []
    missing: Counter[str] = Counter()
    for result in results:
        score = next(iter(result.scores.values()))
        if score.status == "scored" and isinstance(score.raw, dict):
            rows.append(score.raw)
        else:
            missing[score.reason or score.status] += 1
    for cause, n in results.error_causes():
        missing[f"bad row: {cause}"] += n
    names = {g: i for i, g in enumerate(dict.fromkeys(r["group"] for r in rows))}
    return LabelledAnswer(
        x=np.array([r["features"] for r in rows], dtype=np.float64).reshape(-1, 4),
        truth=np.array([float(r["label"] >= 0.5) for r in rows]),
        groups=np.array([names[r["group"]] for r in rows], dtype=np.int64),
        length=np.array([float(r["length"]) for r in rows]),
        total=len(rows) + sum(missing.values()),
        missing=dict(missing.most_common()),
    )


@dataclass(frozen=True)
class FeatureRow:
    """One figure on the held-out part, with its 95 % interval (None where too few replicates
    define it)."""

    method: str
    metric: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class FitOutcome:
    """A trained classifier, and its figures and those of the baselines on the held-out part."""

    detector: Detector
    rows: list[FeatureRow]
    n_train: int
    n_held_out: int
    prevalence: float


def train(
    data: LabelledAnswer,
    kind: Kind,
    *,
    proxy: str | None = None,
    condition: Condition = "all",
    held_out: float = 0.2,
    epochs: int = 2000,
    bootstrap: int = 1000,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> FitOutcome:
    """Fit on some prompts' records and measure on the others'.

    The returned classifier is the measured one. Held-out records are used neither for fitting nor
    for scaling.

    Args:
        held_out: share of the prompts to measure on.
        progress: of the network; see :func:`fit_network`.

    Raises:
        UsageError: a part has too few right or hallucinated records.
    """
    rng = np.random.default_rng(seed)
    test = _drawn(data.groups, held_out, rng)
    _enough("held-out", data.truth[test])
    _enough("training", data.truth[~test])
    x, truth, groups = data.x[~test], data.truth[~test], data.groups[~test]
    mean, scale = standardised(x)
    x = (x - mean) / scale
    notes: dict[str, Any] = {"records": len(x), "held_out": int(test.sum()), "seed": seed}
    if kind == "logistic":
        logistic = fit_logistic(x, truth, ridge=1.0)
        layers: tuple[Layer, ...] = (
            (logistic.coefficients[:, None], np.array([logistic.intercept])),
        )
    else:
        valid = _drawn(groups, _VALIDATION, rng)
        if not 0 < truth[valid].mean() < 1:
            raise UsageError("too few records to hold some back for the network's validation")
        fitted = fit_network(
            x[~valid],
            truth[~valid],
            x[valid],
            truth[valid],
            epochs=epochs,
            seed=seed,
            progress=progress,
        )
        layers = fitted.layers
        notes |= {"epochs": fitted.epochs, "validation_records": int(valid.sum())}
    detector = Detector(kind, mean, scale, layers, proxy, condition, notes)
    rows = _measured(detector, data, test, bootstrap, seed)
    figures = {r.metric: r.value for r in rows if r.method == "halludetect"}
    notes["held_out_figures"] = {m: v for m, v in figures.items() if np.isfinite(v)}
    prevalence = float(data.truth[test].mean())
    return FitOutcome(detector, rows, len(x), int(test.sum()), prevalence)


def _drawn(groups: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a mask of the records in a random ``share`` of the groups."""
    names = np.unique(groups)
    chosen = rng.permutation(names)[: max(1, round(share * len(names)))]
    return np.isin(groups, chosen)


def _enough(part: str, truth: Floats) -> None:
    wrong = int(truth.sum())
    if min(wrong, len(truth) - wrong) < _FEWEST:
        raise UsageError(
            f"the {part} part has {wrong} hallucinated and {len(truth) - wrong} right records; "
            f"it needs {_FEWEST} of each"
        )


def _measured(
    detector: Detector, data: LabelledAnswer, test: NDArray[np.bool_], bootstrap: int, seed: int
) -> list[FeatureRow]:
    """Measure the classifier and the baselines; labels are cut at a risk of 0.5."""
    truth, n = data.truth[test], int(test.sum())
    risk = detector.risk(data.x[test])
    share = float(data.truth[~test].mean())
    constant = np.full(n, share)
    likelier = np.full(n, int(share >= 0.5), dtype=np.int64)
    everything = np.ones(n, dtype=np.int64)
    labels = ("f1", "balanced_accuracy")
    methods: dict[str, tuple[Targets, Sequence[str]]] = {
        "halludetect": (
            Targets(truth, detector.log_odds(data.x[test]), risk, (risk >= 0.5).astype(np.int64)),
            METRICS,
        ),
        "constant (training share)": (
            Targets(truth, constant, constant, likelier),
            METRICS,
        ),
        "always hallucinated": (Targets(truth, constant, None, everything), labels),
        "response length": (Targets(truth, data.length[test]), ("average_precision", "auroc")),
    }
    resampler = Resampler(data.groups[test], bootstrap, seed)
    rows = []
    for method, (targets, names) in methods.items():
        values = compute(names, targets)
        chunks = [compute(names, targets, weights) for weights in resampler.chunks()]
        for name in names:
            low, high = (
                interval(np.concatenate([d[name] for d in chunks])) if chunks else (None, None)
            )
            rows.append(FeatureRow(method, name, values[name], low, high))
    return rows
