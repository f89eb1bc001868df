"""Claims of the answer: supported, contradicted or neutral, with places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from veridical.claims import aggregate as rules
from veridical.claims import extractors, majority
from veridical.claims.attribution import Merge, ReadingOptions, Verdict
from veridical.claims.checkers import RepcFile
from veridical.claims.claim import Checker, Claim, Extraction
from veridical.claims.extractors import ExtractorName
from veridical.claims.majority import CheckerNames
from veridical.claims.select import Selection
from veridical.claims.select import costs_of as selection_costs
from veridical.core.evidence import Evidence
from veridical.core.language_gate import OPEN, LanguageGate, language_gate
from veridical.core.protocols import LABELS
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score, Unit
from veridical.errors import ModelError, NotApplicable, UsageError
from veridical.text.finding_kinds import finding_kind
from veridical.text.passages import SIZE
from veridical.text.spans import Span

Weight = Annotated[float, Field(ge=0, le=1)]
_MAX_LISTED_REASONS = 20  # for rejected claims


def _costs(
    extractor: str, checker: str, select: Selection, ranker: str | None, **others: Any
) -> set[Cost]:
    """Return the costs of extractor, checker and selection, before any work is done."""
    others_ask = extractors.costs_of(extractor) | selection_costs(select)
    used = others_ask | majority.options_of(checker)
    options = {name: others[name] for name in ("nli", "llm", "shots", "model")}
    options["shots"] = options["shots"] or None
    for name, value in options.items():
        if value is not None and name not in used:
            raise UsageError(
                f"claims(extractor={extractor}, checker={checker}, select={select}) does not use "
                f"{name}; remove {name}={value}"
            )
    if ranker is not None and select != "cross_encoder":
        raise UsageError(f"ranker={ranker} requires select=cross_encoder, not select={select}")
    _checkers(checker, options)
    rules.find_rule(others["aggregate"])
    ReadingOptions(select, others["top"], ranker, others["window"])
    placing: set[Cost] = {"embed"} if others["place"] == "embeddings" else set()
    return others_ask | majority.costs_of(checker) | placing


def _prompts(extractor: str, checker: str, **_: object) -> tuple[str, ...]:
    return extractors.prompts_of(extractor) + majority.prompts_of(checker)


def _models(
    *,
    extractor: str,
    checker: str,
    select: Selection,
    ranker: str | None,
    nli: str | None,
    llm: str | None,
    proxy: str | None,
    **_: object,
) -> dict[str, list[str | None]]:
    """Return the models that the parts use, by kind."""
    found = majority.models_of(checker, nli=nli, llm=llm)
    if select == "cross_encoder":
        found["nli"].append(ranker or nli)
    if "llm" in extractors.costs_of(extractor):
        found["llm"].append(llm)
    return {**found, "proxy": [proxy]}


@scorer(
    "claims",
    level="claim",
    judges=True,
    needs={"against"},
    source="Hu 2024 (RefChecker), sections 3 and 4",
    cost="llm",
    version=7,
    uses={"nli", "embed", "tokens", "probabilities"},
    presets={"all", "auto"},
    raw_is="risk",
    raw_key="risk",
    added={"place"},
    costs_by=_costs,
    models=_models,
    prompts=_prompts,
)
async def claims(
    record: Record,
    evidence: Evidence,
    *,
    against: Literal["auto", "contexts", "reference", "samples"] = "auto",
    extractor: ExtractorName = "clauses",
    checker: CheckerNames = "nli_words",  # type: ignore[assignment]
    merge: Merge = "about",
    aggregate: str = "strict",
    weights: tuple[Weight, Weight, Weight] = rules.WEIGHTS,
    select: Selection = "bm25",
    top: Annotated[int, Field(ge=1, le=1000)] = 8,
    ranker: str | None = None,
    window: Annotated[int, Field(ge=100, le=100_000)] = SIZE,
    nli: str | None = None,
    llm: str | None = None,
    proxy: str | None = None,
    model: RepcFile | None = None,
    shots: Literal[0, 1, 3] = 0,
    place: Literal["words", "embeddings"] = "words",
) -> Score:
    """Judge the entailment of each claim of the response by the sources.

    The response is split into claims, each claim is checked against passages of the sources, and
    the verdicts are merged and aggregated. A claim's risk is 1 - P(entailment).

    Args:
        against: ``auto`` takes contexts if the record has them, else reference, else samples. All
            contexts, or all references, are read together; each sample is a separate source, and
            their verdicts are averaged.
        extractor: ``response``, ``sentences``, ``clauses``, ``triplets``, ``spacy``. With an LLM:
            ``llm_triplets``, ``llm_triplets_plain``, ``llm_subsentence``, ``llm_chained`` (claims
            made of triplets), ``llm_atomic``. Following four papers: ``llm_zhang``,
            ``llm_farquhar``, ``llm_mohri``, ``llm_jiang``. ``trained|FILE`` asks the tagger in FILE
            (``veridical train extractor``). ``given`` takes the statements or triplets in the
            record's field ``claims``.
        checker: ``nli``, as published; ``nli_words``, ``llm``, ``llm_joint`` or ``repc``.
            ``nli_words`` suits the embedded NLI model. Word overlap has a quarter of the weight,
            and the model also judges the passage's two sentences closest to the claim. Several
            checkers, separated by commas, vote on each claim: ``checker="nli_words, nli|base,
            llm"``; ``|MODEL`` names a checker's NLI model or LLM. The majority label counts; in a
            tie, that of the checker named first. The probabilities are the mean over the checkers
            with that label. RefChecker uses one checker; the vote applies its ``major`` rule to
            checkers.
        merge: how the verdicts of passages are merged. ``about`` takes entailment from the passage
            with the highest P(entailment), and contradiction only from the passage closest to the
            claim. ``any`` is as published: entailment if any passage entails the claim, else
            contradiction if any contradicts it, else neutral. ``conflict`` applies ``about`` to
            each source; if sources contradict each other, it averages both sides and shows both.
        aggregate: aggregation over claims. ``strict`` is the maximum risk, ``soft`` the mean,
            ``major`` the median, ``rate`` the share of claims not labelled entailment.
            ``weighted`` is the mean of the class weights by probability. Or a custom rule
            (:func:`veridical.claims.rule`).
        weights: weights of entailment, neutral and contradiction, each in [0, 1], for ``weighted``.
        select: selection of passages for a claim if there are more than ``top``: ``bm25``,
            ``embedding``, ``cross_encoder``, or ``all``. With ``merge=about`` and
            ``checker=nli_words``, passages that cannot have the highest P(entailment) are skipped,
            except by ``all``.
        top: number of passages per claim, at least 1.
        ranker: NLI model of ``cross_encoder``; that of ``nli`` if None.
        window: characters per passage of whole sentences, at least 100.
        nli: NLI model of the checker; the run's default if None.
        llm: LLM of extractor and checker; the run's default if None.
        proxy: language model whose hidden states ``repc`` reads.
        model: file of the trained ``repc`` classifier.
        shots: examples in the prompt of ``llm`` (0, 1 or 3) and ``llm_joint`` (0 or 3).
        place: method of locating a claim in the response. It is by shared ``words``, or by
            ``embeddings``, as published. The latter apply if its sentence lacks half of its words
            ("William King died early": "He passed away young").

    ``raw`` has the aggregated ``risk`` and the ``label`` of the response. The label is the majority
    with ``major``, else strict: contradiction if any claim is, else neutral if any is. ``raw`` also
    has the shares of ``entailment``, ``neutral``, ``contradiction`` and ``hallucination`` (the sum
    of the last two). It has ``abstain``, and ``claims`` in the order of the units. Each claim has
    ``text``, ``triplet``, ``sentence``, ``parts`` (its runs of words in the response), ``category``
    and ``conflict``. It also has the label of each evidence item under ``says``, and with several
    checkers their ``votes``. ``left_out`` lists model output that was rejected as a claim.

    A claim in a language that the NLI model does not support has no risk, and its unit has the
    reason ``language``. The same holds if the model supports the language of no source. It also
    holds if some sources are unsupported and the others leave the claim neutral. These units come
    last.

    A response that declines to answer claims nothing: risk 0, labelled ``abstain``, without units.
    A response without a claim is not applicable. A claim that could not be checked fails the
    record, as an unknown must not look harmless.
    """
    reading = ReadingOptions(select, top, ranker or nli, window, merge)
    sources = record.against(against)
    extraction = await extractors.find_extractor(extractor, llm)(record, evidence)
    if extraction.abstained:
        return Score.of(0.0, raw=_raw(0.0, rules.ABSTAIN, [], extraction))
    _need_claims(extraction)
    if place == "embeddings":
        from veridical.claims.embedded_places import placed_by_embeddings

        placed = await placed_by_embeddings(record, extraction.claims, evidence)
        extraction = replace(extraction, claims=tuple(placed))
    gate = await _gate(record, evidence, checker, nli)
    spoken, unread = _by_language(record, extraction, gate)
    read = gate.sources(sources)
    if not read or not spoken:
        return gate.unread(_sentences_of(record, extraction.claims))
    options = {"nli": nli, "llm": llm, "proxy": proxy, "model": model, "shots": shots}
    named = _checkers(checker, options)
    verdicts = await majority.judge_by(named, spoken, read, evidence, reading)
    if len(read) < len(sources) and sources[0].kind != "sample":
        # an unsupported source may contain what the others lack
        unread += [v.claim for v in verdicts if v.label == "neutral"]
        verdicts = [v for v in verdicts if v.label != "neutral"]
    if not verdicts:
        return gate.unread(_sentences_of(record, extraction.claims))
    texts = [s.text for s in sources]
    return _scored(record.response, texts, extraction, verdicts, unread, aggregate, weights)


async def _gate(record: Record, evidence: Evidence, checker: str, nli: str | None) -> LanguageGate:
    """Return the language gate of the NLI checker; an open one for other checkers."""
    chosen = majority.choices(checker)
    if any(one.asks != "nli" for one in chosen):
        return OPEN
    return await language_gate(record, evidence, chosen[0].model or nli)


def _by_language(
    record: Record, extraction: Extraction, gate: LanguageGate
) -> tuple[list[Claim], list[Claim]]:
    """Split the claims into those in supported languages and the others."""
    reads = [gate.reads_sentence(s) for s in record.sentences]
    claims = extraction.claims
    return [c for c in claims if reads[c.sentence]], [c for c in claims if not reads[c.sentence]]


def _sentences_of(record: Record, claims: Sequence[Claim]) -> list[Span]:
    return [record.sentences[i] for i in sorted({c.sentence for c in claims})]


def _need_claims(extraction: Extraction) -> None:
    if extraction.claims:
        return
    if extraction.left_out:
        raise ModelError(f"no claim could be used: {extraction.left_out[0]}")
    raise NotApplicable("the response makes no claim")


def _scored(
    response: str,
    sources: Sequence[str],
    extraction: Extraction,
    verdicts: Sequence[Verdict],
    unread: Sequence[Claim],
    aggregate: str,
    weights: tuple[Weight, Weight, Weight],
) -> Score:
    table = np.array([[v.probabilities[x] for x in LABELS] for v in verdicts])
    table.flags.writeable = False
    judged = rules.Judged(tuple(v.label for v in verdicts), table, weights)
    risk = rules.risk_of(judged, aggregate)
    label = (rules.major if aggregate == "major" else rules.strict)(judged.labels)
    units = [_unit(response, v, sources) for v in verdicts]
    units += [Unit.of(c.span(response), None, level="claim", reason="language") for c in unread]
    return Score.of(risk, raw=_raw(risk, label, verdicts, extraction, unread), units=units)


def _unit(response: str, verdict: Verdict, sources: Sequence[str]) -> Unit:
    kind = None
    if verdict.label in ("neutral", "contradiction"):
        kind = finding_kind(verdict.claim.text, verdict.label == "contradiction", sources)
    return Unit.of(
        verdict.claim.span(response),
        verdict.risk,
        raw=verdict.risk,
        level="claim",
        label=verdict.label,
        kind=kind,
        probabilities=verdict.probabilities,
        evidence=verdict.evidence,
    )


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "text": claim.text,
        "triplet": claim.triplet,
        "sentence": claim.sentence,
        "parts": claim.parts,
    }


def _checkers(names: str, options: dict[str, Any]) -> dict[str, Checker]:
    """Build the checkers, each with the options it accepts; the extractor may take the others."""
    accepted = majority.options_of(names)
    return majority.find_checkers(names, **{k: v for k, v in options.items() if k in accepted})


def _raw(
    risk: float,
    label: str,
    verdicts: Sequence[Verdict],
    extraction: Extraction,
    unread: Sequence[Claim] = (),
) -> dict[str, Any]:
    rates = rules.soft([v.label for v in verdicts])
    return {
        "risk": risk,
        "label": label,
        **rates._asdict(),
        "hallucination": rates.hallucination,
        "claims": [
            *(
                {
                    **_claim(v.claim),
                    "category": v.category,
                    "conflict": v.conflict,
                    "says": v.says,
                    **({"votes": [vote._asdict() for vote in v.votes]} if v.votes else {}),
                }
                for v in verdicts
            ),
            *({**_claim(c), "category": None, "conflict": False, "says": []} for c in unread),
        ],
        "left_out": list(extraction.left_out[:_MAX_LISTED_REASONS]),
    }
