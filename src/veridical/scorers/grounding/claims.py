"""Claims: which statements of the answer are supported, contradicted or neither, and where."""

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
_KEPT = 20  # reasons why a model's claims were left out


def _costs(
    extractor: str, checker: str, select: Selection, ranker: str | None, **others: Any
) -> set[Cost]:
    """What the parts ask for. Said before any work is done, so that what does not fit together
    is found then."""
    others_ask = extractors.costs_of(extractor) | selection_costs(select)
    used = others_ask | majority.options_of(checker)
    options = {name: others[name] for name in ("nli", "llm", "shots", "model")}
    options["shots"] = options["shots"] or None
    for name, value in options.items():
        if value is not None and name not in used:
            raise UsageError(
                f"claims(extractor={extractor}, checker={checker}, select={select}) has no use for "
                f"{name}={value}: leave it out"
            )
    if ranker is not None and select != "cross_encoder":
        raise UsageError(f"ranker={ranker} is for select=cross_encoder, not select={select}")
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
    """The models that the parts ask, by kind."""
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
    """Whether the sources entail each claim of the response.

    The response is taken apart into claims, each claim is checked by passages of the sources, and
    the verdicts are merged and aggregated. A claim's risk is 1 - P(entailment).

    Args:
        against: ``auto`` takes contexts where the record has them, else reference, else samples.
            Contexts, and references, are read together; each sample is a source of its own, and
            the mean of their verdicts counts.
        extractor: ``response``, ``sentences``, ``clauses``, ``triplets``, ``spacy``; by an LLM
            ``llm_triplets``, ``llm_triplets_plain``, ``llm_subsentence``, ``llm_chained`` (claims
            made of triplets), ``llm_atomic``, or in the manner of four papers ``llm_zhang``,
            ``llm_farquhar``, ``llm_mohri``, ``llm_jiang``;
            ``trained|FILE`` asks the tagger in FILE (``veridical train extractor``);
            ``given`` takes the statements or triplets that the record has in a field ``claims``.
        checker: ``nli``, as published; ``nli_words``, a quarter of whose verdict is the words that
            claim and passage share, and whose model reads the passage's two sentences nearest the
            claim alone, too, which orders better with the embedded NLI model; ``llm``,
            ``llm_joint`` or ``repc``. Several, parted by commas, vote on each claim:
            ``checker="nli_words, nli|base, llm"``; ``|MODEL`` names the NLI model or the LLM of
            one. The label of most of them counts, of equally common ones that of the checker
            named first; the probabilities are the mean of those that say it. RefChecker asks one
            checker: the vote is its ``major`` rule of claims, taken over checkers.
        merge: of passages: ``about`` takes entailment from the passage that entails the claim
            best and contradiction from the one most about it alone, as one about something else
            contradicts nothing. ``any`` is as published: entailment if any passage entails the
            claim, else contradiction if any contradicts it, else neutral. ``conflict`` is
            ``about`` for each source, and where sources contradict each other the mean of both
            sides, which are both shown.
        aggregate: of claims: ``strict``, the largest risk; ``soft``, the mean; ``major``, the
            median; ``rate``, the share of claims not labelled entailment; ``weighted``, the mean
            of the classes' weights by their probabilities; or a rule of one's own
            (:func:`veridical.claims.rule`).
        weights: of entailment, neutral and contradiction, each in [0, 1], for ``weighted``.
        select: passages a claim is checked by where there are more than ``top``: ``bm25``,
            ``embedding``, ``cross_encoder``, or ``all``. With ``merge=about`` and
            ``checker=nli_words`` those that cannot entail it best are not read, but by ``all``.
        top: how many, at least 1.
        ranker: NLI model of ``cross_encoder``; that of ``nli`` if None.
        window: characters of a passage of whole sentences, at least 100.
        nli: NLI model of the checker; the run's own if None.
        llm: of extractor and checker; the run's own if None.
        proxy: language model whose hidden states ``repc`` reads.
        model: file that ``repc`` was trained into.
        shots: examples in the prompt of ``llm`` (0, 1 or 3) and ``llm_joint`` (0 or 3).
        place: where in the response a claim comes from: by the ``words`` that they share; or, where
            its sentence lacks half of its words, by ``embeddings`` of those and of the sentences,
            as published ("William King died early": "He passed away young").

    ``raw`` has the aggregated ``risk``; the ``label`` of the response (by majority where the rule
    is ``major``, else strict: contradiction if any claim is, else neutral if any is); the shares of
    ``entailment``, ``neutral``, ``contradiction`` and of ``hallucination`` (the latter two);
    ``abstain``; and in the order of the units ``claims``: each one's ``text``, ``triplet``,
    ``sentence``, ``parts`` (its runs of words in the response), ``category``, ``conflict``, and
    what each item of its evidence ``says``; of several checkers also ``votes``, what each says
    of it. ``left_out`` tells what a model wrote that was no
    claim.

    A claim in a language that the NLI model does not read has no risk, and its unit the reason
    ``language``; so has each claim where the model reads none of the sources, and a claim that the
    sources it reads leave open where it does not read all. These units come last.

    A response that declines to answer is scored: risk 0, as nothing is claimed, labelled
    ``abstain``, without units. To one that claims nothing else the scorer does not apply. A claim
    that could not be checked fails the record: what is not known must not look harmless.
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
        # a source that is not read may say what those that are do not tell
        unread += [v.claim for v in verdicts if v.label == "neutral"]
        verdicts = [v for v in verdicts if v.label != "neutral"]
    if not verdicts:
        return gate.unread(_sentences_of(record, extraction.claims))
    texts = [s.text for s in sources]
    return _scored(record.response, texts, extraction, verdicts, unread, aggregate, weights)


async def _gate(record: Record, evidence: Evidence, checker: str, nli: str | None) -> LanguageGate:
    """The gate of the NLI model that alone checks claims; open for other checkers."""
    seats = majority.seats(checker)
    if any(seat.asks != "nli" for seat in seats):
        return OPEN
    return await language_gate(record, evidence, seats[0].model or nli)


def _by_language(
    record: Record, extraction: Extraction, gate: LanguageGate
) -> tuple[list[Claim], list[Claim]]:
    """The claims that the checker reads, and those that it does not."""
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
    """The checkers with those of the options that they take; the extractor may take the others."""
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
        "left_out": list(extraction.left_out[:_KEPT]),
    }
