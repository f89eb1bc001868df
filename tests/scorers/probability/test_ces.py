from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from llm_evidence import FixedReplies
from scipy.stats import ecdf, entropy, gmean
from token_records import record_of, token

from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.probability.ces import ces

ROWS = [
    [token("Lyon", 0.6, 0.4), token(" it", 0.9, 0.1), token(" is", 0.99, 0.01)],
    [token("Nice", 0.5, 0.3, 0.2), token(".", 0.8, 0.15, 0.05)],
]
TOKENS = [token("Paris", 0.7, 0.2, 0.1), token(" is", 0.95, 0.05), token(" it", 0.85, 0.15)]


@pytest.fixture
def reference(tmp_path: Path) -> str:
    rows = [{"response": "".join(t["token"] for t in r), "logprobs": r} for r in ROWS]
    path = tmp_path / "reference.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    return str(path)


def entropies(tokens) -> list[float]:
    return [entropy(np.exp([other["logprob"] for other in t["top"]])) for t in tokens]


async def score(tokens, **parameters):
    record = record_of(tokens)
    (bound,) = REGISTRY.parse(f"ces({','.join(f'{n}={v!r}' for n, v in parameters.items())})")
    return await bound(record, FixedReplies(record))


async def test_geometric_mean_of_the_ranks_of_mean_and_maximum(reference):
    known = ecdf([h for row in ROWS for h in entropies(row)]).cdf
    own = entropies(TOKENS)
    mean, most = known.evaluate([np.mean(own), max(own)])
    found = await score(TOKENS, reference=reference)
    assert found.raw == pytest.approx({"ces": gmean([mean, most]), "mean": mean, "max": most})
    assert found.risk == found.raw["ces"] and 0 < found.risk < 1
    assert [u.raw for u in found.units] == pytest.approx(own)
    assert [u.risk for u in found.units] == pytest.approx(known.evaluate(own))


async def test_k_holds_for_the_reference_too(reference):
    two = [entropy(np.array(p) / sum(p)) for p in ([0.5, 0.3], [0.8, 0.15])]
    known = ecdf([*entropies(ROWS[0]), *two]).cdf
    found = await score([token("Paris", 0.7, 0.2, 0.1)], reference=reference, k=2)
    assert found.raw["max"] == pytest.approx(known.evaluate(entropy([0.7 / 0.9, 0.2 / 0.9])))


async def test_the_shipped_reference_ranks_the_sure_below_the_torn():
    sure = await score([token("Paris", 0.999, 0.001), token(".", 0.999, 0.001)])
    torn = await score([token("Paris", *[0.05] * 20), token(".", *[0.05] * 20)])
    assert sure.risk < 0.5 < 0.95 < torn.risk


def test_the_reference_is_pinned_to_its_content(reference):
    (before,) = REGISTRY.parse(f"ces(reference={reference!r})")
    with Path(reference).open("a") as file:
        file.write(json.dumps({"response": "Lyon it is", "logprobs": ROWS[0]}))
    (after,) = REGISTRY.parse(f"ces(reference={reference!r})")
    assert before.key != after.key


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file has no rows"),
        ('{"response": "Lyon"}', "KeyError: 'logprobs'"),
        ('{"response": "Nice", "logprobs": [{"token": "Lyon", "logprob": -1}]}', "line 1: "),
        ('{"response": "Lyon", "logprobs": [{"token": "Lyon", "logprob": -1}]}', "alternatives"),
    ],
)
def test_a_reference_that_is_none_is_refused(tmp_path, text, said):
    (tmp_path / "bad.jsonl").write_text(text)
    with pytest.raises(UsageError, match=said):
        REGISTRY.parse(f"ces(reference={str(tmp_path / 'bad.jsonl')!r})")


async def test_alternatives_are_needed():
    record = record_of([token("Paris", 0.5)])
    with pytest.raises(NotApplicable, match="alternatives"):
        await ces(record, FixedReplies(record))
