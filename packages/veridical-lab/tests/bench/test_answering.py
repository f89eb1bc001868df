"""``bench qa`` from end to end: answers of a scripted model or a stored file, figures by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.errors import UsageError
from veridical.llm.decoding import parse_decoding
from veridical.llm.fake import FakeLlm
from veridical.llm.llms import Llms
from veridical.sampling.adaptive import Adaptive
from veridical.sampling.sampling import Sampling
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.result import Row

QUESTIONS = 30


def row(made: Bench, split: str, metric: str, scorer: str = "exact_match") -> Row:
    (found,) = (r for r in made.rows if (r.split, r.metric, r.scorer) == (split, metric, scorer))
    return found


def answers(times: int = 1) -> list[dict[str, Any]]:
    """Ten answers each that both, one and none of two samples repeat: 9, 5 and 1 are right."""
    made = []
    for agreeing, right in ((2, 9), (1, 5), (0, 1)):
        for i in range(10 * times):
            text = "42" if i < right * times else "41"
            samples = [text] * agreeing + ["?"] * (2 - agreeing)
            prompt = f"question {agreeing} {i}"
            given = {"prompt": prompt, "response": text, "samples": samples}
            made.append({**given, "reference": "42", "dataset": "gsm8k"})
    return made


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "answers.jsonl"
    path.write_text("".join(json.dumps(a) + "\n" for a in answers()))
    return path


def test_figures_of_stored_answers_by_hand(stored: Path) -> None:
    made = veridical.bench("qa", stored, "exact_match", bootstrap=50, as_published=True)
    # wrong above right: 5 x 9 + 9 x 9 + 9 x 5 pairs, and half of the 9 + 25 + 9 ties; of 15 x 15
    assert row(made, "gsm8k", "auroc").value == pytest.approx((171 + 21.5) / 225)
    assert row(made, "gsm8k", "auroc").prevalence == 0.5
    # passing 10, 20 or all 30 gives F1 18/25, 28/35 = 0.8 or 30/45
    assert row(made, "gsm8k-right", "precision").value == pytest.approx(14 / 20)
    assert row(made, "gsm8k-right", "recall").value == pytest.approx(14 / 15)
    assert row(made, "gsm8k-right", "f1").value == pytest.approx(0.8)
    assert row(made, "gsm8k-right", "f1", "always_positive").value == pytest.approx(2 / 3)
    assert "threshold_fitted_on_test" in row(made, "gsm8k-right", "f1").flags
    wrong = next(s for s in made.splits if s.split == "gsm8k")
    curve = next(c for c in wrong.curves if c.scorer == "exact_match")
    at = {round(tau, 2): (accuracy, share) for tau, accuracy, share in curve.accuracy_at}
    assert at[0.0] == pytest.approx((0.9, 1 / 3))
    assert at[0.5] == pytest.approx((0.7, 2 / 3))
    assert at[1.0] == pytest.approx((0.5, 1))


def test_thresholds_come_from_other_folds(tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text("".join(json.dumps(a) + "\n" for a in answers(10)))
    made = veridical.bench("qa", path, "exact_match", bootstrap=50)
    f1 = row(made, "gsm8k-right", "f1")
    assert f1.threshold == "cross-fitted" and "threshold_fitted_on_test" not in f1.flags
    # every four fifths of these answers have their best F1 at the same cut
    assert f1.value == pytest.approx(0.8)
    assert f1.ci_low is not None and f1.ci_high is not None and f1.ci_low < 0.8 < f1.ci_high


def test_another_grader_replaces_labels_and_tells_how_they_agree(
    stored: Path, tmp_path: Path
) -> None:
    labelled = [{**a, "label": float(a["response"] != "42")} for a in answers()]
    labelled[0]["label"] = 1.0  # against the gold answer
    labelled[1]["reference"] = "?"
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(a) + "\n" for a in labelled))
    made = veridical.bench("qa", path, "exact_match", bootstrap=0, grader="exact")
    (split,) = (s for s in made.splits if s.split == "gsm8k")
    assert split.n_total == 29 and split.n_positive == 15
    assert any("agrees with 28 of 29 labels" in n for n in split.notes)
    assert any("1 answers not graded" in n and "no gold answer" in n for n in split.notes)
    assert any("graded by exact" in n for n in split.notes)
    assert made.settings["grader"] == "exact"
    own = veridical.bench("qa", path, "exact_match", bootstrap=0)
    assert next(s for s in own.splits if s.split == "gsm8k").n_positive == 16
    assert own.run != made.run


# --- answered by a model


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    folder = tmp_path / "questions"
    folder.mkdir()
    rows = [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(QUESTIONS)]
    (folder / "gsm8k_test.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    choices = [{"label": "1", "text": "no"}, {"label": "2", "text": "yes"}]
    arc = {"id": "a", "question": {"stem": "Is it?", "choices": choices}, "answerKey": "2"}
    (folder / "arc_test.jsonl").write_text(json.dumps(arc) + "\n")
    return folder


def calculator(request: ChatRequest) -> str:
    """Right but for every third sum, where no two answers are alike."""
    told = request.messages[-1]["content"]
    if not told.startswith("What is"):
        return "B. yes"
    n = int(told.split()[2])
    return str(n + 1) if n % 3 else str(100 + n + request.ordinal + (request.temperature > 0))


def test_a_model_answers_is_graded_and_scored(questions: Path, tmp_path: Path) -> None:
    fake = FakeLlm(calculator, name="calculator")
    told: list[str] = []
    out = tmp_path / "out"
    options: dict[str, Any] = {"bootstrap": 50, "samples": 4, "out": out}
    made = veridical.bench("qa", questions, "exact_match", llm=fake, tell=told.append, **options)
    right = row(made, "gsm8k-right", "f1")
    assert right.prevalence == pytest.approx(2 / 3) and right.n_total == QUESTIONS
    assert right.value == 1.0 == row(made, "gsm8k", "auroc").value
    assert row(made, "arc-right", "f1", "always_positive").prevalence == 1.0
    split = next(s for s in made.splits if s.split == "gsm8k")
    assert any("answers by calculator" in n and "4 samples" in n for n in split.notes)
    assert any("graded by numeric" in n for n in split.notes)
    assert any(f"{QUESTIONS + 1} questions" in t for t in told)
    assert sum(fake.asked.values()) == 5 * (QUESTIONS + 1)
    # the same command asks nothing again, and its graded answers are data for another
    again = veridical.bench("qa", questions, "exact_match", llm=fake, **options)
    assert sum(fake.asked.values()) == 5 * (QUESTIONS + 1)
    assert again.rows == made.rows and again.run == made.run
    (graded,) = out.glob("answers/*/graded.jsonl")
    replay = veridical.bench("qa", graded, "exact_match", bootstrap=50)
    assert row(replay, "gsm8k-right", "f1").value == 1.0
    assert row(replay, "gsm8k", "auroc").n_total == QUESTIONS


def test_only_what_is_reported_on_is_asked(questions: Path) -> None:
    fake = FakeLlm(calculator, name="calculator")
    veridical.bench(
        "qa", questions, "exact_match", llm=fake, bootstrap=0, split="gsm8k-right", limit=7
    )
    assert sum(fake.asked.values()) == 7 * 6  # a response and five samples by default
    with pytest.raises(UsageError, match="no split 'gsm9k'"):
        veridical.bench("qa", questions, "exact_match", llm=fake, split="gsm9k")
    assert sum(fake.asked.values()) == 7 * 6


def test_questions_without_an_answer_count_as_failed(questions: Path) -> None:
    def answer(request: ChatRequest) -> Any:
        if "What is 5 " in request.messages[-1]["content"]:
            return LlmError("malformed", "not JSON")
        return calculator(request)

    fake = FakeLlm(answer, name="broken")
    made = veridical.bench("qa", questions, "exact_match", llm=fake, bootstrap=0, samples=1)
    found = row(made, "gsm8k", "auroc")
    assert (found.n_total, found.n_scored, found.n_failed) == (QUESTIONS, QUESTIONS - 1, 1)
    assert any("not JSON" in why for why in found.failed_reasons)
    assert found.coverage is not None and found.coverage < 1


def test_failed_questions_are_asked_again_on_request(questions: Path, tmp_path: Path) -> None:
    broken = True

    def answer(request: ChatRequest) -> Any:
        if broken and "What is 5 " in request.messages[-1]["content"]:
            return LlmError("malformed", "not JSON")
        return calculator(request)

    fake = FakeLlm(answer, name="flaky")
    options: dict[str, Any] = {"llm": fake, "bootstrap": 0, "samples": 1, "out": tmp_path / "out"}
    veridical.bench("qa", questions, "exact_match", **options)
    broken = False
    asked = sum(fake.asked.values())
    made = veridical.bench("qa", questions, "exact_match", **options)
    assert row(made, "gsm8k", "auroc").n_failed == 1  # kept, until it is asked for
    made = veridical.bench("qa", questions, "exact_match", retry_failed=True, **options)
    assert row(made, "gsm8k", "auroc").n_failed == 0
    assert sum(fake.asked.values()) == asked + 2


def test_an_endpoint_that_is_out_of_order(questions: Path) -> None:
    fake = FakeLlm(lambda request: LlmError("server", "503"), name="down")
    with pytest.raises(LlmError, match="prompts in a row failed"):
        veridical.bench("qa", questions, "exact_match", llm=fake, bootstrap=0, samples=1)


def test_a_model_grades(questions: Path, tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        told = request.messages[-1]["content"]
        if "Gold answers" not in told:
            return calculator(request)
        if "What is 4 " in told:
            return "Perhaps."
        return "No" if "What is 6 " in told else "Yes"

    fake = FakeLlm(answer, name="grader")
    made = veridical.bench(
        "qa",
        questions,
        "exact_match",
        llm=fake,
        bootstrap=0,
        samples=1,
        grader="llm",
        split="gsm8k",
    )
    (split,) = (s for s in made.splits if s.split == "gsm8k")
    assert split.n_total == QUESTIONS - 1 and split.n_positive == 1
    assert any("1 answers not graded" in n and "Perhaps." in n for n in split.notes)


def test_an_llm_grader_needs_an_llm(stored: Path) -> None:
    with pytest.raises(UsageError, match="needs a language model"):
        veridical.bench("qa", stored, "exact_match", grader="llm")
    with pytest.raises(UsageError, match="unknown grader"):
        veridical.bench("qa", stored, "exact_match", grader="human")


# --- how answers are sampled


def note(made: Bench, split: str = "gsm8k") -> str:
    (found,) = (s for s in made.splits if s.split == split)
    return next(n for n in found.notes if n.startswith("answers by"))


def test_the_way_of_sampling_reaches_the_model_and_the_report(questions: Path) -> None:
    asked: list[ChatRequest] = []

    def answer(request: ChatRequest) -> str:
        asked.append(request)
        return calculator(request)

    fake = FakeLlm(answer, name="calculator")
    sampling = Sampling(
        n=3,
        response="first",
        temperature=0.7,
        decoding=parse_decoding("top_p:0.9"),
        max_tokens=32,
        system="Be brief.",
    )
    options: dict[str, Any] = {"llm": fake, "bootstrap": 0, "split": "gsm8k", "limit": 5}
    made = veridical.bench("qa", questions, "exact_match", sampling=sampling, samples=2, **options)
    assert len(asked) == 5 * 4  # the first draw and three samples
    assert {r.temperature for r in asked} == {0.7} and {r.top_p for r in asked} == {0.9}
    assert {r.max_tokens for r in asked} == {32} and {r.ordinal for r in asked} == {0, 1, 2, 3}
    assert all(r.messages[0] == {"role": "system", "content": "Be brief."} for r in asked)
    assert note(made).endswith(
        "the response is the first draw, its 3 samples are drawn by top_p:0.9 at temperature 0.7; "
        "at most 32 tokens each, with a system message"
    )
    assert made.settings["sampling"]["temperature"] == 0.7
    plain = veridical.bench("qa", questions, "exact_match", samples=2, **options)
    assert plain.run != made.run and "sampling" not in plain.settings
    assert "the response is greedy, its 2 samples are drawn at temperature 1" in note(plain)


def test_answers_that_were_cut_are_told(questions: Path) -> None:
    def answer(request: ChatRequest) -> Reply:
        text = calculator(request)
        return Reply(text, "length" if "What is 2 " in request.messages[-1]["content"] else "stop")

    fake = FakeLlm(answer, name="calculator")
    made = veridical.bench("qa", questions, "exact_match", llm=fake, bootstrap=0, samples=1)
    (split,) = (s for s in made.splits if s.split == "gsm8k")
    assert f"1 of {QUESTIONS} responses end at the limit of 512 tokens" in split.notes


@pytest.mark.parametrize(
    ("sampling", "more", "told"),
    [
        ({"n": 2}, {"samples": [2, 5]}, "--samples 5 exceeds|samples 5 exceeds"),
        ({"response": "given"}, {}, "without a response"),
        ({"adaptive": Adaptive(2, 4)}, {}, "n is one number"),
        ({"n": 2}, {"llm": None}, "with a language model"),
    ],
)
def test_sampling_that_cannot_be(
    questions: Path, sampling: dict[str, Any], more: dict[str, Any], told: str
) -> None:
    fake = FakeLlm(calculator, name="calculator")
    with pytest.raises(UsageError, match=told):
        options = {"llm": fake, "sampling": Sampling(**sampling), "bootstrap": 0, **more}
        veridical.bench("qa", questions, "exact_match", **options)
    assert not fake.asked


def test_answers_that_are_there_are_not_sampled(stored: Path) -> None:
    fake = FakeLlm(calculator, name="calculator")
    with pytest.raises(UsageError, match="contains answers"):
        veridical.bench("qa", stored, "exact_match", llm=fake, sampling=Sampling(n=2))
    assert not fake.asked


def test_a_decoding_changes_the_calls_of_answering_alone(tmp_path: Path) -> None:
    llms = Llms("http://127.0.0.1:1/v1#m")
    spec = llms.decoding(parse_decoding("ancestral"))
    assert llms.endpoint(spec).extra_body == {"min_p": 0.0, "top_k": -1}
    assert llms.endpoint().extra_body == {} and llms.identity(spec) != llms.identity()
    assert llms.decoding(parse_decoding("greedy")) == llms.endpoint().name
    with pytest.raises(UsageError, match="beam search"):
        llms.decoding(parse_decoding("beam:3"))
