"""Knowledge-F1: token overlap of an answer with the knowledge it should rest on."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from veridical.errors import NotApplicable
from veridical.records import Against, Source
from veridical.registry import scorer
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record

_ARTICLES = frozenset(["a", "an", "the"])
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized_tokens(text: str) -> list[str]:
    """Lower-case tokens between white space, without ASCII punctuation or English articles."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return [token for token in bare.split() if token not in _ARTICLES]


def token_f1(response: Sequence[str], knowledge: Sequence[str]) -> float:
    """F1 of two bags of tokens, in [0, 1]; 0 where either is empty."""
    shared = sum((Counter(response) & Counter(knowledge)).values())
    return 2 * shared / (len(response) + len(knowledge)) if shared else 0.0


def over_sources(sources: Sequence[Source], compare: Callable[[str], float]) -> float:
    """One number from several sources, larger being more alike.

    Contexts are parts of one body of knowledge and are joined by newlines, references are
    alternatives of which the best counts, samples are votes of which the mean is taken.
    """
    kind = sources[0].kind
    if kind == "context":
        return compare("\n".join(s.text for s in sources))
    values = [compare(s.text) for s in sources]
    return fmean(values) if kind == "sample" else max(values)


@scorer(
    "knowledge_f1",
    level="response",
    needs={"against"},
    source="Mirage of hallucination detection, section 2 (Knowledge-F1)",
    raw_is="confidence",
    presets={"auto", "fast"},
)
async def knowledge_f1(
    record: Record, evidence: Evidence, *, against: Against = "contexts"
) -> Score:
    """F1 between the tokens of the response and those of the knowledge, as bags.

    Tokens are normalised as in SQuAD: lower case, no ASCII punctuation, no "a", "an", "the", split
    at white space. Several contexts are joined; of several references the best counts; over
    samples the mean is taken. ``raw`` is the F1, in [0, 1]; risk is one minus it.

    Raises:
        NotApplicable: blank response, no source, or no token left in the response.
    """
    tokens = normalized_tokens(record.need_response())
    if not tokens:
        raise NotApplicable("the response has no words besides articles and punctuation")
    f1 = over_sources(
        record.against(against), lambda text: token_f1(tokens, normalized_tokens(text))
    )
    return Score.of(1 - f1, raw=f1)
