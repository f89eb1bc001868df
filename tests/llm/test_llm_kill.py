"""SIGKILL in the middle of LLM calls: the same table afterwards, and no journaled reply is asked
for again.

Run as a script it is the command line with a scorer that calls an LLM.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from faults import FaultServer
from killing import differing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")

N = 240
KILLS = 5
AT_ONCE = 24
FAULTS = ("429", "500", "502", "529", "disconnect", "cut", "short")


class Served:
    """A :class:`FaultServer` on a socket, in a thread."""

    def __init__(self, app: FaultServer) -> None:
        self.app = app
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server: asyncio.Server = self._on_loop(
            asyncio.start_server(self._connection, "127.0.0.1", 0)
        )
        self.port: int = self.server.sockets[0].getsockname()[1]

    def _on_loop(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in lines)
                body = await reader.readexactly(int(headers["content-length"]))
                if not await self._respond(first.split()[1], headers, body, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return  # the client is gone, or the server is to end
        finally:
            writer.close()

    async def _respond(
        self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the answer was whole."""
        scope = {"path": path, "headers": [(k.encode(), v.encode()) for k, v in headers.items()]}
        ended = False

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(event: dict[str, Any]) -> None:
            nonlocal ended
            if event["type"] == "http.response.start":
                writer.write(b"HTTP/1.1 %d X\r\ntransfer-encoding: chunked\r\n" % event["status"])
                for name, value in event.get("headers", ()):
                    if name.lower() not in (b"content-length", b"transfer-encoding"):
                        writer.write(name + b": " + value + b"\r\n")
                writer.write(b"\r\n")
                return
            chunk = event.get("body", b"")
            if chunk:
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            if not event.get("more_body"):
                writer.write(b"0\r\n\r\n")
                ended = True
            await writer.drain()

        await self.app(scope, receive, send)
        return ended

    def close(self) -> None:
        async def end() -> None:
            self.server.close()
            while left := asyncio.all_tasks() - {asyncio.current_task()}:
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)

        self._on_loop(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


@contextmanager
def serving(app: FaultServer) -> Iterator[Served]:
    served = Served(app)
    try:
        yield served
    finally:
        served.close()


def prepare(folder: Path, port: int) -> None:
    """Rows of which neighbours share a question, and the endpoint's configuration."""
    with (folder / "answers.jsonl").open("w") as f:
        for i in range(N):
            f.write(json.dumps({"id": i, "response": f"answer {i}", "prompt": str(i // 2)}) + "\n")
    (folder / "veridical.toml").write_text(
        f'[llm.stub]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\nattempts = 30\n'
        f"max_concurrency = {AT_ONCE}\nprice_in = 1\nprice_out = 1\n"
    )


def start(folder: Path) -> subprocess.Popen[str]:
    command = "check answers.jsonl --scorers asked --llm stub --out run --json out.jsonl"
    return subprocess.Popen(
        [sys.executable, __file__, *command.split(), "--processes", "0"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def journaled(folder: Path) -> set[str]:
    """Questions whose reply is in the journal."""
    from veridical.core.messages import Usage
    from veridical.llm.journal_rows import _load, _unpack

    path = folder / ".veridical" / "store" / "journal.sqlite"
    if not path.exists():
        return set()
    db = sqlite3.connect(path)
    try:
        bodies = db.execute("SELECT body FROM replies").fetchall()
    except sqlite3.OperationalError:  # killed before the tables were made
        return set()
    finally:
        db.close()
    return {_load(_unpack(b), Usage()).text.partition(" -> ")[0] for (b,) in bodies}


def asked_after(app: FaultServer, place: int) -> set[str]:
    return {body["messages"][-1]["content"] for body in app.seen[place:]}


def test_killed_and_resumed_equals_unbroken(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    with serving(FaultServer(latency=0.01)) as served:
        prepare(whole, served.port)
        child = start(whole)
        _, errors = child.communicate(timeout=300)
        assert child.returncode == 0, errors
        calls = served.app.calls
    assert calls == N + N // 2

    rng = random.Random(1)
    chance = random.Random(2)

    def fault(number: int) -> str | None:
        return chance.choice(FAULTS) if chance.random() < 0.3 else None

    kills = 0
    app = FaultServer(fault, latency=0.02, retry_after=0.05)
    with serving(app) as served:
        prepare(broken, served.port)
        while True:
            place, kept = len(app.seen), journaled(broken)
            child = start(broken)
            try:
                goal = app.calls + rng.randint(1, calls // (KILLS + 2))
                while kills < KILLS and child.poll() is None and app.calls < goal:
                    time.sleep(0.002)
                if kills == KILLS or child.poll() is not None:
                    _, errors = child.communicate(timeout=300)
                    assert child.returncode == 0, errors
                    assert not asked_after(app, place) & kept
                    break
                time.sleep(rng.uniform(0, 0.05))
                child.send_signal(signal.SIGKILL)
            finally:
                child.kill()
                child.communicate()
            kills += 1
            time.sleep(0.3)  # what it had sent is through
            assert not asked_after(app, place) & kept
    assert kills == KILLS
    assert differing(whole / "out.jsonl", broken / "out.jsonl") == []

    ledger = json.loads((broken / "run" / "ledger.json").read_text())
    served_answers = sum(app.answered.values())
    assert len(journaled(broken)) == calls
    db = sqlite3.connect(broken / ".veridical" / "store" / "journal.sqlite")
    (replies, keys) = db.execute("SELECT count(*), count(DISTINCT key) FROM replies").fetchone()
    (unanswered,) = db.execute(
        "SELECT count(*) FROM calls WHERE id NOT IN (SELECT call FROM replies) "
        "AND id NOT IN (SELECT call FROM failures)"
    ).fetchone()
    db.close()
    assert replies == keys == calls == ledger["answered"]
    assert 0 < unanswered <= KILLS * AT_ONCE
    assert ledger["possibly_paid"] >= served_answers - calls
    assert ledger["calls"] == calls + unanswered + ledger["failed"]


def main() -> None:
    from veridical import Record, Score
    from veridical.cli import main as cli
    from veridical.core.evidence import Evidence
    from veridical.core.messages import ChatRequest, user
    from veridical.core.registry import scorer

    @scorer("asked", level="response", cost="llm", source="test")
    async def asked(record: Record, evidence: Evidence) -> Score:
        """How the replies begin; what they end with tells only how often they were asked for."""
        questions = [f"own {record.response}", f"shared {record.prompt}"]
        total = 0
        for question in questions:  # two rounds
            (reply,) = await evidence.chat([ChatRequest(user(question))])
            begun, _, _ = reply.whole().partition(" -> ")
            assert begun == question
            total += sum(begun.encode())
        return Score.of(total % 1000 / 1000)

    cli()


if __name__ == "__main__":
    main()
