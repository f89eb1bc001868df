"""Hu et al. 2024, RefChecker: 10 733 claims with human labels."""

from __future__ import annotations

from veridical_lab.bench.published.table import Entry, Figure, Note, by_split

PAPER = "RefChecker"
_DATA = "RefChecker's human annotations: 10 733 claim triplets, 3 settings, 7 models"
SPLITS = ("zero_context", "noisy_context", "accurate_context")

#: Table 5: accuracy by setting (zero, noisy, accurate context).
TABLE_5 = {
    "RoBERTa-NLI": (0.7406, 0.7836, 0.7727),
    "AlignScore": (0.7340, 0.7886, 0.8430),
    "GPT-4": (0.6746, 0.7667, 0.8017),
    "Claude 2": (0.4342, 0.4035, 0.7218),
    "Mistral zero-shot": (0.7083, 0.7175, 0.6572),
    "Mistral 1-shot": (0.6544, 0.8123, 0.8338),
    "LoRA-sft-n4000": (0.7743, 0.7921, 0.7689),
    "RepC-LE-svm-n1000-e1000": (0.7798, 0.7956, 0.7954),
    "RepC-LE-nn-n2000-e2000": (0.7523, 0.8208, 0.8650),
}

#: Table 9: claims by setting, and how many of those of the first are Neutral, its largest class.
CLAIMS = (3319, 3420, 3994)
NEUTRAL_ZERO_CONTEXT = 1818

#: Table 8: macro-F1, in the same order.
TABLE_8 = {"RoBERTa-NLI": (0.6990, 0.4667, 0.5106), "AlignScore": (0.7028, 0.5042, 0.5766)}

#: Table 7: macro-F1 of the strict class of a response, its claims being the whole response, its
#: sentences, and triplets.
TABLE_7 = {"RoBERTa-NLI": (0.4492, 0.5197, 0.5519), "AlignScore": (0.4605, 0.5319, 0.5760)}
_GRANULARITY = ("response", "sentences", "given")

#: Tables 10 to 12, rows Claude 2 + NLI and Claude 2 + AlignScore: accuracy, F1 of factual and of
#: non-factual responses, Pearson, Spearman.
TABLES_10_TO_12 = {
    "RoBERTa-NLI": (
        (0.8320, 0.7051, 0.8826, 0.5925, 0.6039),
        (0.6413, 0.7158, 0.5139, 0.2904, 0.2550),
        (0.7236, 0.8168, 0.4373, 0.2739, 0.2912),
    ),
    "AlignScore": (
        (0.9054, 0.7897, 0.9390, 0.7507, 0.7383),
        (0.6970, 0.7433, 0.6304, 0.4639, 0.4126),
        (0.7430, 0.8157, 0.5756, 0.5017, 0.4459),
    ),
}
_COLUMNS = (
    ("factual", "accuracy"),
    ("factual", "f1:Factual"),
    ("factual", "f1:Non-Factual"),
    ("rate", "pearson"),
    ("rate", "spearman"),
)

#: Section 4.2: the public checkers, and what ``--nli`` calls them.
_CHECKERS = {
    "RoBERTa-NLI": "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli",
    "AlignScore": "yzha/AlignScore",
}
_NLI = {"RoBERTa-NLI": f"torch:{_CHECKERS['RoBERTa-NLI']}", "AlignScore": "alignscore-large"}
_REFERENCES = (
    "the references (Natural Questions, MS MARCO, Dolly) are not distributed with the labels. They "
    "go into references.jsonl next to them. Here a triplet is read as a sentence, and a long "
    "reference in windows of whole sentences, not of 200 tokens"
)
_STUDIES = "evidence/studies.md"
_REPC = (
    "[claim-methods.md]"
    "(evidence/claim-methods.md#repc-hidden-states-of-a-language-model-as-checker)"
)


def _command(suite: str, checker: str, scorers: str) -> str:
    return (
        f"veridical bench {suite} --data DATA/refchecker --nli {_NLI[checker]} "
        f'--scorers "{scorers}"'
    )


def _checking() -> list[Entry]:
    scorer = "claims(checker=nli,extractor=given,merge=any)"
    return [
        Entry(
            f"RefChecker tables 5 and 8, {checker} row",
            "Three-way checking of claims against references",
            _DATA,
            "named model",
            command=_command("refchecker", checker, scorer),
            reason=f"{_REFERENCES}. Measured with this project's NLI models, on other labelled "
            "pairs: [claim-methods.md](evidence/claim-methods.md#several-checkers)",
            figures=tuple(
                figure
                for metric, table in (("accuracy", TABLE_5), ("macro_f1", TABLE_8))
                for figure in by_split(
                    "refchecker", metric, scorer, zip(SPLITS, table[checker], strict=True), model
                )
            ),
        )
        for checker, model in _CHECKERS.items()
    ]


def _granularity() -> list[Entry]:
    scorers = [f"claims(checker=nli,extractor={x},merge=any)" for x in _GRANULARITY]
    return [
        Entry(
            f"RefChecker table 7 and figure 5, {checker} row",
            "The strict class of a response by claims of several sizes",
            _DATA,
            "named model",
            command=_command("refchecker_responses", checker, ", ".join(scorers)),
            reason=f"{_REFERENCES}. The paper's sub-sentences are made by a language model; here "
            "by the first small NLI model, on BEGIN, HaluEval and WikiBio: "
            "[claim-methods.md](evidence/claim-methods.md#granularity-of-claims)",
            figures=tuple(
                Figure("refchecker_responses", "all", "macro_f1", scorer, value, None, model)
                for scorer, value in zip(scorers, TABLE_7[checker], strict=True)
            ),
        )
        for checker, model in _CHECKERS.items()
    ]


def _pipelines() -> list[Entry]:
    scorer = "claims(aggregate=rate,checker=nli,extractor=given,merge=any)"
    return [
        Entry(
            f"RefChecker tables 2 and 10 to 12, row Claude 2 + {checker}",
            "Responses of six models by the verdicts on the released triplets",
            _DATA,
            "named model",
            command=_command("refchecker_responses", checker, scorer),
            reason=f"{_REFERENCES}. Pipelines by the first small NLI model, on BEGIN, "
            "HaluEval and WikiBio: [evidence/summary.md](evidence/summary.md#claims)",
            figures=tuple(
                Figure(
                    "refchecker_responses", f"{split}/{task}", metric, scorer, value, None, model
                )
                for split, row in zip(SPLITS, TABLES_10_TO_12[checker], strict=True)
                for (task, metric), value in zip(_COLUMNS, row, strict=True)
            ),
        )
        for checker, model in _CHECKERS.items()
    ]


def _rankings() -> list[Entry]:
    return [
        Entry(
            f"RefChecker figure 6, Claude 2 + {checker}",
            "Seven models ranked by the verdicts on the released triplets, and by human labels: "
            "Spearman",
            _DATA,
            "named model",
            command=f"veridical rank DATA/refchecker --suite refchecker_responses --split-by part "
            f"--every-prompt --order contradiction --nli {_NLI[checker]} "
            '--scorers "claims(checker=nli,extractor=given,merge=any)"',
            reason=_REFERENCES,
            printed=(),
        )
        for checker in _CHECKERS
    ]


ENTRIES = (
    Entry(
        "RefChecker figures 11 and 12",
        "Shares of labels and abstain rates by setting, mean of seven models; the models ranked",
        "RefChecker's human annotations: 2 100 responses, 195 of them without a claim",
        "regenerated",
        command="veridical rank DATA/refchecker --suite refchecker_responses --split-by part "
        "--every-prompt --order contradiction --scorers people",
        reason="shares are means over responses that make claims, abstain is the share of all "
        "(appendix A.4)",
        whole=True,
        printed=(
            "figure 11, section 3.3: contradictions are 25 % without context, 13 % with noisy and "
            "6 % with accurate context",
        ),
    ),
    Entry(
        "RefChecker table 9, label counts",
        "Claims in each setting; the share of the largest class where the table gives it",
        _DATA,
        "regenerated",
        command="veridical bench refchecker --data DATA/refchecker",
        reason="the table counts the Neutral labels only, the largest class of zero context; the "
        "predictions it breaks down are Claude 2's, proprietary",
        figures=(
            *by_split("refchecker", "n_total", "", zip(SPLITS, CLAIMS, strict=True)),
            Figure(
                "refchecker",
                "zero_context",
                "accuracy",
                "majority",
                round(NEUTRAL_ZERO_CONTEXT / CLAIMS[0], 6),
            ),
        ),
    ),
    *_checking(),
    *_granularity(),
    *_pipelines(),
    *_rankings(),
    Entry(
        "RefChecker tables 5, 7, 8, RepC and other Mistral rows",
        "Three-way checking of claims against references",
        _DATA,
        "not possible",
        reason="models of 7 billion parameters, their classifiers published as pickles; `veridical "
        f"train repc` makes such a checker of any local model; here by SmolLM2: {_REPC}",
    ),
    Entry(
        "RefChecker figures 17 and 18",
        "RepC by layer, and by the number of training pairs",
        _DATA,
        "not possible",
        reason="they were made with a model of 7 billion parameters, on claims whose references "
        "are not distributed. `veridical train repc` chooses among the layers of any local model, "
        "and `--pairs` says how many pairs it is trained on. For SmolLM2 on NLI pairs figure 17's "
        "finding holds, that the best layer is not the last. Figure 18's does not, that an SVM "
        f"needs fewer pairs than a network: {_REPC}",
    ),
    Entry(
        "RefChecker tables 5, 7, 8, GPT-4 and Claude 2 rows",
        "Three-way checking of claims by proprietary models",
        _DATA,
        "not possible",
        reason="proprietary models; their labels are not published",
    ),
    Entry(
        "RefChecker tables 2 and 10 to 12, figure 6, all other rows",
        "Whole pipelines against other systems, by response",
        _DATA,
        "not possible",
        reason="they rest on proprietary extractors or checkers whose output is not published, or "
        "on an extractor that is no longer distributed",
    ),
    Entry(
        "RefChecker tables 3 and 4",
        "Quality of claim extraction",
        "responses of the benchmark",
        "not possible",
        reason="the judgements of GPT-4 Turbo and of annotators are not published. The paper's "
        "judge completes missing claims and counts them. `veridical bench extraction` compares "
        "with people's claims by an NLI model instead: its precision is comparable, its recall is "
        "another figure, the share of people's claims that the extracted ones together entail, so "
        "that the whole response as one claim loses nothing. Extractors without a model: "
        "[evidence/claims-extraction.md](evidence/claims-extraction.md); a trained one: "
        "[claim-methods.md](evidence/claim-methods.md#an-extractor-distilled-from-an-llm)",
    ),
    Entry(
        "RefChecker figures 13 and 14",
        "How much of a claim is copied from its context, and its label",
        "responses with context",
        "not possible",
        reason="the contexts (MS MARCO, Dolly) are not distributed with the labels; `veridical "
        "study refchecker copying` measures the same of answers with contexts: on BEGIN in "
        f"[{_STUDIES}]({_STUDIES}#copied-words-figure-14)",
    ),
    Entry(
        "RefChecker table 13",
        "Pipelines on WikiBio-GPT3, 237 passages",
        "WikiBio-GPT3",
        "not possible",
        reason="every extractor is proprietary or no longer distributed, and the copy of the data "
        "that this rests on has half of the reference texts; here pipelines without a language "
        "model, on that half: [evidence/claims-wikibio.md](evidence/claims-wikibio.md)",
    ),
    Entry(
        "RefChecker tables 14 to 16",
        "What checkers say when the reference is withheld",
        "triplets and questions",
        "not possible",
        reason="proprietary checkers; the triplets and predictions are not published. `veridical "
        "study refchecker masked` withholds the words in the same way: on BEGIN, by the embedded "
        f"NLI models, in [{_STUDIES}]({_STUDIES}#masked-contexts-tables-14-to-16)",
    ),
    Entry(
        "RefChecker figures 21 and 22",
        "Whether the answering models know what their triplets say (D.1), with accurate and noisy "
        "context",
        "triplets of seven models",
        "not possible",
        reason="the seven models are asked by questions that GPT-4 Turbo writes of the triplets "
        "(figure 19); neither the questions nor the answers are published, some of the models are "
        "proprietary, and this study is not part of the package. `benchmarks/own_knowledge.py` "
        "asks a local model about the statements that it wrote itself",
    ),
    Entry(
        "RefChecker table 6",
        "Settings, sources, tasks and references of the benchmark",
        "Natural Questions, MS MARCO, Dolly: 100 questions each",
        "not possible",
        reason="the table describes the sources and has no figure. The labels have 100 ids in each "
        "setting, as the paper says; questions and references are not distributed with them: "
        "`veridical study refchecker references` makes both from the corpora",
    ),
)

NOTES = tuple(
    Note(
        "refchecker",
        f"less accurate than this row: {below} of the 9 checkers of the paper's table 5",
        splits=(split,),
        metrics=("accuracy",),
        scorers=("majority",),
    )
    for split, below in (("noisy_context", 8), ("accurate_context", 7), ("zero_context", 1))
)
