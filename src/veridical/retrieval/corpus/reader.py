"""Files are read in a process of their own: what a hostile one can do ends with that process.

``python -m veridical.retrieval.corpus.reader`` takes an entry a message and answers with messages
of documents, cut into passages, and an empty one at the end, as at its own start. Its parent is
:class:`FileReader`.
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

#: Seconds for one document, or for as many short rows as go into a message.
LONGEST = 60.0
#: Seconds for the process to start.
_START = 120.0
#: Code points of the documents of a message, unless it is one.
_MESSAGE = 200_000
#: Bytes that the process may take (where the system lets that be limited).
MEMORY = 4 << 30


class CutDocument(NamedTuple):
    """A document and its passages' places."""

    document: Document
    pieces: list[tuple[int, int]]


class FileReader:
    """A child process that reads files, one at a time. It is started when first needed, and
    again after it has died or has been stopped for taking too long.

    Args:
        longest: seconds that a document may take.
        memory: bytes that the process may take.
    """

    def __init__(self, *, longest: float = LONGEST, memory: int = MEMORY) -> None:
        self._longest = longest
        self._memory = memory
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, entry: Entry) -> Iterator[CutDocument | Skipped]:
        """The documents of a file. Whatever may be wrong with it comes as :class:`Skipped`."""
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
                    finished = True  # nothing is left to be read from it
                    yield Skipped(entry.name, message, again=True)
                    return
                if not message:
                    finished = True
                    return
                yield from map(_taken, message)
        finally:
            if not finished:  # the caller has gone
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
            self._message(child, _START)  # it is there: that is no time of a file's
        return child

    def _message(
        self, child: subprocess.Popen[bytes], longest: float
    ) -> list[dict[str, Any]] | str:
        """The next message, or why there is none."""
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
            pass  # it ended in the middle of a message
        finally:
            timer.cancel()
        self.close()
        if late.is_set():
            return f"reading it took longer than {longest:g} s"
        return "reading it ended the process that reads files"

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
        yield {"name": entry.name, "reason": "reading it takes too much memory", "again": True}
    except Exception as e:  # one file must not end the others
        yield {"name": entry.name, "reason": f"cannot be read: {type(e).__name__}: {e}"[:300]}


def _alarmed(answers: Iterator[T]) -> Iterator[T]:
    """``answers``, each in time: should the parent be gone, nobody else would end this process."""
    alarm = getattr(signal, "alarm", lambda _: None)
    while True:
        alarm(int(2 * LONGEST))
        answer = next(answers, None)
        alarm(0)
        if answer is None:
            return
        yield answer


def main(inward: BinaryIO, outward: BinaryIO) -> None:
    """Answer until the parent has gone."""
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
    sys.stdout = sys.stderr  # what a library prints must not get between the messages
    main(sys.stdin.buffer, pipe)
