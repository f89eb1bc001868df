"""Endpoints: the forms on the command line, the file, and what neither may hold."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import UsageError
from veridical.llm.budget import check_budgeted
from veridical.llm.endpoints import Endpoint, configured, find_endpoint

FILE = """
[llm.judge]
base_url = "https://api.openai.com/v1"
model = "gpt-4o-mini"
key_env = "OPENAI_API_KEY"
price_in = 0.15
price_out = 0.6
max_concurrency = 8
timeout = 30
extra_body = { user = "me" }
supports = { n = true }

[llm.house]
base_url = "http://10.0.0.7:8000/v1"
model = "qwen"
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, no configuration of the user's, no keys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("VERIDICAL_CONFIG", "VERIDICAL_LLM_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(folder: Path, text: str = FILE) -> Path:
    path = folder / "veridical.toml"
    path.write_text(text)
    return path


def test_a_name_is_looked_up_in_the_file_of_this_folder(alone: Path) -> None:
    write(alone)
    found = find_endpoint("judge")
    assert (found.name, found.model, found.price_in, found.price_out) == (
        "judge",
        "gpt-4o-mini",
        0.15,
        0.6,
    )
    assert (found.max_concurrency, found.timeout, found.attempts) == (8, 30, 6)
    assert found.extra_body == {"user": "me"}
    assert found.supports == {"n": True}
    assert find_endpoint("house").price_in is None


def test_the_users_own_file_serves_where_the_folder_has_none(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone / "config" / "veridical").mkdir(parents=True)
    write(alone / "config" / "veridical")
    assert set(configured()) == {"judge", "house"}
    other = alone / "other.toml"
    other.write_text('[llm.third]\nbase_url = "http://h/v1"\nmodel = "m"\n')
    monkeypatch.setenv("VERIDICAL_CONFIG", str(other))
    assert set(configured()) == {"third"}


@pytest.mark.parametrize(
    ("spec", "base_url", "model", "key_env"),
    [
        ("openai:gpt-4o-mini", "https://api.openai.com/v1", "gpt-4o-mini", "OPENAI_API_KEY"),
        (
            "anthropic:claude-sonnet-4-5",
            "https://api.anthropic.com/v1",
            "claude-sonnet-4-5",
            "ANTHROPIC_API_KEY",
        ),
        (
            "gemini:gemini-2.5-flash",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-2.5-flash",
            "GEMINI_API_KEY",
        ),
        ("ollama:llama3.2:1b", "http://127.0.0.1:11434/v1", "llama3.2:1b", None),
        ("http://127.0.0.1:8080/v1#m", "http://127.0.0.1:8080/v1", "m", None),
        ("https://h.example/v1#org/m", "https://h.example/v1", "org/m", None),
    ],
)
def test_forms(spec: str, base_url: str, model: str, key_env: str | None) -> None:
    found = find_endpoint(spec)
    assert (found.base_url, found.model, found.key_env) == (base_url, model, key_env)


def test_an_address_gets_no_other_services_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert find_endpoint("https://h.example/v1#m").key() is None
    monkeypatch.setenv("VERIDICAL_LLM_KEY", "own")
    assert find_endpoint("https://h.example/v1#m").key() == "own"


def test_a_request_from_elsewhere_names_an_endpoint_and_gives_no_address(alone: Path) -> None:
    write(alone)
    assert find_endpoint("judge", named_only=True).name == "judge"
    for spec in ("http://169.254.169.254/v1#m", "openai:gpt-4o", "local:/etc/passwd", "fake:x"):
        with pytest.raises(UsageError, match="unknown LLM"):
            find_endpoint(spec, named_only=True)


def test_the_key_comes_from_the_environment_alone(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(alone)
    endpoint = find_endpoint("judge")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        endpoint.key()
    monkeypatch.setenv("OPENAI_API_KEY", " sk-secret\n")
    assert endpoint.key() == "sk-secret"
    assert "sk-secret" not in repr(endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "sk\r\nHost: x")
    with pytest.raises(UsageError, match="no key has"):
        endpoint.key()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[llm.a", "veridical.toml"),
        ("llm = 3", "sections"),
        ("[llm]\na = 3", "section"),
        ('[llm.a]\nmodel = "m"', "base_url is missing"),
        ('[llm.a]\nbase_url = "http://h/v1"', "the model is missing"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodle = "m"', "did you mean 'model'"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = 3', "model must be str"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\napi_key = "sk"', "environment variable"),
        ('[llm.a]\nbase_url = "http://u:p@h/v1"\nmodel = "m"', "may not contain credentials"),
        ('[llm.a]\nbase_url = "ftp://h/v1"\nmodel = "m"', "not an http"),
        ('[llm.a]\nbase_url = "http://h/v1?x=1"\nmodel = "m"', "must end before"),
        ('[llm.a]\nbase_url = "http://h:99999/v1"\nmodel = "m"', "address"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nprice_in = -1', "at least 0"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nprice_in = nan', "at least 0"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nattempts = 0', "at least 1"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nattempts = true', "attempts must be"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nsupports = {m = true}', "capability"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nsupports = {n = 1}', "true or false"),
        ('[llm.local]\nbase_url = "http://h/v1"\nmodel = "m"', "reserved or invalid name"),
        ('[llm."http://x"]\nbase_url = "http://h/v1"\nmodel = "m"', "reserved or invalid name"),
    ],
)
def test_a_faulty_file_is_a_clear_error(alone: Path, text: str, said: str) -> None:
    write(alone, text)
    with pytest.raises(UsageError, match=said):
        find_endpoint("a")


@pytest.mark.parametrize("spec", ["", "gpt-4o", "openai:", "azure:x", "http://", "fake:"])
def test_what_names_nothing_lists_what_there_is(alone: Path, spec: str) -> None:
    write(alone)
    with pytest.raises(UsageError) as caught:
        find_endpoint(spec)
    if not spec.startswith("http"):
        assert "house, judge" in str(caught.value) and "ollama:MODEL" in str(caught.value)


def test_cost_is_unknown_where_a_price_or_a_count_is() -> None:
    known = Endpoint("a", "http://h/v1", "m", price_in=1.0, price_out=4.0)
    assert known.cost(1_000_000, 500_000) == pytest.approx(3.0)
    assert known.cost(None, 5) is None
    assert Endpoint("a", "http://h/v1", "m", price_in=1.0).cost(5, 5) is None
    assert Endpoint("a", "http://h/v1", "m", price_in=0.0, price_out=0.0).cost(None, None) == 0.0


def test_identity_leaves_out_what_does_not_change_an_answer() -> None:
    one = Endpoint("a", "http://h/v1", "m", price_in=1.0, timeout=3)
    assert one.identity == Endpoint("b", "http://h/v1/", "m").identity
    assert one.identity != Endpoint("a", "http://h/v1", "m", extra_body={"x": 1}).identity
    assert one.identity != Endpoint("a", "http://i/v1", "m").identity


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"n": 3}, "extra_body.n would change"),
        ({"best_of": 3}, "extra_body.best_of would change"),
        ({"model": "dear"}, "extra_body.model would change"),
        ({"messages": []}, "extra_body.messages would change"),
        ({"stream": True}, "extra_body.stream would change"),
        ({"max_tokens": 0}, "extra_body.max_tokens must be a whole number"),
        ({"max_completion_tokens": True}, "max_completion_tokens must be a whole number"),
        ({"n_predict": -1}, "extra_body.n_predict must be a whole number"),
        ({"since": datetime.date(2024, 5, 1)}, "extra_body.since is a date"),
        ({"a": [{"b": datetime.time(9)}]}, r"extra_body.a\[0\].b is a time"),
        ({"a": float("nan")}, "extra_body.a is nan"),
        ({"a": float("inf")}, "extra_body.a is inf"),
        ({"a": {1: 2}}, "extra_body.a has the key 1"),
        ({"a": b"x"}, "extra_body.a is a bytes"),
    ],
)
def test_what_no_request_may_carry(body: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=f"LLM 'e'.*{said}"):
        Endpoint("e", "http://h/v1", "m", extra_body=body)


def test_what_may_change_prices_is_refused_with_a_budget() -> None:
    def endpoint(body: dict[str, Any], price: float = 1.0) -> Endpoint:
        return Endpoint("e", "http://h/v1", "m", None, price, price, extra_body=body)

    for key in ("service_tier", "tools", "plugins", "web_search_options", "prediction", "any"):
        with pytest.raises(UsageError, match=f"extra_body.{key} may change the cost of a call"):
            check_budgeted(endpoint({key: 1}))
        check_budgeted(endpoint({key: 1}, price=0.0))
    allowed = {"temperature": 1, "reasoning_effort": "low", "max_tokens": 9, "logprobs": True}
    check_budgeted(endpoint(allowed))
    with pytest.raises(UsageError, match="a budget requires prices"):
        check_budgeted(replace(endpoint({}), price_out=None))


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_patience_and_timeout_are_seconds(seconds: float) -> None:
    for name in ("patience", "timeout"):
        with pytest.raises(UsageError, match=f"{name} must be a positive number of seconds"):
            Endpoint("e", "http://h/v1", "m", **{name: seconds})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "address", "model"),
    [
        ("local", "local:", "smollm2"),
        ("local?context=8192", "local:?context=8192", "smollm2"),
        ("local:?threads=2", "local:?threads=2", "smollm2"),
        ("local:qwen-1.5b", "local:qwen-1.5b", "qwen-1.5b"),
        ("local:qwen-0.5b?parallel=2", "local:qwen-0.5b?parallel=2", "qwen-0.5b"),
        ("local:/there/m.Q4.gguf?threads=2", "local:/there/m.Q4.gguf?threads=2", "m.Q4"),
    ],
)
def test_models_that_run_here(spec: str, address: str, model: str) -> None:
    found = find_endpoint(spec)
    assert (found.name, found.base_url, found.model) == (spec, address, model)
    assert found.runs_here and found.cost(1000, 1000) == 0
