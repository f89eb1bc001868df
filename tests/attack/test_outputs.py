"""No output takes the place of what a command reads, of a run's files, or of a link's target.

Every command that writes is run as a user runs it, on a folder with files to lose; afterwards all
of them have to be as they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import veridical
from veridical.cli import main
from veridical.errors import UsageError
from veridical.files.trained_files import write_trained

ROWS = [
    {
        "id": i,
        "prompt": f"q{i}",
        "response": f"The tower is {i} m tall.",
        "samples": ["The tower is 2 m tall."],
        "label": i % 2,
    }
    for i in range(4)
]
POLICY = "veridical_policy = 1\naccept = 0.5\n"
LINKS = ("hard", "symbolic", "above", "folder")


def files(folder: Path) -> dict[str, str]:
    """Every file below a folder, links by where they lead, with a hash."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    Path("in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    Path("policy.toml").write_text(POLICY)
    Path("labels.jsonl").write_text('{"row": 0, "label": 1}\n')
    Path("grid.toml").write_text("# a grid")
    Path("docs").mkdir()
    Path("docs", "a.txt").write_text("The tower is 3 m tall.")
    return place


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the command line in this process; what it said, after its exit code."""

    def call(*arguments: str | Path) -> str:
        monkeypatch.setattr(sys, "argv", ["veridical", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert "Traceback" not in said and "internal error" not in said
        return f"{ended.value.code} {said}"

    return call


@pytest.fixture
def run(folder: Path, cli: Callable[..., str]) -> Path:
    """A finished run of ``in.jsonl``."""
    assert cli("check", "in.jsonl", "--preset", "fast", "--out", "run", "--store", "none")[0] == "0"
    return folder / "run"


FAST = ("--preset", "fast", "--store", "none")
#: Commands with one output to name, and what each of them reads.
WRITERS = {
    "check --json": ("check", "in.jsonl", *FAST, "--policy", "policy.toml", "--json"),
    "check --report": ("check", "in.jsonl", *FAST, "--policy", "policy.toml", "--report"),
    "plan --json": ("plan", "in.jsonl", "--preset", "fast", "--policy", "policy.toml", "--json"),
    "tune --out": ("tune", "in.jsonl", *FAST, "--out"),
    "tune --cascade": ("tune", "in.jsonl", *FAST, "--cascade"),
    "tune --json": ("tune", "in.jsonl", *FAST, "--json"),
    "bench --json": ("bench", "graded", "--data", "in.jsonl", "--store", "none", "--json"),
    "rank --json": ("rank", "a=in.jsonl", "--store", "none", "--json"),
    "train halludetect --json": (
        *("train", "halludetect", "in.jsonl", "--out", "new.json", "--store", "none"),
        "--json",
    ),
    "train repc --json": (
        *("train", "repc", "in.jsonl", "--proxy", "smollm2", "--out", "new.json"),
        "--json",
    ),
    "train checker --json": ("train", "checker", "in.jsonl", "--base", "b", "--out", "m", "--json"),
    "sample --out": ("sample", "in.jsonl", "--llm", "fake:none.json", "--out"),
    "report --out": ("report", "run", "--out"),
}


def link(to: str, how: str) -> str:
    """Another name of the file ``to``."""
    if how == "above":
        return f"docs/../{to}"
    if how == "folder":
        Path("same").symlink_to(".")
        return f"same/{to}"
    place = Path(f"{how}.html")
    if how == "hard":
        place.hardlink_to(to)
    else:
        place.symlink_to(to)
    return str(place)


@pytest.mark.parametrize("how", ["itself", *LINKS])
@pytest.mark.parametrize("writer", WRITERS)
def test_no_command_writes_over_its_input(
    run: Path, cli: Callable[..., str], writer: str, how: str
) -> None:
    name = "in.jsonl" if how == "itself" else link("in.jsonl", how)
    before = files(Path())
    said = cli(*WRITERS[writer], name)
    assert said.startswith("1 ") and "cannot write" in said
    assert files(Path()) == before


@pytest.mark.parametrize(
    "victim",
    ["run/manifest.json", "run/results.jsonl", "run/errors.jsonl", "run/run.lock"],
)
@pytest.mark.parametrize("writer", [w for w in WRITERS if not w.startswith("train")])
def test_no_command_writes_over_a_file_of_a_run(
    run: Path, cli: Callable[..., str], writer: str, victim: str
) -> None:
    before = files(Path())
    said = cli(*WRITERS[writer], victim)
    assert said.startswith("1 ") and "file of a run" in said
    assert files(Path()) == before


@pytest.mark.parametrize(
    ("command", "victim"),
    [
        (("check", "in.jsonl", *FAST, "--policy", "policy.toml"), "policy.toml"),
        (("check", "in.jsonl", *FAST, "--corpus", "docs"), "docs/a.txt"),
        (("check", "in.jsonl", *FAST, "--corpus", "docs"), "docs/new.html"),
        (("check", "in.jsonl", *FAST, "--embedder", "docs"), "docs/model.onnx"),
        (("check", "in.jsonl", *FAST, "--llm", "fake:labels.jsonl"), "labels.jsonl"),
        (("check", "in.jsonl", *FAST), "veridical.toml"),
        (("check", "in.jsonl", *FAST, "--out", "empty"), "empty/results.jsonl"),
        (("tune", "in.jsonl", *FAST, "--labels", "labels.jsonl"), "labels.jsonl"),
        (("tune", "in.jsonl", *FAST, "--out", "new.json"), "new.json"),
        (("tune", "in.jsonl", *FAST, "--out", "new.json"), "NEW.json"),
        (("bench", "graded", "--data", "graded=in.jsonl"), "in.jsonl"),
        (("redteam", "--llm", "fake:labels.jsonl"), "labels.jsonl"),
        (("redteam", "--llm", "fake:x.json", "--template", "policy.toml"), "policy.toml"),
        (("check", "in.jsonl", "--scorers", "judge(template='policy.toml')"), "policy.toml"),
    ],
    ids=lambda v: v if isinstance(v, str) else " ".join(v),
)
def test_whatever_a_command_reads_stays(
    folder: Path, cli: Callable[..., str], command: tuple[str, ...], victim: str
) -> None:
    Path("empty").mkdir()
    Path("veridical.toml").touch()
    before = files(Path())
    said = cli(*command, "--json", victim)
    assert said.startswith("1 ") and "cannot write" in said
    assert files(Path()) == before


def test_the_ensemble_of_a_policy_and_of_a_scorer_stay(
    folder: Path, cli: Callable[..., str]
) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
    from ensemble_files import weighted

    write_trained("tuned.json", weighted())
    Path("by.toml").write_text('veridical_policy = 1\nensemble = "tuned.json"\n')
    before = files(Path())
    for how in (("--policy", "by.toml"), ("--scorers", "ensemble(file='tuned.json')")):
        said = cli("check", "in.jsonl", "--store", "none", *how, "--json", "tuned.json")
        assert said.startswith("1 ") and "it is an input" in said
    assert files(Path()) == before


def test_sampling_and_its_table_stay_off_what_is_read(
    folder: Path, cli: Callable[..., str]
) -> None:
    before = files(Path())
    for outputs in (
        ("--grid", "grid.toml", "--out", "grid.toml"),
        ("--grid", "grid.toml", "--out", "a.jsonl", "--table", "in.jsonl"),
        ("--grid", "grid.toml", "--out", "a.jsonl", "--table", "a.jsonl"),
    ):
        said = cli("sample", "in.jsonl", *outputs)
        assert said.startswith("1 ") and "cannot write" in said
    assert files(Path()) == before


def test_the_failures_beside_sampled_answers_stay(folder: Path, cli: Callable[..., str]) -> None:
    Path("in.jsonl.errors.jsonl").write_text("failures\n")
    said = cli("check", "in.jsonl", *FAST, "--json", "in.jsonl.errors.jsonl")
    assert said.startswith("1 ") and "file of a run" in said
    assert Path("in.jsonl.errors.jsonl").read_text() == "failures\n"


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_what_a_planted_link_leads_to_stays(
    folder: Path, cli: Callable[..., str], option: str
) -> None:
    victim = folder.parent / "precious"
    victim.write_text("precious")
    Path("out.html").symlink_to(victim)
    Path("out.html.tmp").symlink_to(victim)  # the draft's name of old
    said = cli("check", "in.jsonl", *FAST, option, "out.html")
    assert said.startswith("1 ") and "leads out of its folder" in said
    Path("out.html").unlink()
    assert cli("check", "in.jsonl", *FAST, option, "out.html").startswith("0 ")
    assert victim.read_text() == "precious" and Path("out.html").stat().st_size > 10
    assert Path("out.html.tmp").is_symlink()


def test_a_planted_link_is_not_followed_by_what_is_written_into_a_run(
    folder: Path, cli: Callable[..., str]
) -> None:
    victim = folder.parent / "precious"
    victim.write_text("precious")
    command = ("check", "in.jsonl", *FAST, "--out", "run", "--policy", "policy.toml")
    assert cli(*command).startswith("0 ")
    for name in ("decisions.jsonl.tmp", "manifest.json.tmp", "repairs.jsonl.tmp"):
        Path("run", name).symlink_to(victim)
    assert cli(*command).startswith("0 ")
    assert victim.read_text() == "precious"


def test_a_link_within_its_folder_stays_one(folder: Path, cli: Callable[..., str]) -> None:
    Path("latest.jsonl").symlink_to("first.jsonl")
    assert cli("check", "in.jsonl", *FAST, "--json", "latest.jsonl").startswith("0 ")
    assert Path("latest.jsonl").is_symlink()
    assert len(Path("first.jsonl").read_text().splitlines()) == len(ROWS)


def test_reports_may_lie_beside_a_run_and_be_written_again(
    run: Path, cli: Callable[..., str]
) -> None:
    for _ in range(2):
        assert cli("report", "run", "--out", "run/report.html").startswith("0 ")
        assert cli("check", "in.jsonl", *FAST, "--out", "run", "--json", "run/mine.jsonl")[0] == "0"


def test_in_python_a_report_stays_off_its_run_too(folder: Path) -> None:
    results = veridical.check("in.jsonl", preset="fast")
    assert results.report("r.html").is_file()
    for victim in ("in.jsonl", str(results.path / "results.jsonl")):
        with pytest.raises(UsageError, match="cannot write"):
            results.report(victim)
    with pytest.raises(UsageError, match="it is an input"):
        veridical.tune("in.jsonl", preset="fast", out="in.jsonl")
    assert len(Path("in.jsonl").read_text().splitlines()) == len(ROWS)


def shell(command: str) -> subprocess.CompletedProcess[str]:
    script = command.replace("veridical", f"{sys.executable} -m veridical", 1)
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_devices_pipes_and_descriptors_go_on_working(folder: Path) -> None:
    base = "veridical check in.jsonl --preset fast --store none"
    lines = len(ROWS)
    for target in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"):
        assert len(shell(f"{base} --json {target}").stdout.splitlines()) == lines
    assert len(shell(f"{base} --json >(cat) | cat").stdout.splitlines()) == lines
    # a report too, which as root must not take the place of the device (here of a link like it)
    Path("stdout").symlink_to("/proc/self/fd/1")
    assert shell(f"{base} --json /dev/null --report stdout").stdout.startswith("<!doctype")
    assert Path("/dev/null").is_char_device() and Path("stdout").is_symlink()
    # what the shell opened to append is appended to
    Path("log").write_text("before\n")
    assert shell(f"{base} --json /dev/stdout >> log").returncode == 0
    assert Path("log").read_text().startswith("before\n")
    assert len(Path("log").read_text().splitlines()) == lines + 1
    os.mkfifo("pipe")
    assert len(shell(f"{base} --json pipe & cat pipe; wait").stdout.splitlines()) == lines
    # process substitution as input
    assert len(shell(f"{base.replace('in.jsonl', '<(cat in.jsonl)')} --json -").stdout) > 100


@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
def test_results_are_not_appended_to_the_input_by_the_shell(folder: Path, target: str) -> None:
    before = Path("in.jsonl").read_bytes()
    done = shell(f"veridical check in.jsonl --preset fast --store none --json {target} >> in.jsonl")
    assert done.returncode == 1 and "it is an input" in done.stderr
    assert Path("in.jsonl").read_bytes() == before


def test_every_file_that_a_run_or_a_store_holds_is_known_as_such(
    folder: Path, cli: Callable[..., str]
) -> None:
    Path("llm.json").write_text(json.dumps([{"text": "Paris"}]))
    Path("prompts.jsonl").write_text('{"prompt": "q"}\nbad\n')
    common = ("--store", "store", "--min-coverage", "0")
    cli("check", "in.jsonl", "--scorers", "ngram,knowledge_f1", *common, "--out", "one")
    cli(
        *("check", "in.jsonl", "--scorers", "claims(extractor=sentences)", "--corpus", "docs"),
        *("--policy", "policy.toml", "--repair", "drop", "--select", "best"),
        *(*common, "--out", "two"),
    )
    cli(
        *("check", "prompts.jsonl", "--llm", "fake:llm.json", "--scorers", "exact_match"),
        *(*common, "--out", "three"),
    )
    assert Path("three/answers.jsonl").is_file()
    cli("bench", "graded", "--data", "in.jsonl", "--scorers", "ngram", "--out", "bench", *common)
    made = [p for p in Path().rglob("*") if p.is_file() and len(p.parts) > 1]
    held = [p for p in made if p.parts[0] != "docs"]
    assert len(held) > 12
    before = files(Path())
    for path in held:
        said = cli("check", "in.jsonl", *FAST, "--json", path)
        assert said.startswith("1 ") and "file of a run" in said, path
    assert files(Path()) == before
