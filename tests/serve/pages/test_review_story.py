"""From 200 labels in the page to a policy in CI with a guarantee: the commands of docs/review.md as
they stand there, with a real server between them that is asked what the page asks it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from doc_files import run
from places import ROOT
from review_pages import Served, served

pytest.importorskip("fastapi")

CITIES = ("Paris", "Lisbon", "Rome", "Oslo", "Lima", "Quito", "Accra", "Doha", "Vienna", "Madrid")
THINGS = ("museum", "bridge", "library", "station", "theatre", "harbour", "market")
COUNT, LABELS = 230, 200


def rows(first: int, count: int, wrong_in: int = 4) -> list[dict[str, Any]]:
    """Answers with the sentence that they must follow; every fourth names another city."""
    out = []
    for i in range(first, first + count):
        city, thing = CITIES[i % len(CITIES)], THINGS[i % len(THINGS)]
        said = CITIES[(i + 5) % len(CITIES)] if i % wrong_in == 0 else city
        out.append(
            {
                "id": f"q{i}",
                "question": f"Where is the old {thing} that was built in {1700 + i}?",
                "answer": f"The old {thing} is in the city of {said}.",
                "contexts": [
                    f"The old {thing} was built in {1700 + i} and is in the city of {city}."
                ],
            }
        )
    return out


def is_wrong(row: dict[str, Any]) -> bool:
    return row["answer"].rsplit(" ", 1)[1] not in row["contexts"][0]


def write(path: Path, given: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")


def story() -> tuple[list[str], str]:
    """The command lines of the page's story, and its policy."""
    page = (ROOT / "docs" / "review.md").read_text("utf-8")
    part = page.partition("## From 200 labels to a policy in CI\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```console\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)
    commands = "".join(blocks).replace("\\\n", "")
    lines = [line.removeprefix("$ ") for line in commands.splitlines()]
    (policy,) = re.findall(r"^```toml\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)
    return lines, policy


def words(line: str) -> list[str]:
    name, *rest = shlex.split(line)
    assert name == "veridical"
    return rest


class Reader:
    """Somebody at the page: the same requests in the same order, by one who is always right."""

    def __init__(self, page: Served) -> None:
        self.client = httpx.Client(base_url=page.url, timeout=30)
        self.client.post("/api/session", json={"token": page.token()}).raise_for_status()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        if body is None:
            return self.client.get(path).raise_for_status().json()
        return self.client.post(path, json=body).raise_for_status().json()

    def label(self, count: int, truth: list[bool]) -> list[int]:
        done: list[int] = []
        path = "/api/next"
        for _ in range(count):
            answer = self.ask(path)["answer"]
            row = answer["row"]
            label = "contradicted" if truth[row] else "supported"
            for n in range(answer["asked"]):
                given = {"row": row, "unit": n, "label": label, "evidence": [], "seconds": 1.5}
                self.ask("/api/label", given)
            assert self.ask("/api/done", {"row": row, "seconds": 0.5})["answer"]["done"]
            done.append(row)
            path = f"/api/next?after={row}"
        return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the story plays; its answers are scored once."""
    path = tmp_path_factory.mktemp("story")
    write(path / "answers.jsonl", rows(0, COUNT))
    lines, policy = story()
    (path / "policy.toml").write_text(policy, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        code, refusal = run(words(lines[0]))
        assert code == 0, refusal
        yield path


@pytest.fixture
def at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    for name in ("run/labels.jsonl", "labels.jsonl", "ensemble.json"):
        (folder / name).unlink(missing_ok=True)
    return folder


def labelled(at: Path, line: str) -> list[int]:
    """Rows that a person labelled in the page that a command opens, ended by its signal."""
    with served(*words(line), cwd=at) as page:
        done = Reader(page).label(LABELS, [is_wrong(row) for row in rows(0, COUNT)])
        assert page.server.stop() == 0
        assert f"{LABELS} answers are labelled" in "".join(page.server.errors)
    return done


def test_200_labels_become_a_policy_with_a_promise(
    at: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, review, export, tune, check = story()[0]
    done = labelled(at, review)
    assert len(set(done)) == LABELS and done != sorted(done)
    assert run(words(export)) == (0, "")
    exported = [json.loads(line) for line in (at / "labels.jsonl").read_text().splitlines()]
    assert {(r["draw"], r["draw_probability"]) for r in exported} == {
        ("random", round(LABELS / COUNT, 9))
    }
    assert '"reviewer"' not in (at / "labels.jsonl").read_text()
    code, refusal = run(words(tune))
    assert code == 0, refusal
    file = json.loads((at / "ensemble.json").read_text())
    assert file["fitted_on"]["n"] == LABELS // 2  # the other half makes the guarantee
    guarantee = file["fit"]["guarantee"]
    assert (guarantee["alpha"], guarantee["delta"], guarantee["n"]) == (0.1, 0.1, LABELS // 2)
    assert guarantee["threshold"] is not None and guarantee["bound"] <= 0.1
    capfd.readouterr()
    # what is new: 30 right answers, then one of them wrong
    write(at / "new.jsonl", rows(1001, 30, wrong_in=10_000))
    assert run(words(check)) == (0, "")
    told = capfd.readouterr()
    assert "10 %" in told.out + told.err
    bad = rows(1001, 30, wrong_in=10_000)
    bad[7]["answer"] = bad[7]["answer"].rsplit(" ", 1)[0] + " Berlin."
    write(at / "new.jsonl", bad)
    out = at / "decided.jsonl"
    assert run([*words(check), "--json", str(out)])[0] == 3
    decided = [json.loads(line)["decision"] for line in out.read_text().splitlines()]
    assert decided[7] == "reject" and decided.count("reject") == 1
    assert decided.count("accept") > 20


def test_the_same_labels_drawn_by_risk_are_refused(at: Path) -> None:
    _, review, export, tune, _ = story()[0]
    done = labelled(at, review.replace("--order random", "--order risk"))
    assert len(set(done)) == LABELS
    assert run(words(export)) == (0, "")
    exported = [json.loads(line) for line in (at / "labels.jsonl").read_text().splitlines()]
    assert {(r["draw"], r["draw_probability"]) for r in exported} == {("chosen", None)}
    before = sorted(p.name for p in (at / ".veridical").rglob("*"))
    code, refusal = run(words(tune))
    assert code == 1 and "so no guarantee (alpha) can rest on their labels" in refusal
    assert not (at / "ensemble.json").exists()
    assert sorted(p.name for p in (at / ".veridical").rglob("*")) == before  # nothing was run
