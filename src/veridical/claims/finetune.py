"""A checker of one's own: an encoder fine-tuned by torch on labelled claims."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.claims.figures import Row, beside_majority
from veridical.claims.finetune_batches import Batches, schedule
from veridical.claims.labelled_pairs import LabelledPairs
from veridical.errors import ModelError, UsageError
from veridical.models import torch_loading as loading
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.labels import CONTRADICTION, ENTAILMENT, REST, config_names, order_of
from veridical.models.nli.tokens import PairWindower
from veridical.models.nli.torch import TorchNli
from veridical.models.protocols import LABELS, Pair

_WARM_UP = 0.06
_WEIGHT_DECAY = 0.01
_VALIDATION = 0.15  # of the pairs to fit on, where the epoch and the temperature are chosen
_FEWEST = 10  # pairs of each class that each part must have
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
    figures: list[Row]
    n_train: int
    n_validation: int
    n_held_out: int
    missing: Mapping[str, int]


def classes_of(data: LabelledPairs) -> tuple[str, ...]:
    """The classes of a head for these labels: three; or entailment against contradiction, or
    against whatever is not entailed.

    Raises:
        UsageError: there is one class only, or nothing is entailed.
    """
    found = {p.label for p in data.pairs}
    if found == set(LABELS):
        return LABELS
    if ENTAILMENT not in found or len(found) < 2:
        raise UsageError(
            f"all pairs are labelled {', '.join(sorted(found))}: nothing to tell apart"
        )
    return (ENTAILMENT, CONTRADICTION if found == {ENTAILMENT, CONTRADICTION} else REST)


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
    """Fine-tune the encoder ``base`` and keep it in ``out``, to be named as an NLI model.

    Cross-entropy weighted so that each class counts alike, AdamW with weight decay 0.01, a rate
    that rises over the first 6 % of the steps and falls to 0, batches of like length. The epoch
    with the least loss on a validation part is kept, and the temperature fitted there; figures are
    of a held-out part. No premise is in two parts. A base that is an NLI model of the same classes
    goes on from its own head; any other gets a new one. Pairs longer than one window of the base
    are left out.

    Args:
        base: a folder, or a hub id, of an encoder in safetensors.
        out: a folder that does not exist yet, or is empty.
        rate: the highest learning rate.
        held_out: share of the premises to measure on.
        progress: told the batches done, and how many there are.

    Raises:
        UsageError: ``out`` is taken, or a part has too few pairs of some class.
        ModelError: the base cannot be had, or the training did not converge.
    """
    torch, transformers = loading.libraries(base)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there already: name a new folder")
    root, _ = loading.resolve(base, None)
    settings = NliSettings.read(root)
    tokenizer = loading.tokenizer_of(root, transformers)
    windower = PairWindower(tokenizer, settings.max_length)
    classes = _own_order(settings, classes_of(data))
    torch.manual_seed(seed)
    where, _ = loading.place(device, "float32")
    with loading.explained(root, settings.config):
        model = _built(transformers, root, classes).to(where)
    made = Batches(torch, settings, windower, model, where)

    truth = np.array([_place(p.label, classes) for p in data.pairs], np.int64)
    windows, missing = made.windows([Pair(p.premise, p.hypothesis) for p in data.pairs])
    fits = np.array([w is not None for w in windows])
    parts = _parts(data.groups(), held_out, seed)
    places = [np.flatnonzero((parts == k) & (fits | (k == 0))) for k in range(3)]
    _enough(truth, places, classes)
    train, validation, held = places[2], places[1], places[0]

    counts = np.bincount(truth[train], minlength=len(classes))
    weights = torch.tensor(len(train) / (len(classes) * counts), dtype=torch.float32, device=where)
    plan = schedule(train, windows, epochs, seed)
    steps = sum(map(len, plan))
    optimiser, rates = _optimiser(torch, model, rate, steps)
    best: tuple[float, int, dict[str, Any]] | None = None
    losses, done = [], 0
    for epoch, batches in enumerate(plan, 1):
        model.train()
        for batch in batches:
            logits = made.logits([windows[i] for i in batch])
            target = torch.from_numpy(truth[batch]).to(where)
            loss = torch.nn.functional.cross_entropy(logits.float(), target, weight=weights)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            rates.step()
            optimiser.zero_grad()
            done += 1
            if progress is not None:
                progress(done, steps)
        found = made.all_logits([windows[i] for i in validation])
        losses.append(_loss(found, truth[validation]))
        if best is None or losses[-1] < best[0]:
            state = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
            best = losses[-1], epoch, state
    if best is None or not math.isfinite(best[0]):
        raise ModelError(f"the training did not converge: loss {losses}; try a lower rate")
    model.load_state_dict(best[2])
    logits = made.all_logits([windows[i] for i in validation])
    temperature = _temperature(logits, truth[validation])
    _save(model, tokenizer, root, out, classes, temperature)

    # as whoever names the folder will see it, long pairs in windows too
    saved = TorchNli(out, device=device)
    held_pairs = [Pair(data.pairs[i].premise, data.pairs[i].hypothesis) for i in held]
    shares = _answers(saved, held_pairs, classes)
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
    return Trained(
        classes,
        best[1],
        temperature,
        tuple(losses),
        figures,
        len(train),
        len(validation),
        len(held),
        missing,
    )


def _own_order(settings: NliSettings, classes: tuple[str, ...]) -> tuple[str, ...]:
    """``classes`` in the order of the base's head, if that tells them apart already."""
    order = order_of(config_names(settings.config))
    if order is not None and set(order.classes) == set(classes):
        return order.classes
    return classes


def _built(transformers: Any, root: Path, classes: tuple[str, ...]) -> Any:
    config = transformers.AutoConfig.from_pretrained(
        root,
        trust_remote_code=False,
        num_labels=len(classes),
        id2label=dict(enumerate(classes)),
        label2id={name: i for i, name in enumerate(classes)},
    )
    config.problem_type = "single_label_classification"
    if hasattr(config, "reference_compile"):
        config.reference_compile = False
    automatic = transformers.AutoModelForSequenceClassification
    return loading.pretrained(automatic, root, config, "float32", ignore_mismatched_sizes=True)


def _place(label: str, classes: tuple[str, ...]) -> int:
    """The output for a label; where the head has two classes, all but entailment is one."""
    if label in classes:
        return classes.index(label)
    return next(i for i, name in enumerate(classes) if name != ENTAILMENT)


def _parts(groups: NDArray[np.int64], held_out: float, seed: int) -> NDArray[np.int64]:
    """(n,) 0 for what is held out, 1 for validation, 2 for training; by premise."""
    premises = np.random.default_rng(seed).permutation(groups.max() + 1)
    held = max(1, round(held_out * len(premises)))
    validation = held + max(1, round(_VALIDATION * (len(premises) - held)))
    kinds = np.full(len(premises), 2)
    kinds[premises[:held]], kinds[premises[held:validation]] = 0, 1
    return kinds[groups]


def _enough(
    truth: NDArray[np.int64], places: Sequence[NDArray[np.intp]], classes: tuple[str, ...]
) -> None:
    for name, some in zip(("held-out", "validation", "training"), places, strict=True):
        counts = np.bincount(truth[some], minlength=len(classes))
        if counts.min() < _FEWEST:
            told = ", ".join(f"{n} {label}" for n, label in zip(counts, classes, strict=True))
            raise UsageError(f"the {name} part has {told}; it needs {_FEWEST} of each")


def _optimiser(torch: Any, model: Any, rate: float, steps: int) -> tuple[Any, Any]:
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": _WEIGHT_DECAY},
        {"params": others, "weight_decay": 0.0},
    ]
    made = torch.optim.AdamW(groups, lr=rate)
    rise = max(1, int(_WARM_UP * steps))
    rates = torch.optim.lr_scheduler.LambdaLR(
        made, lambda s: min((s + 1) / rise, (steps - s) / max(1, steps - rise))
    )
    return made, rates


def _loss(logits: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Mean cross-entropy in nats, each class counting alike."""
    if not np.isfinite(logits).all():
        return math.inf
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    own = logs[np.arange(len(truth)), truth]
    return float(np.mean([-own[truth == c].mean() for c in np.unique(truth)]))


def _temperature(logits: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """The divisor of the logits with the least loss, from 0.25 to 4."""
    grid = np.exp2(np.linspace(-2, 2, 161))
    return float(min(grid, key=lambda t: _loss(logits / t, truth)))


def _save(
    model: Any, tokenizer: Any, root: Path, out: Path, classes: tuple[str, ...], temperature: float
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out, safe_serialization=True)
    if (root / "tokenizer.json").is_file():
        shutil.copyfile(root / "tokenizer.json", out / "tokenizer.json")
    else:
        tokenizer.save(str(out / "tokenizer.json"))
    for name in _COPIED:
        if (root / name).is_file():
            shutil.copyfile(root / name, out / name)
    # the classes are stated: a checker of narrow claims may judge plain pairs oddly
    calibration = {"temperature": temperature, "classes": list(classes)}
    (out / "calibration.json").write_text(json.dumps(calibration, indent=1) + "\n")


def _answers(
    model: TorchNli, pairs: Sequence[Pair], classes: tuple[str, ...]
) -> NDArray[np.float64]:
    """(n, classes) probabilities by the saved model."""
    columns = [LABELS.index("neutral" if name == REST else name) for name in classes]
    windows = model.windows(pairs)
    flat = [(i, w) for i, ws in enumerate(windows) for w in ws]
    outputs: list[list[Any]] = [[] for _ in pairs]
    by_length = sorted(range(len(flat)), key=lambda k: flat[k][1].length)
    answers: dict[int, Any] = {}
    for start in range(0, len(by_length), 16):
        some = by_length[start : start + 16]
        answers |= zip(some, model.run([flat[k][1] for k in some]), strict=True)
    for k, (i, _) in enumerate(flat):
        outputs[i].append(answers[k])
    rows = [model.assemble(ws, o) for ws, o in zip(windows, outputs, strict=True)]
    return np.array(rows, np.float64)[:, columns]
