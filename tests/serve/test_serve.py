"""``veridical serve``, asked over HTTP."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mixed_records import mixed_records
from servers import Running, running

import veridical

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")

BRIDGE = {
    "response": "The bridge was finished in 1951. It is 2 km long.",
    "contexts": ["The bridge was finished in 1932. It is 2 km long."],
}
#: What each of these would open or call; the server must refuse to.
NAMING = (
    "ensemble(file='/etc/passwd')",
    "famd(file='weights.json')",
    "cascade(file='x.json')",
    "halludetect(model='/tmp/m.json')",
    "hhem(nli='org/model')",
    "bart_score",
    "bart_score(model='org/model')",
    "unieval(model='org/unieval-{task}')",
    "avg_logprob(proxy='http://169.254.169.254/v1#m')",
    "avg_logprob(proxy='/models/m.gguf')",
    "judge(llm='http://127.0.0.1:1/v1#m')",
    "judge(llm='openai:gpt-4')",
    "judge(template='/etc/passwd')",
    "panel(judges='a,b')",
    "spans(detector='org/model')",
    "claims(nli='org/model')",
    "claims(model='/etc/passwd')",
    "q2(generator='org/model')",
    "factscore(llm='local')",
    "prism(model='../m')",
)


def post(server: Running, path: str, body: Any, **arguments: Any) -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json=body, timeout=60, **arguments)


def check(server: Running, *records: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    answer = post(server, "/v1/check", {"records": list(records), **options})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


async def test_results_are_those_of_check_byte_for_byte_in_any_company(
    server: Running, folder: Path
) -> None:
    rows = mixed_records(40)
    (folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    results = veridical.check(rows, store=None, processes=0, nli="mini")
    expected = [line[line.index(b',"risk"') :] for line in results.lines()]
    rng = random.Random(1)
    order = list(range(len(rows)))
    rng.shuffle(order)
    cuts, found = [], {}
    while order:
        size = rng.randint(1, 5)
        cuts.append(order[:size])
        order = order[size:]

    async with httpx.AsyncClient(timeout=120) as client:

        async def ask(cut: list[int]) -> None:
            body = {"records": [rows[i] for i in cut]}
            answer = await client.post(f"{server.url}/v1/check", json=body)
            while answer.status_code == 429:
                await asyncio.sleep(0.2)
                answer = await client.post(f"{server.url}/v1/check", json=body)
            assert answer.status_code == 200
            text = answer.content.removeprefix(b'{"results":[').removesuffix(b"]}")
            for at, i in enumerate(cut):
                head = json.dumps({"id": rows[i]["id"], "row": at}, separators=(",", ":"))
                begin = text.index(head[:-1].encode())
                line = text[begin : begin + len(head) - 1 + len(expected[i])]
                found[i] = line[line.index(b',"risk"') :]

        await asyncio.gather(*(ask(cut) for cut in cuts))
    assert [found[i] for i in range(len(rows))] == expected


def test_results_are_those_of_the_command(server: Running, folder: Path) -> None:
    rows = mixed_records(5, seed=3)
    (folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    words = ["check", "rows.jsonl", "--json", "out.jsonl", "--store", "none", "--nli", "mini"]
    done = subprocess.run([sys.executable, "-m", "veridical", *words], cwd=folder)
    assert done.returncode == 0
    lines = (folder / "out.jsonl").read_bytes().splitlines()
    answer = post(server, "/v1/check", {"records": rows})
    assert answer.content == b'{"results":[' + b",".join(lines) + b"]}"


def test_one_invalid_record_and_nothing_is_scored(server: Running) -> None:
    before = _metric(server, 'veridical_verdicts_total{verdict="unchecked"}')
    for bad, field in (
        ({"respons": "b"}, "response"),
        ({"response": 1}, "response"),
        ({"response": "a", "contexts": [1]}, "contexts[0]"),
        ({"answer": "a", "label": "maybe"}, "label"),
        ({"response": "a\u0000"}, "response"),
    ):
        answer = post(server, "/v1/check", {"records": [{"response": "a"}, bad]})
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["errors"][0]["index"] == 1
        assert problem["errors"][0]["field"] == field
        assert "results" not in problem
    assert _metric(server, 'veridical_verdicts_total{verdict="unchecked"}') == before


#: Records that are none, the field to blame, and what the message has to say.
BAD = (
    ({}, "response", "the row is empty; call it one of response, answer"),
    ({"respons": "b"}, "response", "did you mean 'respons'? call it response"),
    ({"query": "q"}, "response", "call it one of response, answer"),
    ({"answer": None}, "answer", "is null"),
    ({"answer": "a", "output": "b"}, "answer", "'output' both mean response and differ: send one"),
    ({"answer": 7}, "answer", "must be text, got 7"),
    ({"response": "a", "id": 2**70}, "id", "64 bits"),
    ({"response": "a", "documents": ["x", 1]}, "documents[1]", "text or an object with 'text'"),
    ({"response": "a", "sentences": [[0, 9]]}, "sentences[0]", "outside the response"),
    ({"response": "a", "logprobs": [{"token": "a"}]}, "logprobs[0].logprob", "is missing"),
    ({"response": "a", "unit_labels": [1]}, "unit_labels[0]", "'start', 'end' and 'label'"),
    ({"response": "a", "meta": 3}, "meta", "must be an object"),
    ({"response": {"image": "a.png"}}, "response.image", "names a file"),
    (
        {"response": "a", "samples": ["b", {"image": "http://127.0.0.1/a.png"}]},
        "samples[1].image",
        "is an address, and addresses are not fetched",
    ),
    ({"response": "a", "label": 2}, "label", "from 0 (right) to 1"),
    (
        {"answer": f"[{'1,' * 10_000}1]"},
        "answer",
        "10001 values, more than the 10000 that can be judged",
    ),
    (
        {"response": "a", "samples": ["b", f"[{'1,' * 10_000}1]"]},
        "samples[1]",
        "10001 values, more than the 10000 that can be judged; split the answer",
    ),
)


@pytest.mark.parametrize(("bad", "field", "says"), BAD)
@pytest.mark.parametrize("path", ["/v1/check", "/v1/repair"])
def test_a_bad_record_is_named_by_its_row_and_field_without_options(
    server: Running, path: str, bad: dict[str, Any], field: str, says: str
) -> None:
    answer = post(server, path, {"records": [{"response": "a"}, {"response": "b"}, bad]})
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    (error,) = problem["errors"]
    assert (error["index"], error["field"]) == (2, field)
    assert says in error["error"]
    assert problem["detail"] == f"records[2].{field}: {error['error']}"
    assert "--" not in answer.text and "mapping" not in answer.text


def test_what_needs_an_llm_is_refused_without_options(server: Running) -> None:
    for path, more, field in (
        ("/v1/check", {"scorers": "judge"}, "scorers"),
        ("/v1/jobs", {"scorers": "selfcheck_prompt"}, "scorers"),
        ("/v1/repair", {"how": "rewrite"}, "how"),
    ):
        answer = post(server, path, {"records": [BRIDGE], **more})
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["field"] == field
        assert "LLM" in answer.text and "--" not in answer.text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "records"),
        ({"records": []}, "records"),
        ({"records": "a"}, "records"),
        ({"records": [{"response": "a"}] * 257}, "records"),
        ({"records": [1]}, "records[0]"),
        ({"records": [{"response": "a"}], "preset": "slow"}, "preset"),
        ({"records": [{"response": "a"}], "deadline_ms": 0}, "deadline_ms"),
        ({"records": [{"response": "a"}], "deadline_ms": "5"}, "deadline_ms"),
        ({"records": [{"response": "a"}], "offsets": "utf32"}, "offsets"),
        ({"records": [{"response": "a"}], "policy": "policy.toml"}, "policy"),
        ({"records": [{"response": "a"}], "policy": {"acept": 0.5}}, "policy"),
        ({"records": [{"response": "a"}], "policy": {"ensemble": "/etc/passwd"}}, "policy"),
        ({"records": [{"response": "a"}], "scorers": "ngramm"}, "scorers"),
        ({"records": [{"response": "a"}], "scorers": ""}, "scorers"),
        ({"records": [{"response": "a"}], "url": "http://x"}, "url"),
    ],
)
def test_what_does_not_fit_is_named(server: Running, body: Any, field: str) -> None:
    answer = post(server, "/v1/check", body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("scorers", NAMING)
def test_nothing_that_a_client_names_is_opened(server: Running, scorers: str) -> None:
    answer = post(server, "/v1/check", {"records": [BRIDGE], "scorers": scorers})
    assert answer.status_code == 422, answer.text
    assert "offer" in answer.json()["detail"], answer.text


def test_parameters_that_name_nothing_are_taken(server: Running) -> None:
    scorers = "nli_grounding(risk=contradiction), rouge_l(stat=recall), claims(aggregate=soft)"
    (result,) = check(server, BRIDGE, scorers=scorers)
    assert set(result["scores"]) == {
        "nli_grounding(risk=contradiction)",
        "rouge_l(stat=recall)",
        "claims(aggregate=soft)",
        "quantile_mean",
    }
    (result,) = check(server, BRIDGE, scorers=["nli_grounding", "support"])
    assert set(result["scores"]) == {"nli_grounding", "support", "quantile_mean"}


def test_a_policy_in_the_request_decides(server: Running) -> None:
    policy = {"accept": 0.2, "rules": [{"then": "reject", "verdict": "contradicted"}]}
    good = {**BRIDGE, "response": "The bridge was finished in 1932."}
    bad, right = check(server, BRIDGE, good, policy=policy)
    assert bad["decision"] == "reject" and right["decision"] == "accept"
    assert bad["why"] == ["rules[0]: the verdict is contradicted"]
    strata = {"by": "topic", "accept": 0.0, "strata": {"easy": {"accept": 1.0}}}
    found = check(server, {**BRIDGE, "topic": "easy"}, {**BRIDGE, "topic": "hard"}, policy=strata)
    assert [r["decision"] for r in found] == ["accept", "review"]


def test_offsets_in_utf16_and_utf8_cut_the_same_texts(server: Running) -> None:
    record = {
        "response": "😀 é. The lake is 95 metres deep. 😀 It is cold.",
        "contexts": ["😀 The lake is 90 metres deep. é"],
    }
    for name, encoding, width in (("utf16", "utf-16-le", 2), ("utf8", "utf-8", 1)):
        (result,) = check(server, record, offsets=name)
        texts = {"response": record["response"].encode(encoding)}
        context = record["contexts"][0].encode(encoding)
        units = [u for s in result["scores"].values() for u in s["units"]]
        assert units
        for unit in units:
            cut = texts["response"][unit["start"] * width : unit["end"] * width]
            assert cut.decode(encoding) == unit["text"]
            for item in unit["evidence"]:
                if item["kind"] == "context":
                    cut = context[item["start"] * width : item["end"] * width]
                    assert cut.decode(encoding) == item["text"]


def test_units_can_be_left_out(server: Running) -> None:
    (result,) = check(server, BRIDGE, units=False)
    (whole,) = check(server, BRIDGE)
    assert all(s["units"] == [] for s in result["scores"].values())
    assert result["risk"] == whole["risk"] and any(s["units"] for s in whole["scores"].values())


def test_a_deadline_gives_what_is_done(server: Running) -> None:
    # texts that no other test has: what others have judged is there at once
    records = [
        {"response": f"Case {i} of {j}. " * 9, "contexts": [f"Text {i}, {j} of it. " * 90]}
        for i in range(8)
        for j in range(2)
    ]
    begun = time.monotonic()
    results = check(server, *records, deadline_ms=150, scorers="support, nli_grounding")
    assert time.monotonic() - begun < 3
    late = [r["scores"]["nli_grounding"] for r in results]
    assert any(s["status"] == "failed" and s["reason"] == "deadline" for s in late)
    assert all(s["risk"] is None for s in late if s["status"] == "failed")
    assert all(r["scores"]["support"]["status"] in ("scored", "failed") for r in results)
    unknown = [r for r in results if r["scores"]["nli_grounding"]["status"] == "failed"]
    assert all(r["verdict"] == "unchecked" for r in unknown)


def test_events_come_as_sentences_are_judged(server: Running) -> None:
    body = {"records": [BRIDGE, {"response": "One. Two.", "contexts": ["One."]}]}
    answer = post(server, "/v1/check", body, headers={"accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = list(_events(answer.text))
    names = [name for name, _ in events]
    assert names[-1] == "done" and names.count("result") == 2 and names.count("unit") == 4
    plain = check(server, *body["records"])
    for name, data in events:
        if name == "result":
            assert data["result"] == plain[data["index"]]
        if name == "unit":
            score = plain[data["index"]]["scores"][data["scorer"]]
            assert data["unit"] in score["units"]
    bad = post(
        server, "/v1/check", {"records": [{"x": 1}]}, headers={"accept": "text/event-stream"}
    )
    assert bad.status_code == 422


def test_jobs_are_runs_with_their_own_lines(server: Running, folder: Path) -> None:
    rows = mixed_records(12, seed=5)
    added = post(server, "/v1/jobs", {"records": rows, "preset": "fast"})
    assert added.status_code == 202, added.text
    job = added.json()["id"]
    state = _wait(server, job)
    assert state["records"] == 12 and state["errors"] == 0
    lines = httpx.get(f"{server.url}/v1/jobs/{job}/results").content.splitlines()
    results = veridical.check(rows, preset="fast", store=None, processes=0)
    assert lines == list(results.lines())
    listed = httpx.get(f"{server.url}/v1/jobs").json()["jobs"]
    assert job in [j["id"] for j in listed]
    assert httpx.delete(f"{server.url}/v1/jobs/{job}").status_code == 204
    assert httpx.get(f"{server.url}/v1/jobs/{job}").status_code == 404


def test_a_job_of_lines_counts_bad_rows_and_decides(server: Running) -> None:
    lines = json.dumps(BRIDGE) + "\n" + '{"respons": 1}\n'
    headers = {"content-type": "application/x-ndjson"}
    answer = httpx.post(f"{server.url}/v1/jobs?preset=fast", content=lines, headers=headers)
    assert answer.status_code == 202, answer.text
    state = _wait(server, answer.json()["id"])
    assert (state["records"], state["errors"], state["total"]) == (1, 1, 2)
    policy = {"accept": 1.0}
    job = post(server, "/v1/jobs", {"records": [BRIDGE], "preset": "fast", "policy": policy})
    _wait(server, job.json()["id"])
    (line,) = httpx.get(f"{server.url}/v1/jobs/{job.json()['id']}/results").content.splitlines()
    assert json.loads(line)["decision"] in ("accept", "review")


@pytest.mark.parametrize("job", ["x", "a" * 22, "..%2f..%2fetc", "%00" * 22])
def test_there_is_no_other_job(server: Running, job: str) -> None:
    for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/results"):
        answer = httpx.get(f"{server.url}{path}")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
    bad = post(server, "/v1/jobs", {"records": [BRIDGE], "scorers": NAMING[0]})
    assert bad.status_code == 422


def test_a_job_survives_the_end_of_its_server(folder: Path) -> None:
    rows = [
        {"response": f"Answer {i} is long. It goes on.", "contexts": [f"Text {i}. " * 60]}
        for i in range(24)
    ]
    options = ["serve", "--port", "0", "--data", "data", "--nli", "mini"]
    with running(options, cwd=folder, ready=True) as server:
        job = post(server, "/v1/jobs", {"records": rows, "scorers": "nli_grounding"}).json()["id"]
        end = time.monotonic() + 60
        while (state := _state(server, job))["status"] != "running" or not state["records"]:
            assert time.monotonic() < end and state["status"] != "done"
            time.sleep(0.02)
        server.process.kill()
    with running(options, cwd=folder, ready=True) as server:
        state = _wait(server, job)
        assert state["records"] == 24
        answer = httpx.get(f"{server.url}/v1/jobs/{job}/results").content.splitlines()
        assert [json.loads(line)["row"] for line in answer] == list(range(24))
        assert server.stop() == 0


def test_repair_gives_the_answer_without_what_is_wrong(server: Running) -> None:
    answer = post(server, "/v1/repair", {"records": [BRIDGE]})
    assert answer.status_code == 200, answer.text
    (result,) = answer.json()["results"]
    assert result["repair"]["text"] == "It is 2 km long."
    rewrite = post(server, "/v1/repair", {"records": [BRIDGE], "how": "rewrite"})
    assert rewrite.status_code == 422  # it has no LLM


def test_lists_health_and_metrics(server: Running) -> None:
    get = lambda path: httpx.get(f"{server.url}{path}")  # noqa: E731
    assert get("/healthz").json() == {"status": "ok"}
    assert get("/readyz").json() == {"status": "ready"}
    names = {row["name"] for row in get("/v1/scorers").json()["scorers"]}
    assert {"nli_grounding", "ensemble"} <= names
    assert any(row["role"] == "nli" for row in get("/v1/models").json()["models"])
    check(server, BRIDGE)
    text = get("/metrics").text
    samples = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert samples and all(line.startswith("veridical_") for line in samples)
    for name in (
        "veridical_request_seconds_count",
        "veridical_queue_tokens",
        "veridical_batch_tokens_total",
        "veridical_batch_reason_total",
        "veridical_forward_seconds_total",
        "veridical_scores_total",
        "veridical_risk_bucket",
        "veridical_store_hits_total",
        "veridical_llm_usd_total",
        "veridical_ready",
    ):
        assert name in text
    assert 'route="/v1/check"' in text
    assert get("/nothing").status_code == 404
    assert get("/docs").status_code == 404
    assert httpx.get(f"{server.url}/v1/check").status_code == 405


def test_who_was_busy_is_told_at_once(folder: Path) -> None:
    options = ["serve", "--port", "0", "--nli", "mini", "--queue-tokens", "500"]
    said = [f"House {i} has {i + 2} rooms, and nobody lives in it. " for i in range(40)]
    other = [f"In house {i} there are {i + 3} rooms for a man and his dog. " for i in range(40)]
    long = {"response": "".join(said), "contexts": ["".join(reversed(other))]}
    with running(options, cwd=folder, ready=True) as server:
        import threading

        asking = threading.Thread(target=post, args=(server, "/v1/check", {"records": [long]}))
        asking.start()
        time.sleep(0.5)
        answer = post(server, "/v1/check", {"records": [BRIDGE] * 9})
        while answer.status_code == 200 and asking.is_alive():  # it is not there yet
            answer = post(server, "/v1/check", {"records": [BRIDGE] * 9})
        assert answer.status_code == 429 and int(answer.headers["retry-after"]) >= 1
        assert asking.is_alive(), "it waited for the other"
        asking.join()
        assert post(server, "/v1/check", {"records": [BRIDGE] * 9}).status_code == 200
        assert server.stop() == 0


def test_work_stops_when_its_client_goes(server: Running) -> None:
    before = _metric(server, "veridical_dropped_total")
    records = [
        {"response": f"Nobody waits for {i}. " * 8, "contexts": [f"A text, {i} times. " * 300]}
        for i in range(12)
    ]
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}/v1/check", json={"records": records}, timeout=0.6)
    end = time.monotonic() + 10
    while _metric(server, "veridical_requests_in_flight"):
        assert time.monotonic() < end
        time.sleep(0.05)
    begun = time.monotonic()
    check(server, {"response": "Somebody does wait.", "contexts": ["Somebody waits."]})
    assert time.monotonic() - begun < 10
    assert _metric(server, "veridical_dropped_total") > before


def _metric(server: Running, name: str) -> float:
    text = httpx.get(f"{server.url}/metrics").text
    return sum(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name)
    )


def _state(server: Running, job: str) -> dict[str, Any]:
    answer = httpx.get(f"{server.url}/v1/jobs/{job}")
    assert answer.status_code == 200, answer.text
    state: dict[str, Any] = answer.json()
    return state


def _wait(server: Running, job: str) -> dict[str, Any]:
    end = time.monotonic() + 120
    while (state := _state(server, job))["status"] in ("queued", "running"):
        assert time.monotonic() < end, state
        time.sleep(0.05)
    assert state["status"] == "done", state
    return state


def _events(text: str) -> Iterator[tuple[str, Any]]:
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if lines:
            yield lines["event"], json.loads(lines["data"])
