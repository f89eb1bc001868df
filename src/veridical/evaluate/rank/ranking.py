"""``rank``: models by the claims of their answers, with intervals, tests and people's ranking."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.api import RUNS
from veridical.engine import Engine
from veridical.errors import UsageError
from veridical.evaluate.metrics.metric import finite
from veridical.evaluate.rank.answers import MODEL, Answer, Answers, Asked, Watch, named, read
from veridical.evaluate.rank.people import by_people
from veridical.evaluate.rank.rates import (
    RANKED,
    RATES,
    Resampled,
    Sums,
    agreement,
    compare,
    ranks,
    spread,
)
from veridical.evaluate.rank.result import Agreement, ModelRates, Part, Ranking, Rate
from veridical.evaluate.resampling import interval
from veridical.models.protocols import LABELS
from veridical.version import __version__

_ALL = "all"
_GRADED = "refchecker_responses"  # whose unit labels are those three grades
_REASONS = 20
#: What tells that answers are to the same prompt.
PAIRS = ("prompt", "id")


def rank(
    answers: str | Path | Sequence[str | Path],
    *,
    by: str = MODEL,
    split_by: str | None = None,
    scorer: str | None = None,
    suite: str | None = None,
    three_way: bool = False,
    order: str = "hallucination",
    pair_by: str | None = None,
    every_prompt: bool = False,
    limit: int | None = None,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
    seed: int = 0,
    bootstrap: int = 1000,
    out: str | Path | None = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Ranking:
    """Compare models by the rates of their claims (Hu et al. 2024, RefChecker, section 5.3,
    figures 6 and 12).

    Args:
        answers: files of answers, or directories of finished runs, which are not scored again;
            ``NAME=PATH`` names the model of answers that do not.
        by: column of the records' ``meta`` that names the model; without it a file is a model.
        split_by: column that tells parts, which are ranked one by one and all together.
        scorer: the scorer ``claims`` with its parameters, such as ``claims(extractor=triplets)``.
        suite: the inputs are data of this benchmark suite (they name their models).
        three_way: labels of units are 0 entailed, 0.5 neutral, 1 contradicted, as people's rate of
            contradiction takes.
        order: the rate that models are listed by, of :data:`~.rates.RANKED`.
        pair_by: ``prompt`` or ``id``; default: the prompt where all answers have one and models
            share any, else the id.
        every_prompt: take all judged answers of a model, not only those to prompts of which every
            model has one.
        limit, mapping, reader: as :func:`veridical.check` takes them; for files.
        seed, bootstrap: of the resamples of prompts behind every interval and test.
        out: folder of the runs; default ``.veridical/runs``.
        retry_failed: run records with a failed score again.
        watch: called with a file's name and its job; waits for it, showing progress.
        engine: a warm engine; else one is made with ``options``.

    Raises:
        UsageError: inputs that cannot be compared; fewer than two models.
    """
    if order not in RANKED:
        raise UsageError(f"order is {', '.join(RANKED)}, not {order!r}")
    if pair_by is not None and pair_by not in PAIRS:
        raise UsageError(f"answers are paired by {' or '.join(PAIRS)}, not by {pair_by!r}")
    if bootstrap < 0 or seed < 0:
        raise UsageError("bootstrap and seed must be 0 or more")
    given = [answers] if isinstance(answers, (str, Path)) else list(answers)
    asked = Asked(by, split_by, scorer, suite, limit, dict(mapping or {}), reader, three_way)
    inputs = named(given)
    asked.bound()
    own = Engine(**options) if engine is None else engine
    try:
        found = read(
            inputs,
            asked,
            own,
            out=RUNS if out is None else Path(out),
            retry_failed=retry_failed,
            watch=watch,
        )
    finally:
        if engine is None:
            own.close()
    return ranked(
        found,
        asked,
        order=order,
        pair_by=pair_by,
        every_prompt=every_prompt,
        seed=seed,
        bootstrap=bootstrap,
    )


def ranked(
    found: Answers,
    asked: Asked,
    *,
    order: str = "hallucination",
    pair_by: str | None = None,
    every_prompt: bool = False,
    seed: int = 0,
    bootstrap: int = 1000,
) -> Ranking:
    """:func:`rank` of answers that are judged already."""
    models = sorted({a.model for a in found.answers})
    if len(models) < 2:
        raise UsageError(
            f"a ranking takes two models or more, there is {models[0] if models else 'none'}: name "
            f"the column that tells them (--by; here {asked.by!r}), or give a file for each"
        )
    paired, keys = _paired(found.answers, pair_by)
    names = list(dict.fromkeys(a.part for a in found.answers))
    settings = {
        **{k: v for k, v in asdict(asked).items() if v},
        "order": order,
        "every_prompt": every_prompt,
        "seed": seed,
        "bootstrap": bootstrap,
    }
    people = by_people(found.answers, asked.three_way or asked.suite == _GRADED)
    parts = []
    for name in [*names, *([_ALL] if len(names) > 1 else [])]:
        where = np.array([name in (a.part, _ALL) for a in found.answers])
        view = _View(found.answers, keys, where, people, seed, bootstrap)
        parts.append(view.part(name, order, every_prompt))
    signature = found.signatures.get(found.scorer, found.scorer)
    told = f"rank:{order}|paired:{paired}|seed:{seed}|bootstrap:{bootstrap}|version:{__version__}"
    return Ranking(
        order=order,
        scorer=found.scorer,
        paired_by=paired,
        signature=told,
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        settings=settings,
        signatures={found.scorer: signature},
        runs=found.runs,
        parts=parts,
        notes=_notes(paired, every_prompt),
        n_row_errors=found.row_errors,
    )


def _paired(answers: Sequence[Answer], pair_by: str | None) -> tuple[str, list[str]]:
    """What answers are paired by, and the key of each.

    Raises:
        UsageError: no prompt is shared.
    """
    for name in PAIRS if pair_by is None else (pair_by,):
        keys = [a.prompt if name == "prompt" else a.id for a in answers]
        if any(k is None for k in keys):
            continue
        models: dict[tuple[str, str | None], set[str]] = {}
        for a, key in zip(answers, keys, strict=True):
            models.setdefault((a.part, key), set()).add(a.model)
        if any(len(m) > 1 for m in models.values()):
            return name, [str(k) for k in keys]
    how = " or ".join(PAIRS if pair_by is None else (pair_by,))
    raise UsageError(f"no two models answer the same prompt (by {how}): they cannot be compared")


class _View:
    """The answers of one part, in columns."""

    def __init__(
        self,
        answers: Sequence[Answer],
        keys: Sequence[str],
        where: NDArray[np.bool_],
        people: Mapping[str, NDArray[np.float64]],
        seed: int,
        bootstrap: int,
    ) -> None:
        kept = np.flatnonzero(where).tolist()
        self.answers = [answers[i] for i in kept]
        self.people = {name: x[kept] for name, x in people.items()}
        self.models = sorted({a.model for a in self.answers})
        place = {m: i for i, m in enumerate(self.models)}
        self.model = np.array([place[a.model] for a in self.answers], np.int64)
        units: dict[tuple[str, str], int] = {}
        self.prompt = np.array(
            [units.setdefault((answers[i].part, keys[i]), len(units)) for i in kept], np.int64
        )
        self.judged = np.array([a.shares is not None for a in self.answers])
        self.abstained = np.array([a.abstained for a in self.answers])
        nothing = (0.0, 0.0, 0.0)
        table = np.array([a.shares or nothing for a in self.answers]).reshape(-1, len(LABELS))
        self.shares = {label: table[:, i] for i, label in enumerate(LABELS)}
        self.seed, self.bootstrap = seed, bootstrap

    def part(self, name: str, order: str, every_prompt: bool) -> Part:
        """Everything there is to say of the part."""
        kept = self.judged if every_prompt else self.judged & self._shared()
        if not kept.any():
            raise UsageError(
                f"no prompt{'' if name == _ALL else f' of {name}'} has a judged answer of every "
                "model; --every-prompt takes each model's own"
            )
        found = self._resampled(kept, self.shares)
        prompts = len(np.unique(self.prompt[kept]))
        comparisons, groups = [], {}
        for rate in RANKED:
            pairs, groups[rate] = compare(self.models, rate, found, prompts)
            comparisons += pairs
        agreed, human = self._agreement(kept)
        rows = self._rows(kept, found, human)
        rows.sort(key=lambda m: (_last(m.rates[order].value), m.model))
        total = len(np.unique(self.prompt))
        notes = []
        if prompts < total:
            what = "no judged answer" if every_prompt else "no judged answer of some model"
            notes.append(f"{total - prompts:,} of {total:,} prompts have {what} and are left out")
        return Part(
            name=name,
            n_prompts=prompts,
            models=rows,
            comparisons=comparisons,
            cliques={rate: made for rate, made in groups.items() if made},
            agreement=agreed,
            notes=notes,
        )

    def _shared(self) -> NDArray[np.bool_]:
        """Answers to prompts to which every model has a judged answer."""
        there = np.zeros((len(self.models), int(self.prompt.max()) + 1), np.bool_)
        there[self.model[self.judged], self.prompt[self.judged]] = True
        shared: NDArray[np.bool_] = np.logical_and.reduce(there, axis=0)[self.prompt]
        return shared

    def _resampled(
        self,
        kept: NDArray[np.bool_],
        shares: Mapping[str, NDArray[np.float64]],
        abstains: bool = True,
    ) -> Resampled:
        _, prompt = np.unique(self.prompt[kept], return_inverse=True)
        sums = Sums.of(
            self.model[kept],
            prompt,
            {name: x[kept] for name, x in shares.items()},
            self.abstained[kept] & abstains,
            (len(self.models), int(prompt.max()) + 1),
        )
        return Resampled.of(sums, self.bootstrap, self.seed)

    def _agreement(
        self, judged: NDArray[np.bool_]
    ) -> tuple[list[Agreement], dict[str, NDArray[np.float64]]]:
        """Agreement with people on each rate they tell; and their rates, (M,) each."""
        made, human = [], {}
        for rate, label in self.people.items():
            kept = judged & ~np.isnan(label)
            if not kept.any():
                continue
            ours = self._resampled(kept, self.shares)
            people = self._resampled(kept, {rate: label}, abstains=False)
            human[rate] = people.values[rate]
            made += [
                Agreement(
                    rate=rate,
                    metric=metric,
                    value=a.value,
                    low=a.low,
                    high=a.high,
                    n_models=a.models,
                )
                for metric, a in agreement(ours, people, rate).items()
            ]
        return made, human

    def _rows(
        self,
        kept: NDArray[np.bool_],
        found: Resampled,
        human: Mapping[str, NDArray[np.float64]],
    ) -> list[ModelRates]:
        places = {r: ranks(found.values[r][None])[0] for r in RANKED}
        replicates = {r: ranks(found.boot[r]) for r in RANKED}
        rows = []
        for m, model in enumerate(self.models):
            own = self.model == m
            mine = [a for a, o in zip(self.answers, own, strict=True) if o]
            status = Counter(a.status for a in mine)
            taken = own & kept
            applicable = len(mine) - status["not_applicable"]
            rates = {}
            for rate in RATES:
                low, high = spread(found, rate, m, len(np.unique(self.prompt[taken])))
                told: dict[str, float | None] = {}
                if rate in RANKED:
                    told["rank"] = finite(float(places[rate][m]))
                    told["rank_low"], told["rank_high"] = interval(replicates[rate][:, m])
                value = finite(float(found.values[rate][m]))
                rates[rate] = Rate(value=value, low=low, high=high, **told)
            rows.append(
                ModelRates(
                    model=model,
                    n_responses=int(taken.sum()),
                    n_prompts=len(np.unique(self.prompt[taken])),
                    n_claims=sum(a.claims for a, t in zip(self.answers, taken, strict=True) if t),
                    n_abstained=int((taken & self.abstained).sum()),
                    n_failed=status["failed"],
                    n_not_applicable=status["not_applicable"],
                    n_left_out=int((own & self.judged & ~kept).sum()),
                    coverage=status["scored"] / applicable if applicable else None,
                    reasons=dict(Counter(a.reason for a in mine if a.reason).most_common(_REASONS)),
                    rates=rates,
                    human={rate: finite(float(x[m])) for rate, x in human.items()},
                )
            )
        return rows


def _last(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0.0


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
