"""A journal's rows kept elsewhere: whoever gets them finds the same replies and owes the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_journal import REPLIES, leave, write

from veridical.core.messages import Reply
from veridical.files.seals import SECRET_VARIABLE, forget_secret
from veridical.llm.journal import Journal
from veridical.llm.journal_copies import Foreign, JournalCopies


async def filled(path: Path, replies: list[Reply], first: int = 0) -> list[bytes]:
    """A journal with these replies, one rejected, and a call that is lost."""
    journal = Journal(path)
    keys = await write(journal, "r", replies, first)
    await leave(journal, journal.session("r"), [(b"lost", 0)])
    await journal.reject([(keys[0], 0)])
    journal.close()
    return keys


async def test_another_computer_finds_the_same(tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "j", tmp_path / "there" / "j"
    keys = await filled(here, REPLIES)
    copies = JournalCopies(here)
    first = copies.piece()
    assert first is not None and copies.piece() is None
    more = [Reply(str(i), "stop") for i in range(50)]
    keys += await filled(here, more, first=10)
    second = copies.piece()
    assert second is not None
    assert len(second) < len(first) + 50 * 700  # what is new, and no more

    pieces = [second, first, second]
    random.Random(0).shuffle(pieces)
    JournalCopies(there).take_in(pieces)
    before, after = Journal(here), Journal(there)
    found = await after.find(keys)
    assert found == await before.find(keys) and len(found) == 53
    assert found[keys[0]].rejected and not found[keys[1]].rejected
    assert after.totals("r") == before.totals("r")
    assert after.totals("r").calls == 55 and after.totals("r").possibly_paid == 2
    before.close()
    after.close()


async def test_what_two_computers_add_is_kept_apart(tmp_path: Path) -> None:
    """Each begins with nothing, as where one was lost before its first copy."""
    pieces = []
    for i, name in enumerate(("a", "b")):
        copies = JournalCopies(tmp_path / name)
        copies.take_in([])
        await filled(tmp_path / name, REPLIES, first=10 * i)
        pieces.append(copies.piece())
    third = JournalCopies(tmp_path / "c")
    third.take_in([piece for piece in pieces if piece is not None])
    new = third.piece()
    assert new is not None and new.count(b"\n") == 1  # the leap; all else is elsewhere
    journal = Journal(tmp_path / "c")
    total = journal.totals("r")
    assert (total.calls, total.answered, total.possibly_paid) == (8, 6, 2)
    assert await write(journal, "r", REPLIES, first=20)
    journal.close()
    assert third.piece() is not None


async def test_nothing_is_copied_of_a_run_without_calls(tmp_path: Path) -> None:
    assert JournalCopies(tmp_path / "none").piece() is None
    copies = JournalCopies(tmp_path / "j")
    copies.take_in([])
    journal = Journal(tmp_path / "j")
    journal.session("r")
    journal.close()
    assert copies.piece() is None


async def test_what_is_forged_or_damaged_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path / "here", REPLIES)
    piece = JournalCopies(tmp_path / "here").piece()
    assert piece is not None
    flipped = bytearray(piece)
    flipped[-2] ^= 1
    for bad in (bytes(flipped), piece[:-1], b"", b"\n", b"\xff\n[]", piece[25:]):
        copies = JournalCopies(tmp_path / "there")
        with pytest.raises(Foreign):
            copies.take_in([piece, bad])
        assert not (tmp_path / "there").exists()
    monkeypatch.setenv(SECRET_VARIABLE, "the secret of another computer")
    forget_secret()
    with pytest.raises(Foreign):
        JournalCopies(tmp_path / "there").take_in([piece])
    monkeypatch.undo()
    forget_secret()
