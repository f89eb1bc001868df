"""Random verdicts among a few answers, for the properties of scorers that compare them all."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

from veridical.core.records import Record


@st.composite
def tables(draw, least: int = 2, most: int = 6):
    """(n, n, 3) probabilities of n different answers, each of itself (1, 0, 0)."""
    n = draw(st.integers(least, most))
    parts = draw(
        st.lists(
            st.tuples(*[st.sampled_from([0, 0, 1, 2, 5, 9])] * 3).filter(any),
            min_size=n * n,
            max_size=n * n,
        )
    )
    table = np.array(parts, float).reshape(n, n, 3)
    table /= table.sum(axis=2, keepdims=True)
    table[np.arange(n), np.arange(n)] = (1, 0, 0)
    return table


def evidence_of(table, order=None, **options):
    """A record of answers "a0", "a1", ... and evidence that judges them by ``table``.

    ``order`` is that of the answers, the response first.
    """
    names = [f"a{i}" for i in range(len(table))]
    verdicts = {
        (p, h): tuple(table[i, j]) for i, p in enumerate(names) for j, h in enumerate(names)
    }
    response, *samples = [names[i] for i in order or range(len(names))]
    record = Record(response=response, samples=samples)
    return record, FixedVerdicts(record, verdicts, **options)


def same(n: int):
    """Every answer entails every other."""
    return np.tile([1.0, 0.0, 0.0], (n, n, 1))


def apart(n: int):
    """Every answer contradicts every other."""
    table = np.tile([0.0, 0.0, 1.0], (n, n, 1))
    table[np.arange(n), np.arange(n)] = (1, 0, 0)
    return table
