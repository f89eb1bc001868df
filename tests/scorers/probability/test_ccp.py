from __future__ import annotations

import math

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.tokens import TokenProbabilities
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.probability.ccp import ccp, joined_classes

YES, MAYBE, NO = (0.9, 0.05, 0.05), (0.05, 0.9, 0.05), (0.05, 0.05, 0.9)
LONDON, TAIL = "Ada was born in London.", "She wrote."


def token(text: str, p: float, **others: float):
    top = [{"token": text, "logprob": math.log(p)}]
    top += [{"token": t.replace("_", " "), "logprob": math.log(q)} for t, q in others.items()]
    return {"token": text, "logprob": math.log(p), "top": top}


TOKENS = [
    token("Ada", 0.9),
    token(" was", 0.5, _is=0.4),
    token(" born", 0.6, _raised=0.3),
    token(" in", 0.9, _at=0.05),
    token(" London", 0.4, _Paris=0.3, _town=0.1, _the=0.1),
    token(".", 0.9),
    token(" She", 0.9),
    token(" wrote", 0.5, _sang=0.5),
    token(".", 0.9),
]
RECORD = Record(response=f"{LONDON} {TAIL}", logprobs=TOKENS)
BORN = "Ada was born"


def both(chosen: str, other: str, forward, backward):
    return {(chosen, other): forward, (other, chosen): backward}


TABLE = {
    **both(BORN, "Ada was raised", NO, MAYBE),  # one direction contradicts: contradiction
    **both("Ada was born in London", "Ada was born in Paris", NO, NO),
    **both("Ada was born in London", "Ada was born in town", YES, MAYBE),  # entailment
    **both("Ada was born in London", "Ada was born in the", YES, NO),  # clash: neutral
    **both("She wrote", "She sang", MAYBE, MAYBE),
}
FIRST = 0.6 / 0.9 * (0.4 + 0.1) / (0.4 + 0.1 + 0.3)


async def score(record=RECORD, table=TABLE, contradicts=True, **parameters):
    evidence = FixedVerdicts(record, table, contradicts=contradicts)
    return await ccp(record, evidence, **parameters), evidence


async def test_worked_by_hand():
    found, evidence = await score()
    assert [u.text for u in found.units] == [LONDON, TAIL]
    assert [u.level for u in found.units] == ["claim", "claim"]
    # nothing contradicts "wrote", whose alternative is neutral
    assert [u.raw for u in found.units] == pytest.approx([FIRST, 1.0])
    assert [u.risk for u in found.units] == pytest.approx([1 - FIRST, 0.0])
    assert found.raw == pytest.approx((FIRST + 1) / 2)
    assert found.risk == pytest.approx(1 - found.raw)
    (pairs,) = evidence.asked  # one request, both directions, no function words
    assert len(pairs) == 2 * 5
    item = found.units[0].evidence[0]
    assert (item.kind, item.index, item.text) == ("token", 4, " London")
    assert item.probability == pytest.approx(0.4)


async def test_the_least_sure_claim():
    found, _ = await score(aggregate="min")
    assert found.raw == pytest.approx(FIRST)


async def test_words_alone():
    table = {**both("London", "Paris", NO, NO), **both("born", "raised", MAYBE, MAYBE)}
    found, evidence = await score(table=table, context="alone")
    assert ("London", "Paris") in evidence.asked[0]
    assert found.units[0].raw == pytest.approx(0.4 / 0.7)


async def test_fewer_alternatives():
    found, _ = await score(k=2)  # "London" and "Paris" alone
    assert found.units[0].raw == pytest.approx(0.6 / 0.9 * 0.4 / 0.7)
    found, evidence = await score(least=0.2)
    assert found.units[0].raw == pytest.approx(0.6 / 0.9 * 0.4 / 0.7)
    assert len(evidence.asked[0]) == 2 * 3


def test_directions_are_joined_as_published():
    e, n, c = range(3)
    rows = [(e, e, e), (n, n, n), (c, c, c), (e, n, e), (n, e, e), (c, n, c), (n, c, c), (e, c, n),
            (c, e, n)]  # fmt: skip
    forward, backward, expected = np.array(rows).T
    assert joined_classes(forward, backward).tolist() == expected.tolist()


async def test_a_claim_without_a_content_word_is_not_judged():
    record = Record(response="It of. Ada wrote.", logprobs=[
        token("It", 0.5), token(" of", 0.5), token(".", 0.9), token(" Ada", 0.5, _Bob=0.5),
        token(" wrote", 0.9), token(".", 0.9)])  # fmt: skip
    found, _ = await score(record, both("Ada", "Bob", NO, NO), extractor="sentences")
    assert [u.risk for u in found.units] == [None, pytest.approx(0.5)]
    assert found.raw == pytest.approx(0.5)


async def test_what_it_needs():
    with pytest.raises(NotApplicable, match="no class for contradiction"):
        await score(contradicts=False)
    bare = Record(response="Ada", logprobs=[{"token": "Ada", "logprob": -1.0}])
    with pytest.raises(NotApplicable, match="alternatives"):
        await score(bare)
    with pytest.raises(NotApplicable, match="proxy=MODEL"):
        await score(Record(response="Ada"))
    empty = Record(response="It of.", logprobs=[token("It", 0.5, _He=0.2), token(" of.", 0.5)])
    with pytest.raises(NotApplicable, match="content word"):
        await score(empty)
    (bound,) = REGISTRY.parse("ccp(llm=x)")
    with pytest.raises(UsageError, match="calls no LLM"):
        assert bound.costs


class ByProxy(FixedVerdicts):
    async def read(self, texts, proxy=None):
        place = np.zeros(1, np.int64)
        top = np.log([[0.6, 0.3]])
        tokens = TokenProbabilities(place, place + 3, np.log([0.6]), top)
        spelled = None if proxy == "mute" else lambda place: ["Ada", "Bob"]
        return [TokenProbabilities(**{**vars(tokens), "top_text": spelled})]

    async def chat_prompt(self, messages, proxy=None):
        return ""


async def test_a_proxy_that_names_its_alternatives_stands_for_log_probabilities():
    record = Record(response="Ada")
    evidence = ByProxy(record, both("Ada", "Bob", NO, NO))
    assert (await ccp(record, evidence, proxy="m")).raw == pytest.approx(0.6 / 0.9)
    with pytest.raises(NotApplicable, match="do not name the tokens"):
        await ccp(record, evidence, proxy="mute")
