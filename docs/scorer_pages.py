"""Generated pages of scorers: an index, and one page per family."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import NamedTuple

from veridical import plugins
from veridical.core.paper_forms import PAPER_FORMS
from veridical.core.registry import REGISTRY, Scorer


class Family(NamedTuple):
    """A family of scorers: its title, and the package of its modules."""

    title: str
    package: str


FAMILIES = {
    "grounding": Family("Grounding scorers", "veridical.scorers.grounding"),
    "consistency": Family("Consistency scorers", "veridical.scorers.consistency"),
    "probability": Family("Probability scorers", "veridical.scorers.probability"),
    "judges": Family("LLM judges", "veridical.scorers.judges"),
    "ensembles": Family("Ensembles and cascades", "veridical.ensembles.scorers"),
    "code": Family("Code scorers", "veridical_lab.scorers.code"),
    "lab": Family("Scorers of veridical-lab", "veridical_lab.scorers"),
}

HEAD = """# Scorers

Generated from the registry by `python docs/generate.py`. `veridical scorers` lists the scorers by
the record fields that they require, and `veridical scorers NAME` describes one.

Select scorers with `--scorers`, as `name` or `name(parameter=value)`. `risk` is in [0, 1], and 1 is
the worst value. `raw` is the method's own value; *raw is* gives its direction. `cost` names the
models: `free` requires none, `embed` sentence vectors, `images` image vectors, `tokens` token
vectors. `--against` sets `against`, and `--answer` sets `answer`, in every scorer that has it.

"""

#: Scorer, its value here, its value in the published package.
DIFFERENCES = (
    (
        "all",
        "risk in [0, 1], 1 is worst; `raw` is the method's own",
        "UQLM: confidence, 1 is best",
    ),
    (
        "all",
        "a score that cannot be made is `failed` or `not_applicable`, with its reason",
        "NaN, 0.5 or 0",
    ),
    (
        "all",
        "texts longer than a model takes are read in windows",
        "cut off (UQLM at 2 000 characters, SelfCheckGPT at the model's length)",
    ),
    (
        "`p_true`",
        "P(True) / (P(True) + P(False)) if the server reports both",
        "UQLM: the probability of the generated word; the same if one is reported",
    ),
    (
        "`judge(template=likert)`, `judge(template=continuous)`",
        'the number that is stated; "95 out of 100" is 95; a grade in words is requested again',
        'UQLM: "partially correct" is 3; all digits are joined: "95 out of 100" has no value',
    ),
    (
        "`cosine`",
        "the mean cosine (the paper's eq. 13); `rescale=true` is 0.5 + cos / 2; the embedded "
        "model is quantised",
        "UQLM: 0.5 + cos / 2, of the same model unquantised: within 0.001",
    ),
    (
        "`semantic_entropy` and what rests on it",
        "answers mean the same when each entails the other, as printed; "
        "`cluster=either` is the package's",
        "UQLM: either direction is enough, and an answer may be in several meanings",
    ),
    (
        "`semantic_negentropy`",
        "divided by log(m + 1), as the package does; `form=paper` by log(m)",
        "the paper's eq. 8 can be negative",
    ),
    (
        "`semantic_density`",
        "weights stay logarithms: samples too improbable for a float still count",
        "UQLM: NaN where all are",
    ),
    (
        "scorers by log-probabilities",
        "the tokens must spell the response, else the score fails",
        "UQLM: any tokens, such as those of the answer before it was postprocessed",
    ),
    (
        "NLI scorers",
        "a short answer is judged with its question, as a statement; in `semantic_density` after "
        "its prompt, as published",
        "UQLM: the bare answers; `SemanticEntropy` and `SemanticDensity` put the prompt before "
        "both (`prompts=true` here)",
    ),
    (
        "`luq`, `matched_unit`",
        "LUQ's e / (e + c); `measure` has the package's others",
        "UQLM: entailment first",
    ),
    (
        "`bert_score`",
        "not rescaled, as UQLM; `baseline` rescales",
        "SelfCheckGPT and CheckEmbed rescale",
    ),
    (
        "`ngram`",
        "the response is left out, add-one smoothing; `counting=paper` counts it in",
        "SelfCheckGPT counts it in, so that it supports itself",
    ),
    (
        "`selfcheck_nli`",
        "the sample is the premise, as printed; `order=code` is the other way",
        "SelfCheckGPT's figures are by the code",
    ),
    (
        "`checkembed`",
        "sees the response; `judged=samples` does not",
        "CheckEmbed sees the samples only",
    ),
    (
        "`claims`",
        "by default a quarter of the verdict is by words; `checker=nli, merge=any` is published",
        "RefChecker",
    ),
    (
        "`claim_graph(centrality=degree)`",
        "the share of the answers that a claim is joined to; `strength` is UQLM's",
        "UQLM: the mean weight of the edges",
    ),
    (
        "`claim_graph`, `claim_frequency(merge=...)`",
        "claims that entail each other are one; with `merge=llm` those of which an LLM says so, by "
        "the number of the earlier claim, and claims of which one has a number, date, name or "
        "negation that the other lacks stay apart whatever it says",
        "UQLM, `LongTextGraph`: an LLM lists the new claims that those before do not entail, and "
        "the graph has them in its words",
    ),
    (
        "`claim_qa`",
        "each new answer is compared with the claim; `measure=semantic_entropy` clusters the "
        "claim with its answers",
        "UQLM, `LongTextQA`: the answers are scored among themselves, without the claim, by "
        "default by semantic negentropy",
    ),
    (
        "`extractor=llm_zhang`, `llm_farquhar`, `llm_mohri`, `llm_jiang`",
        "the definitions of the four papers in our own words, requested as JSON (lines after "
        "`###` are read too); what the response does not say is left out",
        "UQLM: four prompts after the same papers, in other words; all text after `###` is a claim",
    ),
    (
        "`functional_equivalence`, `functional_negentropy`, `functional_sets`",
        "by default by normal forms, without a model; `by=llm` asks of forms that differ, each "
        "pair once; an answer without code agrees with none",
        "UQLM: always asks an LLM, of texts that differ; finds its verdict in any sentence",
    ),
    (
        "`functional_negentropy(weights=probability)`",
        "each answer by its own probability",
        "UQLM: by that of the answer before it",
    ),
    (
        "`codebleu`",
        "tokens are the language's; weighted BLEU is a precision, as printed; subtrees and data "
        "flow are those of Python's own parser, of other languages they are left out; no data flow "
        "in common is 0",
        "the package codebleu: tokens at blanks; weighted BLEU divides by the reference; "
        "tree-sitter; no data flow in common is 1. Its BLEU of equal tokens is the same",
    ),
    (
        "`--answer`",
        "a text without the part fails (response) or agrees with nothing (sample)",
        "UQLM: a function of one's own, whose results are compared as they are",
    ),
    (
        "`--select cluster`",
        "each answer is in one meaning; the selected answer is judged by the others too",
        "UQLM, `use_best`: an answer may be in several meanings",
    ),
    (
        "`veridical tune`",
        "a threshold lies midway between two neighbouring risks",
        "UQLM: the first of the best on a grid of 0.01; it parts the graded answers alike",
    ),
)
PEERS = """
## Differences from published packages

Scorers from a published package return the numbers of the package. UQLM's own expected values are
in `tests/scorers/test_uqlm_values.py`, and those of its data files in `test_uqlm_result_files.py`.
The following differences are intended:

"""


def differences() -> str:
    """Return the table of differences from published packages."""
    rows = [("scorer", "here", "the package"), ("---",) * 3, *DIFFERENCES]
    return PEERS + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def paper_forms() -> str:
    """Return the table of published forms."""
    lines = [
        "## The papers' own forms\n",
        "`--paper-forms` of `check`, `plan`, `tune` and `bench` sets these parameters, except "
        "those that you give. In Python, use `paper_forms=True`, also in `check_one`. The default "
        "ensemble is not from a paper, and does not change.\n",
        "| paper | the scorer's published form | by default |",
        "|---|---|---|",
    ]
    for name, form in PAPER_FORMS.items():
        lines.append(
            f"| {form.source} | `{REGISTRY.bind(name, form.arguments).key}` | {form.differs} |"
        )
    return "\n".join(lines) + "\n"


def family_of(scorer: Scorer) -> str:
    """Return the family of a scorer, by the module of its function."""
    module = f"{scorer.function.__module__}."
    found = [name for name, f in FAMILIES.items() if module.startswith(f"{f.package}.")]
    return max(found, key=lambda name: len(FAMILIES[name].package))


def link(name: str, folder: str = "") -> str:
    """Return the address of a scorer's section.

    Args:
        folder: path from the linking page to the folder of scorers, with a slash at its end.
    """
    return f"{folder}{family_of(REGISTRY.get(name))}.md#{name}"


def index() -> str:
    """Return the page that lists all scorers."""
    rows = [
        f"| [`{s.name}`]({link(s.name)}) | {s.level} | {', '.join(sorted(s.needs))} | {s.cost} "
        f"| {', '.join(sorted(s.presets))} |"
        for s in REGISTRY.all()
    ]
    families = [f"- [{f.title}]({name}.md): {_intro(f)}" for name, f in FAMILIES.items()]
    table = ["| scorer | level | needs | cost | presets |", "|---|---|---|---|---|", *rows]
    added = ", ".join(f"`{name}`" for name in sorted(plugins.LAB[plugins.SCORERS]))
    table += ["", f"The package `veridical-lab` provides {added}."]
    listed = "\n".join([*families, "", *table])
    return "\n".join([HEAD + listed, differences(), paper_forms()])


def page(name: str) -> str:
    """Return the page of a family."""
    family = FAMILIES[name]
    members = [s for s in REGISTRY.all() if family_of(s) == name]
    head = [f"# {family.title}", "", _prose(_documentation(family)), "", "| scorer | summary |"]
    rows = [f"| [`{s.name}`](#{s.name}) | {_cell(s.summary)} |" for s in members]
    return "\n".join([*head, "|---|---|", *rows, "", *map(_section, members)])


def _section(scorer: Scorer) -> str:
    parameters = ", ".join(f"{n}={_shown(p.default)}" for n, p in scorer.parameters.items())
    text = inspect.getdoc(scorer.function) or ""
    return (
        f"## {scorer.name}\n\n`{scorer.name}({parameters})`\n\n"
        f"Source: {scorer.source}. Raw is {scorer.raw_is}"
        f"{f' (`{scorer.raw_key}`)' if scorer.raw_key else ''}.{_tuned(scorer)}\n\n"
        f"```text\n{text}\n```\n"
    )


def _tuned(scorer: Scorer) -> str:
    notes = [
        f" Tuned on `{data}` ({', '.join(f'`{n}`' for n in names) if names else 'its design'}): "
        "figures on it are in-domain."
        for data, names in scorer.tuned_on.items()
    ]
    return "".join(notes)


def _documentation(family: Family) -> str:
    return inspect.getdoc(import_module(family.package)) or ""


def _intro(family: Family) -> str:
    return " ".join(_prose(_documentation(family)).split("\n\n")[0].split())


def _prose(text: str) -> str:
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.replace("``", "`"))


def _cell(text: str) -> str:
    return " ".join(_prose(text).split()).replace("|", "\\|")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


PAGES: dict[str, Callable[[], str]] = {
    "scorers/index.md": index,
    **{f"scorers/{name}.md": partial(page, name) for name in FAMILIES},
}
