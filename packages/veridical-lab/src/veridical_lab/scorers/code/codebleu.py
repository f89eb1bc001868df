"""CodeBLEU of the response's code with that of the samples.

Ren et al. 2020.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical_lab.scorers.code.code import Language, code_tokens, keywords
from veridical_lab.scorers.code.code_equivalence import code_answers
from veridical_lab.scorers.code.code_flow import data_flow, subtrees
from veridical_lab.scorers.code.python_form import parsed

_ORDER = 4
_NONE = 0.1  # value without a common n-gram: Chen & Cherry 2014, method 1
_OTHER = 0.2  # weight of a token that is not a keyword; a keyword has weight 1


@scorer(
    "codebleu",
    level="response",
    needs={"against"},
    source="Ren 2020 (CodeBLEU); UQLM 0.6, code_bleu",
    cost="free",
    raw_is="confidence",
    raw_key="codebleu",
)
async def codebleu(
    record: Record,
    evidence: Evidence,
    *,
    language: Language = "python",
    against: Against = "samples",
) -> Score:
    """Compute the mean CodeBLEU of the response's code with each sample's as the reference.

    CodeBLEU is the mean of four values:

    - BLEU of the tokens;
    - BLEU with keywords at five times the weight in its first order;
    - the share of the reference's syntax subtrees that the code has;
    - that of its data flow.

    The last two are computed for Python, by its own parser. They are left out if neither code is
    valid Python, and 0 if one of them is not. Data flow is left out if the reference has no data
    flow. The remaining values count equally.

    Args:
        language: as in ``functional_equivalence``, as is the extraction of code.
        against: texts to compare the response with. The mean is over samples; of several contexts
            or references the nearest counts.

    ``raw`` has ``codebleu`` and the means of ``ngram``, ``weighted_ngram``, ``syntax`` and
    ``dataflow``, each in [0, 1] or null if never defined; ``risk = 1 - codebleu``. No code is ever
    run.

    Raises:
        NotApplicable: the response has no code, or there is no text to compare with.
    """
    response, others = code_answers(record, record.against(against), language)
    candidate = _Code.of(response, language)
    found = [_match(candidate, _Code.of(other, language), language) for other in others]
    if against != "samples":
        found = [max(found, key=_overall)]
    raw: dict[str, Any] = {"codebleu": _mean([_overall(parts) for parts in found])}
    for name in found[0]:
        raw[name] = _mean([parts[name] for parts in found])
    return Score.of(1 - raw["codebleu"], raw=raw)


@dataclass(frozen=True)
class _Code:
    tokens: list[str]
    tree: ast.Module | None

    @classmethod
    def of(cls, code: str, language: Language) -> _Code:
        tree = parsed(code) if language == "python" else None
        return cls(code_tokens(code, language), tree)


def _match(candidate: _Code, reference: _Code, language: Language) -> dict[str, float | None]:
    known = keywords(language)
    weights = {t: 1.0 if t in known else _OTHER for t in (*candidate.tokens, *reference.tokens)}
    parts: dict[str, float | None] = {
        "ngram": bleu(candidate.tokens, reference.tokens),
        "weighted_ngram": bleu(candidate.tokens, reference.tokens, weights),
        "syntax": None,
        "dataflow": None,
    }
    if candidate.tree is not None and reference.tree is not None:
        try:
            parts["syntax"] = _share(subtrees(candidate.tree), subtrees(reference.tree))
            parts["dataflow"] = _share(data_flow(candidate.tree), data_flow(reference.tree))
        except RecursionError:
            parts["syntax"] = parts["dataflow"] = None
    elif candidate.tree is not reference.tree:
        parts["syntax"] = parts["dataflow"] = 0.0
    return parts


def bleu(
    candidate: Sequence[str], reference: Sequence[str], weights: Mapping[str, float] | None = None
) -> float:
    """BLEU of one pair of token lists up to 4-grams, in [0, 1].

    An order without a match counts as 0.1 matches; one longer than the candidate has one n-gram.

    Args:
        weights: of single tokens, which then count as much in the first order.
    """
    if not candidate or not reference:
        return 0.0
    logs = 0.0
    for n in range(1, _ORDER + 1):
        ours, theirs = _ngrams(candidate, n), _ngrams(reference, n)
        weight = weights if n == 1 and weights is not None else None
        matched = _total(ours & theirs, weight)
        if not matched and n == 1:
            return 0.0
        logs += math.log((matched or _NONE) / max(_total(ours, weight), 0.0 if weight else 1.0))
    brevity = min(0.0, 1 - len(reference) / len(candidate))
    return math.exp(brevity + logs / _ORDER)


def _ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _total(counts: Counter[tuple[str, ...]], weights: Mapping[str, float] | None) -> float:
    if weights is None:
        return float(counts.total())
    return sum(weights[token] * count for (token,), count in counts.items())


def _share(ours: Counter[Any], theirs: Counter[Any]) -> float | None:
    return (ours & theirs).total() / theirs.total() if theirs else None


def _overall(parts: Mapping[str, float | None]) -> float:
    mean = _mean(list(parts.values()))
    assert mean is not None
    return mean


def _mean(values: Sequence[float | None]) -> float | None:
    there = [v for v in values if v is not None]
    return sum(there) / len(there) if there else None
