"""How central each claim is in the graph of claims and the answers that state them.

The graph has two sides: (c) claims and (r) answers; an edge is a weight above 0 in a (c, r) table.
All figures are of the claims, in [0, 1]. Edges count alike for degree, closeness, harmonic and
betweenness, by their weights for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from veridical.arrays import Bools, Floats, Matrix

Centrality = Literal[
    "closeness",
    "harmonic",
    "betweenness",
    "degree",
    "strength",
    "eigenvector",
    "pagerank",
    "laplacian",
]
_DAMPING = 0.85  # of PageRank
_STEPS = 1000  # of the power method, at most
_NEAR = 1e-12


def degree(weights: Matrix) -> Floats:
    """Share of the answers that a claim is joined to."""
    return np.asarray((weights > 0).mean(axis=1), dtype=np.float64)


def strength(weights: Matrix) -> Floats:
    """Mean weight of a claim's edges over all answers (Barrat et al. 2004): what the UQLM package
    calls degree."""
    return np.asarray(weights.mean(axis=1), dtype=np.float64)


def harmonic(weights: Matrix) -> Floats:
    """Sum of 1 / distance to all other nodes, as a share of the most there can be,
    ``r + (c - 1) / 2``: every answer next to the claim (Marchiori & Latora 2000)."""
    claims, answers = weights.shape
    values = np.zeros(claims)
    for claim in range(claims):
        distance, _, _ = _paths(weights > 0, claim)
        values[claim] = (1 / distance[distance > 0]).sum()
    return np.asarray(values / (answers + (claims - 1) / 2), dtype=np.float64)


def closeness(weights: Matrix) -> Floats:
    """``(r + 2 (c - 1)) / d`` with d the sum of the distances to all that can be reached, times the
    share of the graph that can (Borgatti & Halgin 2011, for two sides); at most 1."""
    claims, answers = weights.shape
    best = answers + 2 * (claims - 1)
    values = np.zeros(claims)
    for claim in range(claims):
        distance, _, _ = _paths(weights > 0, claim)
        reached = distance > 0
        if reached.any():
            share = reached.sum() / (claims + answers - 1)
            values[claim] = min(best / distance[reached].sum() * share, 1.0)
    return values


def betweenness(weights: Matrix) -> Floats:
    """Number of shortest paths between other nodes that go through a claim, each pair's sharing 1,
    as a share of the most that a node of its side can have (Borgatti & Halgin 2011)."""
    claims, answers = weights.shape
    s, t = divmod(claims - 1, answers)
    most = answers**2 * (s + 1) ** 2 + answers * (s + 1) * (2 * t - s - 1) - t * (2 * s - t + 3)
    total = np.zeros(claims + answers)
    for source in range(claims + answers):
        _, paths, order = _paths(weights > 0, source)
        total += _passed(order, paths, source)
    return np.minimum(2 * total[:claims] / most, 1.0) if most > 0 else np.zeros(claims)


def eigenvector(weights: Matrix) -> Floats:
    """Entry of the first eigenvector of the graph, of unit length, by the power method from equal
    entries."""
    graph = _whole(weights)
    vector: Floats = np.full(len(graph), len(graph) ** -0.5)
    for _ in range(_STEPS):
        before, vector = vector, graph @ vector + vector  # the same vectors, and it converges
        vector = vector / np.linalg.norm(vector)
        if np.abs(vector - before).max() < _NEAR:
            break
    return np.clip(vector[: len(weights)], 0.0, 1.0)


def pagerank(weights: Matrix) -> Floats:
    """How often a walk along the edges, which starts anew 15 times of 100, is at the claim."""
    graph = _whole(weights)
    n, out = len(graph), graph.sum(axis=1)
    steps = np.divide(graph, out[:, None], out=np.full((n, n), 1 / n), where=out[:, None] > 0)
    rank: Floats = np.full(n, 1 / n)
    for _ in range(_STEPS):
        before, rank = rank, _DAMPING * rank @ steps + (1 - _DAMPING) / n
        if np.abs(rank - before).max() < _NEAR:
            break
    return np.clip(rank[: len(weights)], 0.0, 1.0)


def laplacian(weights: Matrix) -> Floats:
    """Share of the graph's Laplacian energy (the sum of its squared eigenvalues) that goes with
    the claim (Qi et al. 2012)."""
    graph = _whole(weights)
    whole = _energy(graph)
    if whole <= 0:
        return np.zeros(len(weights))
    without = np.array(
        [_energy(np.delete(np.delete(graph, i, 0), i, 1)) for i in range(len(weights))]
    )
    return np.clip(1 - without / whole, 0.0, 1.0)


#: By name.
CENTRALITIES: Mapping[str, Callable[[Matrix], Floats]] = MappingProxyType(
    {
        "closeness": closeness,
        "harmonic": harmonic,
        "betweenness": betweenness,
        "degree": degree,
        "strength": strength,
        "eigenvector": eigenvector,
        "pagerank": pagerank,
        "laplacian": laplacian,
    }
)


def _whole(weights: Matrix) -> Matrix:
    """(c + r, c + r) symmetric weights, claims first."""
    claims, answers = weights.shape
    graph: Matrix = np.zeros((claims + answers, claims + answers))
    graph[:claims, claims:] = weights
    graph[claims:, :claims] = weights.T
    return graph


def _energy(graph: Matrix) -> float:
    # the trace of the squared Laplacian: degrees squared and weights squared
    return float((graph.sum(axis=1) ** 2).sum() + (graph**2).sum())


def _paths(edges: Bools, source: int) -> tuple[Floats, Floats, list[list[int]]]:
    """From one node to each of the c + r: the distance (-1 where there is no way), how many
    shortest paths there are, and of each reached node, nearest first, itself and the nodes before
    it on these."""
    claims, answers = edges.shape
    distance, paths = np.full(claims + answers, -1.0), np.zeros(claims + answers)
    distance[source], paths[source] = 0, 1
    order, place = [[source]], 0
    while place < len(order):
        node = order[place][0]
        inside = edges[node] if node < claims else edges[:, node - claims]
        near = np.flatnonzero(inside) + (claims if node < claims else 0)
        if place:
            before = near[distance[near] == distance[node] - 1]
            order[place] += before.tolist()
            paths[node] = paths[before].sum()
        found = near[distance[near] < 0]
        distance[found] = distance[node] + 1
        order += [[i] for i in found.tolist()]
        place += 1
    return distance, paths, order


def _passed(order: list[list[int]], paths: Floats, source: int) -> Floats:
    """(c + r,) what the paths from ``source`` add to the betweenness of each node: half a path,
    as each is met from both ends (Brandes 2001)."""
    passed = np.zeros(len(paths))
    for node, *before in reversed(order):
        for other in before:
            passed[other] += paths[other] / paths[node] * (1 + passed[node])
    passed[source] = 0
    return passed / 2
