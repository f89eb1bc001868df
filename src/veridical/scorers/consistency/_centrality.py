"""Centrality of claims in the bipartite graph of claims and answers.

The graph has c claims on one side and r answers on the other. An edge is a weight above 0 in a (c,
r) table. Values are in [0, 1], one per claim. Degree, closeness, harmonic and betweenness ignore
the weights of edges; the other measures use them.
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
_PAGERANK_DAMPING = 0.85
_MAX_POWER_ITERATIONS = 1000
_NEAR = 1e-12


def degree(weights: Matrix) -> Floats:
    """Return the share of the answers that each claim is connected to."""
    return np.asarray((weights > 0).mean(axis=1), dtype=np.float64)


def strength(weights: Matrix) -> Floats:
    """Return the mean weight of each claim's edges over all answers (Barrat et al. 2004).

    The UQLM package calls it degree.
    """
    return np.asarray(weights.mean(axis=1), dtype=np.float64)


def harmonic(weights: Matrix) -> Floats:
    """Return the normalised harmonic centrality (Marchiori & Latora 2000).

    It is the sum of 1 / distance to all other nodes, divided by its maximum ``r + (c - 1) / 2``.
    The maximum is reached when every answer is adjacent to the claim.
    """
    claims, answers = weights.shape
    values = np.zeros(claims)
    for claim in range(claims):
        distance, _, _ = _paths(weights > 0, claim)
        values[claim] = (1 / distance[distance > 0]).sum()
    return np.asarray(values / (answers + (claims - 1) / 2), dtype=np.float64)


def closeness(weights: Matrix) -> Floats:
    """Return the closeness centrality ``(r + 2 (c - 1)) / d``, at most 1.

    ``d`` is the sum of the distances to all reachable nodes. The value is multiplied by the share
    of the graph that is reachable (Borgatti & Halgin 2011, bipartite form).
    """
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
    """Return the normalised betweenness centrality (Borgatti & Halgin 2011).

    It is the number of shortest paths between other nodes through a claim, divided by the maximum
    for a node of its side. Each pair's paths share 1.
    """
    claims, answers = weights.shape
    s, t = divmod(claims - 1, answers)
    most = answers**2 * (s + 1) ** 2 + answers * (s + 1) * (2 * t - s - 1) - t * (2 * s - t + 3)
    total = np.zeros(claims + answers)
    for source in range(claims + answers):
        _, paths, order = _paths(weights > 0, source)
        total += _passed(order, paths, source)
    return np.minimum(2 * total[:claims] / most, 1.0) if most > 0 else np.zeros(claims)


def eigenvector(weights: Matrix) -> Floats:
    """Return the claims' entries of the graph's first eigenvector, of unit length.

    The power method starts from equal entries.
    """
    graph = _whole(weights)
    vector: Floats = np.full(len(graph), len(graph) ** -0.5)
    for _ in range(_MAX_POWER_ITERATIONS):
        before, vector = vector, graph @ vector + vector  # the same vectors, and it converges
        vector = vector / np.linalg.norm(vector)
        if np.abs(vector - before).max() < _NEAR:
            break
    return np.clip(vector[: len(weights)], 0.0, 1.0)


def pagerank(weights: Matrix) -> Floats:
    """Return the PageRank of each claim with restart probability 0.15."""
    graph = _whole(weights)
    n, out = len(graph), graph.sum(axis=1)
    steps = np.divide(graph, out[:, None], out=np.full((n, n), 1 / n), where=out[:, None] > 0)
    rank: Floats = np.full(n, 1 / n)
    for _ in range(_MAX_POWER_ITERATIONS):
        before, rank = rank, _PAGERANK_DAMPING * rank @ steps + (1 - _PAGERANK_DAMPING) / n
        if np.abs(rank - before).max() < _NEAR:
            break
    return np.clip(rank[: len(weights)], 0.0, 1.0)


def laplacian(weights: Matrix) -> Floats:
    """Return the share of the Laplacian energy attributed to each claim (Qi et al. 2012).

    The energy is the sum of the squared eigenvalues of the Laplacian.
    """
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
    """Return the symmetric (c + r, c + r) weight matrix, claims first."""
    claims, answers = weights.shape
    graph: Matrix = np.zeros((claims + answers, claims + answers))
    graph[:claims, claims:] = weights
    graph[claims:, :claims] = weights.T
    return graph


def _energy(graph: Matrix) -> float:
    # the trace of the squared Laplacian: degrees squared and weights squared
    return float((graph.sum(axis=1) ** 2).sum() + (graph**2).sum())


def _paths(edges: Bools, source: int) -> tuple[Floats, Floats, list[list[int]]]:
    """Run a breadth-first search from one node over all c + r nodes.

    Returns the distances (-1 where unreachable) and the numbers of shortest paths. It also returns
    each reached node, nearest first, with its predecessors on these paths.
    """
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
    """Return the (c + r,) contributions of the paths from ``source`` to each betweenness.

    Each path counts half, as it is found from both ends (Brandes 2001).
    """
    passed = np.zeros(len(paths))
    for node, *before in reversed(order):
        for other in before:
            passed[other] += paths[other] / paths[node] * (1 + passed[node])
    passed[source] = 0
    return passed / 2
