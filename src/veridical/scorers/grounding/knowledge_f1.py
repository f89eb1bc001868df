"""Knowledge-F1: token overlap of an answer with the knowledge it should rest on."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.grounding._documents import documents, over_documents

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


@scorer(
    "knowledge_f1",
    level="response",
    needs={"against"},
    source="Mirage of hallucination detection, section 2 (Knowledge-F1)",
    raw_is="confidence",
    presets={"all", "fast"},
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
    tokens = normalized_tokens(record.need_answer())
    if not tokens:
        raise NotApplicable("the response has no words besides articles and punctuation")
    docs = documents(record.against(against))
    f1 = over_documents(docs, [token_f1(tokens, normalized_tokens(d.text)) for d in docs])
    return Score.of(1 - f1, raw=f1)
