"""Seals: what was not written with this computer's secret is told."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from veridical.errors import UsageError
from veridical.files.seals import SEAL, SECRET_VARIABLE, forget_secret, local_secret, seal, sealed


@pytest.fixture(autouse=True)
def fresh():
    forget_secret()
    yield
    forget_secret()


def test_a_seal_holds_parts_their_borders_and_the_purpose(monkeypatch):
    monkeypatch.setenv(SECRET_VARIABLE, "shared by several computers")
    found = seal("ab", b"c", purpose="line")
    assert len(found) == SEAL and sealed(found, "ab", b"c", purpose="line")
    assert not sealed(found, "a", "bc", purpose="line")
    assert not sealed(found, "ab", "c", purpose="reply")
    assert not sealed(found, "ab", "d", purpose="line")


def test_another_computer_cannot_seal(monkeypatch):
    monkeypatch.setenv(SECRET_VARIABLE, "the secret of a stranger")
    forged = seal("risk 0", purpose="line")
    forget_secret()
    monkeypatch.setenv(SECRET_VARIABLE, "the secret of this computer")
    assert not sealed(forged, "risk 0", purpose="line")


def test_without_a_place_for_a_secret_damage_is_still_told(tmp_path: Path, monkeypatch):
    monkeypatch.delenv(SECRET_VARIABLE, raising=False)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    found = seal("text", purpose="line")
    forget_secret()  # as in the next process
    assert sealed(found, "text", purpose="line")
    assert not sealed(found, "test", purpose="line")


def test_the_secret_is_kept_private_and_found_again(tmp_path: Path, monkeypatch):
    monkeypatch.delenv(SECRET_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    forget_secret()
    first = local_secret()
    path = tmp_path / "veridical" / "secret"
    assert path.read_bytes() == first and len(first) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["secret"]
    forget_secret()
    assert local_secret() == first
    path.write_bytes(b"short")
    forget_secret()
    with pytest.raises(UsageError, match="remove it"):
        local_secret()
    forget_secret()


def test_the_secret_may_be_given(monkeypatch):
    forget_secret()
    monkeypatch.setenv(SECRET_VARIABLE, "shared by several computers")
    assert local_secret() == b"shared by several computers"
    forget_secret()
    monkeypatch.setenv(SECRET_VARIABLE, "short")
    with pytest.raises(UsageError, match="16 characters"):
        local_secret()
    forget_secret()


def test_where_nothing_can_be_written_fences_still_hold(tmp_path: Path, monkeypatch):
    monkeypatch.delenv(SECRET_VARIABLE, raising=False)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    forget_secret()
    assert len(local_secret()) == 32
    forget_secret()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
