"""Endpoints: the forms on the command line, the file, and what neither may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.errors import UsageError
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
        ('[llm.a]\nbase_url = "http://h/v1"', "name the model"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodle = "m"', "did you mean 'model'"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = 3', "model must be str"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\napi_key = "sk"', "environment variable"),
        ('[llm.a]\nbase_url = "http://u:p@h/v1"\nmodel = "m"', "no credentials"),
        ('[llm.a]\nbase_url = "ftp://h/v1"\nmodel = "m"', "no http"),
        ('[llm.a]\nbase_url = "http://h/v1?x=1"\nmodel = "m"', "must end before"),
        ('[llm.a]\nbase_url = "http://h:99999/v1"\nmodel = "m"', "address"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nprice_in = -1', "at least 0"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nprice_in = nan', "at least 0"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nattempts = 0', "at least 1"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nattempts = true', "attempts must be"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nsupports = {m = true}', "capability"),
        ('[llm.a]\nbase_url = "http://h/v1"\nmodel = "m"\nsupports = {n = 1}', "true or false"),
        ('[llm.local]\nbase_url = "http://h/v1"\nmodel = "m"', "cannot be a name"),
        ('[llm."http://x"]\nbase_url = "http://h/v1"\nmodel = "m"', "cannot be a name"),
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
