"""Known errors in the published record, and how the harness shows them."""

from __future__ import annotations

import numpy as np
from measured import CORPUS_BLEU, LEFT_OUT, PRESENCE, UNIGRAM, Measured, shown, table

from veridical_lab.bench.published import checkembed as ce
from veridical_lab.bench.published import mirage, refchecker, selfcheckgpt, tunable_ensemble
from veridical_lab.bench.published.table import fraction


def errors(measured: Measured) -> list[str]:
    """Return the sections on errors of the papers, with our figures."""
    return [*_ties(measured), *_orientation(measured), *_baselines(measured), *_on_paper()]


def _ties(m: Measured) -> list[str]:
    areas_of = ("trapezoid_pr", "average_precision")
    rows = []
    for split in ("nonfact", "nonfact_star", "factual"):
        found = [
            m.get("wikibio", split, a, s) for s in ("constant", UNIGRAM, PRESENCE) for a in areas_of
        ]
        rows.append([split, *map(shown, found)])
    gain = [
        f"{metric} {shown(m.get('wikibio', 'passage', metric, UNIGRAM))} becomes "
        f"{shown(m.get('wikibio', 'passage', metric, LEFT_OUT))}"
        for metric in ("pearson", "spearman")
    ]
    prompt = fraction(selfcheckgpt.WIKIBIO_PROMPT.split()[1])
    constant = m.get("wikibio", "nonfact_star", "trapezoid_pr", "constant")
    return [
        "### SelfCheckGPT: an area that rewards ties",
        "The papers' AUC-PR joins the points of the precision-recall curve by straight lines. No "
        "threshold reaches the points between, so ties are rewarded: a constant score beats most "
        f"methods. The one NonFact* figure above it, {prompt:.4f} for WikiBio+Prompt in table 3 "
        f"(the constant: {shown(constant)}), belongs to a score with three values. The harness "
        "leads with average precision and prints the trapezoid next to it. It always shows that of "
        "the constant score, and flags `ties_inflate_trapezoid`.",
        table(
            [
                "split",
                *(
                    f"{s} {a}"
                    for s in ("constant", "1-gram", f"`{PRESENCE}`")
                    for a in ("trapezoid", "AP")
                ),
            ],
            rows,
        ),
        "### SelfCheckGPT: the response is counted in",
        "The published n-gram model is trained on the samples and the response, so the response "
        f"supports itself. With the response left out and add-one smoothing (`{LEFT_OUT}`) "
        f"{', '.join(gain)}. The choice was made on these passages, so the figures are flagged "
        "in-domain.",
    ]


def _orientation(m: Measured) -> list[str]:
    rows = []
    for suite, splits in (("begin", mirage.BEGIN_SPLITS), ("halueval", mirage.HALUEVAL_SPLITS)):
        for split in splits:
            found = [
                m.get(suite, split, "prevalence"),
                m.inverted.get((suite, split, "knowledge_f1")),
                m.get(suite, split, "average_precision", "knowledge_f1"),
                m.get(suite, split, "average_precision", "length"),
            ]
            n = m.get(suite, split, "n_total")
            paper = f"{mirage.KNOWLEDGE_F1[split]:.2f}"
            rows.append([f"{suite} {split}", shown(n), paper, *map(shown, found)])
    same = [
        f"{name} {share * 2 * share / (1 + share):.4f} ({printed:.2f})"
        for name, (share, printed) in mirage.ONE_CLASS.items()
    ]
    right = [
        [
            name,
            *(
                f"{shown(m.inverted.get(('halueval', part, name)))} ({printed[part]:.2f})"
                for part in mirage.HALUEVAL_SPLITS
            ),
        ]
        for name, printed in (
            ("rouge_l", mirage.ROUGE_L),
            ("sacrebleu", mirage.SACREBLEU),
            (CORPUS_BLEU, mirage.SACREBLEU),
        )
    ]
    return [
        "### Mirage, tables 1 and 9: inverted scores",
        "Knowledge-F1 measures how faithful a response is. Compared unchanged with the label "
        '"hallucinated" it gives the printed figures, on HaluEval too. In the right direction it '
        "gives far better ones on BEGIN. On HaluEval's questions the invented answers are "
        "sentences and the right ones are short, so length alone gives more. A random order "
        "obtains the prevalence, not the 0.50 of the text. Here the orientation belongs to the "
        "scorer's type, and `inverted` is raised where the negated score is better. Response "
        "length is shown with every figure.",
        table(
            [
                "Knowledge-F1",
                "n",
                "printed",
                "prevalence",
                "inverted",
                "not inverted (AP)",
                "length alone (AP)",
            ],
            rows,
        ),
        "Against the right answer itself, inverted, ours (printed):",
        table(["scorer", *mirage.HALUEVAL_SPLITS], right),
        "A right answer is its own perfect match, and an inverted perfect score has the area "
        f"1 - ln 2 = {1 - np.log(2):.4f} at prevalence 0.5. The corpus score of a single pair is "
        "0 for any answer of fewer than four words, even a right one.",
        "Table 10 prints one weighted recall and F1 for consistency, K-BERTScore and the ensemble "
        "on CMU and TC. Calling every response hallucinated has that F1, given that recall "
        f"(printed): {', '.join(same)}. Here the majority baseline and `one_class` show it.",
    ]


def _baselines(m: Measured) -> list[str]:
    tasks = []
    for at, task in enumerate(("Summary", "QA", "Data2txt")):
        base = m.get("ragtruth", f"task:{task}-right", "f1", "always_positive")
        values = {name: row[at] for name, row in ce.TABLE_7.items()}
        best = max(values, key=lambda name: values[name])
        beat = [name for name, v in values.items() if base is not None and v > round(base, 4)]
        tasks.append(
            [task, shown(base), f"{values[best]:.4f} ({best})", f"{len(beat)} of {len(values)}"]
        )
    settings = []
    for at, split in enumerate(refchecker.SPLITS):
        base = m.get("refchecker", split, "accuracy", "majority")
        below = [n for n, row in refchecker.TABLE_5.items() if base is not None and row[at] < base]
        names = ", ".join(below) if len(below) < len(refchecker.TABLE_5) else "all"
        settings.append([split, shown(base), f"{len(below)} of {len(refchecker.TABLE_5)}: {names}"])
    return [
        "### CheckEmbed, table 7: no better than calling every response right",
        "With a threshold of 0.5, and the right responses as positives. Every table here has "
        "always-positive and majority rows, and `one_class` is raised for a scorer that nearly "
        "always says the same.",
        table(
            ["task", 'F1 of always "right"', "best CheckEmbed row", "CheckEmbed rows above it"],
            tasks,
        ),
        "### RefChecker, table 5: accuracy below the majority class",
        table(["setting", "majority accuracy", "checkers below it"], settings)
        + "\n\nThree-way tasks lead with macro F1 and show the majority row and per-class F1.",
    ]


def _on_paper() -> list[str]:
    at_16 = ce.table_6(16)
    swapped = [
        f"{a} in table 3 is {ce.TABLE_3[a].replace(' ', ' / ')}, table 6's {b} with 16 samples "
        f"({' / '.join(f'{100 * x:.1f}' for x in at_16[b])})"
        for a, b in (("E5", "GTE"), ("GTE", "E5"))
    ]
    unlike = [
        f"The {row} row on {n.splits[0].removesuffix('-right')}: {n.text}"
        for row, n in zip(("Entropy", "BS Detector"), tunable_ensemble.NOTES, strict=True)
    ]
    return [
        "### CheckEmbed, tables 3 and 6: exchanged columns, chosen samples, no response",
        f"{'. '.join(swapped)}. Table 3 prints the row of 16 samples, which has the highest "
        "Pearson correlation on the very data reported on. `--samples 2,4,...` prints the whole "
        "curve. The published score on WikiBio is made of the samples alone: two responses to one "
        "prompt get the same. `judged=samples` is that form; the default, `judged=response`, sees "
        "the response.",
        "### Tunable ensemble, table 1: positives turned round, figures that do not fit",
        "Section 3.1 calls hallucinations positive; table 1 counts the right answers (a recall of "
        "0.997 at a precision of 0.758). So calling every answer right has the share of right "
        "ones as precision and a recall of 1. That is an F1 of 0.601 on NQ-Open (43 % right) and "
        f"0.361 on GSM8K (22 %), which the table does not show. {'. '.join(unlike)}. Weights and "
        "thresholds were tuned on the answers reported on; `veridical bench qa` fits them on other "
        "folds, and prints that baseline.",
    ]
