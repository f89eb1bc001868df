"""Centralities of a graph with two sides, against networkx and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.scorers.consistency._centrality import CENTRALITIES

#: Two claims in all three answers, one in the first alone, one in none.
TABLE = np.array([[1.0, 1.0, 1.0], [0.9, 0.8, 0.7], [0.6, 0, 0], [0, 0, 0]])


def random(seed: int, claims: int, answers: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((claims, answers)) < 0.5, rng.uniform(0.5, 1, (claims, answers)), 0)


def by_networkx(name: str, weights: np.ndarray) -> list[float]:
    networkx = pytest.importorskip("networkx")
    claims, answers = weights.shape
    graph = networkx.Graph()
    graph.add_nodes_from(range(claims + answers))
    edges = [(i, claims + j, w) for (i, j), w in np.ndenumerate(weights) if w > 0]
    graph.add_weighted_edges_from(edges)
    top = range(claims)
    sides = networkx.algorithms.bipartite
    values = {
        "degree": lambda: sides.degree_centrality(graph, top),
        "strength": lambda: {i: graph.degree(i, weight="weight") / answers for i in range(claims)},
        "harmonic": lambda: {
            i: value / (answers + (claims - 1) / 2)
            for i, value in networkx.harmonic_centrality(graph).items()
        },
        "closeness": lambda: sides.closeness_centrality(graph, top),
        "betweenness": lambda: sides.betweenness_centrality(graph, top),
        "eigenvector": lambda: networkx.eigenvector_centrality(
            graph, max_iter=5000, tol=1e-12, weight="weight"
        ),
        "pagerank": lambda: networkx.pagerank(graph, weight="weight", tol=1e-13, max_iter=1000),
        "laplacian": lambda: networkx.laplacian_centrality(graph, weight="weight"),
    }[name]()
    return [min(values[i], 1.0) for i in top]


@pytest.mark.parametrize("name", sorted(CENTRALITIES))
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (5, 3), (4, 6), (12, 5)])
def test_as_networkx_has_them(name: str, shape: tuple[int, int]) -> None:
    for seed in range(4):
        weights = random(seed, *shape)
        if not weights.any():
            continue
        expected = by_networkx(name, weights)
        np.testing.assert_allclose(CENTRALITIES[name](weights), expected, atol=1e-6)


@pytest.mark.parametrize("name", sorted(CENTRALITIES))
def test_a_claim_that_no_answer_states_is_the_least_central(name: str) -> None:
    values = CENTRALITIES[name](TABLE)
    assert values.shape == (4,) and (values >= 0).all() and (values <= 1).all()
    assert values[3] == values.min() and values[0] == values.max()


@pytest.mark.parametrize("name", sorted(CENTRALITIES))
def test_a_graph_without_edges(name: str) -> None:
    assert np.isfinite(CENTRALITIES[name](np.zeros((2, 3)))).all()


def test_by_hand() -> None:
    assert CENTRALITIES["degree"](TABLE).tolist() == pytest.approx([1, 1, 1 / 3, 0])
    assert CENTRALITIES["strength"](TABLE).tolist() == pytest.approx([1, 0.8, 0.2, 0])
    # three answers at 1, the second claim at 2, the third at 2; at most 3 + 3 / 2
    assert CENTRALITIES["harmonic"](TABLE)[0] == pytest.approx((3 + 2 / 2) / 4.5)
    one = CENTRALITIES["betweenness"](np.ones((1, 3)))  # all three pairs of answers meet in it
    assert one.tolist() == pytest.approx([1])
    # laplacian: degrees 3, 2.4, 0.6 and 2.5, 1.8, 1.7; squared edges twice
    whole = 9 + 5.76 + 0.36 + 6.25 + 3.24 + 2.89 + 2 * (3 + 0.81 + 0.64 + 0.49 + 0.36)
    without = 9 + 5.76 + 3.61 + 3.24 + 2.89 + 2 * (3 + 0.81 + 0.64 + 0.49)
    assert CENTRALITIES["laplacian"](TABLE)[2] == pytest.approx(1 - without / whole)
