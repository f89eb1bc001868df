"""Lost and repeated work of a run killed and resumed ten times.

    python benchmarks/kill_resume.py --data PATH/wikibio_gpt3 [--limit 100] [--kills 10] [--seed 0]

Two runs on WikiBio GPT-3 passages are each compared with an unbroken one: scorers on sentence
vectors, and the same with ``bert_score``. Kills are by SIGKILL. The child writes down every window
before and after it goes through the model. The exit status is 1 if results differ, or a row is
missing or there twice. It is also 1 if a worker process outlives its parent by 2 s, or too many
batches were sent again. Their limit is the number that can be under way at a kill.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from killing import differing, in_flight_bound, kill_and_resume, read_log, repeats, start

from veridical.models import load_encoder

SETS = {
    "sentence vectors": "exact_match, ngram, support, cosine, checkembed",
    "with token matrices": "exact_match, ngram, support, cosine, checkembed, bert_score",
}
PIECES = 8  # rows a passage is cut into, so that there are enough rows for worker processes


def prepare(folder: Path, limit: int, to: Path) -> int:
    """Write rows of 5 samples; passages and samples are cut into pieces of equal length."""
    count = 0
    with (folder / "wikibio_gpt3.jsonl").open("rb") as lines, to.open("w") as out:
        for line in islice(lines, limit):
            item = json.loads(line)
            for i in range(PIECES):
                texts = [item["gpt3_text"], *item["gpt3_text_samples"][:5]]
                cut = [t[len(t) * i // PIECES : len(t) * (i + 1) // PIECES] for t in texts]
                row = {"id": f"{item['dataset_idx']}.{i}", "response": cut[0], "samples": cut[1:]}
                out.write(json.dumps(row) + "\n")
                count += 1
    return count


def measure(name: str, scorers: str, rows: Path, count: int, kills: int, seed: int) -> bool:
    bound = in_flight_bound(load_encoder().workers)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)

        def command(out: str) -> list[str]:
            settings = f"--out {out} --store {out}.store --json {out}.jsonl --processes 2"
            return ["check", str(rows), "--scorers", scorers, *settings.split()]

        child = start(folder / "whole.log", command("whole"), folder)
        _, errors = child.communicate()
        if child.returncode:
            sys.exit(errors)
        whole = read_log(folder / "whole.log")
        out = folder / "broken"
        killed = kill_and_resume(
            command("broken"), out, folder, len(whole.started), kills=kills, seed=seed
        )
        different = differing(folder / "whole.jsonl", folder / "broken.jsonl")
        written = [json.loads(x)["row"] for x in (out / "results.jsonl").read_bytes().splitlines()]
    counts = repeats(killed.logs)
    exact = sorted(written) == list(range(count))
    most = max(counts.lost_batches, default=0)
    print(f"{name}: {count} rows, {killed.kills} kills, {killed.with_workers} with workers alive")
    print(f"  results that differ from the unbroken run   {len(different)}")
    print(f"  every row there exactly once                {'yes' if exact else 'NO'}")
    print(f"  results.jsonl found with a cut last line    {killed.half_lines}")
    print(f"  worker processes alive 2 s after a kill     {killed.orphans}")
    print(f"  windows through the model, unbroken         {sum(map(len, whole.started))}")
    print(f"  windows through the model, all sessions     {counts.forwards}")
    print(f"  of them again within one session            {counts.within_a_life}")
    again = counts.repeated / counts.distinct
    print(f"  of them again by a later session            {counts.repeated} ({again:.1%})")
    print(f"  texts sent again though their vector was stored {counts.kept_again:>4}")
    print(f"  batches lost at a kill, most                {most} (under way: at most {bound})")
    print(f"  batches lost at each kill                   {counts.lost_batches}")
    for line in different[:5]:
        print(f"  differs: {line}")
    fine = not different and exact and not killed.orphans
    if "bert_score" in scorers:
        print("  (token matrices are not stored: texts of unfinished records are encoded again)")
        return fine
    return fine and most <= bound and not counts.within_a_life and not counts.kept_again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=100, help="passages")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    fine = True
    with tempfile.TemporaryDirectory() as temporary:
        rows = Path(temporary) / "rows.jsonl"
        count = prepare(arguments.data, arguments.limit, rows)
        for name, scorers in SETS.items():
            fine &= measure(name, scorers, rows, count, arguments.kills, arguments.seed)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
