"""An engine in a forked process: it says so, never waits, and leaves its parent's alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("no fork", allow_module_level=True)

HEAD = """
import os, signal, sys
from pathlib import Path
import veridical
from veridical import Engine, UsageError
from veridical.api import Job
from veridical.engine.run import Task

ROWS = [{"response": f"Town {i} lies in Mali.", "samples": ["It lies in Niger."]} for i in range(9)]

def in_child(work):
    '''What ``work`` raises or gives in a forked process, which then ends as any process does.'''
    reads, writes = os.pipe()
    if child := os.fork():
        os.close(writes)
        with open(reads, encoding="utf-8") as told:
            found = told.read()
        assert os.waitpid(child, 0)[1] == 0
        return found
    signal.alarm(60)  # were it to wait for ever
    try:
        found = work()
    except UsageError as e:
        found = e
    os.write(writes, str(found).encode())
    sys.exit()
"""


def run(folder: Path, code: str) -> list[str]:
    """The lines that ``code`` prints, with :data:`HEAD` before it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + textwrap.dedent(code)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,  # a child that waits for ever
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_use_in_a_forked_process_says_so(tmp_path: Path) -> None:
    told = run(
        tmp_path,
        """
        with Engine(store="store") as engine:
            veridical.check(ROWS, "cosine", engine=engine)
            for work in (
                lambda: veridical.check(ROWS, "cosine", engine=engine),
                lambda: veridical.check(ROWS, "ngram", engine=engine, out="o"),
                lambda: veridical.plan(ROWS, "cosine", engine=engine),
                lambda: engine.embedding(),
                lambda: engine.models(Task([])),
                lambda: engine.services(Task([])),
            ):
                print(in_child(work))
        """,
    )
    why = "the engine belongs to the process that made it; make one in each forked process"
    assert told == [why] * 6
    assert not (tmp_path / "o").exists()


def test_a_child_that_closes_or_ends_leaves_the_parents_engine_alone(tmp_path: Path) -> None:
    told = run(
        tmp_path,
        """
        import sqlite3
        with Engine(store="store") as engine:
            first = veridical.check(ROWS[:4], "cosine", engine=engine)
            print(in_child(engine.close))
            print(in_child(lambda: (first := None)))
            print(len(list(first)), first.path.is_dir())
            print(len(list(veridical.check(ROWS, "cosine", engine=engine))))
        print(sqlite3.connect("store/keys.sqlite").execute("PRAGMA integrity_check").fetchone()[0])
        print(len(Engine(store="store").store) >= len(ROWS))
        """,
    )
    assert told == ["None", "None", "4 True", "9", "ok", "True"]


def test_locks_go_with_the_parent_while_a_child_lives(tmp_path: Path) -> None:
    told = run(
        tmp_path,
        """
        engine = Engine(store="store", processes=0)
        job = Job(ROWS, "ngram", out="run", engine=engine)
        if not (child := os.fork()):
            signal.alarm(60)  # should the parent fail
            signal.pause()
        job.wait()
        engine.close()
        with Engine(store="store", processes=0) as again:
            print(again.store.writable)
            print(len(list(veridical.check(ROWS, "ngram", out="run", engine=again))))
        os.kill(child, signal.SIGKILL)
        """,
    )
    assert told == ["True", "9"]


def test_a_run_under_way_is_the_parents(tmp_path: Path) -> None:
    told = run(
        tmp_path,
        """
        import asyncio
        from veridical import NotApplicable, scorer

        @scorer("waits", level="response", needs={"response"}, source="a test")
        async def waits(record, evidence):
            "Waits until it may go on."
            while not Path("go").exists():
                await asyncio.sleep(0.01)
            raise NotApplicable("done")

        job = Job(ROWS, "waits", processes=0)
        print(in_child(job.wait))
        print(in_child(job.cancel))
        Path("go").touch()
        print(len(job.wait()))
        print(len(job.wait()))
        """,
    )
    assert told[0] == told[1] and told[0].startswith("the engine belongs to")
    assert told[2:] == ["9", "9"]


def test_multiprocessing_by_fork(tmp_path: Path) -> None:
    """Each process makes an engine of its own, whatever its parent has open."""
    told = run(
        tmp_path,
        """
        import multiprocessing

        def own(place):
            with Engine(store=place) as engine:
                return len(list(veridical.check(ROWS, "cosine", engine=engine)))

        def parents(_):
            try:
                veridical.check(ROWS, "cosine", engine=engine)
            except UsageError as e:
                return str(e)

        with Engine(store="store") as engine:
            veridical.check(ROWS, "cosine", engine=engine)
            with multiprocessing.get_context("fork").Pool(2, signal.alarm, (60,)) as pool:
                print(pool.map(own, ["one", "two"]))
                print(*set(pool.map(parents, range(4))))
        """,
    )
    assert told[0] == "[9, 9]" and told[1].startswith("the engine belongs to")
