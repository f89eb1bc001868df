"""UniEval: the published questions word for word, its arithmetic by hand, and a tiny T5."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from checkpoint_evidence import FixedCheckpoints, window

import veridical
from veridical.core.evidence import guarded
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.errors import NotApplicable, UsageError

RESPONSE = "Paris is in France. It is old."
FACTS = ["The Seine runs through Paris.", "Paris lies in France."]
PROMPT = "Where is Paris?"

#: As ``add_question`` of the published code writes them.
PUBLISHED = {
    ("fact", "consistency"): "question: Is this claim consistent with the document? </s> "
    "claim: {s} </s> document: {d}",
    ("sum", "consistency"): "question: Is this claim consistent with the document? </s> "
    "claim: {s} </s> document: {d}",
    ("sum", "coherence"): "question: Is this a coherent summary to the document? </s> "
    "summary: {o} </s> document: {d}",
    ("sum", "fluency"): "question: Is this a fluent paragraph? </s> paragraph: {s}",
    ("sum", "relevance"): "question: Is this summary relevant to the reference? </s> "
    "summary: {o} </s> reference: {r}",
    ("dialog", "groundedness"): "question: Is this response consistent with knowledge in the "
    "fact? </s> response: {o} </s> fact: {d}",
    ("dialog", "naturalness"): "question: Is this a natural response in the dialogue? </s> "
    "response: {o}",
    ("dialog", "understandability"): "question: Is this an understandable response in the "
    "dialogue? </s> response: {o}",
    ("dialog", "coherence"): "question: Is this a coherent response given the dialogue "
    "history? </s> response: {o} </s> dialogue history: {h}",
    ("dialog", "engagingness"): "question: Is this an engaging and informative response "
    "according to the dialogue history and fact? </s> response: {s} </s> dialogue history: {h} "
    "</s> fact: {d}",
}


def record(**fields) -> Record:
    given = {"response": RESPONSE, "contexts": FACTS, "prompt": PROMPT, "reference": ["Gold."]}
    return Record(**{**given, **fields})


def yes(p: float, outside: float = 0.5):
    """A window in which Yes has share ``p`` of what Yes and No have together."""
    inside = 1 - outside
    return window([math.log(p * inside), -9.0], [math.log((1 - p) * inside), -9.0])


async def score(read, to: Record | None = None, **arguments):
    evidence = FixedCheckpoints(to or record(), read=read)
    bound = REGISTRY.bind("unieval", arguments)
    return await bound(evidence.record, evidence), evidence


@pytest.mark.parametrize(("task", "dimension"), PUBLISHED)
async def test_questions_are_the_published_ones(task: str, dimension: str) -> None:
    _, evidence = await score(lambda s, t: [yes(0.5)], task=task, dimension=dimension)
    ((_, requests, settings),) = evidence.asked
    by_sentence = "{s}" in PUBLISHED[task, dimension]
    units = ["Paris is in France.", "It is old."] if by_sentence else [RESPONSE]
    values = {"o": RESPONSE, "d": "\n".join(FACTS), "r": "Gold.", "h": PROMPT}
    expected = [PUBLISHED[task, dimension].format(s=u, **values) for u in units]
    assert ["".join(source) for source, _ in requests] == expected
    assert all(targets == ("Yes", "No") for _, targets in requests)
    assert settings == {"model": f"MingZhong/unieval-{task}", "longest": 1024}


async def test_consistency_is_the_mean_over_sentences() -> None:
    found, _ = await score(lambda s, t: [yes(0.9 if "France. " in s else 0.4)])
    assert found.raw == pytest.approx(0.65) and found.risk == pytest.approx(0.35)
    assert [u.raw for u in found.units] == pytest.approx([0.9, 0.4])
    assert [u.risk for u in found.units] == pytest.approx([0.1, 0.6])
    assert found.units[0].evidence[0].text == "Paris lies in France."
    assert found.units[0].evidence[0].context == 1
    assert found.units[0].evidence[0].probability == pytest.approx(0.9)


async def test_only_the_first_tokens_count() -> None:
    found, _ = await score(lambda s, t: [window([-1.0, -50.0], [-2.0, -0.1])])
    assert found.raw == pytest.approx(math.exp(-1) / (math.exp(-1) + math.exp(-2)))


async def test_extreme_probabilities_do_not_overflow() -> None:
    low, _ = await score(lambda s, t: [window([-900.0], [0.0])])
    high, _ = await score(lambda s, t: [window([0.0], [-900.0])])
    assert (low.raw, high.raw) == (0.0, 1.0)


async def test_of_windows_the_one_most_for_the_response_counts() -> None:
    text = "\n".join(FACTS)

    def read(source, targets):
        first, second = yes(0.2), yes(0.7)
        return [first._replace(end=29), second._replace(start=30, end=len(text))]

    found, _ = await score(read)
    assert found.raw == pytest.approx(0.7)
    assert found.units[0].evidence[0].text == FACTS[1]


async def test_engagingness_is_a_sum() -> None:
    found, _ = await score(lambda s, t: [yes(0.75)], task="dialog", dimension="engagingness")
    assert found.raw == pytest.approx(1.5) and found.risk == pytest.approx(0.4)


async def test_groundedness_is_of_the_whole_response() -> None:
    found, _ = await score(lambda s, t: [yes(0.75)], task="dialog")
    assert (found.raw, found.risk) == (pytest.approx(0.75), pytest.approx(0.25))
    assert found.units == ()


async def test_references_are_alternatives_and_samples_votes() -> None:
    def read(source, targets):
        return [yes({"a": 0.2, "b": 0.6}[source[-1]])]

    found, _ = await score(read, record(reference=["a", "b"]), against="reference")
    assert found.raw == pytest.approx(0.6)
    found, _ = await score(read, record(samples=["a", "b"]), against="samples")
    assert found.raw == pytest.approx(0.4)
    assert [e.text for e in found.units[0].evidence] == ["b", "a"]


@pytest.mark.parametrize(
    ("fields", "arguments", "words"),
    [
        ({"response": " \n"}, {}, "empty"),
        ({"contexts": []}, {}, "no contexts"),
        ({"prompt": None}, {"task": "dialog", "dimension": "coherence"}, "no prompt"),
        ({"reference": []}, {"task": "sum", "dimension": "relevance"}, "no reference"),
    ],
)
async def test_what_is_lacking_is_said(fields, arguments, words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        await score(lambda s, t: [yes(0.5)], record(**fields), **arguments)


async def test_a_task_knows_its_own_questions_only() -> None:
    with pytest.raises(UsageError, match="known: consistency"):
        await score(lambda s, t: [yes(0.5)], dimension="groundedness")


async def test_a_question_about_the_response_alone_needs_nothing_else() -> None:
    found, _ = await score(
        lambda s, t: [yes(0.8)],
        Record(response=RESPONSE),
        task="dialog",
        dimension="naturalness",
    )
    assert found.raw == pytest.approx(0.8)


@pytest.mark.torch
def test_numbers_are_those_of_the_published_code(tmp_path: Path) -> None:
    """Softmax over the vocabulary at the first decoder step, one question at a time."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from seq2seq_checkpoints import save_t5

    folder = save_t5(tmp_path / "unieval-fact", seed=3)
    rows = [
        {"response": RESPONSE, "contexts": FACTS},
        {"response": "The dog </s> is asleep.", "contexts": ["Nobody knows why."]},
    ]
    with Engine(processes=0) as engine:
        spec = f"unieval(model='{tmp_path}/unieval-{{task}}')"
        found = list(veridical.check(rows, spec, engine=engine))
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    positive, negative = (tokenizer(w)["input_ids"][0] for w in ("Yes", "No"))
    for result, row in zip(found, rows, strict=True):
        (scored,) = result.scores.values()
        assert scored.status == "scored" and "seq2seq:unieval-fact@" in scored.signature
        for unit in scored.units:
            text = PUBLISHED["fact", "consistency"].format(
                s=unit.text.replace("</s>", "< /s>"), d="\n".join(row["contexts"])
            )
            source = tokenizer([text], return_tensors="pt")
            with torch.no_grad():
                logits = model(**source, labels=torch.tensor([[negative]])).logits
            p = logits.view(-1, model.config.vocab_size).softmax(1)[0]
            expected = float(p[positive] / (p[positive] + p[negative]))
            assert unit.raw == pytest.approx(expected, abs=1e-5)
        assert scored.raw == pytest.approx(sum(u.raw for u in scored.units) / len(scored.units))


async def test_a_failing_model_is_a_failed_score() -> None:
    def read(source, targets):
        raise RuntimeError("out of memory")

    evidence = FixedCheckpoints(record(), read=read)
    found = await guarded(REGISTRY.bind("unieval", {}), evidence.record, evidence)
    assert found.status == "failed" and "out of memory" in found.reason
