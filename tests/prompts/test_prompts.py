"""Template files: every one renders, names its source, and states what may be answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veridical.core.registry import REGISTRY
from veridical.errors import UsageError
from veridical.prompts import Choices, Numbers, Prompt, load_prompt, prompt_names
from veridical.prompts.fences import NOTE

MINE = """
title = "Is it polite?"
source = "ours"

[[message]]
role = "user"
content = '''Is {answer} polite? Answer as {"polite": "yes"}.'''

[verdict]
kind = "choice"
best = 1
values = { "Yes" = 1, "No" = 0 }
"""

#: What the papers print, by template: a phrase of each, typed from the papers' own text.
PRINTED = {
    "correct_incorrect": 'ONLY DETERMINE IF THE ANSWER TO THE QUESTION IS "Correct", "Incorrect", '
    'or "I am not sure".',
    "selfcheck_paper": "Is the sentence supported by the context above? Answer Yes or No:",
    "selfcheck_package": "supported by the context above? Answer Yes or No.\n\nAnswer: ",
    "checkembed_descriptions": "0 means the description are about completely different things",
    "checkembed_legal": "rate how accurate and not hallucinated the summary is",
    "checkembed_scientific": "Your job is to rate how hallucinated the passage is",
    "checkembed_wikibio": "100 means the biography is completely correct. Use the full range",
    "checkembed_wikibio_reference": "always longer, this should be not taken into account",
    "checkembed_similar": "these two passages should differ VASTLY in their length, style",
    "checkembed_different": "these two passages should have the same length and style",
    "checkembed_passage": "Please generate a passage of text that talks about ({topic})",
    "checkembed_errors": "completely false information (fact hallucinations) on ({topic})",
    "checkembed_terms": "Based on the provided context extract all the legal definitions",
    "checkembed_ragtruth": "evaluate the answer based on the original request, is the answer",
    "refchecker_respond_passages": "answer the following question based on the provided passages.",
    "refchecker_respond_context": "Provide a well-formed answer to the question using information",
    "mirage_begin": "subset of the knowledge snippet and is fully consistent with the dialog",
    "mirage_truthfulqa": "contains all the same details as one of the possible correct answer.",
    "mirage_faithdial": "disagreement between the submitted response and the expert response.",
    "bsdetector_second": "Are you really sure the proposed answer is correct? Choose again: (A)",
    "verbalized": "Provide the probability that your guess is correct. Give ONLY the probability",
    "halueval_qa": "misunderstands the question context and intention",
    "halueval_dialogue": "replaced with a dissimilar entity in a different entity type",
    "halueval_summarization": "cannot be directly inferred or entailed from the document",
    "g_eval_consistency": "A factually consistent summary contains only statements",
    "gpt_score_factuality": "Generate a summary with consistent facts for the following text: ",
}


def fill(prompt):
    return {name: f"the {name}" for name in prompt.parts}


@pytest.mark.parametrize("name", prompt_names())
def test_every_template_renders_and_says_where_it_is_from(name):
    prompt = load_prompt(name)
    assert prompt.title and prompt.source
    assert re.fullmatch("[0-9a-f]{8}", prompt.version)
    for explain in (False, True):
        for fenced in (False, True):
            messages = prompt.messages(fenced=fenced, explain=explain, **fill(prompt))
            said = "\n".join(m["content"] for m in messages)
            for part in prompt.parts:
                assert f"the {part}" in said
                assert f"{{{part}}}" not in said
            quoted = bool(prompt.parts - prompt.trusted)
            assert ((prompt.note or NOTE) in said) == (fenced and quoted)
            assert [m["role"] for m in messages].count("system") <= 1
    if prompt.scale is not None:
        assert messages[-1]["role"] == "user"
        assert prompt.schema(explain=True)["required"] == ["explanation", prompt.key]
        told = prompt.messages(as_json=True, **fill(prompt))[-1]["content"]
        shown = told.rsplit("nothing else: ", 1)[1]
        assert f'"{prompt.key}": ' in shown
        assert ("explanation" in shown) == prompt.explains


@pytest.mark.parametrize("name", PRINTED)
def test_templates_hold_what_the_papers_print(name):
    prompt = load_prompt(name)
    assert any(PRINTED[name] in t.content for t in prompt.turns)


def test_unfenced_text_is_the_published_one():
    prompt = load_prompt("selfcheck_package")
    messages = prompt.messages(fenced=False, sample="S.", sentence="T.")
    # selfcheckgpt's own format string
    published = (
        "Context: {context}\n\nSentence: {sentence}\n\nIs the sentence supported by the context "
        "above? Answer Yes or No.\n\nAnswer: "
    )
    assert messages == ({"role": "user", "content": published.format(context="S.", sentence="T.")},)


def test_a_template_says_in_its_own_words_what_fences_are():
    content = b"""
note = "Tags mark a quotation."
[[message]]
role = "user"
content = "First: {answer}"
[[message]]
role = "assistant"
content = "And then?"
[[message]]
role = "user"
content = "Say more."
"""
    prompt = Prompt.parse("mine", content)
    first, *others = prompt.messages(answer="this")
    assert first["role"] == "user"
    assert re.fullmatch(
        r"Tags mark a quotation.\n\nFirst: <answer-(\w+)>\nthis\n</answer-\1>", first["content"]
    )
    assert [m["content"] for m in others] == ["And then?", "Say more."]
    assert prompt.messages(fenced=False, answer="this")[0]["content"] == "First: this"
    with pytest.raises(UsageError, match="note"):
        Prompt.parse("mine", content.replace(b'"Tags mark a quotation."', b"3"))


def test_scales_are_worth_what_the_papers_say():
    tunable = load_prompt("correct_incorrect").scale
    assert isinstance(tunable, Choices)
    assert {c.name: c.value for c in tunable.choices} == {
        "Correct": 1,
        "Incorrect": 0,
        "I am not sure": 0.5,
    }
    assert [tunable.risk(v) for v in (0, 0.5, 1)] == [1, 0.5, 0]
    for name in ("mirage_begin", "mirage_truthfulqa", "mirage_faithdial"):
        scale = load_prompt(name).scale
        assert isinstance(scale, Choices)
        assert [c.name for c in scale.choices if scale.risk(c.value) == 1] == ["B", "D"]
    likert = load_prompt("likert").scale
    assert isinstance(likert, Numbers)
    assert [likert.risk(v) for v in (1, 2, 3, 4, 5)] == [1, 0.75, 0.5, 0.25, 0]  # 1 - (s - 1) / 4
    halueval = load_prompt("halueval_qa").scale
    assert isinstance(halueval, Choices)
    assert halueval.risk(halueval.named("Yes").value) == 1  # yes, it is hallucinated


def test_braces_of_the_material_stay_as_they_are():
    prompt = load_prompt("correct_incorrect")
    said = prompt.messages(fenced=False, question="{answer}", answer="{question} {0} {{x}}")
    assert "Question: {answer}, Proposed Answer: {question} {0} {{x}}." in said[-1]["content"]


def test_missing_and_unknown_parts_are_named():
    prompt = load_prompt("correct_incorrect")
    with pytest.raises(UsageError, match=r"lacks answer; has no place for contexts"):
        prompt.messages(question="q", contexts="c")


def test_a_file_of_ones_own(tmp_path: Path):
    path = tmp_path / "polite.toml"
    path.write_text(MINE)
    prompt = load_prompt(str(path))
    assert prompt.parts == {"answer"}
    assert '{"polite": "yes"}' in prompt.messages(answer="this")[-1]["content"]
    bound = REGISTRY.bind("judge", {"template": str(path)})
    assert bound.arguments["template"] == f"{path}@{prompt.version}"
    assert load_prompt(bound.arguments["template"]).version == prompt.version
    path.write_text(MINE.replace("polite?", "kind?"))
    with pytest.raises(UsageError, match="has changed"):
        load_prompt(bound.arguments["template"])
    assert load_prompt(str(path)).version != prompt.version


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[[message]]", "[[massage]]", "unknown keys: massage"),
        ('role = "user"', 'role = "boss"', "must have a role"),
        ('role = "user"', 'role = "assistant"', "must have the role user"),
        ("best = 1", "best = 7", "verdict.best must be"),
        ('"No" = 0', '"No" = "none"', "must be a number"),
        ('{ "Yes" = 1, "No" = 0 }', '{ "Yes" = 1, "yes" = 0 }', "belongs to two answers"),
        ('kind = "choice"', 'kind = "essay"', "must be 'choice' or 'number'"),
        ("{answer}", "{fenced}", "reserved name of a part: fenced"),
        ("title", "title = [", "not a TOML file"),
        ("best = 1", "best = 1\nwords = { Perhaps = ['P'] }", "without a value: Perhaps"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, old: str, new: str, why: str):
    path = tmp_path / "mine.toml"
    path.write_text(MINE.replace(old, new, 1))
    with pytest.raises(UsageError, match=re.escape(why)):
        load_prompt(str(path))


def test_files_that_are_not_there_or_no_text(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot read prompt"):
        load_prompt(str(tmp_path / "none.toml"))
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a TOML file"):
        load_prompt(str(tmp_path / "x.toml"))
    with pytest.raises(UsageError, match="did you mean 'likert'"):
        load_prompt("lickert")
    with pytest.raises(UsageError, match="unknown prompt template"):
        load_prompt("../../etc/passwd")
