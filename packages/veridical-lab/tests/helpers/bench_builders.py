"""Benchmarks made by hand, for the views."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from veridical_lab.bench import result as r
from veridical_lab.bench.benchmark import Bench

SCORERS = [
    "selfcheck_nli",
    "ngram(n=1,stat=max,counting=paper)",
    "support",
    "knowledge_f1",
    "ngram_presence",
    "semantic_entropy",
    "bert_score",
    "cosine",
    "rouge_l(against=samples)",
    "checkembed",
    "exact_match",
    "sacrebleu",
    "noncontradiction(against=contexts,window=sentence,stat=max)",
]
HOSTILE = "<img src=x onerror=alert(1)>|`\"'&\x1b[31m\u202e]]>{{7*7}}</script>\n[bold]x[/bold]"
METRICS = ("average_precision", "trapezoid_pr", "auroc", "f1", "accuracy", "mcc", "brier", "ece")


def row(scorer: str = "ngram", metric: str = "average_precision", **more: object) -> r.Row:
    """A row of a split of 1 908 sentences."""
    given: dict[str, object] = {
        "suite": "wikibio",
        "scorer": scorer,
        "split": "nonfact",
        "level": "sentence",
        "positive": "inaccurate",
        "metric": metric,
        "value": 0.8,
        "ci_low": 0.78,
        "ci_high": 0.82,
        "n_total": 1908,
        "n_scored": 1908,
        "coverage": 1.0,
        "prevalence": 0.73,
    }
    return r.Row.model_validate(given | more)


def split(**more: object) -> r.Split:
    """The split that goes with :func:`row`."""
    given: dict[str, object] = {
        "suite": "wikibio",
        "split": "nonfact",
        "level": "sentence",
        "kind": "binary",
        "positive": "inaccurate",
        "n_total": 1908,
        "n_positive": 1392,
        "n_groups": 238,
        "headline": "average_precision",
        "scorers": ["ngram"],
    }
    return r.Split.model_validate(given | more)


def bench(**more: object) -> Bench:
    given: dict[str, object] = {
        "suite": "wikibio",
        "signature": "wikibio|v1|seed:0|abc",
        "created": "2026-11-21T12:00:00",
        "version": "0.3",
        "settings": {"protocol": "quick", "seed": 0, "bootstrap": 1000, "split": None},
    }
    return Bench.model_validate(given | more)


def answered(**more: object) -> Bench:
    """Two scorers of whole answers, which cannot be told apart, with a threshold for each."""
    task = {"suite": "graded", "split": "all", "level": "response", "positive": "wrong"}
    rows = [
        row("ngram(n=2)", value=0.8, baselines={"random": 0.3, "length": 0.41}, **task),
        row("support", value=0.79, **task),
    ]
    pair = r.Comparison(
        a="ngram(n=2)",
        b="support",
        metric="average_precision",
        difference=0.01,
        ci_low=-0.02,
        ci_high=0.04,
        p_bootstrap=0.3,
        p_permutation=None,
        p_delong=None,
        p_holm=0.3,
    )
    given = {
        **task,
        "scorers": ["ngram(n=2)", "support"],
        "comparisons": [pair],
        "suggested": [
            r.Suggested(scorer="ngram(n=2)", threshold=0.42, caught=0.78, false_alarms=0.12)
        ],
    }
    return bench(rows=rows, splits=[split(**given | more)])


def full(splits: int = 3, scorers: int = 13, n: int = 600) -> Bench:
    """A run that looks real: curves, comparisons and flags from simulated scores."""
    rng = np.random.default_rng(7)
    rows: list[r.Row] = []
    made: list[r.Split] = []
    for k in range(splits):
        name = ["nonfact", "nonfact_star", "factual"][k] if k < 3 else f"part/{k}"
        truth = (rng.random(n) < (0.73, 0.4, 0.27)[k % 3]).astype(float)
        one, own = _split(rng, name, SCORERS[:scorers], truth)
        made.append(one)
        rows += own
    return bench(
        rows=rows,
        splits=made,
        signatures={s: f"{s}|v1|against:samples" for s in SCORERS[:scorers]},
        notes=["Only public data was used."],
        row_errors=[
            {"row": 7, "file": "data.jsonl", "line": 8, "field": "response", "error": "is empty"}
        ],
        n_row_errors=1,
    )


def _split(
    rng: np.random.Generator, name: str, scorers: list[str], truth: np.ndarray
) -> tuple[r.Split, list[r.Row]]:
    n, base = len(truth), float(truth.mean())
    rows: list[r.Row] = []
    curves, scores = [], []
    worth = {s: 1.8 - 0.17 * i for i, s in enumerate(scorers)}
    for s in scorers:
        noise = rng.normal(size=n)
        score = noise + worth[s] * (truth - 0.5)
        if s == "exact_match":
            score = (score > 1).astype(float)
        scores.append(score)
        risk = 1 / (1 + np.exp(-1.4 * score))
        curves.append(_curves(s, truth, score, risk))
        value = float(np.clip(base + 0.12 * worth[s] + 0.02, 0, 0.99))
        flags = {
            "exact_match": ["ties_inflate_trapezoid", "one_class"],
            "sacrebleu": ["inverted", "not_better_than_length"],
            "checkembed": ["failures:31", "low_coverage"],
            "support": ["in_domain"],
            "cosine": ["length_proxy:0.97"],
        }.get(s, [])
        failed = 31 if s == "checkembed" else 0
        for i, metric in enumerate(METRICS):
            v = value - 0.03 * i
            rows.append(
                row(
                    s,
                    metric,
                    split=name,
                    value=v,
                    ci_low=v - 0.021,
                    ci_high=v + 0.019,
                    n_total=n,
                    n_scored=n - failed,
                    n_failed=failed,
                    coverage=(n - failed) / n,
                    best=v + 0.01,
                    worst=v - 0.02,
                    failed_reasons={"the model gave no answer": 30, "too long": 1}
                    if failed
                    else {},
                    prevalence=base,
                    baselines={"constant": base, "random": base, "length": base + 0.04},
                    flags=flags,
                    paper=v - 0.004 if i == 1 and s != "support" else None,
                    threshold="cross-fitted" if metric in ("f1", "accuracy", "mcc") else None,
                )
            )
    for s, gain in (("constant", 0.0), ("random", 0.0), ("length", 0.04), ("always_positive", 0.0)):
        flags = ["ties_inflate_trapezoid"] if s == "constant" else []
        for metric in METRICS[:3]:
            v = base + gain + (0.13 if flags and metric == "trapezoid_pr" else 0)
            rows.append(row(s, metric, split=name, value=v, ci_low=None, ci_high=None, flags=flags))
    pairs = [
        r.Comparison(
            a=a,
            b=b,
            metric="average_precision",
            difference=0.0204 * (j - i),
            ci_low=0.0204 * (j - i) - 0.03,
            ci_high=0.0204 * (j - i) + 0.03,
            p_bootstrap=0.5 ** (2 * (j - i)),
            p_permutation=0.5 ** (2 * (j - i)),
            p_delong=0.4 ** (2 * (j - i)),
            p_holm=min(1.0, 0.5 ** (2 * (j - i)) * 3),
        )
        for i, a in enumerate(scorers)
        for j, b in enumerate(scorers)
        if i < j
    ]
    one = split(
        split=name,
        n_total=n,
        n_positive=int(truth.sum()),
        scorers=scorers,
        spearman=np.corrcoef(scores).reshape(len(scorers), -1).tolist(),
        comparisons=pairs,
        ranks=[
            r.Rank(scorer=s, rank=1 + i * 0.93 + 0.1 * (i % 3), value=0.9 - 0.02 * i)
            for i, s in enumerate(scorers)
        ],
        cliques=[scorers[i : i + 3] for i in range(0, len(scorers) - 2, 2)],
        curves=curves,
        confusions=[
            r.Confusion(
                scorer=s,
                classes=["accurate", "inaccurate"],
                matrix=[[120 + i, 40], [30, 410 - i]],
            )
            for i, s in enumerate(scorers[:4])
        ],
        samples=[
            r.SampleCurve(
                scorer=s,
                metric="average_precision",
                points=[
                    (
                        k,
                        base + 0.2 - 0.3 / (k + 1 + i),
                        base + 0.17 - 0.3 / (k + 1 + i),
                        base + 0.22,
                    )
                    for k in (1, 2, 4, 8, 12, 16, 20)
                ],
            )
            for i, s in enumerate(scorers[:5])
        ],
        notes=["ties: a constant score has a trapezoid PR area of 0.8648 here"],
    )
    return one, rows


def _curves(name: str, truth: np.ndarray, score: np.ndarray, risk: np.ndarray) -> r.Curves:
    order = np.argsort(-score, kind="stable")
    hit = np.cumsum(truth[order])
    miss = np.cumsum(1 - truth[order])
    at = np.unique(np.linspace(0, len(truth) - 1, 180).astype(int))
    calm = truth[order][::-1]
    share = np.arange(1, len(truth) + 1)
    taus = np.linspace(0.02, 1, 50)
    bins = []
    for low in np.arange(0, 1, 0.1):
        own = (risk >= low) & (risk < low + 0.1)
        some = bool(own.sum())
        bins.append(
            r.Bin(
                low=low,
                high=low + 0.1,
                n=int(own.sum()),
                mean=float(risk[own].mean()) if some else None,
                rate=float(truth[own].mean()) if some else None,
            )
        )
    edges = np.linspace(0, 1, 21)
    steps = [0, 42, 80, 133, 190, 260, 911]
    return r.Curves(
        scorer=name,
        precision_recall=[(float(hit[i] / hit[-1]), float(hit[i] / (i + 1))) for i in at],
        roc=[(0.0, 0.0), *((float(miss[i] / miss[-1]), float(hit[i] / hit[-1])) for i in at)],
        risk_coverage=[
            (float(share[i] / len(truth)), float(calm[: i + 1].mean())) for i in at if i > 5
        ],
        accuracy_at=[
            (float(t), float(1 - truth[risk <= t].mean()), float((risk <= t).mean()))
            for t in taus
            if (risk <= t).any()
        ],
        reliability=bins,
        lengths=[
            r.Bin(low=a, high=b, n=100, mean=0.6 + 0.04 * i + 0.1 * risk[i], rate=0.7)
            for i, (a, b) in enumerate(pairwise(steps))
        ],
        histogram=r.Histogram(
            edges=edges.tolist(),
            positive=np.histogram(risk[truth == 1], edges)[0].tolist(),
            negative=np.histogram(risk[truth == 0], edges)[0].tolist(),
        ),
    )


def study(scorers: int = 6) -> r.Study:
    """A meta-evaluation with every part."""
    rng = np.random.default_rng(3)
    names = SCORERS[:scorers]
    alignment = []
    for data in ("cmu/dev", "wow/test"):
        matrix = rng.uniform(-0.3, 1, (scorers, scorers)).round(3)
        alignment.append(
            r.AlignmentSplit(
                suite="begin",
                split=data,
                n=3601,
                prevalence=0.613,
                majority_f1=0.466,
                scorers=[
                    r.Alignment(
                        scorer=s,
                        area=0.9 - 0.03 * i,
                        area_inverted=0.43,
                        average_precision=0.895 - 0.03 * i,
                        precision=0.7,
                        recall=0.68,
                        f1=0.69,
                        accuracy=0.68,
                        threshold=0.512,
                        threshold_on="test",
                        predicted_positive=2207 - 150 * i,
                        predicted_negative=1394 + 150 * i,
                        flags=["threshold_fitted_on_test"],
                    )
                    for i, s in enumerate(names)
                ],
                spearman=matrix.tolist(),
                overlap=np.abs(matrix).tolist(),
                length_edges=[0, 10, 20, 30, 50, 120],
                length_counts=[500, 1200, 900, 700, 301],
                lengths=[[0.8 - 0.03 * i, 0.7, 0.66, None, 0.5 + 0.05 * i] for i in range(scorers)],
            )
        )
    levels = ["greedy", "beam", "ancestral", "top-k", "top-p"]
    p = [[1.0 if i == j else 0.0004 + 0.03 * abs(i - j) for j in range(5)] for i in range(5)]
    return r.Study(
        as_published=True,
        alignment=alignment,
        tests=[
            r.FactorTest(
                dataset="FaithDial",
                scorer=s,
                factor=factor,
                test="Friedman",
                normal=False,
                normality_p=0.00001,
                statistic=31.2,
                p=q,
                p_holm=min(1.0, 3 * q),
                effect="Kendall's W",
                effect_size=0.21,
                n=412,
                groups={"a": 4},
                note=None,
            )
            for s in names[:3]
            for factor, q in (("tuning", 0.00002), ("decoding", 0.03), ("size", 0.4))
        ],
        pairwise=[
            r.Pairwise(
                dataset="FaithDial", scorer=s, factor="decoding", test="Nemenyi", levels=levels, p=p
            )
            for s in names[:3]
        ],
        scaling=[
            r.Scaling(
                dataset="FaithDial",
                scorer="knowledge_f1",
                model=model,
                size=size,
                tuning=tuning,
                n=300,
                mean=0.4 + 0.05 * np.log10(size) + (0.08 if tuning == "instruct" else 0),
                ci_low=0.38 + 0.05 * np.log10(size),
                ci_high=0.52 + 0.05 * np.log10(size),
            )
            for model, sizes in (("OPT", (0.125, 1.3, 6.7, 66)), ("Llama-2", (7, 13, 70)))
            for size in sizes
            for tuning in ("pretrained", "instruct")
        ],
        boxes=[
            r.Box(
                dataset="FaithDial",
                scorer="knowledge_f1",
                decoding=d,
                size=size,
                n=99,
                low=0.05 + 0.02 * i,
                q1=0.2 + 0.03 * i,
                median=0.35 + 0.03 * i + 0.02 * j,
                q3=0.5 + 0.03 * i,
                high=0.9,
            )
            for i, d in enumerate(levels)
            for j, size in enumerate(("< 2B", "2–10B", "> 10B"))
        ],
        notes=["Sizes are as the models' cards give them."],
    )


def hostile() -> Bench:
    """Foreign text that tries to be markup, everywhere text can be."""
    x = HOSTILE
    rows = [
        row(
            s,
            suite=x,
            split=x,
            level=x,
            positive=x,
            metric=m,
            flags=[x, "inverted:" + x],
            notes=[x],
            n_failed=2,
            failed_reasons={x: 2},
        )
        for s in (x, x + "2", "constant")
        for m in ("average_precision", x)
    ]
    one = split(
        suite=x,
        split=x,
        level=x,
        positive=x,
        scorers=[x, x + "2"],
        spearman=[[1, 0.5], [0.5, 1]],
        comparisons=[
            r.Comparison(
                a=x,
                b=x + "2",
                metric="average_precision",
                difference=0.1,
                ci_low=None,
                ci_high=None,
                p_bootstrap=None,
            )
        ],
        ranks=[r.Rank(scorer=x, rank=1, value=1), r.Rank(scorer=x + "2", rank=2, value=1)],
        cliques=[[x, x + "2"]],
        curves=[r.Curves(scorer=x, roc=[(0, 0), (1, 1)])],
        confusions=[r.Confusion(scorer=x, classes=[x, "b"], matrix=[[1, 2], [3, 4]])],
        samples=[r.SampleCurve(scorer=x, metric=x, points=[(1, 0.5, None, None)])],
        notes=[x],
    )
    made = study(2)
    made.notes = [x]
    made.alignment[0].suite = made.alignment[0].split = made.alignment[0].scorers[0].scorer = x
    made.alignment[0].scorers[0].flags = [x]
    test, pair, point, box = made.tests[0], made.pairwise[0], made.scaling[0], made.boxes[0]
    test.dataset = test.scorer = test.test = test.effect = test.note = x
    pair.dataset = pair.scorer = pair.factor = pair.test = pair.levels[0] = x
    point.dataset = point.scorer = point.model = point.tuning = x
    box.dataset = box.scorer = box.decoding = box.size = x
    return bench(
        suite=x,
        signature=x,
        created=x,
        version=x,
        settings={x: [x]},
        signatures={x: x},
        rows=rows,
        splits=[one],
        study=made,
        notes=[x],
        row_errors=[{"row": 1, "file": x, "error": x}],
        n_row_errors=1,
    )


def unknown() -> Bench:
    """Everything that may be null is null."""
    nothing = {"value": None, "ci_low": None, "ci_high": None, "coverage": None, "n_scored": 0}
    point = r.Bin(low=0, high=0.1, n=0, mean=None, rate=None)
    one = split(
        n_positive=None,
        n_total=0,
        n_groups=0,
        scorers=["a", "b"],
        spearman=[[None, None], [None, None]],
        comparisons=[
            r.Comparison(
                a="a",
                b="b",
                metric="average_precision",
                difference=None,
                ci_low=None,
                ci_high=None,
                p_bootstrap=None,
            )
        ],
        curves=[r.Curves(scorer="a", reliability=[point], lengths=[point])],
        samples=[r.SampleCurve(scorer="a", metric="auroc", points=[(1, None, None, None)])],
    )
    made = study(1)
    first = made.alignment[0].scorers[0]
    for name in ("area", "area_inverted", "average_precision", "precision", "recall", "f1"):
        setattr(first, name, None)
    first.accuracy = first.threshold = made.alignment[0].majority_f1 = None
    made.alignment[0].spearman = made.alignment[0].overlap = [[None]]
    made.alignment[0].lengths = [[None] * 5]
    made.tests[0].p = made.tests[0].p_holm = made.tests[0].statistic = None
    made.pairwise[0].p = [[None] * 5] * 5
    rows = [row(s, prevalence=None, n_total=0, **nothing) for s in "ab"]
    return bench(rows=rows, splits=[one], study=made)
