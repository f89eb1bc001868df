"""The commands whose results were recorded, and how to run them.

Everything goes through the command line of the ``veridical`` that this Python imports, so that
any version can record and any version can replay. Each command runs in a forked child of one
process that has imported the libraries, which is quicker than a start of Python for each.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import veridical  # before onnxruntime, whose usage data it switches off

HERE = Path(__file__).parent
INPUTS = HERE / "inputs"
RECORDED = HERE / "recorded"
#: Seals are made with it: runs of the same secret are taken up again.
SECRET = "the secret of the recordings"

_FREE = (
    "exact_match, exact_match(against=reference), ngram, ngram(n=2,stat=avg), "
    "ngram(counting=paper), ngram_presence(k=0.5), support, support(against=contexts), "
    "knowledge_f1, rouge_l, rouge_l(against=samples), sacrebleu"
)
_EMBEDDINGS = (
    "cosine, cosine(against=contexts), checkembed, bert_score, selfcheck_bertscore, "
    "knowledge_bertscore"
)
_NLI = (
    "selfcheck_nli, noncontradiction, entailment, semantic_entropy, semantic_negentropy, "
    "semantic_sets, semantic_density, eigv, degree, eccentricity, kle, luq, matched_unit, "
    "halocheck, summac_zs, nli_grounding, nli_grounding(risk=contradiction)"
)
_TOKENS = (
    "avg_entropy, avg_logprob, cocoa, max_entropy, max_logprob, min_probability, perplexity, "
    "monte_carlo_probability, probability_margin, sequence_probability, token_negentropy, "
    "semantic_density, avg_entropy(form=perplexity)"
)
_CLAIMS = "claims, claims(extractor=sentences), factscore(checker=nli,extractor=sentences)"

#: Result lines: name, input, options. Written by ``--json``.
CHECKS: dict[str, tuple[str, ...]] = {
    "free": ("answers.jsonl", "--scorers", _FREE),
    "embeddings": ("answers.jsonl", "--scorers", _EMBEDDINGS),
    "nli": ("answers.jsonl", "--scorers", _NLI, "--limit", "4"),
    "tokens": ("tokens.jsonl", "--scorers", _TOKENS),
    "claims": ("answers.jsonl", "--scorers", _CLAIMS, "--limit", "5"),
    "claims_option": ("answers.jsonl", "--claims", "--preset", "fast", "--limit", "2"),
    "default": ("answers.jsonl", "--limit", "3"),
    "against": ("answers.jsonl", "--preset", "fast", "--against", "contexts"),
    "ensembles": ("answers.jsonl", "--scorers", "ensemble, ensemble(against=contexts)"),
    "judges": ("answers.jsonl", "--scorers", "judge, ngram", "--llm", "judges"),
    "no_server": ("answers.jsonl", "--scorers", "judge, ngram", "--llm", "silent", "--limit", "2"),
    "bad_rows": ("bad.jsonl", "--preset", "fast"),
    "strict": ("bad.jsonl", "--preset", "fast", "--strict"),
    "policy": ("answers.jsonl", "--preset", "fast", "--policy", "policy.toml"),
    "fail_over": ("answers.jsonl", "--preset", "fast", "--fail-over", "ngram:0.3"),
    "select_repair": ("answers.jsonl", "--preset", "fast", "--select", "best", "--repair", "drop"),
    "unknown_scorer": ("answers.jsonl", "--scorers", "ngramm"),
    "no_file": ("missing.jsonl",),
}

_COMPONENTS = "ngram_presence, support, knowledge_f1"
#: Files of ``tune``: name, options.
TUNED: dict[str, tuple[str, ...]] = {
    "weighted": ("--calibrate", "platt"),
    "joint": ("--objective", "f1", "--joint", "--calibrate", "isotonic"),
    "by_task": ("--by", "task", "--calibrate", "temperature"),
    "promise": ("--alpha", "0.4", "--delta", "0.2", "--by", "task", "--simultaneous"),
    "logistic": ("--method", "logistic", "--calibrate", "beta"),
    "boosted": ("--method", "boosted"),
    "famd": ("--method", "famd"),
}

#: Result lines by the files of ``tune``, which lie in the work folder by then.
APPLIED: dict[str, tuple[str, ...]] = {
    **{
        f"tuned_{name}": (
            *("graded.jsonl", "--limit", "12", "--scorers"),
            f"{'famd' if name == 'famd' else 'ensemble'}(file={name}.json)",
        )
        for name in TUNED
    },
    "tuned_cascade": ("graded.jsonl", "--limit", "20", "--cascade", "cascade.json"),
    "tuned_policy": (
        *("graded.jsonl", "--limit", "12", "--scorers", "ensemble(file=promise.json)"),
        *("--policy", "promise.toml"),
    ),
}

#: Cases that say today by other options what was recorded.
TODAY: dict[str, tuple[str, ...]] = {
    # "auto" is few scorers now
    "default": ("answers.jsonl", "--preset", "all", "--limit", "3", "--precision", "exact"),
    # the default's weights are fitted now
    "ensembles": (
        *("answers.jsonl", "--scorers"),
        "ensemble(weights=label_free), ensemble(against=contexts, weights=label_free)",
        *("--precision", "exact"),
    ),
    # the default reads in 8 bits now
    **{name: (*CHECKS[name], "--precision", "exact") for name in ("nli", "claims")},
    "claims_option": (*CHECKS["claims_option"], "--precision", "exact"),
}

#: A run directory of version 0.1, and what it is resumed with.
RUN_OF_0_1 = ("answers.jsonl", "--scorers", "ngram, support, exact_match")
#: The same since 0.3.
RUN = ("answers.jsonl", "--scorers", "ngram, exact_match")
SAMPLE = ("sample", "prompts.jsonl", "--llm", "says", "--n", "3", "--out", "sampled.jsonl")
BENCH = (
    *("bench", "graded", "--data", "graded.jsonl", "--scorers", "ngram_presence, support"),
    *("--bootstrap", "20", "--out", "bench"),
)
#: Rows that the interrupted run has finished.
ROWS_KEPT = 4
RENDERINGS = ("md", "txt", "html")
#: Rounds of commands of which help is recorded: a group's commands have help of their own.
HELP = (
    *((), ("check",), ("plan",), ("sample",), ("bench",), ("tune",), ("rank",), ("redteam",)),
    *(("prompts",), ("corpus",), ("report",), ("scorers",), ("models",), ("models", "get")),
    *(("models", "convert"), ("train",), ("train", "repc"), ("train", "checker")),
    ("train", "halludetect"),
)


def flag(command: tuple[str, ...]) -> str:
    """The flag by which a command lists all its options."""
    long = (("check",), ("plan",), ("sample",), ("bench",), ("tune",), ("rank",))
    return "--help-all" if command in long else "--help"


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Replayed:
    """The work folder, and what each case came to."""

    folder: Path
    outcomes: dict[str, Outcome]

    def lines(self, name: str) -> list[Any]:
        """Result lines of a case; none where it stopped before the work."""
        path = self.folder / f"{name}.lines"
        return read_lines(path) if path.exists() else []


def check(name: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The command that writes the result lines of a case to ``NAME.lines``."""
    return (
        *("check", *options, "--json", f"{name}.lines", "--out", f"runs/{name}"),
        *("--processes", "0"),
    )


def tune(name: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The command that writes an ensemble's file."""
    return (
        *("tune", "graded.jsonl", "--scorers", _COMPONENTS, "--out", f"{name}.json"),
        *("--bootstrap", "10", "--cv", "2", "--processes", "0", *options),
    )


CASCADE = (
    *("tune", "graded.jsonl", "--scorers", "exact_match, cosine, entailment, knowledge_f1"),
    *("--cascade", "cascade.json", "--keep", "0.97", "--bootstrap", "0", "--cv", "2"),
    *("--processes", "0"),
)


def run_all(commands: list[tuple[str, ...]], folder: Path) -> list[Outcome]:
    """Run commands in a folder, one after another, by this Python's ``veridical``."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("VERIDICAL_")},
        "VERIDICAL_SECRET": SECRET,
        "XDG_CONFIG_HOME": str(folder / "configuration"),
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "replay_commands.py")],
        input=json.dumps(commands),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the commands could not be run:\n{done.stderr}")
    return [Outcome(*outcome) for outcome in json.loads(done.stdout)]


def _child(command: list[str], out: Path, err: Path) -> int:
    """Exit code of a command run in a fork of this process."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    import runpy

    for number, path in ((1, out), (2, err)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    sys.argv = ["veridical", *command]
    code: object = 0
    try:
        runpy.run_module("veridical", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        code = end.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)  # the parent's threads cannot be joined here


def _serve() -> None:
    """Read commands from stdin; print what became of each."""
    import numpy  # noqa: F401
    import onnxruntime  # noqa: F401
    import typer  # noqa: F401

    out, err = Path("stdout.text"), Path("stderr.text")
    # load what most commands need, once: the libraries above, the engine and all scorers
    veridical.check([{"response": "x", "samples": ["y"]}], "exact_match", processes=0)
    outcomes = []
    for command in json.load(sys.stdin):
        code = _child(command, out, err)
        outcomes.append((code, out.read_text("utf-8"), err.read_text("utf-8")))
    print(json.dumps(outcomes))


def machine() -> dict[str, str]:
    """What the last digits of a model's numbers depend on: the processor and the runtime."""
    import numpy
    import onnxruntime

    processor = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = re.findall(r"^model name\s*:\s*(.*)$", cpuinfo.read_text(), re.MULTILINE)
        processor = names[0] if names else processor
    return {
        "processor": processor,
        "onnxruntime": onnxruntime.__version__,
        "numpy": numpy.__version__,
    }


def options_of(help_text: str) -> list[str]:
    """Names of options in the help of a command; sub-commands of a group."""
    options = set(re.findall(r"^  (--[a-z0-9-]+)", help_text, re.MULTILINE))
    options |= set(re.findall(r"^  --[a-z0-9-]+, (--no-[a-z0-9-]+)", help_text, re.MULTILINE))
    return sorted(options)


def commands_of(help_text: str) -> list[str]:
    """Names of a group's commands, under whatever headings."""
    return sorted({*re.findall(r"^  ([a-z]+) +\S", help_text, re.MULTILINE)} - {"veridical"})


def read_lines(path: Path) -> list[Any]:
    """JSON of every line of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    _serve()
