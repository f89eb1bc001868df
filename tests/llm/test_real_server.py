"""llama.cpp's own server with a real model of 135 million parameters, from sampling to scores.

The model is tiny: what it says is often wrong and its judgements are poor. Tested is that
everything arrives whole and in its place, and that what does not is said.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from places import ROOT

from veridical import check
from veridical.core.messages import ChatRequest, LlmError, Reply, user
from veridical.llm.endpoints import find_endpoint
from veridical.llm.local import LocalClient, LocalModel, LocalServer, read_local
from veridical.weights import download

PROMPTS, SAMPLES, TOKENS = 20, 5, 24
JUDGED = 3  # records that the judges see: every call reads some hundred tokens
#: A busy machine is far slower than an idle one.
PATIENCE = 1800

PROBABILITIES = (
    "avg_logprob, max_logprob, avg_entropy, max_entropy, min_probability, sequence_probability, "
    "perplexity, token_negentropy, probability_margin, monte_carlo_probability, cocoa"
)
JUDGES = "judge, selfcheck_prompt, p_true, bsdetector, verbalized"

pytestmark = [
    pytest.mark.local,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None,
        reason="LOCAL LLM ABSENT: pip install xllamacpp",
    ),
    pytest.mark.skipif(
        download.find(download.SMOLLM2) is None,
        reason="LOCAL LLM ABSENT: veridical models get smollm2",
    ),
]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer(read_local("local")) as running:
        yield running


def chat(server: LocalServer, **body: Any) -> Any:
    question = [{"role": "user", "content": "What is the capital of France?"}]
    sent = {"messages": question, "max_tokens": 8, **body}
    return httpx.post(f"{server.url}/chat/completions", json=sent, timeout=PATIENCE)


def test_several_samples_with_log_probabilities_come_from_one_call(server: LocalServer) -> None:
    reply = chat(server, n=SAMPLES, temperature=1.0, logprobs=True, top_logprobs=5)
    assert reply.status_code == 200, reply.text
    choices = reply.json()["choices"]
    assert sorted(c["index"] for c in choices) == list(range(SAMPLES))
    assert len({c["message"]["content"] for c in choices}) > 1
    for choice in choices:
        tokens = choice["logprobs"]["content"]
        assert tokens and all(t["logprob"] <= 0 for t in tokens)
        assert all(len(t["top_logprobs"]) == 5 for t in tokens)


def test_it_draws_from_the_whole_distribution(server: LocalServer) -> None:
    """Of 12 first tokens at temperature 3, some must lie outside the 40 likeliest, which is where
    llama.cpp would cut if nobody told it otherwise."""
    reply = chat(
        server, n=SAMPLES, temperature=3.0, max_tokens=4, logprobs=True, top_logprobs=40, seed=7
    )
    tokens = [t for c in reply.json()["choices"] for t in c["logprobs"]["content"]]
    outside = [t for t in tokens if t["logprob"] < min(a["logprob"] for a in t["top_logprobs"])]
    assert outside


def test_an_answer_can_be_held_to_a_schema(server: LocalServer) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["yes", "no"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "v", "schema": schema, "strict": True}}
    reply = chat(server, response_format=form, max_tokens=40, temperature=0)
    said = json.loads(reply.json()["choices"][0]["message"]["content"])
    assert said["verdict"] in ("yes", "no")


def test_what_was_asked_of_it_is_shown_to_nobody(server: LocalServer) -> None:
    base = server.url.removesuffix("/v1")
    assert base.startswith("http://127.0.0.1:")
    assert httpx.get(f"{base}/slots").status_code != 200
    origin = {"Origin": "https://example.com"}
    reply = httpx.get(f"{server.url}/models", headers=origin)
    assert reply.headers.get("access-control-allow-origin") in (None, "")


def test_the_client_asks_for_more_samples_than_fit_at_once() -> None:
    async def run() -> list[Reply | LlmError]:
        client = LocalClient(find_endpoint("local:?parallel=2"))
        try:
            request = ChatRequest(user("Name a colour."), temperature=1.0, max_tokens=4, logprobs=3)
            return await client.chat(request, range(5))
        finally:
            await client.close()

    found = asyncio.run(run())
    assert len(found) == 5
    for reply in found:
        assert isinstance(reply, Reply), reply
        # out of tokens within a character, text and tokens may differ in their last one
        told = "".join(t.token for t in reply.logprobs or ())
        assert told and told.startswith(reply.text[:-1])
        assert all(len(t.top) == 3 for t in reply.logprobs or ())


def test_prompts_that_begin_alike_are_read_once() -> None:
    """And what was in the cache changes a verdict's probability by no more than the arithmetic of
    8-bit activations does, which depends on how many tokens are read together."""
    sentences = ["The river is long.", "It ends in a sea.", "It is in Asia.", "Ships go on it."]
    sample = "The Danube is a long river of Europe. It ends in the Black Sea. " * 3
    row = {"response": " ".join(sentences), "samples": [sample]}
    local = find_endpoint("local:?parallel=2&context=1024")
    found = {}
    for kept in (True, False):
        endpoint = replace(local, extra_body={"cache_prompt": kept})
        results = check([row], "selfcheck_prompt", llm=endpoint, store=None, processes=0)
        (result,) = results
        units = result.scores["selfcheck_prompt"].units
        found[kept] = [u.risk for u in units], results.ledger
    (shared, ledger), (alone, unshared) = found[True], found[False]
    assert ledger is not None and unshared is not None
    assert ledger["tokens_in"] == unshared["tokens_in"] and unshared["tokens_cached"] == 0
    read = ledger["tokens_in"] - ledger["tokens_cached"]
    assert 2 * read < ledger["tokens_in"]  # four sentences, one sample
    if not ledger["again"] + unshared["again"]:
        assert ledger["tokens_out"] == len(sentences)
    assert len(shared) == len(sentences)
    np.testing.assert_allclose(shared, alone, atol=0.05)


def test_a_prompt_that_does_not_fit_is_refused_not_cut() -> None:
    made = read_local("local")
    small = LocalModel(made.name, made.path, context=256, parallel=1, threads=made.threads)
    with LocalServer(small) as running:
        long = [{"role": "user", "content": "word " * 400}]
        reply = chat(running, messages=long)
    assert reply.status_code == 400 and "context" in reply.text


def test_a_broken_model_file_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    made = read_local("local")
    path.write_bytes(made.path.read_bytes()[:100_000])
    with pytest.raises(Exception, match="could not be served"):
        LocalServer(LocalModel("cut", path, 256, 1, 1))


def veridical(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "veridical", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "COLUMNS": "160"},
    )


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``answers.jsonl``: 20 prompts, each with a response and five samples."""
    folder = tmp_path_factory.mktemp("sampled")
    lines = (ROOT / "examples" / "prompts.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines][:PROMPTS]
    kept = [{k: r[k] for k in ("id", "prompt", "reference")} for r in rows]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in kept), "utf-8")
    done = veridical(
        folder, "sample", "prompts.jsonl", "--llm", "local", "--n", str(SAMPLES),
        "--max-tokens", str(TOKENS), "--logprobs", "5", "--out", "answers.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_sampling_writes_every_prompt_in_its_place(answered: Path) -> None:
    asked = [json.loads(x) for x in (answered / "prompts.jsonl").read_text("utf-8").splitlines()]
    rows = [json.loads(x) for x in (answered / "answers.jsonl").read_text("utf-8").splitlines()]
    assert [(r["id"], r["prompt"]) for r in rows] == [(a["id"], a["prompt"]) for a in asked]
    for row in rows:
        assert len(row["samples"]) == SAMPLES and row["logprobs"]
        spelled = "".join(t["token"] for t in row["logprobs"])
        assert row["response"].strip() in spelled
        assert all(t["logprob"] <= 1e-6 and t["top"] for t in row["logprobs"])
        for sample in row["samples"]:
            assert sample["logprobs"] and sample["finish_reason"] in ("stop", "length")


def scored(folder: Path, scorers: str, *options: str) -> list[dict[str, Any]]:
    done = veridical(
        folder, "check", "answers.jsonl", "--scorers", scorers, "--json", "-",
        "--min-coverage", "0", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_probability_scorer_scores_every_record(answered: Path) -> None:
    results = scored(answered, PROBABILITIES)
    assert len(results) == PROMPTS
    for result in results:
        if result["reason"] == "language":  # a small model may wander off into another one
            assert result["risk"] is None
        else:
            assert result["scores"].pop("quantile_mean")["risk"] == result["risk"]
        assert set(result["scores"]) == set(PROBABILITIES.split(", "))
        for name, score in result["scores"].items():
            if score["status"] == "not_applicable":  # the encoder does not read where it wandered
                assert "minilm reads en" in score["reason"], (name, score["reason"])
                continue
            assert score["status"] == "scored", (name, score["reason"])
            assert 0 <= score["risk"] <= 1
    rows = [json.loads(x) for x in (answered / "answers.jsonl").read_text("utf-8").splitlines()]
    for row, result in zip(rows, results, strict=True):  # by hand, from the file
        # the end token has a probability too, and is no part of the response
        logs = [t["logprob"] for t in row["logprobs"] if t["token"]]
        raw = result["scores"]["min_probability"]["raw"]
        assert raw == pytest.approx(math.exp(min(logs)), abs=1e-5)


def test_judges_answer_or_say_why_not(answered: Path) -> None:
    options = ("--llm", "local", "--limit", str(JUDGED), "--samples", "2")
    results = scored(answered, JUDGES, *options)
    assert len(results) == JUDGED
    found = 0
    for result in results:
        for name, score in result["scores"].items():
            if score["status"] == "scored":
                found += 1
                assert 0 <= score["risk"] <= 1, name
            else:
                assert score["status"] == "failed" and score["reason"], (name, score)
    assert found >= JUDGED  # the rest it could not say in the form that was asked for
    assert scored(answered, JUDGES, *options) == results  # resumed: nothing is asked again


def chat_prompt(server: LocalServer, question: str) -> str:
    """What the server makes of a question, by the template in the file."""
    messages = [{"role": "user", "content": question}]
    base = server.url.removesuffix("/v1")
    reply = httpx.post(f"{base}/apply-template", json={"messages": messages}, timeout=PATIENCE)
    found: str = reply.json()["prompt"]
    return found


def test_the_same_file_reads_texts(server: LocalServer) -> None:
    """llama.cpp's server tells nothing of given text; what reads it is given the same file."""
    from veridical.core.tokens import GivenText
    from veridical.models.causal import load_language_model

    model = load_language_model("smollm2")
    assert model.name == "smollm2"
    prompt = model.chat_prompt([{"role": "user", "content": "What is the capital of France?"}])
    assert prompt.endswith("<|im_start|>assistant\n")
    texts = [GivenText(prompt, f"The capital of France is {c}.") for c in ("Paris", "Toronto")]
    windows = model.windows(texts)
    right, wrong = (
        model.assemble(ws, [o])
        for ws, o in zip(windows, model.run([w for ws in windows for w in ws]), strict=True)
    )
    assert right.ends[-1] == len(texts[0].text)
    assert right.logprobs.mean() > wrong.logprobs.mean() + 0.3
    place = [texts[0].text[a:b] for a, b in zip(right.starts, right.ends, strict=True)]
    assert place[-2:] == [" Paris", "."] and right.logprobs[-2] > math.log(0.2)
    assert (right.lowest < right.logprobs).all() and (right.entropy > 0).all()

    # what one engine says of the text it writes, the other says of it on reading it
    question = "Why is the sky blue?"
    prompt = model.chat_prompt([{"role": "user", "content": question}])
    assert prompt == chat_prompt(server, question)
    body = {"messages": [{"role": "user", "content": question}], "max_tokens": 24}
    reply = chat(server, **body, temperature=0, logprobs=True, top_logprobs=5)
    choice = reply.json()["choices"][0]
    said, told = choice["message"]["content"], choice["logprobs"]["content"]
    ((window,),) = model.windows([GivenText(prompt, said)])
    found = model.assemble([window], model.run([window]))
    pieces = [said[a:b] for a, b in zip(found.starts, found.ends, strict=True)]
    assert pieces == [t["token"] for t in told[: len(pieces)]]
    gap = np.abs(found.logprobs - [t["logprob"] for t in told[: len(pieces)]])
    # both round activations to 8 bits; one place off, the gap would be of the order of 3
    assert gap.mean() < 0.2 and np.median(gap) < 0.1
    top = np.array([[a["logprob"] for a in t["top_logprobs"]] for t in told[: len(pieces)]])
    assert np.abs(found.top[:, :3] - top[:, :3]).mean() < 0.3
