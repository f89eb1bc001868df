"""SelfCheckGPT with question answering by the published checkpoints: tiny ones of their kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import veridical
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.scorers.judges._mqag import Question
from veridical_lab.models.requests import pack_texts, unpack_texts
from veridical_lab.scorers.mqag_models import Checkpoints

RECORD = Record(
    response="Ann was born in Rome. She sings.",
    samples=[
        "Ann was born in Rome.",
        "Ann was born in Oslo. She is old.",
        "Nothing is known of Ann.",
    ],
)


class Written(Evidence):
    """Outputs by model and source, in turn."""

    def __init__(self, outputs: dict[str, dict[str, list[str]]]) -> None:
        super().__init__(RECORD)
        self.outputs = outputs
        self.sources: list[tuple[str, str]] = []

    async def write(self, sources, model, *, max_tokens, seed=None, **_):
        assert seed is not None and max_tokens == 128
        texts = ["".join(s) for s in sources]
        self.sources += [(model, t) for t in texts]
        return [[self.outputs[model][t].pop(0)] for t in texts]

    async def _score(self, bound):
        raise AssertionError


async def test_outputs_are_read_as_the_published_code_reads_them() -> None:
    first, second = "Ann sings.", "It rains."
    written = {
        "g1": {
            first: ["Who sings?<sep> Ann", "no separator", "Who? <sep> Ann <sep> Bob"],
            second: ["What?<sep> rain", " <sep> rain", "What? <sep> rain"],
        },
        "g2": {
            "Who sings? <sep> Ann <sep> P": ["Bob<sep> Cy <sep> Di<sep> Ed"],
            "What? <sep> rain <sep> P": ["snow<extra_id_1>hail<extra_id_2>", "rain"],
        },
    }
    evidence = Written(written)
    found = await Checkpoints(evidence, "g1", "g2", "", "", 0).questions("P", [first, second], 3)
    assert found == [
        [Question("Who sings?", ("Ann", "Bob", "Cy", "Di"))],  # of five options the first four
        [Question("What?", ("rain", "snow", "hail"))],  # the other draw leaves nothing to choose
    ]
    assert evidence.sources[:6] == [("g1", first)] * 3 + [("g1", second)] * 3


@pytest.mark.torch
async def test_the_published_kinds_of_checkpoints_end_to_end(tmp_path: Path) -> None:
    """Random weights: whatever they say, the numbers follow from it by the formulas."""
    pytest.importorskip("torch")
    from seq2seq_checkpoints import save_longformer, save_t5

    from veridical.engine.run_evidence import RunEvidence

    ask = RunEvidence.ask

    async def asks(self, kind, requests, model=None):
        """G1's every output is a question: random weights never write the separator."""
        found = await ask(self, kind, requests, model)
        if model != arguments["writer"]:
            return found
        texts = [unpack_texts(a)[0] for a in found]
        return [pack_texts([f"What of {t[:20]}? <sep> {t[-9:]}a"]) for t in texts]

    arguments = {
        "questions": 2,
        "writer": str(save_t5(tmp_path / "g1")),
        "distractor": str(save_t5(tmp_path / "g2", seed=1)),
        "reader": str(save_longformer(tmp_path / "a", "LongformerForMultipleChoice")),
        "answerability": str(
            save_longformer(tmp_path / "u", "LongformerForSequenceClassification", num_labels=1)
        ),
    }
    bound = REGISTRY.bind("selfcheck_qa", arguments)
    rows = [RECORD.model_dump(by_alias=True, include={"response", "samples"})]
    with Engine(processes=0) as engine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunEvidence, "ask", asks)
        runs = [next(iter(veridical.check(rows, [bound], engine=engine))) for _ in range(2)]
    first, again = (r.scores[bound.key] for r in runs)
    assert first == again
    assert first.status == "scored"
    for part in ("seq2seq:g1@", "seq2seq:g2@", "choice:a@", "answerability:u@"):
        assert part in first.signature
    for row in first.raw["questions"]:
        same = np.array([a == row["answers"][0] for a in row["answers"][1:]])
        alpha = np.array(row["answerable"][1:])
        odds = 4 ** alpha[~same].sum(), 4 ** alpha[same].sum()
        assert row["inconsistency"] == pytest.approx(odds[0] / sum(odds), abs=1e-4)
    by_sentence = [
        np.mean([r["inconsistency"] for r in first.raw["questions"] if r["sentence"] == i])
        for i in range(2)
    ]
    assert [u.raw for u in first.units] == pytest.approx(by_sentence)
