"""Citations: existence of the cited passages and their support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from veridical.claims.select import SourceWindow, screen
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.core.stated import stated_sentences
from veridical.errors import NotApplicable
from veridical.scorers._most_about import most_about_of
from veridical.scorers.grounding._cited import CitedSentence, cited_sentences
from veridical.text.passages import SIZE, windows
from veridical.text.spans import Span

#: Minimum P(entailment) at which a passage supports a sentence.
EVEN = 0.5
_JOINED = SIZE  # characters: passages of no more in all are also read as one
_MAX_LISTED = 20  # texts of a kind in the raw value


@scorer(
    "citations",
    level="sentence",
    needs={"contexts"},
    source="Veridical: after Gao 2023 (ALCE), section 4, citation recall and precision",
    cost="nli",
    auxiliary=True,
    raw_is="risk",
    raw_key="risk",
    presets={"all"},
)
async def citations(
    record: Record,
    evidence: Evidence,
    *,
    uncited: Literal["apart", "risky"] = "apart",
    top: Annotated[int, Field(ge=0, le=1000)] = 8,
    nli: str | None = None,
) -> Score:
    """Check that the passages a sentence cites exist and support it.

    A citation is ``[3]``, ``[1, 2]``, ``[1-3]``, ``[source 3]``, ``【3†source】`` or a context's id
    in brackets. A web address is one if any context has an address as its id or in its text. So are
    at least four words in quotation marks. A number is a context's id if one has that id, else its
    position, counted from 1. Numbers of four digits, superscripts, ``(3)``, names with years and
    text in code are not read as citations. A marker after a sentence belongs to that sentence. A
    quotation that occurs in the prompt and in no context is not counted as a quotation of a
    context.

    The risk of a sentence is

    - 1 if a citation does not exist (labelled ``missing``);
    - 1 if a quotation is not verbatim (``misquoted``) in the cited passage or, for a sentence
      without other citations, in any context. Case, spacing and the style of quotation marks and
      dashes are ignored;
    - else 1 - P(entailment) of the sentence, without markers, by the best window of any cited
      passage (``supported``, or ``unsupported`` from a risk of 1/2). Several short passages are
      also read together;
    - null if it cites nothing (``uncited``), belongs to a list of sources (``list``), or cites
      links that cannot be resolved (``unknown``). Such sentences are not judged.

    Args:
        uncited: ``apart`` gives sentences without a citation no risk and counts them separately;
            ``risky`` gives them the risk 1.
        top: number of full windows of the cited text that judge a sentence, as in
            ``nli_grounding``.
        nli: NLI model; the run's default if None.

    The response's risk is the maximum over its sentences. ``raw`` has it as ``risk``. ``recall`` is
    the share of sentences with a statement that their citations support. ``precision`` is the share
    of citations that exist and whose passage alone supports the sentence. The numbers of ``cited``
    and ``uncited`` sentences and of ``citations`` and ``quotations`` follow. ``missing`` and
    ``misquoted`` count invalid ones; up to 20 of them are given as written (``not_found``,
    ``not_verbatim``). ``unknown`` has links that were not resolved.

    It does not affect the verdict, as sentences without a citation are not judged.

    Raises:
        NotApplicable: the response is blank or cites nothing, there is no context, or the NLI model
            does not support its script.
    """
    sentences = cited_sentences(record)
    if not any(s.cites for s in sentences):
        _need_citations(sentences, uncited)
    sources = {i: Source("context", i, c.text) for i, c in enumerate(record.contexts)}
    readings = _readings(record, evidence, sentences, sources, top)
    pairs = list(dict.fromkeys(pair for r in readings.values() for pair in r.pairs()))
    verdicts = (await evidence.nli(pairs, nli)).entailment.tolist() if pairs else []
    judged = dict(zip(pairs, verdicts, strict=True))
    units = []
    tally = _Tally()
    for i, sentence in enumerate(sentences):
        support = readings[i].support(judged) if i in readings else None
        unit = _unit(sentence, support, sources, evidence, uncited)
        units.append(unit)
        tally.add(sentence, support, unit)
    risks = [u.risk for u in units if u.risk is not None]
    if not risks:
        raise NotApplicable("no cited sentence states anything")
    return Score.of(max(risks), raw=tally.raw(max(risks)), units=units)


def _need_citations(sentences: Sequence[CitedSentence], uncited: str) -> None:
    if any(s.unknown for s in sentences):
        raise NotApplicable("the response cites links, but no context has a link")
    if uncited == "apart":
        raise NotApplicable("the response cites nothing")


class _Support(NamedTuple):
    """The support of a sentence by its citations.

    P(entailment) of the best citation and of each passage read by its context, and the best windows
    in order.
    """

    best: float
    by_context: dict[int, float]
    windows: list[tuple[SourceWindow, float]]


class _Reading(NamedTuple):
    """The windows that judge a sentence, and the joined cited text if it is short."""

    text: str
    windows: list[SourceWindow]
    joined: str | None

    def pairs(self) -> list[tuple[str, str]]:
        premises = [w.passage.text for w in self.windows]
        return [(p, self.text) for p in (*premises, self.joined) if p is not None]

    def support(self, judged: dict[tuple[str, str], float]) -> _Support:
        found = [(w, judged[w.passage.text, self.text]) for w in self.windows]
        found.sort(key=lambda x: -x[1])
        by_context: dict[int, float] = {}
        for window, probability in found:
            by_context.setdefault(window.source, probability)
        best = found[0][1]
        if self.joined is not None:
            best = max(best, judged[self.joined, self.text])
        return _Support(best, by_context, found)


def _readings(
    record: Record,
    evidence: Evidence,
    sentences: Sequence[CitedSentence],
    sources: dict[int, Source],
    top: int,
) -> dict[int, _Reading]:
    """Return, for each sentence with a statement and existing citations, its windows."""
    said = [Span(s.span.start, s.span.end, s.said) for s in sentences]
    texts = stated_sentences(record, said)
    cut: dict[int, list[SourceWindow]] = {}
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, sentence in enumerate(sentences):
        places = dict.fromkeys(sentence.contexts)
        places.update(dict.fromkeys(q.cited.context for q in sentence.quoted if q.cited))
        cited = tuple(p for p in places if sources[p].text.strip())
        if cited and sentence.said and not sentence.listed:
            groups.setdefault(cited, []).append(i)
    readings = {}
    for cited, of_group in groups.items():
        own = []
        for place in cited:
            if place not in cut:
                cut[place] = [SourceWindow(place, p) for p in windows(sources[place].text)]
            own += cut[place]
        joined = "\n".join(sources[p].text for p in cited[:SHOWN])
        together = joined if 1 < len(cited) <= SHOWN and len(joined) <= _JOINED else None
        passages = [w.passage.text for w in own]
        for i, chosen in zip(
            of_group, screen([texts[i] for i in of_group], passages, evidence, top=top), strict=True
        ):
            readings[i] = _Reading(texts[i], [own[k] for k in chosen.read], together)
    return readings


def _unit(
    sentence: CitedSentence,
    support: _Support | None,
    sources: dict[int, Source],
    evidence: Evidence,
    uncited: str,
) -> Unit:
    items = [
        EvidenceItem.at(sources[q.elsewhere.context], q.elsewhere.start, q.elsewhere.end)
        for q in sentence.quoted
        if q.elsewhere is not None
    ]
    if support is not None:
        for window, probability in support.windows[:SHOWN]:
            spans = [(sources[window.source], s) for s in window.passage.sentences]
            items.append(most_about_of(evidence, sentence.said, spans, probability))
    risk, label = _judged(sentence, support, uncited)
    return Unit.of(sentence.span, risk, raw=risk, label=label, evidence=items[:SHOWN])


def _judged(
    sentence: CitedSentence, support: _Support | None, uncited: str
) -> tuple[float | None, str]:
    if sentence.missing:
        return 1.0, "missing"
    if sentence.misquotes:
        return 1.0, "misquoted"
    if sentence.listed or not (sentence.said or sentence.cites):
        return None, "list"
    if support is not None:
        return 1 - support.best, "supported" if support.best > EVEN else "unsupported"
    if sentence.cites and sentence.said:  # the cited text is blank
        return 1.0, "unsupported"
    if sentence.unknown:
        return None, "unknown"
    return (1.0 if uncited == "risky" else None), "uncited"


class _Tally:
    """Counts over the sentences of a response."""

    def __init__(self) -> None:
        self._labels: dict[str | None, int] = {}
        self._found: dict[str, list[str]] = {"not_found": [], "not_verbatim": [], "unknown": []}
        self._counts = dict.fromkeys(("citations", "missing", "quotations", "misquoted"), 0)
        self._read = self._supporting = 0

    def add(self, sentence: CitedSentence, support: _Support | None, unit: Unit) -> None:
        label = unit.label
        self._labels[label] = self._labels.get(label, 0) + 1
        misquoted = [q for q in sentence.quoted if q.cited is None]
        self._counts["citations"] += sentence.count
        self._counts["missing"] += len(sentence.missing)
        self._counts["quotations"] += len(sentence.quoted)
        self._counts["misquoted"] += len(misquoted)
        self._found["not_found"] += sentence.missing
        self._found["not_verbatim"] += [" ... ".join(q.quotation.pieces) for q in misquoted]
        self._found["unknown"] += sentence.unknown
        if sentence.listed:
            return
        by_context = support.by_context if support is not None else {}
        self._read += len(by_context) + len(sentence.missing)
        self._supporting += sum(p > EVEN for p in by_context.values())

    def raw(self, risk: float) -> dict[str, Any]:
        labels = self._labels
        cited = sum(labels.get(x, 0) for x in ("supported", "unsupported", "missing", "misquoted"))
        stated = cited + labels.get("uncited", 0) + labels.get("unknown", 0)
        return {
            "risk": risk,
            "recall": labels.get("supported", 0) / stated if stated else None,
            "precision": self._supporting / self._read if self._read else None,
            "cited": cited,
            "uncited": labels.get("uncited", 0),
            **self._counts,
            **{name: texts[:_MAX_LISTED] for name, texts in self._found.items()},
        }
