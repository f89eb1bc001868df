"""The MCP server, driven by the client of the package itself over standard input and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2")

SOURCES = ["It is red.", "The tower is 57 m tall."]


@asynccontextmanager
async def connected(*arguments: str, cwd: Path | None = None) -> AsyncIterator[Any]:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "veridical", "mcp", "--store", "none", *arguments],
        env=dict(os.environ),
        cwd=cwd,
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


def text_of(reply: Any) -> str:
    (content,) = reply.content
    assert reply.structured_content is None  # or every reply would come twice
    return str(content.text)


async def test_the_tools(tmp_path: Path) -> None:
    (tmp_path / "towers.txt").write_text("The tower of Pisa is 57 m tall. It leans.")
    async with connected("--corpus", str(tmp_path / "towers.txt")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"check_answer", "find_support", "search_corpus"}
        assert all(tool.description for tool in tools.values())
        question = {"question": "How tall is it?", "sources": SOURCES}
        wrong = await client.call_tool(
            "check_answer", {"answer": "The tower is 70 m tall.", **question}
        )
        assert json.loads(text_of(wrong))["verdict"] == "contradicted"
        right = await client.call_tool(
            "check_answer", {"answer": "The tower is 57 m tall.", **question}
        )
        told = json.loads(text_of(right))
        assert told["verdict"] == "supported" and told["sentences"] == []
        support = await client.call_tool(
            "find_support", {"claim": "The tower is 57 m tall.", "sources": SOURCES}
        )
        (sentence,) = json.loads(text_of(support))["sentences"]
        assert sentence["evidence"][0]["source"] == 1
        found = await client.call_tool("search_corpus", {"query": "height of Pisa's tower"})
        passages = json.loads(text_of(found))["passages"]
        assert "57 m" in passages[0]["text"] and "towers.txt" in passages[0]["source"]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search_corpus", {"query": "tower"}, "--corpus"),
        ("check_answer", {"answer": "a\0", "sources": ["b"]}, "NUL"),
        ("check_answer", {"answer": "a", "sources": []}, "at least 1"),
        ("check_answer", {"answer": "a", "sources": [1] * 500}, "sources"),
        ("check_answer", {"answer": "a" * 100_001, "sources": ["b"]}, "answer"),
        ("check_answer", {"answer": "a", "sources": "/etc/passwd"}, "sources"),
        ("find_support", {}, "claim"),
        ("rm", {}, "rm"),
    ],
)
async def test_what_is_refused_is_told_briefly(
    shared_client: Any, tool: str, arguments: dict[str, Any], message: str
) -> None:
    reply = await shared_client(tool, arguments)
    assert reply.is_error and message in text_of(reply)
    assert len(text_of(reply)) < 1_000 and "Traceback" not in text_of(reply)


@pytest.fixture
def shared_client() -> Any:
    async def call(tool: str, arguments: dict[str, Any]) -> Any:
        async with connected("--preset", "fast") as client:
            return await client.call_tool(tool, arguments)

    return call


def start(*arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "veridical", "mcp", "--store", "none", *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_lines_that_are_no_messages_are_survived_and_the_end_of_input_ends_it() -> None:
    child = start("--preset", "fast")
    out, err = child.communicate('garbage\n{"jsonrpc": "2.0"}\n\x00\n', timeout=60)
    assert child.returncode == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "Traceback" not in err or "garbage" not in out


def said(child: subprocess.Popen[str], number: int, method: str, **params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    assert child.stdin is not None
    child.stdin.write(json.dumps(message) + "\n")
    child.stdin.flush()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["idle", "answering", "just answered"])
def test_a_signal_ends_it_while_the_client_stays(number: signal.Signals, moment: str) -> None:
    child = start("--preset", "fast")
    try:
        client = {"name": "t", "version": "0"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        said(child, 1, "initialize", **hello)
        assert child.stdout is not None and child.stderr is not None
        assert json.loads(child.stdout.readline())["result"]["serverInfo"]["name"] == "veridical"
        if moment == "idle":
            time.sleep(0.5)
        if moment == "answering":
            arguments = {"answer": "It is blue. " * 500, "sources": SOURCES}
            said(child, 2, "tools/call", name="check_answer", arguments=arguments)
        child.send_signal(number)
        assert child.wait(timeout=20) == 128 + number  # its standard input is open still
        told = child.stderr.read()
        assert told == ("interrupted\n" if number == signal.SIGINT else "")
    finally:
        child.kill()
        child.communicate()
