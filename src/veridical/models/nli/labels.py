"""Order of a model's classes, and its verification.

Models order their classes differently, and some configurations name them wrongly or not at all. So
names are tested against the model's answers on a few pairs with an obvious class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS, Pair
from veridical.errors import ModelError, UsageError

ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS
#: The other class of two-way heads, if it is not specified.
REST = "not_entailment"
_NAMES = {
    **dict.fromkeys(("entailment", "entail", "entails", "entailed"), ENTAILMENT),
    NEUTRAL: NEUTRAL,
    **dict.fromkeys(("contradiction", "contradict", "contradicts"), CONTRADICTION),
    **dict.fromkeys(("notentailment", "nonentailment", "notentailed", "hallucination"), REST),
}
_HEADS = ({ENTAILMENT, NEUTRAL, CONTRADICTION}, {ENTAILMENT, CONTRADICTION}, {ENTAILMENT, REST})

#: Pairs that every useful model classifies correctly, two of each class.
PLAIN: tuple[tuple[Pair, str], ...] = (
    (Pair("A man is playing a guitar on a stage.", "A man is playing a guitar."), ENTAILMENT),
    (
        Pair("The two girls are eating apples in the garden.", "The girls are eating."),
        ENTAILMENT,
    ),
    (Pair("A woman is reading a book in the park.", "The woman is a doctor."), NEUTRAL),
    (Pair("The boy is riding his bicycle to school.", "The boy has two sisters."), NEUTRAL),
    (Pair("The children are playing in the garden.", "There are no children."), CONTRADICTION),
    (Pair("The shop is open on Sundays.", "The shop is not open on Sundays."), CONTRADICTION),
)


@dataclass(frozen=True)
class Order:
    """The class of each output of a model.

    Attributes:
        classes: one of :data:`LABELS` or ``not_entailment`` for each output, in order.
    """

    classes: tuple[str, ...]

    @property
    def contradicts(self) -> bool:
        """Return True if contradiction is a separate class."""
        return CONTRADICTION in self.classes

    def __call__(self, probabilities: NDArray[np.floating]) -> NDArray[np.float32]:
        """Map (n, classes) to (n, 3) probabilities in the order of LABELS.

        ``not_entailment`` becomes neutral, and missing classes are 0.
        """
        rows = np.zeros((len(probabilities), len(LABELS)), dtype=np.float32)
        for output, name in enumerate(self.classes):
            rows[:, LABELS.index(NEUTRAL if name == REST else name)] = probabilities[:, output]
        return rows


def class_of(name: str) -> str | None:
    """Return the class that a label names, in any case and spelling, or None."""
    return _NAMES.get(re.sub("[^a-z]", "", name.lower()))


def order_of(names: Sequence[str]) -> Order | None:
    """Return the order that the labels name, or None if they do not name the classes of a head."""
    classes = [class_of(name) for name in names]
    known = tuple(c for c in classes if c is not None)
    if len(known) < len(names) or len(set(known)) < len(known) or set(known) not in _HEADS:
        return None
    return Order(known)


def given_order(text: str) -> Order:
    """Parse the order given by a user: class names separated by commas, output 0 first.

    Raises:
        UsageError: they are not the classes of a head.
    """
    order = order_of(text.split(","))
    if order is None:
        heads = " or ".join(",".join(LABELS if len(h) == 3 else sorted(h)) for h in _HEADS)
        raise UsageError(
            f"labels must be the model's classes in its own order ({heads}), not {text}"
        )
    return order


def config_names(config: dict[str, Any]) -> list[str]:
    """Return the labels by ``id2label`` of a configuration, or by ``label2id`` if it is clearer."""
    by_id = {str(k): str(v) for k, v in _mapping(config, "id2label").items()}
    by_label = {str(v): str(k) for k, v in _mapping(config, "label2id").items()}
    lists = [[m[str(i)] for i in range(len(m)) if str(i) in m] for m in (by_id, by_label)]
    plain = [names for names in lists if order_of(names)]
    return (plain or [names for names in lists if names] or [[]])[0]


def settle(
    names: Sequence[str], answers: NDArray[np.floating], where: str, stated: Order | None = None
) -> Order:
    """Determine the order of a model's classes from its labels and answers.

    A given order is trusted. Labels that name the classes are accepted if the model's answers on
    :data:`PLAIN` agree. Without such labels, the answers of a three-way head alone decide. They
    agree if the right class is the most probable one in at least five of six pairs. If neutral
    pairs do not apply, it must be so in all four. Its mean probability must be at least 1/6 above
    chance. Without labels, all six pairs must be right.

    Args:
        names: the model's labels, output 0 first; may be fewer than its outputs, or empty.
        answers: (pairs, classes) its probabilities on the premises and hypotheses of ``PLAIN``.
        where: the model's name, for messages.
        stated: the order given by the user.

    Raises:
        ModelError: the number of outputs differs from the labels, or the order cannot be
            determined.
    """
    outputs = answers.shape[1]
    if not np.isfinite(answers).all():
        raise ModelError(f"{where} returned probabilities that are not finite on plain pairs")
    order = stated or order_of(names)
    if order is not None and len(order.classes) != outputs:
        listed = ", ".join(order.classes)
        raise ModelError(f"{where} has {outputs} outputs, not one each for {listed}")
    if stated is not None:
        return stated
    advice = "set the order of its classes in the model's name, such as ?labels=" + ",".join(
        LABELS if outputs != 2 else (ENTAILMENT, CONTRADICTION)
    )
    listed = ", ".join(map(repr, names)) or "none"
    if order is not None:
        right, total, mean = _fit(order, answers)
        if right < total - total // 6 or mean < 1 / outputs + 1 / 6:
            raise ModelError(
                f"{where}: its labels ({listed}) do not fit its answers: {right} of {total} plain "
                f"pairs right, mean probability {mean:.2f}. It may be untrained, not an NLI model, "
                f"or its labels are in another order; in that case {advice}"
            )
        return order
    if outputs == len(LABELS):
        for classes in permutations(LABELS):
            right, total, mean = _fit(Order(classes), answers)
            if right == total and mean >= 1 / outputs + 1 / 6:
                return Order(classes)
    elif outputs != 2:
        raise ModelError(f"{where} has {outputs} outputs; an NLI model has two or three classes")
    raise ModelError(
        f"{where}: the order of its classes is unclear from its labels ({listed}) and from "
        f"its answers to plain pairs; {advice}"
    )


def confirm(order: Order, answers: NDArray[np.floating], where: str) -> None:
    """Test the published order of a checkpoint's classes against its answers.

    The name may belong to another checkpoint, or the order of its head may have changed. So the
    published order must give the right classes of :data:`PLAIN` at least the mean probability of
    any other order.

    Args:
        answers: (pairs, classes) its probabilities on the premises and hypotheses of ``PLAIN``.
        where: the model's name, for messages.

    Raises:
        ModelError: the number of outputs differs, or another order fits better.
    """
    if answers.shape[1] != len(order.classes):
        listed = ", ".join(order.classes)
        raise ModelError(f"{where} has {answers.shape[1]} outputs, not one each for {listed}")
    if not np.isfinite(answers).all():
        raise ModelError(f"{where} returned probabilities that are not finite on plain pairs")
    orders = [Order(classes) for classes in permutations(order.classes)]
    best = max(orders, key=lambda o: (_fit(o, answers)[2], o == order))
    if best != order:
        listed, fits = ", ".join(order.classes), ", ".join(best.classes)
        raise ModelError(
            f"{where}: the published order of its classes ({listed}) fits its answers to plain "
            f"pairs less well than {fits}: mean probability {_fit(order, answers)[2]:.2f} against "
            f"{_fit(best, answers)[2]:.2f}. It is not the published checkpoint"
        )


def _fit(order: Order, answers: NDArray[np.floating]) -> tuple[int, int, float]:
    """Return plain pairs answered correctly, applicable pairs, and the right class's mean
    probability.

    Neutral pairs apply to a head without neutral only if its other class is the rest.
    """
    right, chances = 0, []
    for row, (_, label) in zip(answers, PLAIN, strict=True):
        name = REST if label != ENTAILMENT and REST in order.classes else label
        if name in order.classes:
            at = order.classes.index(name)
            right += int(row.argmax() == at)
            chances.append(float(row[at]))
    return right, len(chances), sum(chances) / len(chances)


def _mapping(config: dict[str, Any], key: str) -> dict[Any, Any]:
    value = config.get(key)
    return value if isinstance(value, dict) else {}
