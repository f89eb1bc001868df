"""Knowledge-F1: token overlap of an answer with its knowledge."""

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
    """Return lower-case tokens between white space, without ASCII punctuation or English
    articles.
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return [token for token in bare.split() if token not in _ARTICLES]


def token_f1(response: Sequence[str], knowledge: Sequence[str]) -> float:
    """Compute the F1 of two bags of tokens, in [0, 1]; 0 if either is empty."""
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
    """Compute the F1 between the bags of tokens of the response and of the knowledge.

    Tokens are normalised as in SQuAD: lower case, no ASCII punctuation, no "a", "an", "the", split
    at white space. Several contexts are joined; of several references the best counts; values of
    samples are averaged. ``raw`` is the F1, in [0, 1]; ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank or has no token after normalisation, or there is no
            source.
    """
    tokens = normalized_tokens(record.need_answer())
    if not tokens:
        raise NotApplicable("the response has no words except articles and punctuation")
    docs = documents(record.against(against))
    f1 = over_documents(docs, [token_f1(tokens, normalized_tokens(d.text)) for d in docs])
    return Score.of(1 - f1, raw=f1)
