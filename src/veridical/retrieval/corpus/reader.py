"""File reading in a separate process, isolated from hostile files.

``python -m veridical.retrieval.corpus.reader`` takes one entry per message. It answers with
messages of documents, split into passages, and an empty message at the end, as at its start. Its
parent is :class:`FileReader`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from pydantic_core import from_json, to_json

from veridical.engine.worker import follow, frame, read_message
from veridical.retrieval.corpus.documents import Document, read
from veridical.retrieval.corpus.files import Entry, Skipped, Unreadable
from veridical.retrieval.corpus.pieces import pieces

T = TypeVar("T")

#: Timeout in seconds for one document, or for the short rows of one message.
LONGEST = 60.0
#: Timeout in seconds for the start of the process.
_START = 120.0
#: Maximum code points of the documents in a message, unless it has only one.
_MESSAGE = 200_000
#: Memory limit of the process in bytes (on systems that support limits).
MEMORY = 4 << 30


class CutDocument(NamedTuple):
    """A document and the places of its passages."""

    document: Document
    pieces: list[tuple[int, int]]


class FileReader:
    """A child process that reads files, one at a time.

    It is started on first use, and again after it died or exceeded the timeout.

    Args:
        longest: timeout in seconds per document.
        memory: memory limit in bytes.
    """

    def __init__(self, *, longest: float = LONGEST, memory: int = MEMORY) -> None:
        self._longest = longest
        self._memory = memory
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, entry: Entry) -> Iterator[CutDocument | Skipped]:
        """Yield the documents of a file; every problem is yielded as :class:`Skipped`."""
        child = self._started()
        assert child.stdin is not None
        request = {"name": entry.name, "path": os.fsencode(entry.path).hex(), "kind": entry.kind}
        try:
            child.stdin.write(frame(to_json(request)))
            child.stdin.flush()
        except OSError:
            self.close()
            yield Skipped(entry.name, "the process that reads files ended", again=True)
            return
        finished = False
        try:
            while True:
                message = self._message(child, self._longest)
                if isinstance(message, str):
                    finished = True  # no message is left
                    yield Skipped(entry.name, message, again=True)
                    return
                if not message:
                    finished = True
                    return
                yield from map(_taken, message)
        finally:
            if not finished:  # the caller has stopped reading
                self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        child = self._child
        if child is None or child.poll() is not None:
            self.close()
            child = self._child = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the parent's to handle
            )
            self._message(child, _START)  # the start does not count as a file's time
        return child

    def _message(
        self, child: subprocess.Popen[bytes], longest: float
    ) -> list[dict[str, Any]] | str:
        """Return the next message, or the reason why it is missing."""
        assert child.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(longest, stop)
        timer.daemon = True
        timer.start()
        try:
            message = read_message(cast("BinaryIO", child.stdout))
            if message:
                answers: list[dict[str, Any]] = from_json(message)
                return answers
        except ValueError:
            pass  # it ended within a message
        finally:
            timer.cancel()
        self.close()
        if late.is_set():
            return f"reading took longer than {longest:g} s"
        return "the process that reads files ended"

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _taken(answer: dict[str, Any]) -> CutDocument | Skipped:
    if "reason" in answer:
        return Skipped(**answer)
    places = [(start, end) for start, end in answer.pop("pieces")]
    return CutDocument(Document(**{**answer, "pages": tuple(answer["pages"])}), places)


def _answers(entry: Entry) -> Iterator[dict[str, Any]]:
    try:
        for document in read(entry):
            if isinstance(document, Skipped):
                yield document._asdict()
            else:
                yield {
                    "name": document.name,
                    "title": document.title[:500],
                    "text": document.text,
                    "pages": document.pages,
                    "pieces": list(pieces(document.text)),
                }
    except Unreadable as e:
        yield {"name": entry.name, "reason": str(e)}
    except MemoryError:
        yield {"name": entry.name, "reason": "reading needs too much memory", "again": True}
    except Exception as e:  # one file must not end the others
        yield {"name": entry.name, "reason": f"cannot be read: {type(e).__name__}: {e}"[:300]}


def _alarmed(answers: Iterator[T]) -> Iterator[T]:
    """Yield ``answers`` under a timer, which ends this process if the parent is gone."""
    alarm = getattr(signal, "alarm", lambda _: None)
    while True:
        alarm(int(2 * LONGEST))
        answer = next(answers, None)
        alarm(0)
        if answer is None:
            return
        yield answer


def main(inward: BinaryIO, outward: BinaryIO) -> None:
    """Answer messages until the parent ends."""
    follow()
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if len(sys.argv) > 1 and sys.platform != "win32":
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
    _send(outward, [])
    while (message := read_message(inward)) is not None:
        request = from_json(message)
        path = Path(os.fsdecode(bytes.fromhex(request["path"])))
        answers: list[dict[str, Any]] = []
        size = 0
        for answer in _alarmed(_answers(Entry(request["name"], path, request["kind"]))):
            answers.append(answer)
            size += len(answer.get("text", "")) + 100
            if size > _MESSAGE:
                _send(outward, answers)
                answers, size = [], 0
        if answers:
            _send(outward, answers)
        _send(outward, [])


def _send(outward: BinaryIO, answers: list[dict[str, Any]]) -> None:
    outward.write(frame(to_json(answers)))
    outward.flush()


if __name__ == "__main__":
    pipe = sys.stdout.buffer
    sys.stdout = sys.stderr  # output of a library must not mix with the messages
    main(sys.stdin.buffer, pipe)
