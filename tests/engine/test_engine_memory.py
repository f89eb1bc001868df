"""Engines that were closed keep no models."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

import veridical
from veridical import Engine

ROWS = [
    {
        "response": "It is in Mali. The town was founded in 1911.",
        "samples": ["It is in Niger.", "The town is old. It was founded in 1911."],
        "contexts": ["The town lies in Mali and was founded in 1911."],
    }
]
CHECKS = """
import gc, sys
gc.disable()  # nothing may wait for the collector of reference cycles
import veridical

def resident():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * 4096 / 2**20

rows = eval(sys.argv[1])
for number in range(20):
    veridical.check(rows, "cosine, noncontradiction", processes=0)
    if number == 7:
        settled = resident()
print(settled, resident())
"""


def test_closing_lets_go_of_the_models_at_once() -> None:
    gc.disable()
    try:
        with Engine(processes=0) as engine:
            veridical.check(ROWS, "cosine, noncontradiction", engine=engine)
            models = [weakref.ref(model) for model in engine._loaded.values()]
            assert len(models) == 2
        assert [model() for model in models] == [None, None]
    finally:
        gc.enable()
        gc.collect()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_an_engine_a_check_does_not_pile_up_models() -> None:
    """Each loads some 100 MB; 12 of them would be 1.2 GB."""
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, repr(ROWS)], capture_output=True, text=True, check=True
    )
    settled, ended = map(float, done.stdout.split())
    assert ended < settled + 200, done.stdout
