"""Warm engines: one for each set of options, shared, bounded in number, never closed in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.engine.options import EngineOptions
from veridical.engine.warm import WarmEngines
from veridical.errors import UsageError


def options(threads: int) -> EngineOptions:
    return EngineOptions(threads=threads, store=None)


def test_equal_options_have_one_engine() -> None:
    warm = WarmEngines()
    with warm.use(options(1)) as one, warm.use(options(1)) as same, warm.use(options(2)) as other:
        assert one is same and one is not other and len(warm) == 2
    with warm.use(options(1)) as again:
        assert again is one
    warm.close()
    assert len(warm) == 0
    with pytest.raises(UsageError, match="closed"):
        one.check_usable()


def test_the_least_recently_used_idle_one_is_closed() -> None:
    warm = WarmEngines(most=2)
    with warm.use(options(1)) as busy:
        with warm.use(options(2)) as second:
            pass
        with warm.use(options(3)) as third:
            with pytest.raises(UsageError, match="closed"):
                second.check_usable()  # idle, so it went
            busy.check_usable()
            third.check_usable()
        with warm.use(options(4)), warm.use(options(5)):
            assert len(warm) == 3  # all of them in use
        busy.check_usable()
    assert len(warm) == 2
    warm.close()


def test_another_folder_has_other_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm = WarmEngines()
    with warm.use(options(1)) as here:
        monkeypatch.chdir(tmp_path)
        with warm.use(options(1)) as there:
            assert here is not there  # veridical.toml and the usual store are looked for here
    warm.close()


def test_an_engine_that_cannot_be_made_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    warm = WarmEngines()
    with (
        pytest.raises(UsageError, match="cannot open store"),
        warm.use(EngineOptions(store=tmp_path / "file" / "store")),
    ):
        pass
    assert len(warm) == 0
