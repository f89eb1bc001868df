"""Knowledge precision: share of an answer's words in its sources."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score, Unit
from veridical.core.stated import need_statements, unit_of_each, without_lead_in
from veridical.errors import NotApplicable
from veridical.text.citations import without_markers
from veridical.text.stems import content_stems

#: Pseudo-counts for smoothing: one new word of two weighs less than five of ten.
_PSEUDO_FOUND, _PSEUDO_WORDS = 3, 4


@scorer(
    "knowledge_precision",
    level="sentence",
    needs={"against"},
    source="K-Precision, Adlakha 2023, on content words and by sentence",
    raw_is="confidence",
    presets={"all", "auto"},
)
async def knowledge_precision(
    record: Record, evidence: Evidence, *, against: Against = "contexts"
) -> Score:
    """Compute the share of each sentence's content words that the sources contain.

    Words are compared by stem. Function words, citation marks and introductory phrases are ignored.
    All sources are read together.

    A sentence's ``raw`` is that share, in [0, 1], smoothed by four pseudo-words, three of them
    found. A sentence without content words has no risk. The response's ``raw`` is the same over all
    its sentences. ``risk = 1 - raw`` for both.

    Source: K-Precision, section 4 of Adlakha et al. 2023 ("Evaluating correctness and faithfulness
    of instruction-following models for question answering"). The paper counts all tokens of the
    whole answer.

    Raises:
        NotApplicable: the response is blank or states nothing, has no content word, or there is no
            source.
    """
    sentences = need_statements(record)
    known = frozenset().union(*(content_stems(s.text) for s in record.against(against)))
    units: list[Unit] = []
    found = total = 0
    for sentence in sentences:
        stems = content_stems(without_markers(without_lead_in(record, sentence).text))
        if not stems:
            units.append(Unit.of(sentence, None))
            continue
        shared = sum(s in known for s in stems)
        found, total = found + shared, total + len(stems)
        share = _share(shared, len(stems))
        units.append(Unit.of(sentence, 1 - share, raw=share))
    if not total:
        raise NotApplicable("the response has no content words")
    share = _share(found, total)
    return Score.of(1 - share, raw=share, units=unit_of_each(record, units))


def _share(found: int, total: int) -> float:
    return (found + _PSEUDO_FOUND) / (total + _PSEUDO_WORDS)
