"""``veridical study refchecker``: the making of RefChecker's benchmark, and its studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from veridical.cli import figures, interrupts
from veridical.cli.counted import calls_line, check_planned, speed_lines, tell
from veridical.cli.declared import argument, check_files, command, flag, flags, output
from veridical.cli.figures import JSON_FIGURES
from veridical.cli.help import App
from veridical.cli.options import MAP, STORE, PlanFlags, keywords_of, mapping_of
from veridical.cli.outputs import opened
from veridical.cli.planned import again_lines
from veridical.core.options import Group
from veridical.engine.options import EngineOptions, Precision
from veridical.errors import UsageError, option_named
from veridical.run.options import RunOptions, SpeedOptions

if TYPE_CHECKING:
    from pydantic import BaseModel

    from veridical.api import Job
    from veridical.core.scores import Result
    from veridical.engine.engine import Engine
    from veridical_lab.studies.refchecker.copying import Copying
    from veridical_lab.studies.refchecker.judged import JudgedClaims, Watch
    from veridical_lab.studies.refchecker.masking import Bias

_EXAMPLES = (
    "Examples:\n\n"
    "  veridical study refchecker references --ids human_annotations_v1 --dolly dolly.jsonl "
    "--msmarco validation.parquet --nq nq/dev --out references.jsonl\n\n"
    "  veridical study refchecker filter references.jsonl --llm NAME --out kept.jsonl\n\n"
    "  veridical study refchecker prompts kept.jsonl --out prompts.jsonl\n\n"
    "  veridical study refchecker hard runs/gpt runs/llama --top 100\n\n"
    "  veridical study refchecker copying answers.jsonl\n\n"
    "  veridical study refchecker masked answers.jsonl --checkers nli,llm --llm NAME\n\n"
    "  veridical study refchecker masked answers.jsonl --checkers nli,llm --llm NAME --plan"
)

app = App(
    help="The benchmark of RefChecker (Hu et al. 2024): its references, filter, prompts and hard "
    "cases; and its studies of copied words and masked contexts.",
    no_args_is_help=True,
    epilog=_EXAMPLES,
)

OUT = output("JSON lines file to write.", default=MISSING, metavar=None)
ROWS = argument("References file (JSON lines): id, setting, question, references.")
_PLANNED = "\n\nThe same command with --plan counts calls, tokens and hours, and asks nothing."


@flags(RunOptions, EngineOptions)
class ClaimsFlags(PlanFlags):
    """The claims that a study looks at, and the model that judges them."""

    claims: Path = argument(
        "RefChecker's human annotations with references.jsonl in the same folder, or records "
        "with contexts, labelled by a checker."
    )
    limit: int | None = flag("Maximum rows to read.")
    nli: str
    precision: Precision | None
    json_path: str | None = JSON_FIGURES
    mapping: list[str] | None = MAP
    reader: str | None
    store: str = flag(default=STORE, after="tokens_per_second")


@flags()
class ReferencesOptions:
    """The options of ``veridical study refchecker references``."""

    out: Path = OUT
    ids: Path | None = flag(
        "Ids of the questions: human_annotations_v1, claims.jsonl, responses.jsonl, or files such "
        "as nq_example_ids.json.",
        Group.INPUT,
    )
    sample: int | None = flag(
        "Number of random questions per verifiable corpus.", Group.INPUT, least=1
    )
    nq: Path | None = flag(
        "Natural Questions dev set: nq-dev-*.jsonl.gz, or rows from the hub.", Group.INPUT
    )
    msmarco: Path | None = flag("MS MARCO v2.1 validation set: rows from the hub.", Group.INPUT)
    dolly: Path | None = flag("Dolly data: databricks-dolly-15k.jsonl.", Group.INPUT)
    seed: int = flag("Random seed of --sample.", Group.RUN, 0, least=0)


@app.command(epilog="Examples:\n\n" + _EXAMPLES.split("\n\n")[1])
@command
def references(options: ReferencesOptions) -> int:
    """Restore the questions and references of the benchmark from the released ids."""
    from veridical_lab.studies.refchecker.building import build

    check_files(options)
    named = {"nq": options.nq, "msmarco": options.msmarco, "dolly": options.dolly}
    corpora = {name: path for name, path in named.items() if path is not None}
    built = build(corpora, ids=options.ids, sample=options.sample, seed=options.seed)
    built.write(options.out)
    err = figures.error_console()
    for problem in built.bad[:10]:
        err.print(f"bad row: {problem}", markup=False)
    if len(built.bad) > 10:
        err.print(f"... and {len(built.bad) - 10} more bad rows", markup=False)
    for name, missing in built.missing.items():
        if missing:
            err.print(f"{name}: no row of {len(missing)} ids: {missing[0]}, ...", markup=False)
    counts: dict[str, int] = {}
    for question in built.questions:
        counts[question.setting] = counts.get(question.setting, 0) + 1
    told = ", ".join(f"{n} {setting}" for setting, n in counts.items()) or "none"
    err.print(f"questions: {told}; written: {options.out}", markup=False)
    return 0 if built.questions and not any(built.missing.values()) else 2


@flags(EngineOptions)
class FilterOptions(PlanFlags):
    """The options of ``veridical study refchecker filter``."""

    rows: Path = ROWS
    out: Path = OUT
    llm: str | None
    budget: float | None
    json_path: str | None = JSON_FIGURES
    store: str = flag(default=STORE, after="tokens_per_second")


@app.command("filter", epilog="Examples:\n\n" + _EXAMPLES.split("\n\n")[2] + _PLANNED)
@command
def filter_(options: FilterOptions) -> int:
    """Filter out unsuitable questions without context, by an LLM."""
    from veridical_lab.studies.refchecker.building import questions_of, write_rows
    from veridical_lab.studies.refchecker.filtering import filter_questions
    from veridical_lab.studies.refchecker.planning import plan_filter

    _check(options)
    if options.llm is None:
        raise UsageError(
            f"filter requires a language model; give one ({option_named('llm', 'NAME')})"
        )
    rows = questions_of(options.rows)
    if options.plan:
        return _planned(options, lambda engine, speeds: plan_filter(rows, engine, speeds))
    made = _worked(options, lambda engine, watch: filter_questions(rows, engine, watch))
    if made is None:
        return interrupts.INTERRUPTED
    kept, told = made
    write_rows(kept, options.out)
    console = _print_json(told, options.json_path)
    console.print(f"{told.kept} of {told.asked} questions kept", markup=False)
    for reason, n in told.reasons.items():
        console.print(f"  {n} dropped: {reason}", markup=False)
    if told.passed_by:
        console.print(f"  {told.passed_by} of other settings passed by", markup=False)
    return 0 if kept else 2


@flags()
class PromptsOptions:
    """The options of ``veridical study refchecker prompts``."""

    rows: Path = ROWS
    out: Path = OUT


@app.command(epilog="Examples:\n\n" + _EXAMPLES.split("\n\n")[3])
@command
def prompts(options: PromptsOptions) -> int:
    """Write the prompts of the paper, for veridical sample."""
    from veridical_lab.studies.refchecker.building import questions_of, write_rows
    from veridical_lab.studies.refchecker.prompting import prompts as prompts_of

    check_files(options)
    made = list(prompts_of(questions_of(options.rows)))
    write_rows(made, options.out)
    figures.error_console().print(f"{len(made)} prompts: {options.out}", markup=False)
    return 0 if made else 2


@flags()
class HardOptions:
    """The options of ``veridical study refchecker hard``."""

    runs: list[Path] = argument(
        "Run directories, one per model, with responses to the same prompts."
    )
    top: int = flag("Number of hardest questions to list.", Group.STUDY, 100, least=1)
    json_path: str | None = JSON_FIGURES


@app.command(epilog="Examples:\n\n" + _EXAMPLES.split("\n\n")[4])
@command
def hard(options: HardOptions) -> int:
    """Find the questions that most models hallucinate on, by the verdicts of runs."""
    from veridical_lab.studies.refchecker.hard import hard_cases

    check_files(options)
    told = hard_cases(options.runs, options.top)
    console = _print_json(told, options.json_path)
    console.print(
        f"{len(told.chosen)} of {told.questions} questions over {told.runs} runs"
        + (f"; {told.unchecked} have no verdict" if told.unchecked else ""),
        markup=False,
    )
    console.print("hardness  judged  mean risk  id", markup=False)
    for case in told.chosen:
        console.print(
            f"{case.hardness:8.2f}  {case.judged:6d}  {case.risk:9.2f}  {case.id}", markup=False
        )
    return 0 if told.chosen else 2


@app.command(epilog="Examples:\n\n" + _EXAMPLES.split("\n\n")[5] + _PLANNED)
@command
def copying(options: ClaimsFlags) -> int:
    """Measure if claims copied from their context are entailed more often (figure 14)."""
    from veridical_lab.studies.refchecker.copying import copying as copying_of
    from veridical_lab.studies.refchecker.planning import plan_copying

    _check(options)
    if options.plan:
        return _planned(
            options,
            lambda engine, speeds: plan_copying(options.claims, engine, speeds, **_how(options)),
        )

    def work(engine: Engine, watch: Watch) -> Copying:
        return copying_of(_judged(options, engine, watch))

    told = _worked(options, work)
    if told is None:
        return interrupts.INTERRUPTED
    console = _print_json(told, options.json_path)
    console.print(f"labels by {told.by}", markup=False)
    for part in told.parts:
        console.print(
            f"{part.part}: {part.n} claims of {part.responses} responses, mean copy rate "
            f"{part.mean:.2f}; an entailed claim copies more than another in "
            + _share(part.auroc, part.ci_low, part.ci_high),
            markup=False,
        )
        console.print("  copy rate   claims  entailment  neutral  contradiction", markup=False)
        for one in part.bins:
            labels = (one.entailment, one.neutral, one.contradiction)
            cells = ["-" if v is None else f"{v:.2f}" for v in labels]
            console.print(
                f"  {one.low:.1f} to {one.high:.1f}  {one.n:6d}  {cells[0]:>10}  {cells[1]:>7}  "
                f"{cells[2]:>13}",
                markup=False,
            )
    _tell_left_out(told.left_out, console)
    return 0


@flags(EngineOptions)
class MaskedOptions(ClaimsFlags):
    """The options of ``veridical study refchecker masked``."""

    checkers: str = flag(
        "Claim checkers to compare, such as nli,nli_words,llm,llm_joint.", Group.SCORING, "nli"
    )
    llm: str | None = flag(after="precision")
    budget: float | None = flag(after="llm")


@app.command(epilog="Examples:\n\n" + _EXAMPLES.split("\n\n")[6] + _PLANNED)
@command
def masked(options: MaskedOptions) -> int:
    """Measure the verdicts of checkers on contexts with the claim's words masked.

    Verdicts that remain rest on a checker's own knowledge (tables 14 to 16).
    """
    from veridical_lab.studies.refchecker.masking import bias, checkers_of
    from veridical_lab.studies.refchecker.planning import plan_masked

    _check(options)
    checkers = checkers_of(options.checkers)
    if options.llm is None and any("llm" in bound.costs for bound in checkers):
        raise UsageError(
            f"a checker requires a language model; give one ({option_named('llm', 'NAME')})"
        )
    if options.plan:
        return _planned(
            options,
            lambda engine, speeds: plan_masked(
                options.claims, checkers, engine, speeds, **_how(options)
            ),
        )

    def work(engine: Engine, watch: Watch) -> Bias:
        return bias(_judged(options, engine, watch), checkers, engine, watch)

    told = _worked(options, work)
    if told is None:
        return interrupts.INTERRUPTED
    console = _print_json(told, options.json_path)
    for one in told.checkers:
        console.print(
            f"{one.part}, {one.checker}: {one.n} claims"
            + (f", {one.failed} more failed" if one.failed else "")
            + "; not neutral when masked: "
            + _share(one.not_neutral, one.ci_low, one.ci_high),
            markup=False,
        )
        for name, shares in (("whole", one.whole), ("masked", one.masked)):
            console.print(
                f"  {name:7}  entailment {shares.entailment:.2f}  neutral {shares.neutral:.2f}  "
                f"contradiction {shares.contradiction:.2f}",
                markup=False,
            )
    _tell_left_out(told.left_out, console)
    return 0 if told.checkers else 2


def _check(options: FilterOptions | ClaimsFlags) -> None:
    """Refuse what does not fit before the work."""
    check_planned(options.plan, tokens_per_second=options.tokens_per_second)
    check_files(options)


def _judged(options: ClaimsFlags, engine: Engine, watch: Watch) -> JudgedClaims:
    from veridical_lab.studies.refchecker.judged import judged_claims

    return judged_claims(options.claims, engine, watch, **_how(options))


def _how(options: ClaimsFlags) -> dict[str, Any]:
    """Return how the claims are read."""
    return {
        "limit": options.limit,
        "mapping": mapping_of(options.mapping),
        "reader": options.reader,
    }


def _planned(options: Any, work: Callable[[Engine, SpeedOptions], dict[str, Any]]) -> int:
    """Tell what ``work`` plans with an engine of the options: the exit code."""
    from veridical.run.plans import engine_of

    speeds = SpeedOptions(**keywords_of(options, SpeedOptions))
    with engine_of(EngineOptions(**keywords_of(options, EngineOptions))) as engine:
        plan = work(engine, speeds)
    size = ", ".join(f"{n} {what}" for what, n in plan["size"].items())
    lines = [
        f"{size}; {plan['records']} records to score",
        calls_line(plan),
        *again_lines(plan["again"]),
        *speed_lines(plan["llm"], plan["hours"], plan["tokens_per_second"]),
    ]
    return tell(plan, lines, options.json_path)


def _worked(options: Any, work: Any) -> Any:
    """Return the result of ``work``, run with an engine and progress display; None if
    interrupted.
    """
    from veridical.engine.engine import Engine

    err = figures.error_console()

    def watch(name: str, job: Job) -> Iterator[Result]:
        return iter(figures.score(job, err, name))

    def run() -> Any:
        with Engine(**keywords_of(options, EngineOptions)) as engine:
            return work(engine, watch)

    return figures.or_interrupted(run)


def _print_json(told: BaseModel, path: str | None) -> Console:
    """Return the console for figures, once their JSON is written."""
    with opened(path) as out:
        if out is not None:
            out.write(told.model_dump_json() + "\n")
    return figures.error_console() if path == "-" else Console(highlight=False)


def _share(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "no share: all have the same label"
    return f"{value:.2f}" + ("" if low is None or high is None else f" [{low:.2f}, {high:.2f}]")


def _tell_left_out(left_out: dict[str, int], console: Console) -> None:
    for what, n in left_out.items():
        console.print(f"left out: {n} {what}", markup=False)
