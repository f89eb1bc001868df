"""Kulkarni et al. 2025, "The Mirage of hallucination detection": BEGIN and HaluEval."""

from __future__ import annotations

from collections.abc import Mapping

from veridical_lab.bench.published.table import Entry, Figure, Note, by_split, quoted

PAPER = "Mirage"
_BEGIN = "veridical bench begin --data DATA/begin"
_HALUEVAL = "veridical bench halueval --data DATA/halueval"
_PAIRS = "veridical bench graded --data pairs.jsonl"
_PAIRS_FILE = (
    "The file pairs.jsonl has both answers of each row as responses, with the labels 0 and 1, and "
    "the right one as reference"
)
_SELF = "the right answer is compared with itself, which measures nothing"
_BOTH = "BEGIN (CMU, TC, WoW), HaluEval (dialogue, QA)"
_ENCODER = "--token-encoder 'torch:roberta-large?layer=17'"
_ROBERTA = "roberta-large"

BEGIN_SPLITS = ("cmu/dev", "tc/dev", "wow/test")
HALUEVAL_SPLITS = ("dialogue", "qa")

#: Table 9 ("PRAUC") by split.
KNOWLEDGE_F1 = {"cmu/dev": 0.72, "tc/dev": 0.75, "wow/test": 0.43, "dialogue": 0.59, "qa": 0.83}
ROUGE_L = {"dialogue": 0.31, "qa": 0.30}
SACREBLEU = {"dialogue": 0.32, "qa": 0.54}
BERTSCORE = {"dialogue": 0.31, "qa": 0.31}
#: Table 1 ("PRAUC") by split.
KNOWLEDGE_BERTSCORE = {
    "cmu/dev": 0.70,
    "tc/dev": 0.67,
    "wow/test": 0.43,
    "dialogue": 0.61,
    "qa": 0.83,
}
CONSISTENCY = {"cmu/dev": 0.65, "tc/dev": 0.65, "wow/test": 0.43, "dialogue": 0.39, "qa": 0.36}
Q2_NLI = {"cmu/dev": 0.73, "tc/dev": 0.76, "wow/test": 0.56, "dialogue": 0.54, "qa": 0.82}
#: Table 1, weighted F1: Critic's class as it is.
CRITIC = {"cmu/dev": 0.77, "tc/dev": 0.74, "wow/test": 0.83, "dialogue": 0.49, "qa": 0.53}
#: The same: GPT-4's verdict (gpt-4o-mini, appendix A.3).
GPT_4 = {"cmu/dev": 0.84, "tc/dev": 0.71, "wow/test": 0.77, "dialogue": 0.74, "qa": 0.66}
#: Table 9 by split: Q2 by token F1.
Q2_F1 = {"cmu/dev": 0.70, "tc/dev": 0.74, "wow/test": 0.53, "dialogue": 0.53, "qa": 0.81}

#: Table 10: recall and F1, weighted over classes, that consistency, K-BERTScore and the ensemble
#: share. The recall is the accuracy, and so the share of positives of a score that says yes to all.
ONE_CLASS = {"BEGIN CMU": (0.83, 0.75), "BEGIN TC": (0.82, 0.74)}

_DEV = (
    "Of BEGIN's CMU and TC parts only the development sets are used here; the paper counts 2950 "
    "and 3805 items"
)


def _areas(
    suite: str,
    scorer: str,
    values: Mapping[str, float],
    model: str | None = None,
    metric: str = "trapezoid_pr",
) -> tuple[Figure, ...]:
    splits = BEGIN_SPLITS if suite == "begin" else HALUEVAL_SPLITS
    return by_split(suite, metric, scorer, ((s, values[s]) for s in splits), model)


def _by_named_model(
    name: str,
    what: str,
    scorers: Mapping[str, tuple[str, Mapping[str, float], str]],
    more: str,
    options: str = "",
) -> tuple[Entry, ...]:
    """Return an entry for BEGIN and one for HaluEval; ``scorers``: name -> metric, figures,
    model.
    """
    return tuple(
        Entry(
            f"Mirage {name} on {'BEGIN' if suite == 'begin' else 'HaluEval'}",
            what,
            data,
            "named model",
            command=f"{bench} {options}--scorers {quoted(scorers)}",
            reason=f"{more}. {of_suite}",
            figures=tuple(
                f
                for scorer, (metric, values, model) in scorers.items()
                for f in _areas(suite, scorer, values, model, metric)
            ),
        )
        for suite, data, bench, of_suite in (
            ("begin", "BEGIN: WoW test, CMU and TC", _BEGIN, _DEV),
            ("halueval", "HaluEval dialogue and QA, both answers of a row", _HALUEVAL, _HALF),
        )
    )


_HALF = "The paper judges 10 000 of the 20 000 answers and does not say which"
_SAFE = "Weights are read from safetensors only"
_STAND_IN = (
    f"{_SAFE}. Here by a small stand-in, on BEGIN: "
    "[evidence/mirage-stand-ins.md](evidence/mirage-stand-ins.md)"
)
_UPSIDE = (
    "The score measures how faithful a response is. If the paper used it unchanged, as it did "
    "Knowledge-F1, the printed areas are those of the inverted score"
)
_SETS = "[evidence/wikibio-begin-halueval.md](evidence/wikibio-begin-halueval.md#meta-evaluation)"
_HERE = f"Here by the embedded encoder, as it is and inverted: {_SETS}"
_Q2 = "mrm8488/t5-base-finetuned-question-generation-ap"  # with the two others it takes

ENTRIES = (
    Entry(
        "Mirage table 9, Knowledge-F1 on BEGIN",
        "Word overlap of response and knowledge",
        "BEGIN: WoW test, CMU and TC",
        "regenerated",
        command=f"{_BEGIN} --scorers knowledge_f1 --study --as-published",
        reason=_DEV,
        figures=_areas("begin", "knowledge_f1", KNOWLEDGE_F1),
    ),
    Entry(
        "Mirage table 9, Knowledge-F1 on HaluEval",
        "Word overlap of response and knowledge",
        "HaluEval dialogue and QA, both answers of a row",
        "regenerated",
        command=f"{_HALUEVAL} --scorers knowledge_f1 --study --as-published",
        reason=f"{_HALF}; here both of each row drawn",
        figures=_areas("halueval", "knowledge_f1", KNOWLEDGE_F1),
    ),
    Entry(
        "Mirage table 9, ROUGE-L and SacreBLEU",
        "Overlap of the response with the right answer",
        "HaluEval dialogue and QA, both answers of a row",
        "regenerated",
        command=f'{_PAIRS} --scorers "rouge_l, sacrebleu" --study --as-published',
        reason=f"{_SELF}. {_PAIRS_FILE}. The printed SacreBLEU seems to be the corpus score of "
        "single pairs. That score is 0 for any answer of fewer than four words, even a right one",
        figures=(
            *_areas("halueval", "rouge_l", ROUGE_L),
            *_areas("halueval", "sacrebleu", SACREBLEU),
        ),
    ),
    Entry(
        "Mirage table 9, BERTScore",
        "BERTScore of the response with the right answer",
        "HaluEval dialogue and QA, both answers of a row",
        "named model",
        command=f'{_PAIRS} --scorers "bert_score(against=reference)" {_ENCODER} '
        "--study --as-published",
        reason=f"{_SELF}. {_PAIRS_FILE}",
        figures=_areas("halueval", "bert_score(against=reference)", BERTSCORE, _ROBERTA),
    ),
    Entry(
        "Mirage table 1, K-BERTScore on BEGIN",
        "BERTScore of response and knowledge",
        "BEGIN: WoW test, CMU and TC",
        "named model",
        command=f"{_BEGIN} --scorers knowledge_bertscore {_ENCODER}",
        reason=f"{_DEV}. {_HERE}",
        figures=_areas("begin", "knowledge_bertscore", KNOWLEDGE_BERTSCORE, _ROBERTA),
    ),
    Entry(
        "Mirage table 1, K-BERTScore on HaluEval",
        "BERTScore of response and knowledge",
        "HaluEval dialogue and QA, both answers of a row",
        "named model",
        command=f"{_HALUEVAL} --scorers knowledge_bertscore {_ENCODER}",
        reason=f"{_HALF}. {_HERE}",
        figures=_areas("halueval", "knowledge_bertscore", KNOWLEDGE_BERTSCORE, _ROBERTA),
    ),
    *_by_named_model(
        "tables 1, 10 and 11, critic",
        "The class that roberta-large-faithcritic gives knowledge and response",
        {"critic": ("weighted_f1", CRITIC, "McGill-NLP/roberta-large-faithcritic")},
        f"the class as it is, that of the larger probability. {_STAND_IN}",
        "--threshold 0.5 ",
    ),
    *_by_named_model(
        "tables 1, 10 and 11, consistency",
        "UniEval's factual consistency of the response with the knowledge",
        {"unieval": ("trapezoid_pr", CONSISTENCY, "MingZhong/unieval-fact")},
        f"{_UPSIDE}. {_STAND_IN}",
    ),
    *_by_named_model(
        "tables 1 and 9 to 11, Q2",
        "Questions about the response answered by the knowledge, by T5, ALBERT and an NLI model",
        {
            "q2": ("trapezoid_pr", Q2_NLI, _Q2),
            "q2(form=f1)": ("trapezoid_pr", Q2_F1, _Q2),
        },
        f"the NLI model is the run's own (--nli), the paper's is AllenNLP's. {_UPSIDE}. "
        f"{_STAND_IN}",
    ),
    Entry(
        "Mirage tables 1, 10 and 11, GPT-4 on BEGIN",
        "A to E asked of gpt-4o-mini",
        "BEGIN (CMU, TC, WoW)",
        "named model",
        command=f'{_BEGIN} --threshold 0.5 --scorers "judge(form=published, '
        'template=mirage_begin)" --llm openai:gpt-4o-mini',
        reason="a hosted model that may have changed; its answers are not published. The verdicts "
        f"are taken as they are. {_DEV}",
        figures=_areas(
            *("begin", "judge(form=published,template=mirage_begin)", GPT_4),
            *("gpt-4o-mini", "weighted_f1"),
        ),
    ),
    Entry(
        "Mirage tables 1, 10 and 11, GPT-4 on HaluEval",
        "HaluEval's own questions asked of gpt-4o-mini",
        "HaluEval (dialogue, QA)",
        "named model",
        command=f'{_HALUEVAL} --threshold 0.5 --scorers "judge(form=published, '
        'template=halueval_qa), judge(form=published, template=halueval_dialogue)" '
        "--llm openai:gpt-4o-mini",
        reason="a hosted model that may have changed; its answers are not published, nor which of "
        "the two answers of a row was judged. Each template is meant for one of the parts. The "
        "verdicts are taken as they are",
        figures=tuple(
            Figure(
                *("halueval", part, "weighted_f1"),
                *(f"judge(form=published,template=halueval_{part})", GPT_4[part], None),
                "gpt-4o-mini",
            )
            for part in HALUEVAL_SPLITS
        ),
    ),
    Entry(
        "Mirage tables 1, 10 and 11, ensemble",
        "FAMD over five scorers, GPT-4 among them",
        _BOTH,
        "not possible",
        reason="the scores of its five columns are not published, gpt-4o-mini's answers among "
        "them, and the paper does not say how the component is turned. The analysis itself is "
        "tested against its definition; here of scorers without an LLM: "
        "[evidence/ensembles.md](evidence/ensembles.md)",
    ),
    Entry(
        "Mirage figures 1, 2, 5 and 7",
        "Agreement of scorers with each other, accuracy by length, label shares",
        _BOTH,
        "named model",
        command=f"{_BEGIN} --study --as-published --report report.html",
        reason="the same views of any scorers (--scorers). The paper's are of critic, unieval, q2, "
        "knowledge_bertscore, GPT-4 and its ensemble. Here agreement with human labels, of "
        f"scorers without an LLM: {_SETS}",
        printed=(
            "figure 2, section 3: consistency and K-BERTScore overlap by over 80 % on CMU and TC",
            "figure 5, section 4, accuracies by length. Consistency: above 0.9 on long answers of "
            "CMU and TC, 0.4 on short ones of WoW. K-BERTScore: up to 0.95 on QA. Q2: 0.85 to 1.0 "
            "on QA, up to 0.95 on dialogue, barely 0.4 on BEGIN. Critic: 0.97 on long answers of "
            "CMU and TC. GPT-4: above 0.75, and about 0.65 on TC",
            "figure 7, appendix C: counts of labels in table 11",
        ),
    ),
    Entry(
        "Mirage tables 2 and 6 to 8, figures 3, 4, 6 and 8 to 15",
        "Effects of tuning, size and decoding on 37 language models",
        "TruthfulQA, FaithDial",
        "not possible",
        reason="the generated answers are not published; `veridical sample --grid models.toml "
        "--table generations.csv` makes such a table with any models, and `veridical bench "
        "--study --table generations.csv` runs the same tests on it: of three small models in "
        "[evidence/mirage-grid.md](evidence/mirage-grid.md)",
    ),
)

_NOT_INVERTED = {"cmu/dev": 0.930, "tc/dev": 0.907, "wow/test": 0.895}
_INVERTED = {"cmu/dev": 0.721, "tc/dev": 0.734, "wow/test": 0.434}

NOTES = (
    *(
        Note(
            "begin",
            f"the paper's figure is that of the inverted score, which has {_INVERTED[s]:.3f} here "
            f"(Mirage table 9 prints {KNOWLEDGE_F1[s]:.2f}); the score itself has "
            f"{_NOT_INVERTED[s]:.3f}",
            splits=(s,),
            metrics=("trapezoid_pr", "average_precision"),
            scorers=("knowledge_f1",),
        )
        for s in BEGIN_SPLITS
    ),
    *(
        Note(
            "halueval",
            f"the paper's figure ({KNOWLEDGE_F1[s]:.2f}, Mirage table 9) is that of the inverted "
            "score; response length alone does better",
            splits=(s,),
            metrics=("trapezoid_pr", "average_precision"),
            scorers=("knowledge_f1",),
        )
        for s in HALUEVAL_SPLITS
    ),
    Note(
        "begin",
        "the random baseline of this area is the prevalence, not the 0.50 of Mirage's text",
        metrics=("trapezoid_pr", "average_precision"),
        scorers=("random",),
    ),
    *(
        Note(
            "halueval",
            f"Mirage table 9 prints {value:.2f} for it against the right answer itself, inverted. "
            "At prevalence 0.5 an inverted perfect score has the area 1 - ln 2 = 0.307",
            splits=(split,),
            metrics=("trapezoid_pr", "average_precision"),
            scorers=(name,),
        )
        for name, printed in (("rouge_l", ROUGE_L), ("bert_score", BERTSCORE))
        for split, value in printed.items()
    ),
)
