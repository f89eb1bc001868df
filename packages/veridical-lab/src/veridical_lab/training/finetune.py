"""Fine-tuning of an encoder as a checker on labelled claims."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS, Pair, Window
from veridical.errors import UsageError
from veridical.files.atomic import making_folder, need_new_folder
from veridical.models import torch_loading as loading
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.labels import CONTRADICTION, ENTAILMENT, REST, config_names, order_of
from veridical.models.nli.tokens import PairWindower
from veridical.models.nli.torch import TorchNli
from veridical_lab.training.figures import FigureRow, beside_majority
from veridical_lab.training.finetune_batches import Batches, schedule
from veridical_lab.training.finetune_epochs import fit_epochs, parts_of
from veridical_lab.training.labelled_pairs import LabelledPairs, check_enough

_COPIED = ("tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True)
class Trained:
    """A fine-tuned checker.

    Attributes:
        classes: of its outputs, in order.
        epoch: the one that was kept, from 1.
        temperature: what its logits are divided by.
        loss: by epoch, on the validation part, in nats.
        figures: on the held-out part, as the saved folder answers.
        missing: reason -> pairs left out.
    """

    classes: tuple[str, ...]
    epoch: int
    temperature: float
    loss: tuple[float, ...]
    figures: list[FigureRow]
    n_train: int
    n_validation: int
    n_held_out: int
    missing: Mapping[str, int]


def classes_of(data: LabelledPairs) -> tuple[str, ...]:
    """Return the classes of a head for these labels.

    Three; or entailment against contradiction, or against all that is not entailed.

    Raises:
        UsageError: there is only one class, or nothing is entailed.
    """
    labels = {p.label for p in data.pairs}
    if labels == set(LABELS):
        return LABELS
    if ENTAILMENT not in labels or len(labels) < 2:
        raise UsageError(
            f"all pairs are labelled {', '.join(sorted(labels))}: at least two labels are required"
        )
    return (ENTAILMENT, CONTRADICTION if labels == {ENTAILMENT, CONTRADICTION} else REST)


def fine_tune(
    data: LabelledPairs,
    base: str,
    out: Path,
    *,
    epochs: int = 3,
    rate: float = 3e-5,
    held_out: float = 0.2,
    bootstrap: int = 1000,
    seed: int = 0,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trained:
    """Fine-tune the encoder ``base`` and save it in ``out``, to be named as an NLI model.

    Cross-entropy weighted so that each class counts equally, AdamW with weight decay 0.01, batches
    of similar length. The rate rises over the first 6 % of the steps and falls to 0. The epoch with
    the least loss on a validation part is kept, and the temperature is fitted there. Metrics use a
    held-out part. No premise is in two parts. A base that is an NLI model of the same classes keeps
    its head; any other gets a new one. Pairs longer than one window of the base are left out.

    Args:
        base: a folder, or a hub id, of an encoder in safetensors.
        out: a folder that does not exist yet, or is empty.
        rate: the highest learning rate.
        held_out: share of the premises to measure on.
        progress: called with the number of batches done, and of all.

    Raises:
        UsageError: ``out`` is not empty, or a part has too few pairs of some class.
        ModelError: the base cannot be loaded, or the training did not converge.
    """
    torch, transformers = loading.libraries(base)
    need_new_folder(out)
    root, _ = loading.resolve(base, None)
    settings = NliSettings.read(root)
    tokenizer = loading.tokenizer_of(root, transformers)
    windower = PairWindower(tokenizer, settings.max_length)
    classes = _head_order(settings, classes_of(data))
    torch.manual_seed(seed)
    where, _ = loading.place(device, "float32")
    with loading.explained(root, settings.config):
        automatic = transformers.AutoModelForSequenceClassification
        model = with_head(automatic, transformers, root, classes).to(where)
    batches = Batches(torch, settings, windower, model, where)

    truth = np.array([_place(p.label, classes) for p in data.pairs], np.int64)
    windows, missing = batches.windows([Pair(p.premise, p.hypothesis) for p in data.pairs])
    fits = np.array([w is not None for w in windows])
    parts = parts_of(data.groups(), held_out, seed)
    held, validation, train = (np.flatnonzero((parts == k) & (fits | (k == 0))) for k in range(3))
    for name, places in (("held-out", held), ("validation", validation), ("training", train)):
        check_enough(name, truth[places], classes)
    plan = schedule(train, windows, epochs, seed)
    epoch, losses = _fit(batches, plan, windows, truth, validation, rate, progress)
    logits = batches.all_logits([windows[i] for i in validation])
    temperature = _temperature(logits, truth[validation])
    with making_folder(out) as folder:
        _save(model, tokenizer, root, folder, classes, temperature)

    # as whoever names the folder will see it, long pairs in windows too
    held_pairs = [Pair(data.pairs[i].premise, data.pairs[i].hypothesis) for i in held]
    shares = _answers(TorchNli(out, device=device), held_pairs, classes)
    figures = beside_majority(
        truth[held],
        shares.argmax(1),
        data.groups()[held],
        len(classes),
        part="held out",
        method="checker",
        bootstrap=bootstrap,
        seed=seed,
    )
    sizes = len(train), len(validation), len(held)
    return Trained(classes, epoch, temperature, losses, figures, *sizes, missing)


def _fit(
    batches: Batches,
    plan: Sequence[Sequence[NDArray[np.intp]]],
    windows: Sequence[Window | None],
    truth: NDArray[np.int64],
    validation: NDArray[np.intp],
    rate: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[int, tuple[float, ...]]:
    """Run :func:`fit_epochs` with cross-entropy, each class counting equally."""
    torch, model, device = batches.torch, batches.model, batches.device
    train = np.concatenate(plan[0])
    counts = np.bincount(truth[train], minlength=model.config.num_labels)
    weights = torch.tensor(len(train) / (len(counts) * counts), dtype=torch.float32, device=device)

    def loss_of(batch: NDArray[np.intp]) -> Any:
        logits = batches.logits([windows[i] for i in batch])
        target = torch.from_numpy(truth[batch]).to(device)
        return torch.nn.functional.cross_entropy(logits.float(), target, weight=weights)

    def validate() -> float:
        return _loss(batches.all_logits([windows[i] for i in validation]), truth[validation])

    return fit_epochs(torch, model, plan, loss_of, validate, rate, progress)


def _head_order(settings: NliSettings, classes: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``classes`` in the order of the base's head, if that predicts them already."""
    order = order_of(config_names(settings.config))
    if order is not None and set(order.classes) == set(classes):
        return order.classes
    return classes


def with_head(automatic: Any, transformers: Any, root: Path, classes: tuple[str, ...]) -> Any:
    """Load the encoder of the folder ``root`` with a head of ``classes`` by the class
    ``automatic``.

    Its own head is kept if it has that many outputs, else it is new.
    """
    config = transformers.AutoConfig.from_pretrained(
        root,
        **loading.LOCAL,
        num_labels=len(classes),
        id2label=dict(enumerate(classes)),
        label2id={name: i for i, name in enumerate(classes)},
    )
    config.problem_type = "single_label_classification"
    if hasattr(config, "reference_compile"):
        config.reference_compile = False
    return loading.pretrained(automatic, root, config, "float32", ignore_mismatched_sizes=True)


def _place(label: str, classes: tuple[str, ...]) -> int:
    """Return the output for a label; with two classes, all but entailment is one."""
    if label in classes:
        return classes.index(label)
    return next(i for i, name in enumerate(classes) if name != ENTAILMENT)


def _loss(logits: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Compute the mean cross-entropy in nats, each class counting equally."""
    if not np.isfinite(logits).all():
        return math.inf
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    of_truth = logs[np.arange(len(truth)), truth]
    return float(np.mean([-of_truth[truth == c].mean() for c in np.unique(truth)]))


def _temperature(logits: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the divisor of the logits with the least loss, from 0.25 to 4."""
    grid = np.exp2(np.linspace(-2, 2, 161))
    return float(min(grid, key=lambda t: _loss(logits / t, truth)))


def _save(
    model: Any, tokenizer: Any, root: Path, out: Path, classes: tuple[str, ...], temperature: float
) -> None:
    save_beside(model, tokenizer, root, out)
    # the classes are stated: a checker of narrow claims may judge plain pairs oddly
    calibration = {"temperature": temperature, "classes": list(classes)}
    (out / "calibration.json").write_text(json.dumps(calibration, indent=1) + "\n")


def save_beside(model: Any, tokenizer: Any, root: Path, out: Path) -> None:
    """Save ``model`` in ``out`` with the tokenizer of the folder ``root`` that it came from."""
    model.save_pretrained(out, safe_serialization=True)
    if (root / "tokenizer.json").is_file():
        shutil.copyfile(root / "tokenizer.json", out / "tokenizer.json")
    else:
        tokenizer.save(str(out / "tokenizer.json"))
    for name in _COPIED:
        if (root / name).is_file():
            shutil.copyfile(root / name, out / name)


def _answers(
    model: TorchNli, pairs: Sequence[Pair], classes: tuple[str, ...]
) -> NDArray[np.float64]:
    """Compute probabilities (n, classes) by the saved model."""
    columns = [LABELS.index("neutral" if name == REST else name) for name in classes]
    windows = model.windows(pairs)
    every = [w for of_pair in windows for w in of_pair]
    outputs: list[Any] = [None] * len(every)
    by_length = sorted(range(len(every)), key=lambda k: every[k].length)
    for start in range(0, len(every), 16):
        batch = by_length[start : start + 16]
        for k, output in zip(batch, model.run([every[k] for k in batch]), strict=True):
            outputs[k] = output
    in_order = iter(outputs)
    rows = [model.assemble(ws, list(islice(in_order, len(ws)))) for ws in windows]
    return np.array(rows, np.float64)[:, columns]
