"""Rows of the headline table in ``reproduction.md``."""

from __future__ import annotations

from typing import NamedTuple


class HeadlineRow(NamedTuple):
    """Leading figure of a paper, with the one measured here.

    Attributes:
        published: the paper's figure, and its scope if ours has another.
        ours: the figures measured here, as ``page`` prints them; empty if not measured.
        interval: 95 % interval of the first of ``ours``, if the page has one.
        size: data and models of ``ours``; if not measured, what is missing.
        minutes: on two cores shared with other work; None if not timed.
        page: the page below ``docs`` that prints ``ours``, and its section.
        note: caution for the comparison.
    """

    paper: str
    headline: str
    published: str
    ours: tuple[str, ...]
    interval: tuple[str, str] | None
    size: str
    command: str = ""
    minutes: str | None = None
    page: str = ""
    note: str = ""


_FORMS = "evidence/published-forms.md"
_STUDIES = "evidence/studies.md"
_LOCAL = "evidence/local-llm.md"
_TUNED = "evidence/tuned-ensemble.md"
_SETS = "evidence/wikibio-begin-halueval.md"
_GRID = "evidence/mirage-grid.md"

_WIKIBIO = "veridical bench wikibio --data DATA/wikibio_gpt3"
_QWEN = "--llm local:qwen-1.5b"
_GRID_COMMAND = "python benchmarks/mirage_grid.py --data DATA --out FOLDER"
_QA = (
    "veridical bench qa --data DATA/qa --limit 16 --n 5 --max-tokens 220 --llm local:qwen-1.5b "
    '--scorers "exact_match, noncontradiction, semantic_negentropy, bert_score, cosine, judge, '
    'bsdetector" --tuned --seed 0 --min-coverage 0'
)
_NLI_COMMAND = (
    f'{_WIKIBIO} --samples 4 --nli mini --scorers "selfcheck_nli(order=code, texts=plain)"'
)
_NLI_PAGE = f"{_FORMS}#selfcheckgpts-nli-in-the-published-form-all-238-passages-4-samples"
_GSM8K = (
    "veridical bench qa --data DATA/qa/gsm8k_example_model_solutions.jsonl --limit 120 --nli mini "
    '--scorers "exact_match, noncontradiction, semantic_negentropy, bert_score, cosine" '
    "--paper-forms --tuned --seed 0 --min-coverage 0"
)
_GSM8K_PAGE = f"{_TUNED}#gsm8k-graded-solutions-of-four-models-120-questions"
_OLD_NLI = "NLI weights that have been replaced"

CHECKEMBED = (
    HeadlineRow(
        "CheckEmbed",
        "tables 3 and 6: passages of WikiBio, Spearman, 16 samples",
        "0.729 (400 million parameters) to 0.762 (7 billion)",
        ("0.616",),
        ("0.534", "0.693"),
        "238 passages; all-MiniLM-L6-v2 (22 million parameters)",
        f'{_WIKIBIO} --split passage --samples 16 --scorers "checkembed(judged=samples, '
        'stat=frobenius)"',
        "3",
        f"{_FORMS}#checkembed-by-the-number-of-samples-all-238-passages",
    ),
    HeadlineRow(
        "CheckEmbed",
        "table 3: passages of WikiBio by the BERTScore matrix, Spearman",
        "0.679 (DeBERTa-xlarge, 238 passages)",
        ("0.685",),
        ("0.506", "0.803"),
        "60 passages, 20 samples; all-MiniLM-L6-v2",
        f'{_WIKIBIO} --split passage --limit 60 --scorers "bert_score(form=matrix)"',
        "7",
        f"{_FORMS}#bertscore-matrix-and-checkembed-60-passages-20-samples",
    ),
    HeadlineRow(
        "CheckEmbed",
        "figures 2 and 9: similar and different passages separated",
        "little or no overlap",
        ("0.800",),
        ("0.250", "1.000"),
        "AUROC of 5 and 11 pairs by Qwen2.5-Coder-1.5B, two topics",
        f"veridical study checkembed pairs {_QWEN} --limit 2 --n 3 --max-tokens 200",
        "3.5",
        f"{_STUDIES}#similar-and-different-passages",
    ),
    HeadlineRow(
        "CheckEmbed",
        "figure 17: scientific texts with one error separated from those without",
        "no overlap (GPT-4o)",
        ("0.667",),
        ("0.667", "1.000"),
        "AUROC of 6 and 6 passages by Qwen2.5-Coder-1.5B, two topics",
        f"veridical study checkembed errors {_QWEN} --limit 2 --n 3 --errors 1 "
        "--about scientific --max-tokens 256",
        None,
        f"{_STUDIES}#a-single-error-qwen25-coder-15b-2-topics-3-passages-each",
    ),
    HeadlineRow(
        "CheckEmbed",
        "the same, the error being put in by rule",
        "no overlap (GPT-4o)",
        ("0.536", "0.785"),
        ("0.507", "0.585"),
        "AUROC of 24 and 24 texts by Qwen2.5-Coder-0.5B, eight topics, with one error and with "
        "ten; all-MiniLM-L6-v2",
        "python benchmarks/rule_errors.py measure answers.jsonl",
        "15",
        f"{_STUDIES}#errors-put-in-by-rule-8-scientific-topics-and-2-contracts",
    ),
    HeadlineRow(
        "CheckEmbed",
        "figures 6 and 14 to 16: the baselines' time over CheckEmbed's",
        "30 to 300 times, whatever the samples and their length (GPUs)",
        ("9 to 43 times",),
        None,
        "`selfcheck_nli` by the embedded encoder; BERTScore takes as long as CheckEmbed",
        "veridical study checkembed runtime --ks 2,4,8 --lengths 100,300 --embedders minilm",
        "4",
        f"{_STUDIES}#running-times",
        "two cores, no GPU",
    ),
    HeadlineRow(
        "CheckEmbed",
        "table 7: F1 of right responses, RAGTruth (Summary, QA, Data-to-Text)",
        "0.854, 0.893, 0.528",
        (),
        None,
        "not measured: the ten samples of each prompt are in a file too large for this project. "
        "Calling every response right has 0.872, 0.902 and 0.526",
        'veridical bench graded --data FILE --scorers "checkembed(judged=samples, '
        'stat=frobenius)" --threshold 0.5',
    ),
    HeadlineRow(
        "CheckEmbed",
        "table 5: passages of WikiBio judged from 0 to 100 by an LLM, Spearman",
        "0.394 (GPT-4o), 0.029 (Llama-3.1-8B)",
        ("constant",),
        None,
        "8 passages; Qwen2.5-Coder-1.5B gives all the same number",
        f'{_WIKIBIO} --limit 8 --scorers "judge(template=checkembed_wikibio)" {_QWEN}',
        None,
        f"{_LOCAL}#selfcheckgpts-prompt-and-checkembeds-judge-on-wikibio-8-passages-4-samples",
    ),
)

UQLM = (
    HeadlineRow(
        "UQLM",
        "table 1: F1 of right answers, tuned ensemble, six sets",
        "0.384 to 0.933 (GPT-3.5, 1 000 questions a set)",
        (".548",),
        (".383", ".689"),
        "80 answers by Qwen2.5-Coder-1.5B to five sets, together; calling every answer right "
        "has 0.400",
        _QA,
        "50",
        f"{_TUNED}#all-80-answers-together",
        _OLD_NLI,
    ),
    HeadlineRow(
        "UQLM",
        "table 1: the tuned ensemble's F1 over its best component's",
        "0.009 to 0.022 more on three of six sets, in-domain",
        (".118",),
        ("-.044", ".286"),
        "the same 80 answers, fitted on other folds",
        _QA,
        "50",
        _TUNED,
        _OLD_NLI,
    ),
    HeadlineRow(
        "UQLM",
        "figure 2: AUROC of the tuned ensemble by set",
        "0.65 to 0.84",
        (".733",),
        None,
        "the same 80 answers",
        _QA,
        "50",
        f"{_TUNED}#all-80-answers-together",
        _OLD_NLI,
    ),
    HeadlineRow(
        "UQLM",
        "figure 1: share of right answers in the top decile of confidence, GSM8K",
        "0.62 (0.22 of all answers; GPT-3.5)",
        (".750", ".233"),
        (".468", ".911"),
        "120 solutions by the 6b model, .233 of them right; three other models are its samples",
        _GSM8K,
        "9",
        _GSM8K_PAGE,
        "without judges; fitted on other folds",
    ),
    HeadlineRow(
        "UQLM",
        "figure 2: AUROC of the tuned ensemble, GSM8K",
        "0.65 to 0.84 by set",
        (".783",),
        (".677", ".893"),
        "the same; three other models: .768, .773 and .634",
        _GSM8K,
        "9",
        _GSM8K_PAGE,
        "without judges; fitted on other folds",
    ),
)

REFCHECKER = (
    HeadlineRow(
        "RefChecker",
        "figure 11: claims contradicted without context, with noisy and with accurate context",
        "25 %, 13 %, 6 %",
        ("0.2517", "0.1281", "0.0583"),
        None,
        "all 2 100 responses, human labels",
        "veridical rank DATA/refchecker --suite refchecker_responses --split-by part "
        "--every-prompt --order contradiction --scorers people",
        "1",
        "reproduction.md#refchecker-figures-11-and-12",
    ),
    HeadlineRow(
        "RefChecker",
        "figure 5: checking triplets instead of the whole response",
        "10 points of macro-F1 more (mean of seven checkers)",
        (".901", ".883"),
        None,
        "average precision of clauses and of whole responses, BEGIN wow/test, 3 601; other data, "
        "as the references are not distributed",
        'veridical bench begin --data DATA/begin --scorers "claims(extractor=response, '
        'checker=nli), claims(checker=nli)"',
        None,
        "evidence/claim-methods.md#granularity-of-claims",
        _OLD_NLI,
    ),
    HeadlineRow(
        "RefChecker",
        "table 5: macro-F1 of RepC",
        "0.601 (SVM over all layers of Mistral 7B, mean of three settings)",
        ("0.438",),
        None,
        "SVM over all layers of SmolLM2 (135 million parameters), 1 400 NLI pairs of seven files; "
        "a constant has 0.206; other data, as the references are not distributed",
        "veridical train repc PAIRS.jsonl --proxy smollm2 --test DEV.jsonl --out repc.json",
        None,
        "evidence/claim-methods.md#repc-hidden-states-of-a-language-model-as-checker",
    ),
    HeadlineRow(
        "RefChecker",
        "table 2: correlation with people over the best other system",
        "6.8 to 26.1 points",
        (),
        None,
        "not measured: references, extractors and the other systems' output are not distributed",
    ),
    HeadlineRow(
        "RefChecker",
        "table 13: passages of WikiBio, Spearman",
        "0.797 (Mistral extractor, NLI checker, 237 passages)",
        ("0.704",),
        ("0.585", "0.797"),
        "119 passages with a reference text; clauses by rule, embedded NLI and words",
        f'{_WIKIBIO} --against reference --scorers "claims(aggregate=soft)"',
        None,
        "evidence/claims-wikibio.md",
        _OLD_NLI,
    ),
)

SELFCHECKGPT = (
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, unigram: NonFact, area under the curve",
        "0.856",
        ("0.856",),
        ("0.822", "0.886"),
        "238 passages, 1 908 sentences, 20 samples",
        f'{_WIKIBIO} --scorers "ngram(counting=paper)"',
        "1",
        f"{_FORMS}#selfcheckgpts-unigram-all-238-passages",
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, unigram: passages, Spearman",
        "0.649",
        ("0.649",),
        ("0.555", "0.734"),
        "the same",
        f'{_WIKIBIO} --scorers "ngram(counting=paper)"',
        "1",
        f"{_FORMS}#selfcheckgpts-unigram-all-238-passages",
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, BERTScore: NonFact, area under the curve",
        "0.820",
        ("0.838",),
        ("0.805", "0.872"),
        "the same; all-MiniLM-L6-v2",
        f'{_WIKIBIO} --scorers "selfcheck_bertscore"',
        None,
        _SETS,
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, BERTScore: passages, Spearman",
        "0.559",
        ("0.638",),
        ("0.549", "0.719"),
        "the same",
        f'{_WIKIBIO} --scorers "selfcheck_bertscore"',
        None,
        _SETS,
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, NLI: NonFact, area under the curve",
        "0.925 (DeBERTa-large, 20 samples)",
        ("0.832",),
        ("0.800", "0.862"),
        "238 passages, 4 samples; veridical-nli-mini (49 million parameters), order of the code",
        _NLI_COMMAND,
        "24",
        _NLI_PAGE,
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, NLI: NonFact*, area under the curve",
        "0.452 (DeBERTa-large, 20 samples)",
        ("0.320",),
        ("0.278", "0.366"),
        "the same",
        _NLI_COMMAND,
        "24",
        _NLI_PAGE,
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, NLI: passages, Pearson",
        "0.741 (DeBERTa-large, 20 samples)",
        ("0.338",),
        ("0.187", "0.482"),
        "the same",
        _NLI_COMMAND,
        "24",
        _NLI_PAGE,
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, Prompt: NonFact, area under the curve",
        "0.934 (ChatGPT, 238 passages, 20 samples)",
        ("0.898",),
        ("0.840", "0.945"),
        "40 passages, 344 sentences, 4 samples; Qwen2.5-Coder-1.5B; length has 0.777",
        f'{_WIKIBIO} --limit 40 --samples 4 --scorers "selfcheck_prompt" {_QWEN}',
        "70",
        f"{_FORMS}#selfcheckgpts-prompt-40-passages-4-samples",
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 2, Prompt: NonFact*, area under the curve",
        "0.532 (ChatGPT, 238 passages, 20 samples)",
        ("0.492",),
        ("0.357", "0.614"),
        "the same, 301 sentences; length has 0.310",
        f'{_WIKIBIO} --limit 40 --samples 4 --scorers "selfcheck_prompt" {_QWEN}',
        "70",
        f"{_FORMS}#selfcheckgpts-prompt-40-passages-4-samples",
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 4, Prompt with 4 samples: passages, Spearman",
        "0.764 (ChatGPT, 238 passages)",
        ("0.631",),
        ("0.372", "0.826"),
        "the same",
        f'{_WIKIBIO} --limit 40 --samples 4 --scorers "selfcheck_prompt" {_QWEN}',
        "70",
        f"{_FORMS}#selfcheckgpts-prompt-40-passages-4-samples",
    ),
    HeadlineRow(
        "SelfCheckGPT",
        "table 8, average log-probability by a proxy: passages, Spearman",
        "0.202 (llama-30b), -0.390 (opt-1.3b)",
        ("-0.363",),
        ("-0.63", "0.01"),
        "40 passages; Qwen2.5-Coder-1.5B",
        f'{_WIKIBIO} --limit 40 --scorers "avg_logprob" --proxy qwen-1.5b',
        None,
        f"{_LOCAL}#read-by-qwen-15b-on-wikibio-40-passages-20-samples",
    ),
)

MIRAGE = (
    HeadlineRow(
        "Mirage",
        "table 9: Knowledge-F1 on BEGIN wow/test, area under the curve",
        "0.43, by the inverted score",
        ("0.4343", "0.8947"),
        None,
        "3 601 responses: inverted, and not inverted",
        "veridical bench begin --data DATA/begin --scorers knowledge_f1 --study --as-published",
        "1",
        "reproduction.md#mirage-table-9-knowledge-f1-on-begin",
    ),
    HeadlineRow(
        "Mirage",
        "table 1: an LLM as judge is the best detector; area under the curve, BEGIN wow/test",
        "0.77 (gpt-4o-mini; mean of five sets 0.74)",
        ("0.821",),
        ("0.62", "0.95"),
        "24 responses of wow/dev; Qwen2.5-Coder-1.5B; `knowledge_f1` has more",
        "veridical bench begin --data DATA/begin --split wow/dev --limit 24 --scorers "
        f'"judge(template=mirage_begin)" {_QWEN}',
        None,
        f"{_LOCAL}#judges-on-begin-24-responses-of-wowdev",
    ),
    HeadlineRow(
        "Mirage",
        "table 1: an ensemble by factor analysis (FAMD) is the second best",
        "0.72 (mean of five sets, a judge among its five scorers)",
        ("89.3",),
        ("88.3", "90.2"),
        "AUROC times 100, BEGIN wow/test, of scorers without a judge; `nli_grounding`, one of "
        "them, has 88.3",
        "python benchmarks/ensembles.py --data DATA --part begin",
        None,
        "evidence/ensembles.md",
        _OLD_NLI,
    ),
    HeadlineRow(
        "Mirage",
        "figures 1 and 6: metrics correlate little with each other, Spearman",
        "weak to none",
        (".14",),
        None,
        "at most, between meaning and words, 20 questions; by the knowledge it is .42 to .75",
        _GRID_COMMAND,
        "21",
        _GRID,
    ),
    HeadlineRow(
        "Mirage",
        "figures 4, 11, 12: greedy decoding and beams hallucinate less than draws",
        "less by most metrics (paired tests)",
        ("< .001",),
        None,
        "p (Holm) of eight scorers of nine, .003 of the ninth; three models, 20 prompts of BEGIN, "
        "five decodings. On questions, words and probabilities alone",
        _GRID_COMMAND,
        "21",
        _GRID,
    ),
    HeadlineRow(
        "Mirage",
        "figure 3: metrics do not improve steadily with size",
        "no trend over 125 million to 70 billion parameters",
        (),
        None,
        "not shown: 20 prompts a set and models of two families tell large differences only",
        _GRID_COMMAND,
        "21",
        _GRID,
    ),
    HeadlineRow(
        "Mirage",
        "figure 4: instruction tuning hallucinates less",
        "less by most metrics (paired tests)",
        (),
        None,
        "not measured: no base model of an instruction-tuned one is available",
    ),
)

HEADLINES = (*CHECKEMBED, *UQLM, *REFCHECKER, *SELFCHECKGPT, *MIRAGE)
