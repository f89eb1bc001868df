"""A model that does not fit into memory is refused before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from veridical.errors import ModelError
from veridical.models import memory

CODE = """
import resource, sys
import veridical
from veridical.errors import VeridicalError
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
rows = [{"response": f"Town {i} lies in Mali. " * 20, "samples": ["In Niger."]} for i in range(8)]
try:
    found = veridical.check(rows, "cosine, noncontradiction", processes=0)
    print({s.status for r in found for s in r.scores.values()})
except VeridicalError as e:
    print(e)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("limit", [300, 400, 500, 600, 700, 800, 900, 1000, 8000])
def test_a_limit_of_address_space_is_told_before_the_library_dies(limit: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(limit)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr[-500:]
    if limit == 8000:
        assert done.stdout == "{'scored'}\n"
    else:
        assert "the limit of address space (ulimit -v) leaves" in done.stdout


def test_weights_that_no_computer_holds() -> None:
    with pytest.raises(ModelError, match=r"needs about \d+ MiB .* this computer leaves"):
        memory.need_memory("m", 1 << 43)


def group(folder: Path, limit: str, used: str, names: tuple[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, used), strict=True):
        (folder / name).write_text(value + "\n")
    (folder / "memory.stat").write_text("anon 5\ninactive_file 100\n")


def test_control_groups_of_both_versions(tmp_path: Path) -> None:
    """The tightest of the groups around this process counts."""
    second = ("memory.max", "memory.current")
    group(tmp_path / "two" / "a", "2000", "500", second)
    group(tmp_path / "two" / "a" / "b", "max", "200", second)
    own = tmp_path / "cgroup"
    own.write_text("0::/a/b\n")
    assert memory._control_group(own, tmp_path / "two") == 2000 - 500 + 100
    first = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    group(tmp_path / "one" / "memory", str((1 << 63) - 4096), "900", first)
    own.write_text("3:cpu:/\n4:memory:/\n")
    assert memory._control_group(own, tmp_path / "one") is None
    group(tmp_path / "one" / "memory", "3000", "900", first)
    assert memory._control_group(own, tmp_path / "one") == 3000 - 900 + 100


def test_what_cannot_be_known_refuses_nothing(tmp_path: Path) -> None:
    assert memory.known(lambda: memory._free(tmp_path / "nothing")) is None
    (tmp_path / "meminfo").write_text("MemTotal: 5 kB\n")
    assert memory.known(lambda: memory._free(tmp_path / "meminfo")) is None
    assert memory.known(lambda: memory._control_group(tmp_path / "nothing")) is None
