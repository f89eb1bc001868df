from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency._response_pairs import response_matrix

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Who?"}, {"type": "image_url"}]},
    {"role": "assistant", "content": None},
]


async def test_rows_are_premises_and_columns_hypotheses():
    table = {("a", "b"): (0.7, 0.2, 0.1), ("b", "a"): (0.1, 0.3, 0.6), ("a", "c"): (0, 1, 0)}
    record = Record(response="a", samples=["b", "c"])
    found = await response_matrix(record, FixedVerdicts(record, table))
    assert found.texts == ["a", "b", "c"]
    assert found.probabilities[0, 1].tolist() == [0.7, 0.2, 0.1]
    assert found.entailment.tolist() == [[1, 0.7, 0], [0.1, 1, 0.1], [0.1, 0.1, 1]]
    assert found.neutral.tolist() == [[0, 0.2, 1], [0.3, 0, 0.8], [0.8, 0.8, 0]]
    assert found.contradiction.tolist() == [[0, 0.1, 0], [0.6, 0, 0.1], [0.1, 0.1, 0]]
    assert found.entails.tolist() == [
        [True, True, False],
        [False, True, False],
        [False] * 2 + [True],
    ]


async def test_one_request_holds_each_ordered_pair_of_different_places_once():
    record = Record(response="a", samples=["b", "c", "a"])
    evidence = FixedVerdicts(record)
    found = await response_matrix(record, evidence)
    (asked,) = evidence.asked
    assert sorted(asked) == sorted(permutations(["a", "b", "c", "a"], 2))
    assert found.probabilities[0, 3].tolist() == [1, 0, 0]  # equal texts


async def test_blank_samples_and_samples_without_text_are_left_out():
    record = Record(response="a", samples=["", {"image": "x.png"}, "b"])
    assert (await response_matrix(record, FixedVerdicts(record))).texts == ["a", "b"]
    record = Record(response="a", samples=[""])
    with pytest.raises(NotApplicable, match="no samples"):
        await response_matrix(record, FixedVerdicts(record))
    record = Record(response="a", samples=["", {"image": "x.png"}])
    with pytest.raises(NotApplicable, match="the samples are images"):
        await response_matrix(record, FixedVerdicts(record))
    record = Record(response=" ", samples=["b"])
    with pytest.raises(NotApplicable, match="empty"):
        await response_matrix(record, FixedVerdicts(record))


@pytest.mark.parametrize(
    "prompt, before",
    [("Who?", "Who?\n"), (CHAT, "Be brief.\nWho?\n"), (None, ""), (" ", ""), ([], "")],
)
async def test_the_prompt_comes_before_both_texts_of_a_pair(prompt, before):
    record = Record(response="a", samples=["b"], prompt=prompt)
    evidence = FixedVerdicts(record)
    found = await response_matrix(record, evidence, prompts=True)
    assert evidence.asked == [[(before + "a", before + "b"), (before + "b", before + "a")]]
    assert found.texts == ["a", "b"]


async def test_only_what_needs_contradiction_refuses_a_model_without_it():
    record = Record(response="a", samples=["b"])
    evidence = FixedVerdicts(record, default=(0.6, 0.4, 0), contradicts=False)
    found = await response_matrix(record, evidence)
    assert found.entailment.tolist() == [[1, 0.6], [0.6, 1]]
    assert np.all(found.entails)
    for name in ("neutral", "contradiction"):
        with pytest.raises(NotApplicable, match="contradiction"):
            getattr(found, name)
