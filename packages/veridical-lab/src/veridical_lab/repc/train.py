"""Training of RepC on labelled pairs, and its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.protocols import LABELS
from veridical.errors import UsageError
from veridical.models.nli.labels import REST
from veridical.stats.metrics import classification
from veridical_lab.repc.classifiers import Classifier, Kind
from veridical_lab.repc.fit import fit, fit_mixer
from veridical_lab.repc.gather import States
from veridical_lab.repc.model import Layers, Repc
from veridical_lab.training.figures import FigureRow, beside_majority
from veridical_lab.training.labelled_pairs import FEWEST, LabelledPairs, check_enough

_MOST_HELD = 1000  # pairs of the held-out part, which cost a forward each
_FEWEST_CHOOSING = 500  # maximum pairs for choosing or combining layers


@dataclass(frozen=True, eq=False)
class RepcParts:
    """Pairs by what they are for; no premise is in two of them.

    Attributes:
        train: that the classifiers are fitted on.
        choosing: by which a layer is selected, or the layers are joined.
        held: on which the whole is measured.
    """

    train: LabelledPairs
    choosing: LabelledPairs
    held: LabelledPairs


def parts_of(data: LabelledPairs, size: int, held_out: float, seed: int) -> RepcParts:
    """Draw the parts.

    A share of the premises is held out. Half of the others are for training, from which ``size``
    pairs are drawn, balanced by class as far as possible. The other half is for choosing, from
    which as many are drawn, or 500 if that is more. Pairs of two-class sources are left out.

    Raises:
        UsageError: a part has too few pairs of some class.
    """
    rng = np.random.default_rng(seed)
    three = data.take(i for i, p in enumerate(data.pairs) if p.label != REST)
    truth, groups = three.truth(), three.groups()
    premises = rng.permutation(groups.max() + 1 if len(groups) else 0)
    held = round(held_out * len(premises))
    half = held + (len(premises) - held) // 2
    kinds = np.zeros(
        len(premises), np.int64
    )  # part of each premise: 0 held out, 1 training, 2 choosing
    kinds[premises[held:half]], kinds[premises[half:]] = 1, 2
    part = kinds[groups] if len(groups) else groups
    sizes = {1: size, 2: max(size, _FEWEST_CHOOSING)}
    samples = [_balanced(truth, np.flatnonzero(part == k), n, (seed, k)) for k, n in sizes.items()]
    for name, places in zip(("training", "choosing"), samples, strict=True):
        check_enough(name, truth[places], LABELS)
    held_places = rng.permutation(np.flatnonzero(part == 0))[:_MOST_HELD]
    return RepcParts(three.take(samples[0]), three.take(samples[1]), three.take(held_places))


def _balanced(
    truth: NDArray[np.int64], places: NDArray[np.intp], size: int, seed: tuple[int, ...]
) -> NDArray[np.intp]:
    """Return ``size`` random places, balanced by class as far as possible.

    A smaller draw is the beginning of a larger one, so that stored states are reused.
    """
    chosen = []
    for label in range(len(LABELS)):
        share = size // len(LABELS) + (label < size % len(LABELS))
        rng = np.random.default_rng((*seed, label))
        chosen.append(rng.permutation(places[truth[places] == label])[:share])
    return np.random.default_rng(seed).permutation(np.concatenate(chosen))


@dataclass(frozen=True, eq=False)
class TrainedRepc:
    """A trained RepC.

    Attributes:
        profile: macro-F1 of each layer's classifier on the choosing part, by layer.
    """

    model: Repc
    profile: Mapping[int, float]
    n_train: int
    n_choosing: int


def train(
    data: RepcParts,
    states: States,
    kind: Kind,
    layers: Layers,
    *,
    proxy: str,
    seed: int = 0,
    notes: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TrainedRepc:
    """Fit a classifier per layer; take the best (``select``) or combine all (``ensemble``).

    The measured model is the stored one: nothing is fitted again on more pairs.

    Args:
        states: of the training pairs, then of the choosing ones.
        proxy: the requested name of the language model.
        progress: called with the number of layers done, and of all.

    Raises:
        UsageError: too few of the pairs could be read.
    """
    n = len(data.train.pairs)
    truth = np.concatenate([data.train.truth(), data.choosing.truth()])
    fitting, choosing = (
        np.flatnonzero(states.read & (np.arange(len(truth)) < n)),
        np.flatnonzero(states.read & (np.arange(len(truth)) >= n)),
    )
    for places in (fitting, choosing):
        if np.bincount(truth[places], minlength=len(LABELS)).min() < FEWEST:
            raise UsageError(
                f"of too few pairs there are hidden states: {int(states.read.sum())} of "
                f"{len(truth)}; {next(iter(states.missing), '')}"
            )
    depth = states.x.shape[1]
    experts: dict[int, Classifier] = {}
    shares: dict[int, Floats] = {}
    profile: dict[int, float] = {}
    for layer in range(1, depth):
        experts[layer] = fit(kind, _of(states, layer, fitting), truth[fitting], seed)
        shares[layer] = experts[layer].probabilities(_of(states, layer, choosing))
        table = classification.counts(truth[choosing], shares[layer].argmax(1), len(LABELS))
        profile[layer] = float(classification.macro_f1(table))
        if progress is not None:
            progress(layer, depth - 1)
    chosen, mixer = tuple(experts), None
    if layers == "select":
        chosen = (max(profile, key=lambda layer: profile[layer]),)
    else:
        joined = np.concatenate([shares[layer] for layer in chosen], axis=1)
        mixer = fit_mixer(joined, truth[choosing], seed)
    all_notes = {
        "train": {"n": len(fitting), "hash": data.train.hash()},
        "choosing": {"n": len(choosing), "hash": data.choosing.hash()},
        "profile": {str(layer): round(f1, 4) for layer, f1 in profile.items()},
        "seed": seed,
        **(notes or {}),
    }
    model = Repc(
        kind=kind,
        layers=chosen,
        experts=tuple(experts[layer] for layer in chosen),
        mixer=mixer,
        proxy=proxy,
        revision=states.revision,
        shape=(depth, states.x.shape[2]),
        notes=all_notes,
    )
    return TrainedRepc(model, profile, len(fitting), len(choosing))


def _of(states: States, layer: int, places: NDArray[np.intp]) -> Floats:
    return np.asarray(states.x[places, layer], np.float64)


def measure(
    model: Repc,
    data: LabelledPairs,
    states: States,
    *,
    part: str,
    bootstrap: int = 1000,
    seed: int = 0,
) -> list[FigureRow]:
    """Measure ``model`` on pairs, with their majority class as a baseline.

    If a source has two classes, all but entailment counts as the other.
    """
    known = states.x[states.read][:, list(model.layers)]
    if not len(known):
        return []
    predicted = np.minimum(model.probabilities(known).argmax(1), len(data.classes) - 1)
    truth, groups = data.truth()[states.read], data.groups()[states.read]
    return beside_majority(
        truth,
        predicted,
        groups,
        len(data.classes),
        part=part,
        method="repc",
        bootstrap=bootstrap,
        seed=seed,
    )
