"""Manakul et al. 2023, SelfCheckGPT: WikiBio-GPT3. Areas are trapezoids of the PR curve."""

from __future__ import annotations

from veridical.evaluate.published.table import Entry, Figure, Note, wikibio_row

PAPER = "SelfCheckGPT"
_DATA = "WikiBio-GPT3: 238 passages, 1908 labelled sentences, 20 samples each"
_BENCH = "veridical bench wikibio --data DATA/wikibio_gpt3"
_NGRAMS = ", ".join(
    f"ngram(n={n}, stat={stat}, counting=paper)" for stat in ("avg", "max") for n in range(1, 6)
)
_ROBERTA = "roberta-large"

#: Table 7 by scorer: NonFact, NonFact*, Factual, Pearson, Spearman.
NGRAM_ROWS = {
    "ngram(counting=paper,stat=avg)": "81.52 40.33 41.76 40.68 39.22",
    "ngram(counting=paper,n=2,stat=avg)": "82.94 44.38 52.81 58.84 58.11",
    "ngram(counting=paper,n=3,stat=avg)": "83.56 44.64 53.99 62.21 63.00",
    "ngram(counting=paper,n=4,stat=avg)": "83.80 43.55 54.25 61.98 63.64",
    "ngram(counting=paper,n=5,stat=avg)": "83.45 42.31 53.98 60.68 62.96",
    "ngram(counting=paper)": "85.63 41.04 58.47 64.71 64.91",
    "ngram(counting=paper,n=2)": "85.26 39.29 58.29 62.48 66.04",
    "ngram(counting=paper,n=3)": "84.97 37.10 57.08 57.34 60.49",
    "ngram(counting=paper,n=4)": "84.49 36.37 55.96 55.77 57.25",
    "ngram(counting=paper,n=5)": "84.12 36.19 54.89 54.84 55.97",
}
#: Table 3, WikiBio+Prompt: one reference, so that a sentence's score is 0, 0.5 or 1.
WIKIBIO_PROMPT = "93.59 65.26 73.11 85.90 86.11"
_UNIGRAM = wikibio_row("ngram(counting=paper)", NGRAM_ROWS["ngram(counting=paper)"])
_NLI = wikibio_row(
    "selfcheck_nli(order=code)",
    "92.50 45.17 66.08 74.14 73.78",
    model="potsawee/deberta-v3-large-mnli",
)
_BERTSCORE = wikibio_row(
    "selfcheck_bertscore(baseline=0.8312)", "81.96 45.96 44.23 58.18 55.90", model=_ROBERTA
)

ENTRIES = (
    Entry(
        "SelfCheckGPT table 1",
        "Size of the data and shares of the labels",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "ngram(counting=paper)"',
        reason="tokens per passage (184.7 by GPT-2's tokenizer) are not counted",
        figures=(
            Figure("wikibio", "passage", "n_total", "", 238),
            Figure("wikibio", "nonfact", "n_total", "", 1908),
            Figure("wikibio", "nonfact", "prevalence", "", 0.73),
            Figure("wikibio", "factual", "prevalence", "", 0.27),
        ),
    ),
    Entry(
        "SelfCheckGPT table 7",
        "n-gram models of order 1 to 5, average and maximum",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "{_NGRAMS}"',
        reason="ours by the built-in tokenizer, the paper's by spaCy's (tokenizer=spacy)",
        figures=tuple(f for key, row in NGRAM_ROWS.items() for f in wikibio_row(key, row)),
    ),
    Entry(
        "SelfCheckGPT tables 2, 3 and 4, unigram (max) row",
        "The n-gram row of the main comparison",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "ngram(n=1, stat=max, counting=paper)"',
        figures=_UNIGRAM,
    ),
    Entry(
        "SelfCheckGPT table 2, random row",
        "A random order of the sentences",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "ngram(counting=paper)"',
        figures=wikibio_row("random", "72.96 29.72 27.04 - -"),
    ),
    Entry(
        "SelfCheckGPT figures 5, 7 and 8, n-gram curves",
        "Precision by recall, and the figures by the number of samples",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "ngram(counting=paper)" --samples 2,4,6,8,10,20 '
        "--report report.html",
        reason="the paper draws these and prints no numbers to compare with",
    ),
    Entry(
        "SelfCheckGPT tables 2 and 3, BERTScore row",
        "Sentences looked for in the samples by BERTScore, roberta-large",
        _DATA,
        "named model",
        command=f'{_BENCH} --scorers "selfcheck_bertscore(baseline=0.8312)" '
        "--token-encoder 'torch:roberta-large?layer=17'",
        reason="CheckEmbed's tables 3 and 5 print 57.4 / 54.6 for the same method",
        figures=_BERTSCORE,
    ),
    Entry(
        "SelfCheckGPT tables 2 to 4, NLI rows",
        "deberta-v3-large fine-tuned on MNLI, with a head of two classes",
        _DATA,
        "named model",
        command=f'{_BENCH} --scorers "selfcheck_nli(order=code)" '
        "--nli potsawee/deberta-v3-large-mnli",
        reason="the paper names the sample as the premise; its figures come from the code, which "
        "has it the other way round. Weights are read from safetensors only",
        figures=_NLI,
    ),
    Entry(
        "SelfCheckGPT tables 2, 3 and 5, QA rows",
        "Multiple-choice question answering: four models, questions drawn at random",
        _DATA,
        "named model",
        reason="needs the scorer selfcheck_qa, not in this version",
    ),
    Entry(
        "SelfCheckGPT tables 2 and 8, figure 9, proxy models",
        "Probabilities and entropies of LLaMA, OPT, GPT-J and NeoX",
        _DATA,
        "named model",
        reason="needs the scorers avg_logprob, max_logprob, avg_entropy and max_entropy with a "
        "proxy model, not in this version",
    ),
    Entry(
        "SelfCheckGPT table 2, GPT-3 probabilities",
        "text-davinci-003's own token probabilities",
        _DATA,
        "not possible",
        reason="the probabilities are not part of the data set and the model is withdrawn",
    ),
    Entry(
        "SelfCheckGPT tables 2, 4 and 6, prompt rows",
        "Yes or no asked of GPT-3 and ChatGPT",
        _DATA,
        "not possible",
        reason="proprietary models, since changed or withdrawn; their answers are not published",
    ),
    Entry(
        "SelfCheckGPT table 3, WikiBio rows",
        "The first Wikipedia paragraph in place of the samples",
        _DATA,
        "not possible",
        reason="the paragraph (wiki_bio_text) is missing for half of the passages in the data "
        "used here; rows other than the n-gram one need models besides",
    ),
)

NOTES = (
    Note(
        "wikibio",
        "the trapezoid rewards ties: a constant score reaches 0.865",
        splits=("nonfact",),
        metrics=("trapezoid_pr",),
        beside_figures=True,
    ),
    Note(
        "wikibio",
        "the trapezoid rewards ties: a constant score reaches 0.649, above every figure of the "
        "paper's table 2",
        splits=("nonfact_star",),
        metrics=("trapezoid_pr",),
        beside_figures=True,
    ),
    Note(
        "wikibio",
        "the trapezoid rewards ties: a constant score reaches 0.635",
        splits=("factual",),
        metrics=("trapezoid_pr",),
        beside_figures=True,
    ),
)
