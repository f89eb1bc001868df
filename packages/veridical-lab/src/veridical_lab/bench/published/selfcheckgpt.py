"""Manakul et al. 2023, SelfCheckGPT: WikiBio-GPT3. Areas are trapezoids of the PR curve."""

from __future__ import annotations

from veridical_lab.bench.published.table import Entry, Figure, Note, fraction, wikibio_row

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
#: Table 8 by model: the rows of PROXY_SCORERS.
PROXY_SCORERS = (
    "avg_logprob",
    "avg_entropy(form=perplexity)",
    "max_logprob",
    "max_entropy(form=perplexity)",
)
PROXY_ROWS = {
    "huggyllama/llama-30b": (
        "75.43 30.32 41.29 21.72 20.20",
        "80.80 39.01 42.97 33.80 39.49",
        "74.01 27.14 31.08 -22.83 -22.71",
        "80.92 37.32 37.90 35.57 38.94",
    ),
    "huggyllama/llama-13b": (
        "74.16 30.01 37.36 13.33 12.89",
        "80.63 38.98 40.59 29.43 33.12",
        "71.12 26.78 28.82 -34.93 -31.70",
        "80.98 37.94 36.01 32.07 34.01",
    ),
    "huggyllama/llama-7b": (
        "71.69 27.87 31.30 -2.71 -2.59",
        "78.67 37.22 33.81 19.44 21.79",
        "69.57 25.91 26.54 -42.57 -38.24",
        "79.65 35.57 31.32 22.10 22.53",
    ),
    "facebook/opt-30b": (
        "67.70 24.43 25.04 -32.07 -31.45",
        "77.13 33.67 29.55 -0.43 3.43",
        "67.32 24.40 24.32 -49.51 -45.50",
        "76.58 33.44 29.31 1.63 6.41",
    ),
    "EleutherAI/gpt-neox-20b": (
        "69.00 24.38 26.18 -31.79 -34.15",
        "77.40 32.78 30.13 5.41 7.43",
        "67.51 23.88 24.82 -47.96 -44.54",
        "76.98 31.96 29.13 5.97 9.31",
    ),
    "facebook/opt-13b": (
        "67.46 24.39 25.20 -33.05 -32.79",
        "76.93 33.71 29.68 0.25 1.39",
        "67.36 24.67 24.46 -50.15 -44.42",
        "76.26 32.81 29.25 1.42 2.82",
    ),
    "EleutherAI/gpt-j-6b": (
        "67.51 24.28 24.26 -38.80 -40.05",
        "76.15 33.29 28.30 -2.50 -1.37",
        "67.58 23.94 23.93 -51.23 -47.68",
        "75.30 32.51 28.13 -2.14 1.41",
    ),
    "facebook/opt-1.3b": (
        "66.19 24.47 23.47 -35.20 -38.95",
        "74.05 31.91 26.33 -10.59 -10.00",
        "68.16 25.85 24.66 -45.60 -42.39",
        "73.79 31.42 26.38 -9.84 -9.80",
    ),
    "facebook/opt-125m": (
        "66.63 25.31 23.07 -30.38 -37.54",
        "71.51 30.88 25.36 -14.16 -13.76",
        "69.23 27.66 24.14 -39.22 -37.18",
        "71.32 31.65 25.36 -18.05 -17.37",
    ),
}
#: Table 3, WikiBio+...: of Prompt, with one reference, a sentence's score is 0, 0.5 or 1.
WIKIBIO_ROWS = {
    "BERT": "81.32 40.62 49.15 58.71 55.80",
    "QA": "84.18 45.40 52.03 57.26 53.62",
    "1gm": "80.43 31.47 40.53 28.67 26.70",
    "NLI": "91.18 48.14 71.61 78.84 80.00",
    "Prompt": "93.59 65.26 73.11 85.90 86.11",
}
WIKIBIO_PROMPT = WIKIBIO_ROWS["Prompt"]
#: The repository's table of balanced accuracies of NonFact and NonFact*, at a threshold of 0.5.
BALANCED_ROWS = {
    "Random": "50.00 50.00",
    "BERTScore": "59.31 63.42",
    "QA": "62.87 60.08",
    "NLI": "70.55 62.15",
    "Prompt": "76.69 65.93",
}
#: The repository's prompt rows by open models: how to load the model, and Pearson of passages.
OPEN_PROMPT_ROWS = {
    "Llama-2-7B-chat": ("ollama:llama2:7b-chat-fp16", "61.52"),
    "Llama-2-13B-chat": ("ollama:llama2:13b-chat-fp16", "75.44"),
    "Mistral-7B-Instruct-v0.2": ("ollama:mistral:7b-instruct-v0.2-fp16", "74.46"),
}
_SAFE = "weights are read from safetensors only"
_HALF = "WikiBio-GPT3: the 119 passages that have wiki_bio_text"
_CURVES = "[evidence/summary.md](evidence/summary.md#by-the-number-of-samples)"
#: The place of the same measurement with embedded models.
HERE_BERTSCORE = (
    "here by the embedded encoder, all passages: "
    "[evidence/wikibio-begin-halueval.md](evidence/wikibio-begin-halueval.md)"
)
HERE_NLI = (
    "Here by the embedded NLI model on all passages, with the sample as the premise: "
    "[evidence/wikibio-nli.md](evidence/wikibio-nli.md). Its trapezoids are 0.908, 0.604 and, on "
    "NonFact*, 0.366. On NonFact* the paper's model has 0.4517, and `ngram` here has an average "
    "precision of 0.451. In the code's order, on 24 passages: "
    "[evidence/published-forms.md](evidence/published-forms.md)"
)
_UNIGRAM = wikibio_row("ngram(counting=paper)", NGRAM_ROWS["ngram(counting=paper)"])
_NLI = wikibio_row(
    "selfcheck_nli(order=code)",
    "92.50 45.17 66.08 74.14 73.78",
    model="potsawee/deberta-v3-large-mnli",
)
#: Table 5, whose last row is also in tables 2 and 3: counts, Bayes, Bayes with soft counts.
QA_ROWS = {
    "selfcheck_qa(method=counting)": "83.97 40.07 47.78 57.39 55.15",
    "selfcheck_qa(method=bayes)": "83.04 38.58 47.41 56.43 55.03",
    "selfcheck_qa": "84.26 40.06 48.14 61.07 59.29",
}
_QA = "potsawee/longformer-large-4096-answering-race"  # with the three that are its defaults
_PROMPT = "selfcheck_prompt(form=published,unclear=half)"
_BERTSCORE = wikibio_row(
    "selfcheck_bertscore(baseline=0.8312)", "81.96 45.96 44.23 58.18 55.90", model=_ROBERTA
)


def _balanced(scorer: str, name: str, model: str | None = None) -> tuple[Figure, ...]:
    """Return the figures of a row of :data:`BALANCED_ROWS`."""
    return tuple(
        Figure("wikibio", split, "balanced_accuracy", scorer, fraction(x), None, model)
        for split, x in zip(("nonfact", "nonfact_star"), BALANCED_ROWS[name].split(), strict=True)
    )


def _by_reference(scorer: str) -> str:
    """Return the key of a scorer that ``--against reference`` sets."""
    name, _, rest = scorer.partition("(")
    return f"{name}(against=reference{',' if rest else ')'}{rest}"


ENTRIES = (
    Entry(
        "SelfCheckGPT table 1",
        "Size of the data and shares of the labels",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "ngram(counting=paper)"',
        reason="tokens per passage (184.7 by GPT-2's tokenizer) are not counted",
        whole=True,
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
        whole=True,
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
        reason="of the n-gram model alone; by NLI, BERTScore and others, by models that run here, "
        f"on 40 passages: {_CURVES}",
        printed=(),
    ),
    Entry(
        "SelfCheckGPT tables 2 and 3, BERTScore row",
        "Sentences looked for in the samples by BERTScore, roberta-large",
        _DATA,
        "named model",
        command=f'{_BENCH} --scorers "selfcheck_bertscore(baseline=0.8312)" '
        "--token-encoder 'torch:roberta-large?layer=17'",
        reason="CheckEmbed's tables 3 and 5 print 57.4 / 54.6 for the same method; "
        f"{HERE_BERTSCORE}",
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
        f"has it the other way round. Weights are read from safetensors only. {HERE_NLI}. With 4 "
        f"samples, on 40 passages: {_CURVES}",
        figures=_NLI,
    ),
    Entry(
        "SelfCheckGPT tables 2, 3 and 5, QA rows",
        "Multiple-choice questions about each sentence, answered by the samples: four models",
        _DATA,
        "named model",
        command=f'{_BENCH} --scorers "{", ".join(QA_ROWS)}"',
        reason="questions are drawn at random, so figures differ from draw to draw. The paper does "
        "not state the threshold of answerability behind its first two rows (here 0.5). Weights "
        "are read from safetensors only",
        figures=tuple(f for key, row in QA_ROWS.items() for f in wikibio_row(key, row, model=_QA)),
    ),
    *(
        Entry(
            f"SelfCheckGPT tables 2 and 8, figure 9, {model}",
            "Probabilities and entropies of the passage as a proxy model reads it",
            _DATA,
            "named model",
            command=f'{_BENCH} --scorers "{", ".join(PROXY_SCORERS)}" --proxy {model}',
            reason="the printed entropies are 2^H, as the paper's eq. 13 has them; a passage's "
            "average is here over all its tokens. Weights are read from safetensors only"
            + (
                ". All passages read by SmolLM2, which is of this size: "
                "[evidence/summary.md](evidence/summary.md#read-by-another-model)"
                if model == "facebook/opt-125m"
                else ""
            ),
            figures=tuple(
                f
                for scorer, row in zip(PROXY_SCORERS, rows, strict=True)
                for f in wikibio_row(scorer, row, model=model)
            ),
        )
        for model, rows in PROXY_ROWS.items()
    ),
    Entry(
        "SelfCheckGPT table 2, GPT-3 probabilities",
        "text-davinci-003's own token probabilities",
        _DATA,
        "not possible",
        reason="the probabilities are not part of the data set and the model is withdrawn",
    ),
    Entry(
        "SelfCheckGPT tables 2 and 4, prompt rows (ChatGPT)",
        "Yes or no asked of gpt-3.5-turbo, of every sentence with every sample",
        _DATA,
        "named model",
        command=f'{_BENCH} --scorers "selfcheck_prompt(form=published, unclear=half)" '
        "--samples 4,20 --llm openai:gpt-3.5-turbo",
        reason="a hosted model that has changed since; its answers are not published. Any other "
        "can be named",
        figures=(
            *wikibio_row(_PROMPT, "93.42 53.19 67.09 78.32 78.30", model="gpt-3.5-turbo"),
            *wikibio_row(_PROMPT, "- - - 76.47 76.41", samples=4, model="gpt-3.5-turbo"),
        ),
    ),
    *(
        Entry(
            f"SelfCheckGPT's repository, prompt row ({name})",
            f"Yes or no asked of {name}, of every sentence with every sample",
            _DATA,
            "named model",
            command=f'{_BENCH} --scorers "selfcheck_prompt(form=published, unclear=half)" '
            f"--llm {llm}",
            reason="here by a small model, on 8 passages: "
            "[evidence/local-llm.md](evidence/local-llm.md)",
            figures=wikibio_row(_PROMPT, f"- - - {pearson} -", model=name),
        )
        for name, (llm, pearson) in OPEN_PROMPT_ROWS.items()
    ),
    Entry(
        "SelfCheckGPT tables 4 and 6, prompt rows (GPT-3)",
        "Yes or no asked of text-davinci-003, and how often it and ChatGPT agree",
        _DATA,
        "not possible",
        reason="the model is withdrawn and its answers are not published",
    ),
    Entry(
        "SelfCheckGPT table 3, WikiBio+1gm row",
        "The first Wikipedia paragraph in place of the samples, n-gram model",
        _HALF,
        "regenerated",
        command=f'{_BENCH} --against reference --scorers "ngram(counting=paper)"',
        reason="the copy of the data used here has the paragraph (wiki_bio_text) for 119 of the "
        "238 passages. Our figures cover these, the paper's cover all",
        figures=wikibio_row("ngram(against=reference,counting=paper)", WIKIBIO_ROWS["1gm"]),
    ),
    *(
        Entry(
            f"SelfCheckGPT table 3, WikiBio+{name} row",
            f"The first Wikipedia paragraph in place of the samples, {what}",
            _HALF,
            "named model",
            command=f'{_BENCH} --against reference --scorers "{scorer}" {more}'.strip(),
            reason=f"the paragraph exists for 119 of the 238 passages; {why}",
            figures=wikibio_row(_by_reference(scorer), WIKIBIO_ROWS[name], model=model),
        )
        for name, what, scorer, more, model, why in (
            (
                *("BERT", "BERTScore", "selfcheck_bertscore(baseline=0.8312)"),
                *("--token-encoder 'torch:roberta-large?layer=17'", _ROBERTA, _SAFE),
            ),
            (
                *("NLI", "deberta-v3-large fine-tuned on MNLI", "selfcheck_nli(order=code)"),
                *("--nli potsawee/deberta-v3-large-mnli", "potsawee/deberta-v3-large-mnli"),
                f"{_SAFE}. Here `nli_grounding` and `claims` by the first small NLI model: "
                "[evidence/claims-wikibio.md](evidence/claims-wikibio.md)",
            ),
            ("QA", "MQAG", "selfcheck_qa", "", _QA, f"questions are drawn at random; {_SAFE}"),
            (
                *("Prompt", "ChatGPT", _PROMPT, "--llm openai:gpt-3.5-turbo", "gpt-3.5-turbo"),
                "a hosted model that has changed since; any other can be named",
            ),
        )
    ),
    *(
        Entry(
            f"SelfCheckGPT's repository, balanced accuracy, {name} row",
            f"Right and wrong sentences distinguished at a threshold of 0.5, {what}",
            _DATA,
            "named model",
            command=f'{_BENCH} --threshold {threshold} --scorers "{scorer}" {more}'.strip(),
            reason=why,
            figures=_balanced(scorer, name, model),
        )
        for name, what, scorer, threshold, more, model, why in (
            (
                *("BERTScore", "BERTScore", "selfcheck_bertscore(baseline=0.8312)", "0.0844"),
                *("--token-encoder 'torch:roberta-large?layer=17'", _ROBERTA),
                "a threshold is one of the risk, (1 - 0.8312) of the rescaled value, so that 0.5 "
                "is 0.0844",
            ),
            (
                *("QA", "MQAG", "selfcheck_qa", "0.5", "", _QA),
                f"questions are drawn at random; {_SAFE}",
            ),
            (
                *("NLI", "deberta-v3-large fine-tuned on MNLI", "selfcheck_nli(order=code)"),
                *("0.5", "--nli potsawee/deberta-v3-large-mnli", "potsawee/deberta-v3-large-mnli"),
                f"{_SAFE}; here by the first small NLI model: [evidence/summary.md]"
                "(evidence/summary.md#right-and-wrong-sentences-at-a-threshold-of-05)",
            ),
            (
                *("Prompt", "ChatGPT", _PROMPT, "0.5", "--llm openai:gpt-3.5-turbo"),
                "gpt-3.5-turbo",
                "a hosted model that has changed since; any other can be named",
            ),
        )
    ),
    Entry(
        "SelfCheckGPT's repository, balanced accuracy, random row",
        "Right and wrong sentences distinguished by guessing; below, by scorers that take no model",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --threshold 0.5 --scorers "ngram_presence, support"',
        reason="`ngram_presence` and `support` are ours, not of the paper, and in-domain here",
        figures=_balanced("random", "Random"),
    ),
    Entry(
        "SelfCheckGPT figures 4, 6 and 10",
        "Histogram of the passages' labels; each method's score against the label",
        _DATA,
        "regenerated",
        command=f'{_BENCH} --scorers "ngram(counting=paper), ngram, ngram_presence, support" '
        "--split passage --report report.html",
        reason="of the scorers named; any others can be",
        printed=(
            "figure 4, section 5: a peak at +1.0",
            "figure 6, section 7.2: Pearson 0.7832 of Prompt (table 2)",
        ),
    ),
)

NOTES = (
    Note(
        "wikibio",
        "the paper's figure is of all 238 passages; copies of the data may lack the first "
        "paragraph of half of them",
        scorers=("ngram(against=reference,counting=paper)",),
        beside_figures=True,
    ),
    *(
        Note(
            "wikibio",
            f"the trapezoid rewards ties: a constant score reaches {area}",
            splits=(split,),
            metrics=("trapezoid_pr",),
            beside_figures=True,
        )
        for split, area in (
            ("nonfact", "0.865"),
            ("nonfact_star", "0.649, above every figure of the paper's table 2"),
            ("factual", "0.635"),
        )
    ),
)
