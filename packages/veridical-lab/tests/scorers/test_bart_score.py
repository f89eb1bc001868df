"""BARTScore and PRISM: directions and means by hand, and a tiny BART read by transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoint_evidence import FixedCheckpoints, window

import veridical
from veridical.core.evidence import guarded
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine

#: Log-probabilities of the target's tokens after the source.
TABLE = {
    ("doc", "hyp"): [-1.0, -2.0, -3.0],
    ("hyp", "doc"): [-4.0],
    ("r1", "hyp"): [-1.0],
    ("r2", "hyp"): [-3.0],
    ("hyp", "r1"): [-6.0],
    ("hyp", "r2"): [-2.0],
}


def record(**fields) -> Record:
    given = {"response": "hyp", "contexts": ["doc"], "reference": ["r1", "r2"]}
    return Record(**{**given, **fields})


def read(source: str, targets):
    return [window(*(TABLE[source, t] for t in targets))]


async def score(name: str, to: Record | None = None, *, reads=read, **arguments):
    evidence = FixedCheckpoints(to or record(), read=reads)
    bound = REGISTRY.bind(name, arguments)
    return await bound(evidence.record, evidence), evidence


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({}, -2.0),  # s -> h, the mean over tokens
        ({"direction": "from_response"}, -4.0),  # h -> s
        ({"direction": "mean"}, -3.0),
        ({"against": "reference"}, -1.0),  # r -> h, the better of two
        ({"against": "reference", "direction": "from_response"}, -2.0),  # h -> r
        ({"against": "reference", "direction": "mean"}, -2.5),  # (3 + 2) / 2 for r2, 3.5 for r1
    ],
)
async def test_directions_by_hand(arguments, value: float) -> None:
    found, _ = await score("bart_score", **arguments)
    assert found.raw["bart_score"] == pytest.approx(value)
    assert found.risk == pytest.approx(-value / (1 - value))


async def test_samples_are_votes() -> None:
    to = record(samples=["r1", "r2"])
    found, _ = await score("bart_score", to, against="samples")
    assert found.raw == {"bart_score": pytest.approx(-2.0), "to_response": pytest.approx(-2.0)}


async def test_both_directions_are_asked_at_once_and_reported() -> None:
    found, evidence = await score("bart_score", direction="mean")
    assert found.raw == {
        "bart_score": pytest.approx(-3.0),
        "to_response": pytest.approx(-2.0),
        "from_response": pytest.approx(-4.0),
    }
    ((_, requests, settings),) = evidence.asked
    assert requests == [("doc", ("hyp",)), ("hyp", ("doc",))]
    assert settings == {"model": "facebook/bart-large-cnn", "language": None}


async def test_the_window_counts_after_which_the_response_is_likeliest() -> None:
    found, _ = await score("bart_score", reads=lambda s, t: [window([-9, -3]), window([-1, -2])])
    assert found.raw["bart_score"] == pytest.approx(-1.5)


async def test_prism_is_the_mean_of_both_directions_in_the_language() -> None:
    found, evidence = await score("prism", record(reference=["r1"]))
    assert found.raw["prism"] == pytest.approx(-3.5)
    assert evidence.asked[0][2]["language"] == "en"
    found, evidence = await score("prism", against="contexts", direction="to_response")
    assert found.raw == {"prism": pytest.approx(-2.0), "to_response": pytest.approx(-2.0)}


@pytest.mark.parametrize("name", ["bart_score", "prism", "bleurt"])
async def test_what_is_lacking_is_said(name: str) -> None:
    for fields in ({"response": " "}, {"contexts": [], "reference": []}):
        evidence = FixedCheckpoints(record(**fields))
        found = await guarded(REGISTRY.bind(name, {}), evidence.record, evidence)
        assert found.status == "not_applicable"


@pytest.mark.torch
def test_numbers_are_those_of_the_published_code(tmp_path: Path) -> None:
    """The negative mean loss over all tokens of the target, <s> and </s> among them."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from seq2seq_checkpoints import CORPUS, save_bart

    folder = save_bart(tmp_path / "bart")
    rows = [
        {"response": r, "contexts": [c], "reference": [r[::-1]]}
        for r, c in zip(CORPUS, [*CORPUS[1:], "short"], strict=True)
    ]
    scorers = [
        f"bart_score(model='{folder}')",
        f"bart_score(model='{folder}', against=reference, direction=mean)",
    ]
    with Engine(processes=0) as engine:
        found = list(veridical.check(rows, ", ".join(scorers), engine=engine))
    model = transformers.BartForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def published(source: str, target: str) -> float:
        labels = tokenizer([target], return_tensors="pt")["input_ids"]
        with torch.no_grad():
            logits = model(**tokenizer([source], return_tensors="pt"), labels=labels).logits
        loss = torch.nn.NLLLoss(reduction="none", ignore_index=model.config.pad_token_id)
        values = loss(logits.view(-1, logits.shape[-1]).log_softmax(1), labels.view(-1))
        return -float(values.sum() / labels.shape[1])

    for result, row in zip(found, rows, strict=True):
        faithful, f, _ = result.scores.values()
        response, (context,), (reference,) = row["response"], row["contexts"], row["reference"]
        assert faithful.raw["bart_score"] == pytest.approx(published(context, response), abs=1e-5)
        expected = (published(reference, response) + published(response, reference)) / 2
        assert f.raw["bart_score"] == pytest.approx(expected, abs=1e-5)
        assert "seq2seq:bart@" in f.signature


@pytest.mark.torch
def test_long_documents_are_read_in_windows_not_cut(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from seq2seq_checkpoints import CONTEXT, save_bart

    folder = save_bart(tmp_path / "bart", positions=64)
    rows = [{"response": "The dog.", "contexts": [CONTEXT, "x. " * 90, CONTEXT]}]
    with Engine(processes=0) as engine:
        (found,) = veridical.check(rows, f"bart_score(model='{folder}')", engine=engine)
        (work,) = engine.work().values()
    (scored,) = found.scores.values()
    assert scored.status == "scored" and work.windows > 8
