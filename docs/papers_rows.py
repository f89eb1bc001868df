"""Rows of ``coverage.md``: the items of the five papers."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """Item of a system, and its place here; without a place, the note gives the reason.

    Attributes:
        figures: pages below ``docs`` with figures measured here, each with its section and, after a
            blank, their subject; or "none of ...". None: those whose tables have the scorers.
        tests: used instead of the tests of the files.
    """

    what: str
    here: tuple[str, ...] = ()
    note: str = ""
    figures: tuple[str, ...] | None = None
    tests: tuple[str, ...] = ()


def _row(
    what: str,
    *here: str,
    note: str = "",
    figures: tuple[str, ...] | None = None,
    tests: tuple[str, ...] = (),
) -> Row:
    return Row(what, here, note, figures, tests)


_STUDIES = "evidence/studies.md"
_PAIRS = f"{_STUDIES}#similar-and-different-passages"
_RULE_ERRORS = f"{_STUDIES}#errors-put-in-by-rule-8-scientific-topics-and-2-contracts"
_TERMS = f"{_STUDIES}#terms-extracted-from-legal-texts"
_COUNTING = f"{_STUDIES}#pictures-of-counted-objects"
_SETS = "evidence/wikibio-begin-halueval.md"
_LOCAL = "evidence/local-llm.md"
_UNCERTAINTY = "evidence/uncertainty-scorers.md"
_FORMS = "evidence/published-forms.md"
_MATRIX = f"{_FORMS}#bertscore-matrix-and-checkembed-60-passages-20-samples"
_TUNED = "evidence/tuned-ensemble.md"
_GSM8K = f"{_TUNED}#gsm8k-graded-solutions-of-four-models-120-questions"
_CURVES = "evidence/summary.md#by-the-number-of-samples"
_VOTES = "evidence/claim-methods.md#several-checkers"
_DISTILLED = "evidence/claim-methods.md#an-extractor-distilled-from-an-llm"
_REPC = "evidence/claim-methods.md#repc-hidden-states-of-a-language-model-as-checker"

SYSTEMS: dict[str, tuple[Row, ...]] = {
    "CheckEmbed": (
        _row(
            "k x k cosine and Pearson matrices, Frobenius norm, std, ground truth",
            "checkembed",
            figures=(
                f"{_STUDIES} cosine: mean, std, norm, ground truth",
                f"{_SETS} cosine: mean",
                f"{_CURVES} cosine: mean",
                f"{_FORMS} cosine and Pearson: norm, by the number of samples",
            ),
        ),
        _row(
            "rebasing by model",
            "checkembed",
            note="`rebase`: the published value of a model, or a number",
            figures=(),
        ),
        _row("BERTScore matrix", "bert_score", figures=(_STUDIES, f"{_MATRIX} WikiBio")),
        _row("SelfCheckGPT over the samples", "selfcheck_bertscore", "selfcheck_nli"),
        _row(
            "judge from 0 to 100, with and without the original",
            "judge(template=checkembed_wikibio)",
            "judge(template=checkembed_wikibio_reference)",
            figures=(f"{_LOCAL} without: the same of all", "none with the original"),
        ),
        _row(
            "HalluDetect's four features, both classifiers",
            "halludetect",
            "veridical train halludetect",
            figures=(f"{_LOCAL} logistic regression", "none of the network"),
        ),
        _row("stages that start anywhere", "veridical sample", "veridical check"),
        _row(
            "similar and different descriptions, precise and generic",
            "veridical study checkembed",
            note="8 topics of each kind of its own; the released code's 50 and 50 are not here",
            figures=(f"{_PAIRS} two topics",),
        ),
        _row(
            "1 to 10 forced errors in passages on a topic (appendix B)",
            "veridical study checkembed",
            note="8 topics of each kind of its own; the 30 of the released code are not here",
            figures=(f"{_STUDIES} scientific", f"{_RULE_ERRORS} by rule", "none of legal topics"),
        ),
        _row(
            "1 to 10 forced errors in summaries of legal documents (figure 4)",
            note="the study asks for passages on topics and shows no document. "
            "`benchmarks/rule_errors.py` puts errors into summaries by rule",
            figures=(f"{_RULE_ERRORS} two contracts",),
        ),
        _row("HaloCheck", "halocheck", note="both orders; the response is one of the answers"),
        _row("legal terms", "veridical study checkembed", figures=(f"{_TERMS} three chunks",)),
        _row(
            "runtime by samples, length and embedder",
            "veridical study checkembed",
            figures=(f"{_STUDIES}#running-times by samples, length and embedder",),
        ),
        _row(
            "heat maps, violins, bars",
            "veridical_lab.bench.report.plots_matrix",
            "veridical_lab.bench.report.plots_violin",
        ),
        _row(
            "RAGTruth and WikiBio",
            "veridical_lab.bench.datasets.ragtruth",
            "veridical_lab.bench.datasets.wikibio",
            figures=(
                "reproduction.md#checkembed-table-7-the-line-to-beat RAGTruth",
                "reproduction.md#selfcheckgpt-table-1 WikiBio",
            ),
        ),
        _row(
            "images: CLIP embeddings",
            "checkembed",
            "veridical.models.images.torch",
            note="`of=images`, `--image-embedder`; an encoder is embedded",
            figures=(f"{_COUNTING} by the embedded encoder", "none of CLIP"),
            tests=(
                "tests/scorers/consistency/test_image_scorers.py",
                "tests/models/images/test_image_models.py",
            ),
        ),
        _row(
            "images of counted objects",
            "veridical_lab.studies.checkembed.counting",
            note="drawn by code in place of Stable Diffusion 3.5",
            figures=(_COUNTING,),
        ),
        _row(
            "COMET-style and BLEU matrices",
            "veridical_lab.studies.checkembed.matrices",
            figures=(_STUDIES,),
        ),
    ),
    "UQLM": (
        _row("exact match", "exact_match"),
        _row("non-contradiction, entailment", "noncontradiction", "entailment"),
        _row(
            "semantic entropy, its negentropy, sets, density",
            "semantic_entropy",
            "semantic_negentropy",
            "semantic_sets",
            "semantic_density",
        ),
        _row("BERTScore, cosine, BLEURT", "bert_score", "cosine", "bleurt"),
        _row(
            "best answer by the most probable meaning",
            "cluster_probability",
            "veridical.decide.selection",
            figures=(
                f"{_UNCERTAINTY} its probability as a risk",
                f"{_UNCERTAINTY}#gsm8k-which-of-four-answers-to-give the selected answers",
            ),
        ),
        _row(
            "token probabilities: smallest, sequence, margin, negentropies",
            "min_probability",
            "sequence_probability",
            "probability_margin",
            "token_negentropy",
        ),
        _row(
            "Monte Carlo probability, CoCoA, P(True)", "monte_carlo_probability", "cocoa", "p_true"
        ),
        _row(
            "judges: yes/no, with uncertain, 0 to 100, Likert, explanations",
            "judge",
            figures=(
                f"{_LOCAL} with uncertain, Likert",
                f"{_TUNED} with uncertain",
                "none of the others",
            ),
        ),
        _row(
            "panel of judges",
            "panel",
            note="`panel(repeats=5)` reports how often a judge contradicts itself",
        ),
        _row(
            "commentator judges (section 2.3)",
            note="related work, not used: two models comment for a third that judges. "
            "`panel(explanations=true)` keeps each judge's reasons, and shows none to another",
        ),
        _row(
            "diversity of the samples (section 2.1)",
            note="related work, not used: the share of distinct samples, whatever the response is. "
            "`semantic_sets` is the same of meanings",
        ),
        _row(
            "METEOR (section 2.1)",
            note="related work, not used: it needs WordNet's synonyms, which are not shipped. "
            "`rouge_l` and `sacrebleu` compare words, `bert_score` and `cosine` paraphrases",
        ),
        _row("BSDetector", "bsdetector"),
        _row(
            "tunable ensemble: objectives, grid, threshold",
            "veridical tune",
            "ensemble",
            figures=(_TUNED, f"{_GSM8K} accuracy by confidence", "evidence/ensembles.md"),
        ),
        _row(
            "graders of answers",
            "veridical.tuning.graders.llm",
            "veridical.tuning.graders.numeric",
            figures=("evidence/benchmarks.md#graders by numbers and by words", "none of the LLM"),
        ),
        _row(
            "claims by LLM: the prompts of zhang, farquhar, mohri, jiang",
            "extractor llm_zhang",
            "extractor llm_farquhar",
            "extractor llm_mohri",
            "extractor llm_jiang",
        ),
        _row("LUQ, matched units", "luq", "matched_unit"),
        _row(
            "claim graph and its centralities, merged claims",
            "claim_graph",
            figures=(f"{_UNCERTAINTY} claims merged by NLI", "none of claims merged by an LLM"),
        ),
        _row("long-form semantic entropy by questions", "claim_qa"),
        _row("rewriting without weak claims", "veridical.decide.rewriting"),
        _row("FActScore's grading", "factscore"),
        _row(
            "code: functional equivalence, negentropy, sets, CodeBLEU",
            "functional_equivalence",
            "functional_negentropy",
            "functional_sets",
            "codebleu",
            figures=(f"{_UNCERTAINTY} by normal forms", "none of `by=llm`"),
        ),
        _row("verbalised confidence", "verbalized"),
        _row(
            "calibration: Platt, isotonic; ECE, MCE, Brier",
            "veridical.stats.calibration",
            "veridical.stats.metrics.calibration",
            figures=(
                "evidence/default-fit.md#held-out-figures ECE and Brier of the default",
                "evidence/benchmarks.md#reliability-of-intervals-and-tests "
                "intervals of ECE and MCE",
                "none of `tune --calibrate`",
            ),
        ),
        _row("answers cut out by a function", "veridical.core.answer_parts", note="`--answer`"),
        _row(
            "loaders of question sets",
            "veridical_lab.bench.datasets.qa",
            figures=(
                f"{_TUNED} CSQA, NQ-Open, SVAMP, GSM8K, EfficientQA",
                "evidence/benchmarks.md#graders GSM8K, EfficientQA",
            ),
        ),
        _row(
            "images through LangChain",
            "veridical.core.prompt_text",
            note="images of a prompt go to the LLM with it; LangChain's own are not read",
        ),
    ),
    "RefChecker": (
        _row(
            "triplets, with and without the question",
            "extractor llm_triplets",
            figures=(f"{_LOCAL} on BEGIN",),
        ),
        _row(
            "claims of one sentence, with the sentences they come from", "extractor llm_subsentence"
        ),
        _row("triplets, then claims made of them", "extractor llm_chained"),
        _row(
            "extraction without a model",
            "extractor clauses",
            "extractor triplets",
            figures=(
                "evidence/claims-extraction.md",
                _DISTILLED,
                "evidence/claim-methods.md#granularity-of-claims clauses",
            ),
        ),
        _row(
            "checkers: LLM, joint LLM, NLI, AlignScore, RepC",
            "veridical.claims.checkers.llm",
            "veridical.claims.checkers.llm_joint",
            "veridical.claims.checkers.nli",
            "alignscore",
            "veridical_lab.repc.checker",
            figures=(
                f"{_LOCAL} LLM",
                f"{_VOTES} NLI, RepC",
                "evidence/claim-methods.md#granularity-of-claims NLI",
                "none of joint LLM, AlignScore",
            ),
        ),
        _row(
            "LLM checker shown one example (table 5)",
            "veridical.claims.checkers.llm",
            note="`claims(checker=llm, shots=1)`; the example is our own, as none is printed",
            figures=(),
        ),
        _row(
            "LoRA checker (table 5)",
            "statement_judge",
            note="adapters on two small models, `--llm local:checker-0.5b`: they judge sentences, "
            "and are trained by `training/checker_lora.py`; the paper's is Mistral-7B on triplets",
            figures=(),
        ),
        _row(
            "several checkers, the label of most of them",
            "veridical.claims.majority",
            note="neither paper nor code has it: the rule is the code's `major`, over checkers",
            figures=(_VOTES,),
        ),
        _row(
            "extractor distilled from an LLM's triplets",
            "veridical_lab.tagger.extractor",
            "veridical train extractor",
            note="a tagger over the embedded encoder; the paper's of 7 billion runs by `--llm`",
            figures=(_DISTILLED,),
        ),
        _row("RepC trained", "veridical train repc", figures=(_REPC,)),
        _row(
            "long references split and merged, several passages",
            "veridical.claims.merge",
            figures=("evidence/parts.md#long-sources tokens and seconds of `claims`",),
        ),
        _row(
            "strict, soft and majority verdicts, abstain",
            "veridical.claims.aggregate",
            "veridical.claims.abstain",
            figures=(
                "evidence/claims-wikibio.md strict, soft",
                "reproduction.md#refchecker-figures-11-and-12 abstain, by human labels",
                "none of majority",
            ),
        ),
        _row(
            "position of a claim in answer and source (B.3)",
            "veridical.claims.triplets",
            "veridical.claims.embedded_places",
            note="by shared words; with `claims(place=embeddings)` by embeddings where a sentence "
            "lacks half of the claim's words. The paper compares embeddings of spans alone",
            figures=(),
        ),
        _row(
            "search of the web, and of documents of one's own",
            "veridical.retrieval.search",
            "veridical corpus",
            figures=("evidence/parts.md#retrieval documents", "none of the web"),
        ),
        _row(
            "retriever: a query written by an LLM, pages read, the best passages by BM25",
            "veridical.retrieval.query_writing",
            "veridical.retrieval.search_pages",
            note="`--corpus-query llm --corpus-pages 3`; Google's answer box is not put first",
            figures=(
                "evidence/parts.md#a-question-written-by-a-language-model the query",
                "none of pages",
            ),
        ),
        _row(
            "human labels: triplets and responses, rates by model",
            "veridical_lab.bench.datasets.refchecker",
            "veridical_lab.bench.datasets.refchecker_responses",
            "veridical rank",
            figures=(
                "reproduction.md#refchecker-table-9-label-counts triplets",
                "reproduction.md#refchecker-figures-11-and-12 responses, rates",
            ),
        ),
        _row(
            "annotation tool",
            "veridical review",
            note="its format is read and written",
            figures=("evidence/pages.md#review-and-rate seconds",),
        ),
        _row("demo page", "veridical view", figures=("evidence/pages.md#view seconds",)),
        _row(
            "builder of the benchmark: references, prompts, filter of NQ, hard cases",
            "veridical study refchecker references",
            "veridical study refchecker prompts",
            "veridical study refchecker filter",
            "veridical study refchecker hard",
        ),
        _row(
            "copy rate",
            "veridical study refchecker copying",
            figures=(f"{_STUDIES}#copied-words-figure-14",),
        ),
        _row(
            "internal knowledge of checkers, by masked contexts",
            "veridical study refchecker masked",
            note="words are found and masked, not by an LLM",
            figures=(f"{_STUDIES}#masked-contexts-tables-14-to-16",),
        ),
        _row(
            "internal knowledge of the answering models (D.1, figures 21 and 22)",
            "statement_judge",
            note="`benchmarks/own_knowledge.py`: a local model judges its own sentences, without "
            "a source. The paper asks by questions of GPT-4 Turbo, which are not published",
            figures=(f"{_FORMS}#knowledge-of-the-answering-model-16-texts",),
        ),
        _row(
            "RepC by the number of training pairs (figure 18)",
            "veridical train repc",
            figures=("evidence/claim-methods.md#by-the-number-of-training-pairs",),
        ),
    ),
    "SelfCheckGPT": (
        _row("BERTScore", "selfcheck_bertscore"),
        _row(
            "MQAG: counting, Bayes, Bayes with alpha",
            "selfcheck_qa",
            figures=(
                f"{_LOCAL} Bayes with alpha, asked of a chat model",
                f"{_CURVES} Bayes with alpha, curves",
                "none of the published models",
            ),
        ),
        _row(
            "n-grams, average and largest",
            "ngram",
            "ngram(counting=paper)",
            note="the response left out by default",
        ),
        _row("NLI, both orders", "selfcheck_nli", "selfcheck_nli(order=code)"),
        _row(
            "prompt, paper's and package's",
            "selfcheck_prompt",
            figures=(
                f"{_FORMS}#selfcheckgpts-prompt-40-passages-4-samples the paper's",
                f"{_CURVES} the paper's",
                "none of the package's",
            ),
        ),
        _row(
            "two annotators: their cross-table, the worst of their labels (section 6)",
            "veridical.review.agreement",
            "veridical.review.labels",
            note="`review --export`, `--worst`",
            figures=(),
            tests=("tests/review/test_agreement.py", "tests/review/test_export.py"),
        ),
        _row(
            "breakdown of the verdicts of two LLMs (table 6)",
            "veridical.report.results",
            note="`Results.cross_table` of two scorers of a run, by unit; the paper's is by "
            "sentence and sample",
            figures=(),
        ),
        _row(
            "probabilities and entropies of tokens, by a proxy too",
            "avg_logprob",
            "max_logprob",
            "avg_entropy",
            "max_entropy",
        ),
        _row(
            "WikiBio: sentences, passages, curves by number of samples",
            "veridical bench",
            "veridical_lab.bench.curves",
            note="`--samples`",
            figures=(
                f"{_SETS} sentences, passages",
                f"{_CURVES} curves",
                "reproduction.md#selfcheckgpt-figures-5-7-and-8-n-gram-curves curves",
            ),
        ),
    ),
    "Mirage": (
        _row("Knowledge-F1, knowledge BERTScore", "knowledge_f1", "knowledge_bertscore"),
        _row(
            "ROUGE-L, SacreBLEU, BERTScore",
            "rouge_l",
            "sacrebleu",
            "bert_score(against=reference)",
            figures=(
                "reproduction.md#mirage-table-9-rouge-l-and-sacrebleu",
                f"{_SETS} ROUGE-L and SacreBLEU, by WikiBio's reference texts",
                "none of BERTScore with the right answer",
            ),
        ),
        _row("UniEval: consistency, groundedness", "unieval"),
        _row("Q2: token F1, NLI", "q2"),
        _row("Critic", "critic"),
        _row(
            "judge with options A to E",
            "judge(template=mirage_begin)",
            "judge(template=mirage_truthfulqa)",
            "judge(template=mirage_faithdial)",
        ),
        _row(
            "MSP and perplexity",
            "sequence_probability(length_normalize=false)",
            "perplexity",
            note="MSP is the product of the probabilities; by default `sequence_probability` is "
            "their geometric mean, 1 / perplexity",
            figures=("evidence/mirage-grid.md perplexity by decoding and size", "none of MSP"),
        ),
        _row(
            "FAMD of several metrics",
            "famd",
            figures=("evidence/ensembles.md without a judge", f"{_FORMS} with a judge"),
        ),
        _row(
            "five ways of decoding",
            "veridical sample",
            "veridical_lab.sampling.grid",
            figures=("evidence/mirage-grid.md",),
        ),
        _row(
            "tests of factors, chosen by normality",
            "veridical_lab.bench.study.factors",
            "veridical_lab.bench.study.normality",
            figures=("evidence/mirage-grid.md p-values of decoding and size",),
        ),
        _row(
            "alignment with people, between metrics",
            "veridical_lab.bench.study.alignment",
            figures=(f"{_SETS}#meta-evaluation with people",),
        ),
        _row(
            "BEGIN, HaluEval, TruthfulQA, FaithDial",
            "veridical_lab.bench.datasets.begin",
            "veridical_lab.bench.datasets.halueval",
            "veridical_lab.bench.datasets.truthfulqa",
            "veridical_lab.bench.datasets.faithdial",
            figures=(
                f"{_SETS} BEGIN, HaluEval",
                "evidence/requested-scorers.md#factual-correctness TruthfulQA",
                "none of FaithDial",
            ),
        ),
        _row(
            "a grid of 37 models",
            "veridical bench",
            note="`--study --table`; three small models, all instruction-tuned",
            figures=("evidence/mirage-grid.md findings, one by one",),
        ),
    ),
    "Others that users ask for": (
        _row("spectra of graphs of answers", "degree", "eccentricity", "eigv"),
        _row("kernel language entropy, SNNE", "kle", "snne"),
        _row(
            "claim-conditioned probability, SAR, self-certainty, BoostedProb",
            "ccp",
            "sar",
            "token_sar",
            "self_certainty",
            "boosted_prob",
        ),
        _row(
            "LettuceDetect: token classifiers",
            "spans",
            "veridical train spans",
            figures=(
                "../src/veridical/models/data/veridical-nli-mini/README.md words by the NLI model",
                "none of token classifiers",
            ),
        ),
        _row(
            "one answer's token entropies: first token of content (2605.05166), CES (2605.28264)",
            "first_token_entropy",
            "ces",
        ),
        _row(
            "Clustered Self-Assessment (2606.03846)",
            "cluster_choice",
            note="asked in two orders of the options; the published code asks in one",
        ),
        _row("MiniCheck, HHEM, SummaC", "minicheck", "hhem", "summac_zs"),
        _row(
            "Ragas: relevancy, context precision and recall, factual correctness",
            "answer_relevancy",
            "context_precision",
            "context_recall",
            "factual_correctness",
        ),
        _row(
            "G-Eval, GPTScore, BARTScore, Prism, FacTool",
            "g_eval",
            "gpt_score",
            "bart_score",
            "prism",
            "factool",
        ),
        _row(
            "hidden states and attention of the answering model",
            note="needs the model's inside; not here",
        ),
    ),
}
