"""Ranking of models by the claims of their answers."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veridical.core.options import split
from veridical.core.protocols import LABELS
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError, option_named, several
from veridical.stats.metrics.metric import finite
from veridical.stats.resampling import interval
from veridical.version import __version__
from veridical_lab.bench.options import RankOptions
from veridical_lab.rank.answers import (
    PEOPLE,
    Answers,
    RankedAnswer,
    Watch,
    by_labels,
    inputs_of,
    read,
    read_labelled,
    scorer_of,
)
from veridical_lab.rank.people import by_people
from veridical_lab.rank.rates import (
    RANKED,
    RATES,
    Resampled,
    Sums,
    agreement,
    compare,
    ranks,
    spread,
)
from veridical_lab.rank.result import ModelRates, Part, RankAgreement, Ranking, Rate

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical_lab.bench.options import RankKeywords

_ALL = "all"
_GRADED = "refchecker_responses"  # its unit labels have three grades
_REASONS = 20
#: Keys by which answers belong to the same prompt.
PAIRS = ("prompt", "id")


def rank(
    answers: str | Path | Sequence[str | Path],
    *,
    engine: Engine | None = None,
    watch: Watch | None = None,
    **options: Unpack[RankKeywords],
) -> Ranking:
    """Compare models by the rates of their claims (Hu et al. 2024, RefChecker, section 5.3,
    figures 6 and 12).

    Args:
        answers: files of answers, or directories of finished runs, which are not scored again;
            ``NAME=PATH`` names the model of answers that do not.
        engine: a warm engine; else one is made with the engine's options among ``options``.
        watch: called with a file's name and its job; waits for it, showing progress.
        by: column of the records' ``meta`` that names the model; without it a file is a model.
        split_by: column of parts, which are ranked one by one and all together.
        scorer: the scorer ``claims`` with its parameters, such as ``claims(extractor=triplets)``;
            None for its defaults, or of a finished run the only one it has. ``people`` takes the
            labels of units instead, without any model.
        suite: the inputs are data of this benchmark suite (they name their models).
        three_way: labels of units are 0 entailed, 0.5 neutral, 1 contradicted, as people's rate of
            contradiction takes.
        order: the rate that models are listed by, of :data:`~.rates.RANKED`.
        pair_by: ``prompt`` or ``id``; default: the prompt where all answers have one and models
            share any, else the id.
        every_prompt: take all judged answers, not only those to prompts common to all models.
        limit, mapping, reader: as in :func:`veridical.check`; for files.
        seed: of the resamples of prompts behind every interval and test.
        bootstrap: number of these resamples.
        out: folder of the runs; default ``.veridical/runs``.
        retry_failed: run records with a failed score again.

    Raises:
        UsageError: an unknown option; inputs that cannot be compared; fewer than two models.
    """
    of_rank, of_engine = split(options, RankOptions, EngineOptions)
    ranking, engine_options = RankOptions(**of_rank), EngineOptions(**of_engine)
    engine_options.refuse_with(engine)
    inputs = inputs_of(several("answers", answers, (str, Path), "a path"))
    if by_labels(ranking):
        if not (ranking.three_way or ranking.suite == _GRADED):
            raise UsageError(
                f"by {PEOPLE!r} models are ranked by unit_labels of three grades "
                f"({option_named('three_way')}), or those of {option_named('suite', _GRADED)}"
            )
        return ranked(read_labelled(inputs, ranking), ranking)
    scorer_of(ranking)
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(Engine(engine_options))
        judged = read(inputs, ranking, engine, watch)
    return ranked(judged, ranking)


def ranked(judged: Answers, options: RankOptions) -> Ranking:
    """Rank answers that are judged already; see :func:`rank`."""
    models = sorted({a.model for a in judged.answers})
    if len(models) < 2:
        raise UsageError(
            f"a ranking requires at least two models, not {models[0] if models else 'none'}; name "
            f"the column that distinguishes them ({option_named('by')}; here "
            f"{options.by!r}), or give a "
            "file for each"
        )
    paired, keys = _paired(judged.answers, options.pair_by)
    names = list(dict.fromkeys(a.part for a in judged.answers))
    people = {}
    if judged.scorer != PEOPLE:
        people = by_people(judged.answers, options.three_way or options.suite == _GRADED)
    parts = []
    for name in [*names, *([_ALL] if len(names) > 1 else [])]:
        where = np.array([name in (a.part, _ALL) for a in judged.answers])
        view = _View(judged.answers, keys, where, people, options)
        parts.append(view.part(name))
    signature = judged.signatures.get(judged.scorer, judged.scorer)
    resampling = f"seed:{options.seed}|bootstrap:{options.bootstrap}"
    return Ranking(
        order=options.order,
        scorer=judged.scorer,
        paired_by=paired,
        signature=f"rank:{options.order}|paired:{paired}|{resampling}|version:{__version__}",
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        settings=options.settings(),
        signatures={judged.scorer: signature},
        runs=judged.runs,
        parts=parts,
        notes=_notes(paired, options.every_prompt),
        n_row_errors=judged.row_errors,
    )


def _paired(answers: Sequence[RankedAnswer], pair_by: str | None) -> tuple[str, list[str]]:
    """Return the key by which answers are paired, and its values.

    Raises:
        UsageError: no prompt is shared.
    """
    for name in PAIRS if pair_by is None else (pair_by,):
        keys: list[str | None] = [a.id for a in answers] if name == "id" else _prompts(answers)
        if any(k is None for k in keys):
            continue
        models: dict[tuple[str, str | None], set[str]] = {}
        for a, key in zip(answers, keys, strict=True):
            models.setdefault((a.part, key), set()).add(a.model)
        if any(len(m) > 1 for m in models.values()):
            return name, [str(k) for k in keys]
    how = " or ".join(PAIRS if pair_by is None else (pair_by,))
    raise UsageError(
        f"no two models answer the same prompt (by {how}), so they cannot be "
        "compared; "
        "give answers to the same prompts"
    )


def _prompts(answers: Sequence[RankedAnswer]) -> list[str | None]:
    """Return the prompt of each answer; with its contexts where a model answers one prompt about
    several, as an instruction that many texts share."""
    asked: dict[tuple[str, str, str | None], set[str | None]] = {}
    for a in answers:
        asked.setdefault((a.part, a.model, a.prompt), set()).add(a.asked)
    shared = any(len(several) > 1 for several in asked.values())
    return [a.asked if shared else a.prompt for a in answers]


class _View:
    """The answers of one part, in columns."""

    def __init__(
        self,
        answers: Sequence[RankedAnswer],
        keys: Sequence[str],
        where: NDArray[np.bool_],
        people: Mapping[str, NDArray[np.float64]],
        options: RankOptions,
    ) -> None:
        rows = np.flatnonzero(where).tolist()
        self.answers = [answers[i] for i in rows]
        self.people = {name: x[rows] for name, x in people.items()}
        self.models = sorted({a.model for a in self.answers})
        place = {m: i for i, m in enumerate(self.models)}
        self.model = np.array([place[a.model] for a in self.answers], np.int64)
        units: dict[tuple[str, str], int] = {}
        self.prompt = np.array(
            [units.setdefault((answers[i].part, keys[i]), len(units)) for i in rows], np.int64
        )
        self.judged = np.array([a.shares is not None for a in self.answers])
        self.abstained = np.array([a.abstained for a in self.answers])
        nothing = (0.0, 0.0, 0.0)
        table = np.array([a.shares or nothing for a in self.answers]).reshape(-1, len(LABELS))
        self.shares = {label: table[:, i] for i, label in enumerate(LABELS)}
        self.options = options

    def part(self, name: str) -> Part:
        """Compute all figures of the part."""
        order, every_prompt = self.options.order, self.options.every_prompt
        counted = self.judged if every_prompt else self.judged & self._shared()
        if not counted.any():
            raise UsageError(
                f"no prompt{'' if name == _ALL else f' of {name}'} has a judged answer of every "
                "model; --every-prompt takes each model's own"
            )
        resampled = self._resampled(counted, self.shares)
        prompts = len(np.unique(self.prompt[counted]))
        comparisons, groups = [], {}
        for rate in RANKED:
            pairs, groups[rate] = compare(self.models, rate, resampled, prompts)
            comparisons += pairs
        agreed, human = self._agreement(counted)
        rows = self._rows(counted, resampled, human)
        values = {m.model: m.rates[order].value for m in rows}
        rows.sort(key=lambda m: (values[m.model] is None, values[m.model] or 0.0, m.model))
        total = len(np.unique(self.prompt))
        notes = []
        if prompts < total:
            what = "no judged answer" if every_prompt else "no judged answer of some model"
            notes.append(f"{total - prompts:,} of {total:,} prompts have {what} and are left out")
        return Part(
            name=name,
            n_prompts=prompts,
            models=rows,
            mean={r: finite(float(np.mean(resampled.values[r]))) for r in RATES},
            comparisons=comparisons,
            cliques={rate: names for rate, names in groups.items() if names},
            agreement=agreed,
            notes=notes,
        )

    def _shared(self) -> NDArray[np.bool_]:
        """Return a mask of answers to prompts to which every model has a judged answer."""
        has_answer = np.zeros((len(self.models), int(self.prompt.max()) + 1), np.bool_)
        has_answer[self.model[self.judged], self.prompt[self.judged]] = True
        shared: NDArray[np.bool_] = np.logical_and.reduce(has_answer, axis=0)[self.prompt]
        return shared

    def _resampled(
        self,
        counted: NDArray[np.bool_],
        shares: Mapping[str, NDArray[np.float64]],
        abstains: bool = True,
    ) -> Resampled:
        _, prompt = np.unique(self.prompt[counted], return_inverse=True)
        sums = Sums.of(
            self.model[counted],
            prompt,
            {name: x[counted] for name, x in shares.items()},
            self.abstained[counted] & abstains,
            (len(self.models), int(prompt.max()) + 1),
        )
        return Resampled.of(sums, self.options.bootstrap, self.options.seed)

    def _agreement(
        self, judged: NDArray[np.bool_]
    ) -> tuple[list[RankAgreement], dict[str, NDArray[np.float64]]]:
        """Compute the agreement with human rates, and those rates, (M,) each."""
        agreements, human = [], {}
        for rate, label in self.people.items():
            labelled = judged & ~np.isnan(label)
            if not labelled.any():
                continue
            ours = self._resampled(labelled, self.shares)
            people = self._resampled(labelled, {rate: label}, abstains=False)
            human[rate] = people.values[rate]
            agreements += agreement(ours, people, rate)
        return agreements, human

    def _rows(
        self,
        counted: NDArray[np.bool_],
        resampled: Resampled,
        human: Mapping[str, NDArray[np.float64]],
    ) -> list[ModelRates]:
        places = {r: ranks(resampled.values[r][None])[0] for r in RANKED}
        replicates = {r: ranks(resampled.boot[r]) for r in RANKED}
        rows = []
        for m, model in enumerate(self.models):
            of_model = self.model == m
            mine = [a for a, o in zip(self.answers, of_model, strict=True) if o]
            status = Counter(a.status for a in mine)
            rows_of_model = of_model & counted
            applicable = len(mine) - status["not_applicable"]
            rates = {}
            for rate in RATES:
                low, high = spread(resampled, rate, m, len(np.unique(self.prompt[rows_of_model])))
                ranking: dict[str, float | None] = {}
                if rate in RANKED:
                    ranking["rank"] = finite(float(places[rate][m]))
                    ranking["rank_low"], ranking["rank_high"] = interval(replicates[rate][:, m])
                value = finite(float(resampled.values[rate][m]))
                rates[rate] = Rate(value=value, low=low, high=high, **ranking)
            rows.append(
                ModelRates(
                    model=model,
                    n_responses=int(rows_of_model.sum()),
                    n_prompts=len(np.unique(self.prompt[rows_of_model])),
                    n_claims=sum(
                        a.claims for a, t in zip(self.answers, rows_of_model, strict=True) if t
                    ),
                    n_abstained=int((rows_of_model & self.abstained).sum()),
                    n_failed=status["failed"],
                    n_not_applicable=status["not_applicable"],
                    n_left_out=int((of_model & self.judged & ~counted).sum()),
                    coverage=status["scored"] / applicable if applicable else None,
                    reasons=dict(Counter(a.reason for a in mine if a.reason).most_common(_REASONS)),
                    rates=rates,
                    human={rate: finite(float(x[m])) for rate, x in human.items()},
                )
            )
        return rows


def _notes(paired: str, every_prompt: bool) -> list[str]:
    return [
        "rates are means over responses that make claims, abstain is the share of all; "
        "hallucination is neutral and contradiction together",
        f"answers are paired by {paired}; intervals and tests are over prompts, Holm's correction "
        "over the pairs of a rate; another draw of models could rank otherwise",
        *(
            ["each model's own prompts are taken: they need not be the same"]
            if every_prompt
            else []
        ),
    ]
