"""The files of ``examples/serve``: what the container runs, and what Prometheus and Grafana read.

No container is built: its commands run here as they stand in the file, on this package.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers import Running, running

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")
yaml = pytest.importorskip("yaml")

HERE = Path(__file__).parents[1] / "examples" / "serve"


def instruction(name: str) -> list[str]:
    """The words of the last command of an instruction of the Containerfile, in JSON there."""
    text = (HERE / "Containerfile").read_text().replace("\\\n", " ")
    (line,) = re.findall(rf"^{name} .*$", text, re.MULTILINE)
    words: list[str] = json.loads(line[line.index("[") :])
    return words


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    """The server that the container runs, and the folder of its secrets."""
    folder = tmp_path_factory.mktemp("container")
    (folder / "data").mkdir()
    made = subprocess.run(
        [
            sys.executable,
            "-m",
            "veridical",
            "serve",
            "--new-key",
            "prometheus",
            "--keys",
            "keys.json",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "prometheus.key").write_text(made.stdout.strip())
    command = [*instruction("ENTRYPOINT"), *instruction("CMD")]
    assert command[0] == "veridical" and command[1] == "serve"
    places = {"/run/secrets/keys.json": str(folder / "keys.json"), "/data": str(folder / "data")}
    arguments = [places.get(word, word) for word in command[1:]]
    with running([*arguments, "--port", "0"], cwd=folder / "data") as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        headers = {"Host": "veridical"}
        end = time.monotonic() + 60
        while httpx.get(f"{server.url}/readyz", headers=headers).status_code != 200:
            assert time.monotonic() < end
            time.sleep(0.1)
        yield server, folder


def key(folder: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {(folder / 'prometheus.key').read_text()}"}


def test_what_the_container_runs(container: tuple[Running, Path]) -> None:
    server, folder = container
    port = server.url.rpartition(":")[2]
    python, *rest = [w.replace(":8000/", f":{port}/") for w in instruction("HEALTHCHECK")]
    assert python == "python"
    assert subprocess.run([sys.executable, *rest], timeout=30).returncode == 0
    body = {"records": [{"response": "A bridge.", "contexts": ["A bridge."]}]}
    assert httpx.post(f"{server.url}/v1/check", json=body).status_code == 401
    answer = httpx.post(f"{server.url}/v1/check", json=body, headers=key(folder), timeout=60)
    assert answer.status_code == 200


def test_compose_puts_secrets_where_the_container_looks() -> None:
    compose = yaml.safe_load((HERE / "compose.yaml").read_text())
    service = compose["services"]["veridical"]
    (secret,) = service["secrets"]
    assert f"/run/secrets/{secret['target']}" in instruction("ENTRYPOINT")
    assert secret["source"] in compose["secrets"]
    (volume,) = service["volumes"]
    assert volume.split(":")[1] in instruction("CMD")
    scraped = yaml.safe_load((HERE / "prometheus.yml").read_text())["scrape_configs"][0]
    (other,) = compose["services"]["prometheus"]["secrets"]
    assert scraped["authorization"]["credentials_file"] == f"/run/secrets/{other}"
    host, _, port = scraped["static_configs"][0]["targets"][0].partition(":")
    assert host in compose["services"] and host in instruction("CMD")
    assert f"EXPOSE {port}" in (HERE / "Containerfile").read_text()


def expressions(value: Any) -> Iterator[str]:
    """What the panels of the dashboard ask for."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "expr":
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)


def test_prometheus_answers_what_the_dashboard_asks(
    container: tuple[Running, Path], tmp_path: Path
) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Prometheus is not installed: the dashboard's questions are not asked")
    server, folder = container
    config = yaml.safe_load((HERE / "prometheus.yml").read_text())
    (scraped,) = config["scrape_configs"]
    scraped["scrape_interval"] = scraped["scrape_timeout"] = "1s"
    scraped["authorization"]["credentials_file"] = str(folder / "prometheus.key")
    scraped["static_configs"][0]["targets"] = [server.url.removeprefix("http://")]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    rows = [{"response": f"Bridge {i % 9}.", "contexts": ["Bridge 7."]} for i in range(200)]
    for _ in range(6):  # drift is told of the risks that come after the first 1 000
        answer = httpx.post(
            f"{server.url}/v1/check", json={"records": rows}, headers=key(folder), timeout=60
        )
        assert answer.status_code == 200
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [
            program,
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address={address}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        asked = list(expressions(json.loads((HERE / "grafana.json").read_text())))
        names = {n for e in asked for n in re.findall(r"\bveridical_\w+", e)}
        # three scrapes: a rate is of two
        sampled = "count_over_time(veridical_queue_tokens[1m]) >= 3"
        end = time.monotonic() + 60
        while not (_query(address, sampled) or [])[:1]:
            assert time.monotonic() < end, "nothing was scraped"
            time.sleep(0.5)
        told = httpx.get(f"{server.url}/metrics", headers=key(folder)).text
        declared = set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
        assert {re.sub("_(bucket|count)$", "", n) for n in names} <= declared
        answers = {expression: _query(address, expression) for expression in asked}
        assert len(asked) >= 10 and None not in answers.values(), "an expression is refused"
        # decisions and failures have no series yet
        filled = [e for e, found in answers.items() if found]
        assert "veridical_queue_tokens" in filled and len(filled) >= 10, filled
    finally:
        process.terminate()
        process.wait(30)


def _query(address: str, expression: str) -> list[Any] | None:
    """The series of an answer; None of an expression that is no question."""
    try:
        answer = httpx.get(f"http://{address}/api/v1/query", params={"query": expression})
    except httpx.TransportError:
        return []
    if answer.status_code == 503:  # it is still starting
        return []
    found = answer.json()
    return found["data"]["result"] if found["status"] == "success" else None
