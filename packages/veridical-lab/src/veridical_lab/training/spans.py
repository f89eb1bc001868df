"""Training of a span detector on answers with marked wrong pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.prompt_text import last_question
from veridical.core.protocols import Pair, Window
from veridical.core.records import Record
from veridical.core.requests import GroundedAnswer
from veridical.errors import RowError, UsageError
from veridical.files.atomic import making_folder, need_new_folder
from veridical.io import open_source
from veridical.models import torch_loading as loading
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.tokens import PairWindower
from veridical.models.token_classification import LONGEST, TorchSpanDetector, prompt_of
from veridical.scorers.grounding.spans import wrong_runs
from veridical.stats.metrics.ranking import auroc
from veridical.stats.resampling import Resampler, interval
from veridical.text.spans import Span
from veridical.text.words import lettered_spans
from veridical_lab.bench.datasets.ragtruth import sources_beside, with_source
from veridical_lab.bench.metrics.spans import span_metrics, span_statistics
from veridical_lab.training.figures import FigureRow
from veridical_lab.training.finetune import save_beside, with_head
from veridical_lab.training.finetune_batches import Batches, schedule
from veridical_lab.training.finetune_epochs import fit_epochs, parts_of

CLASSES = ("supported", "hallucinated")
FEWEST = 10  #: answers with and without wrong pieces that each part must have
_WRONG = 0.5
_FIGURES = ("span_precision", "span_recall", "span_f1")


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer, what it was given, and its wrong pieces in code points.

    Attributes:
        group: answers to one source share it.
    """

    asked: GroundedAnswer
    wrong: tuple[tuple[int, int], ...]
    group: str


@dataclass(frozen=True)
class MarkedAnswers:
    """Answers that were read. ``missing``: reason -> number of omitted rows."""

    answers: tuple[MarkedAnswer, ...]
    missing: Mapping[str, int]


@dataclass(frozen=True)
class TrainedSpans:
    """Trained detector.

    Attributes:
        epoch: the one that was kept, from 1.
        loss: by epoch, on the validation part, in nats per token.
        figures: on the held-out part, with the saved folder: characters of pieces (precision,
            recall, F1) and AUROC of whole answers by their worst word. Baselines: ``all words``,
            which marks everything, and ``length``.
        missing: reason -> answers left out of training.
    """

    epoch: int
    loss: tuple[float, ...]
    figures: list[FigureRow]
    n_train: int
    n_validation: int
    n_held_out: int
    missing: Mapping[str, int]


def read_marked(
    paths: Sequence[str | Path],
    *,
    reader: str | None = None,
    mapping: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> MarkedAnswers:
    """Read answers with ``contexts`` and ``unit_labels``, or in RAGTruth's format.

    RAGTruth's sources are those of ``source_info.jsonl`` in the folder of the first file.

    Args:
        reader, mapping: as :func:`veridical.check` takes them.
        limit: of rows read.

    Raises:
        UsageError: a file is unreadable, or no row is such an answer.
    """
    sources = sources_beside(Path(paths[0]))
    missing: Counter[str] = Counter()
    answers = []
    rows = open_source([Path(p) for p in paths], reader=reader, mapping=mapping).rows()
    for n, row in enumerate(rows):
        if limit is not None and n >= limit:
            break
        answer = str(row) if isinstance(row, RowError) else _marked(with_source(row, sources))
        if isinstance(answer, str):
            missing[answer] += 1
        else:
            answers.append(answer)
    if not answers:
        why = "; ".join(f"{n} rows: {reason}" for reason, n in missing.most_common(3))
        raise UsageError(
            f"no answers with marked pieces in {', '.join(map(str, paths))} ({why or 'no rows'}): "
            "records with contexts and unit_labels are read, or RAGTruth's response.jsonl "
            "(--reader ragtruth) with source_info.jsonl in its folder"
        )
    return MarkedAnswers(tuple(answers), dict(missing.most_common()))


def _marked(record: Record) -> MarkedAnswer | str:
    """Convert a record, or return the reason of failure."""
    if record.unit_labels is None:
        return "no unit_labels"
    if not record.contexts:
        return "no contexts"
    if not lettered_spans(record.response):
        return "the response holds no word"
    question = last_question(record.prompt) or ""
    asked = GroundedAnswer(question, tuple(c.text for c in record.contexts), record.response)
    wrong = tuple((u.start, u.end) for u in record.unit_labels if u.label >= _WRONG)
    return MarkedAnswer(asked, wrong, "\n".join(asked.passages))


def train_spans(
    data: MarkedAnswers,
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
) -> TrainedSpans:
    """Train the encoder ``base`` to mark wrong words, and save it in ``out``, for ``--spans``.

    Cross-entropy of the answer's tokens, in the input format of the published detectors (see
    :mod:`veridical.models.token_classification`). The epoch with the least loss on a validation
    part is kept; metrics use a held-out part. No source is in two parts. Answers that take more
    than one window of the base are left out of training.

    Args:
        base: a folder, or a hub id, of an encoder in safetensors.
        out: a folder that does not exist yet, or is empty.
        rate: the highest learning rate.
        held_out: share of the sources to measure on.
        progress: called with the number of batches done, and of all.

    Raises:
        UsageError: ``out`` is not empty, or a part has too few answers of a kind.
        ModelError: the base cannot be loaded, or the training did not converge.
    """
    torch, transformers = loading.libraries(base)
    need_new_folder(out)
    names = {g: i for i, g in enumerate(dict.fromkeys(a.group for a in data.answers))}
    groups = np.array([names[a.group] for a in data.answers], np.int64)
    parts = parts_of(groups, held_out, seed)
    _check_enough(parts, data.answers)
    root, _ = loading.resolve(base, None)
    settings = NliSettings.read(root)
    tokenizer = loading.tokenizer_of(root, transformers)
    windower = PairWindower(tokenizer, min(LONGEST, settings.max_length), words=True)
    torch.manual_seed(seed)
    where, _ = loading.place(device, "float32")
    with loading.explained(root, settings.config):
        automatic = transformers.AutoModelForTokenClassification
        model = with_head(automatic, transformers, root, CLASSES).to(where)
    batches = Batches(torch, settings, windower, model, where)

    asked = [a.asked for a in data.answers]
    windows, missing = batches.windows(
        [Pair(prompt_of(a.question, a.passages), a.answer) for a in asked]
    )
    fits = np.array([w is not None for w in windows])
    parts[~fits & (parts > 0)] = -1
    _check_enough(parts, data.answers)
    held, validation, train = (np.flatnonzero(parts == k) for k in range(3))
    targets = [
        None if w is None else _target(a, w) for a, w in zip(data.answers, windows, strict=True)
    ]
    head, between, _ = map(len, windower.template.ids)

    def loss_of(batch: NDArray[np.intp]) -> Any:
        """Compute the mean cross-entropy of the tokens that belong to the answers' words."""
        logits = batches.logits([windows[i] for i in batch])
        wanted = np.full(tuple(logits.shape[:2]), -100, np.int64)  # torch ignores this value
        for row, i in zip(wanted, batch, strict=True):
            window, target = windows[i], targets[i]
            assert window is not None and target is not None
            start = head + len(window.content.premise) + between
            row[start : start + len(target)] = target
        tensor = torch.from_numpy(wanted).to(where).flatten()
        return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), tensor)

    def validate() -> float:
        model.eval()
        with torch.inference_mode():
            (plan,) = schedule(validation, windows, 1, seed)
            return float(np.mean([float(loss_of(batch)) for batch in plan]))

    plan = schedule(train, windows, epochs, seed)
    epoch, losses = fit_epochs(torch, model, plan, loss_of, validate, rate, progress)
    with making_folder(out) as folder:
        save_beside(model, tokenizer, root, folder)
    figures = _figures(
        TorchSpanDetector(out, device=device),
        [data.answers[i] for i in held],
        groups[held],
        bootstrap,
        seed,
    )
    return TrainedSpans(epoch, losses, figures, len(train), len(validation), len(held), missing)


def _check_enough(parts: NDArray[np.int64], answers: Sequence[MarkedAnswer]) -> None:
    """Check the sizes of the parts.

    Raises:
        UsageError: a part, by its number in ``parts``, has too few answers of a kind.
    """
    marked = np.array([bool(a.wrong) for a in answers])
    for number, part in enumerate(("held-out", "validation", "training")):
        wrong, right = (int(((parts == number) & (marked == kind)).sum()) for kind in (True, False))
        if min(wrong, right) < FEWEST:
            raise UsageError(
                f"the {part} part has {wrong} answers with marked pieces and {right} without; it "
                f"needs {FEWEST} of each"
            )


def _target(answer: MarkedAnswer, window: Window) -> NDArray[np.int64]:
    """Return the class of each token of the answer; -100 outside of words."""
    spans = lettered_spans(answer.asked.answer)
    wrong = [any(a < s.end and b > s.start for a, b in answer.wrong) for s in spans]
    classes = np.array([*wrong, -100], np.int64)  # place -1 is that of no word
    target: NDArray[np.int64] = classes[window.content.words.of_tokens]
    return target


def _figures(
    detector: TorchSpanDetector,
    answers: Sequence[MarkedAnswer],
    groups: NDArray[np.int64],
    bootstrap: int,
    seed: int,
) -> list[FigureRow]:
    """Compute the metrics of the detector, of marking every word, and of length."""
    risks = [
        detector.assemble(windows, detector.run(windows))
        for a in answers
        for windows in detector.windows([a.asked])
    ]
    gold = [a.wrong for a in answers]
    words = [lettered_spans(a.asked.answer) for a in answers]
    marked = [_marked_pieces(w, r) for w, r in zip(words, risks, strict=True)]
    whole = [[(w[0].start, w[-1].end)] for w in words]
    resampler = Resampler(groups, bootstrap, seed)
    rows = []
    for method, predicted in (("detector", marked), ("all words", whole)):
        statistics = span_statistics(gold, predicted)
        values = span_metrics(statistics)
        draws = [span_metrics(statistics, weights) for weights in resampler.chunks()]
        for metric in _FIGURES:
            drawn = np.concatenate([d[metric] for d in draws]) if draws else np.zeros(0)
            rows.append(
                FigureRow(
                    "held out", method, metric, values[metric], *interval(drawn), len(answers)
                )
            )
    truth = np.array([bool(g) for g in gold], np.float64)
    for method, risk in (
        ("detector", [float(r.max()) for r in risks]),
        ("length", [float(len(a.asked.answer)) for a in answers]),
    ):
        of_answers = np.array(risk)
        draws_ = [auroc(truth, of_answers, weights) for weights in resampler.chunks()]
        drawn = np.concatenate(draws_) if draws_ else np.zeros(0)
        value = float(auroc(truth, of_answers))
        rows.append(FigureRow("held out", method, "auroc", value, *interval(drawn), len(answers)))
    return rows


def _marked_pieces(words: Sequence[Span], risks: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return the ranges of the wrong words, merged if consecutive."""
    runs = wrong_runs(zip(words, risks.tolist(), strict=True))
    return [(run[0][0].start, run[-1][0].end) for run in runs]
