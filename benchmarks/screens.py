"""Screens of a long source's passages for a cross-encoder, compared.

    python benchmarks/screens.py --data DATA [--quick] [--top 4 8] [--store PATH]

Each sentence is judged by every window of its source (see `long_contexts.py`), and then by the best
`top` windows alone, chosen by

- BM25, as `nli_grounding` does,
- late interaction (ColBERT's sum of best matches): the mean over the sentence's tokens of the
  largest cosine with a token of the window. Each window is encoded once for all sentences,
- the cosine of sentence vectors,
- none: windows at random.

Printed is the loss of entailment compared with the best of all windows. For sentences that some
window entails (above .5), the share without a kept window that entails them follows. Also printed
are the tokens that the encoder reads, and those of the cross-encoder (in int8) for all windows.

Needs: this package; ``onnx``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from long_contexts import SIZE, Row, biographies, knowledge, summaries
from numpy.typing import NDArray

import veridical
from veridical.claims.bm25 import Bm25, terms
from veridical.text.passages import windows

Matrix = NDArray[np.float64]

#: Per sentence: its entailment by every window, and every window's place by each screen.
seen: list[tuple[Matrix, dict[str, Matrix]]] = []


@veridical.scorer(
    "screens", level="sentence", source="ColBERT, Khattab and Zaharia 2020", cost="nli",
    uses=frozenset({"embed", "tokens"}),
)  # fmt: skip
async def screens(record: veridical.Record, evidence: veridical.Evidence) -> veridical.Score:
    """Record in :data:`seen` the windows that each screen would keep; the risk has no meaning."""
    texts = [span.text for span in record.sentences]
    passages = list(dict.fromkeys(p.text for c in record.contexts for p in windows(c.text)))
    verdicts = await evidence.nli([(p, text) for text in texts for p in passages])
    entailed = np.asarray(verdicts.entailment, float).reshape(len(texts), len(passages))
    index = Bm25([terms(evidence.words(p)) for p in passages])
    matched, _ = await evidence.bertscore(texts, passages)
    vectors = await evidence.embed([*texts, *passages])
    chance = np.random.default_rng(len(seen))
    scores = {
        "BM25": index.scores([terms(evidence.words(text)) for text in texts]),
        "late interaction": matched,
        "cosine": vectors[: len(texts)] @ vectors[len(texts) :].T,
        "random": chance.random(entailed.shape),
    }
    for i, own in enumerate(entailed):
        seen.append((own, {name: np.argsort(-of[i], kind="stable") for name, of in scores.items()}))
    return veridical.Score.of(0.0)


def study(name: str, rows: list[Row], tops: list[int], store: Path | None) -> None:
    """Print what each screen loses on rows."""
    seen.clear()
    with veridical.Engine(precision="fast", processes=0, store=store) as engine:
        for result in veridical.check(rows, "screens", engine=engine):
            (score,) = result.scores.values()
            assert score.status == "scored", score.reason
        read: dict[str, Any] = {role: work.tokens for role, work in engine.work().items()}
    count = np.mean([len(own) for own, _ in seen])
    print(f"\n{name}: {len(rows)} records, {len(seen)} sentences, {count:.0f} windows each; {read}")
    print("| screen | kept | entailment lost, mean | by over .1 | of the entailed, none kept |")
    print("|---|---|---|---|---|")
    for top in tops:
        for screen in seen[0][1]:
            lost = np.array([own.max() - own[at[screen][:top]].max() for own, at in seen])
            best = np.array([own.max() > 0.5 for own, _ in seen])
            none = np.array([own[at[screen][:top]].max() <= 0.5 for own, at in seen])
            missed = f"{(best & none).sum()} of {best.sum()}"
            print(
                f"| {screen} | {top} | {lost.mean():.4f} | {np.mean(lost > 0.1):.1%} | {missed} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--top", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--quick", action="store_true", help="a sixth of the items")
    parser.add_argument("--store", type=Path, help="keeps what the models said, for the next run")
    arguments = parser.parse_args()
    share = 6 if arguments.quick else 1
    sets = {
        "HaluEval summarization": summaries(arguments.data, 24 // share, SIZE),
        "WikiBio-GPT3": biographies(arguments.data, 16 // share, SIZE),
        "BEGIN wow/dev": knowledge(arguments.data, 24 // share),
    }
    for name, rows in sets.items():
        study(name, list(rows), arguments.top, arguments.store)


if __name__ == "__main__":
    main()
