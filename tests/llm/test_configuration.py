"""The file of the current folder, which may be somebody else's, beside the user's own."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from commands import run_command

from veridical.errors import UsageError
from veridical.llm.configuration import origin_of
from veridical.llm.endpoints import configured, find_endpoint
from veridical.notices import reset_warnings
from veridical.retrieval.search import find_service

OWN = """
[llm.judge]
base_url = "https://llm.house.example/v1"
model = "m"
key_env = "HOUSE_KEY"

[search.web]
url = "https://search.house.example:8443/q"
results = "r"
text = "t"
key_env = "SEARCH_KEY"
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file, which holds ``OWN``; the current folder is a checkout beside it."""
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VERIDICAL_CONFIG", raising=False)
    (tmp_path / "config" / "veridical").mkdir(parents=True)
    path = tmp_path / "config" / "veridical" / "veridical.toml"
    path.write_text(OWN)
    reset_warnings()
    return path


def planted(text: str) -> None:
    Path("veridical.toml").write_text(text)


def llm(address: str, variable: str, name: str = "evil") -> str:
    return f'[llm.{name}]\nbase_url = "{address}"\nmodel = "m"\nkey_env = "{variable}"\n'


def search(address: str, variable: str) -> str:
    return f'[search.s]\nurl = "{address}"\nresults = ""\ntext = "t"\nkey_env = "{variable}"\n'


@pytest.mark.parametrize(
    ("address", "variable"),
    [
        ("https://evil.example/v1", "HOUSE_KEY"),
        ("https://evil.example/v1", "OPENAI_API_KEY"),
        ("https://evil.example/v1", "AWS_SECRET_ACCESS_KEY"),
        ("https://evil.example/v1", "VERIDICAL_LLM_KEY"),
        ("https://evil.example/v1", "VERIDICAL_SECRET"),
        ("https://api.openai.com.evil.example/v1", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.openai.com:444/v1", "OPENAI_API_KEY"),
        ("https://api.anthropic.com/v1", "OPENAI_API_KEY"),
        ("https://llm.house.example/v1", "SEARCH_KEY"),
        ("https://evil.example\\\\@api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.openai.com\\u0000.evil.example/v1", "OPENAI_API_KEY"),
        ("https://\\uff41pi.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.openai.com./v1", "OPENAI_API_KEY"),
    ],
)
def test_a_checkout_cannot_have_a_secret_sent_to_its_host(address: str, variable: str) -> None:
    for text in llm(address, variable), search(address, variable):
        planted(text)
        with pytest.raises(UsageError) as error:
            if "search" in text.split("]")[0]:
                find_service("s")
            else:
                find_endpoint("evil")
        told = str(error.value)
        assert "veridical.toml: [" in told and variable in told
        assert f'[trust]\n  key_variables = ["{variable}"]' in told


@pytest.mark.parametrize(
    ("address", "variable"),
    [
        ("https://other.example/v1", "VERIDICAL_LLM_KEY_OTHER"),
        ("https://LLM.house.example:443/v2", "HOUSE_KEY"),
        ("https://search.house.example:8443/v1", "SEARCH_KEY"),
        ("https://other.example/v1", "TRUSTED"),
    ],
)
def test_what_the_user_allows_is_allowed(own: Path, address: str, variable: str) -> None:
    own.write_text(OWN + '[trust]\nkey_variables = ["TRUSTED"]')
    planted(llm(address, variable) + search(address, variable))
    assert find_endpoint("evil").key_env == find_service("s").key_env == variable


def test_the_key_of_a_known_service_may_go_to_that_service() -> None:
    planted(llm("https://api.openai.com/v1", "OPENAI_API_KEY", "mini"))
    assert find_endpoint("mini").key_env == "OPENAI_API_KEY"
    planted(search("https://api.openai.com/v1", "OPENAI_API_KEY"))
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        find_service("s")


def test_a_file_that_the_user_names_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(llm("https://other.example/v1", "ANY_KEY"))
    monkeypatch.setenv("VERIDICAL_CONFIG", "veridical.toml")
    assert set(configured()) == {"evil"} and find_endpoint("evil").key_env == "ANY_KEY"


def test_in_its_own_folder_the_users_file_is_the_users(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    assert find_endpoint("judge").key_env == "HOUSE_KEY"


def test_a_checkout_trusts_nobody_for_the_user(own: Path) -> None:
    planted('[trust]\nkey_variables = ["HOUSE_KEY"]\n' + llm("https://evil.example", "HOUSE_KEY"))
    with pytest.raises(UsageError, match=r"\[trust\] is allowed only in your own file"):
        configured()
    planted(llm("https://evil.example", "HOUSE_KEY"))
    for wrong in (
        "trust = 3",
        '[trust]\nkey_variables = "HOUSE_KEY"',
        "[trust]\nkey_variables=[3]",
    ):
        own.write_text(wrong)
        with pytest.raises(UsageError, match=r"\[trust\] must contain key_variables"):
            configured()


def test_both_files_count_and_what_takes_a_place_is_said_once(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted('[llm.mine]\nbase_url = "http://127.0.0.1:8000/v1"\nmodel = "m"')
    assert set(configured()) == {"mine", "judge"} and capsys.readouterr().err == ""
    planted('[llm.judge]\nbase_url = "https://evil.example/v1"\nmodel = "m"')
    for _ in range(2):
        assert find_endpoint("judge").base_url == "https://evil.example/v1"
    (line,) = capsys.readouterr().err.splitlines()
    for part in (str(own), str(Path("veridical.toml").absolute()), "https://evil.example", "house"):
        assert part in line


@pytest.mark.parametrize(
    ("name", "address", "said"),
    [
        ("openai", "https://evil.example/v1", "https://api.openai.com"),
        ("openai", "https://api.openai.com/v1", ""),
        ("minilm", "https://evil.example/v1", "runs locally"),
        ("smollm2", "https://evil.example/v1", "runs locally"),
    ],
)
def test_the_name_of_what_is_built_in_is_not_taken_in_silence(
    name: str, address: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planted(f'[llm.{name}]\nbase_url = "{address}"\nmodel = "m"')
    configured()
    err = capsys.readouterr().err
    assert said in err and bool(err) == bool(said)


def test_files_that_are_none(own: Path) -> None:
    planted("x = 1\n" * 200_000)
    with pytest.raises(UsageError, match="larger than"):
        configured()
    Path("veridical.toml").unlink()
    os.mkfifo("veridical.toml")  # nobody would ever write to it
    assert set(configured()) == {"judge"}


def test_one_form_of_an_origin() -> None:
    assert origin_of("HTTPS://Host.Example:443/x?y") == "https://host.example"
    assert origin_of("http://[::1]:8000/") == "http://[::1]:8000"
    for odd in ("", "local:", "ftp://h", "http://", "https://u@h", "https://h:x", "https://a b"):
        assert origin_of(odd) is None


def test_a_run_in_a_planted_checkout_sends_no_secret(tmp_path: Path) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(str(self.headers))
            self.send_error(500)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    planted(llm(f"http://127.0.0.1:{server.server_port}/v1", "HOUSE_KEY", "judge"))
    Path("in.jsonl").write_text('{"prompt": "q", "response": "a"}\n')
    command = ["check", "in.jsonl", "--llm", "judge", "--scorers", "judge"]
    done = run_command(*command, env={"HOUSE_KEY": "sk-very-secret"})
    server.shutdown()
    server.server_close()
    assert done.returncode == 1 and "HOUSE_KEY" in done.stderr and "[trust]" in done.stderr
    assert asked == [] and "sk-very-secret" not in done.stderr + done.stdout
