"""Notes for readers of the studies: sizes, and the paper's findings."""

from __future__ import annotations

from collections.abc import Iterator

from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.result import Replies, Studies
from veridical_lab.studies.checkembed.scenes import OBJECTS
from veridical_lab.studies.checkembed.topics import ERRORS, PAIRS

#: Findings of Besta et al. 2025 on each study, in our words.
PAPER = {
    "pairs": "paper (figures 2 and 9, GPT texts, large embedders): CheckEmbed's similar and "
    "different pairs overlap little or not at all, those of BERTScore and SelfCheckGPT "
    "(BERTScore) much, those of SelfCheckGPT (NLI) less",
    "errors": "paper (figures 4 and 17, GPT-4o, 10 replies): legal texts differ only from "
    "more than 5 errors on, by CheckEmbed, BERTScore and SelfCheckGPT alike; scientific texts "
    "from the first error on by CheckEmbed",
    "terms": "paper (figures 3 and 10 to 13, GPT models): where CheckEmbed's replies agree they "
    "are close to the ground truth too",
    "runtime": "paper (figures 6 and 14 to 16, RTX 3090 and A100): CheckEmbed with Stella takes "
    "the same time whatever the samples and their length, the baselines 30 to 300 times that and "
    "more with both; no other figure is printed",
    "counting": "paper (figures 5 and 18 to 20, Stable Diffusion 3.5, CLIP ViT-L/14, 10 images a "
    "prompt): the more objects are requested, the fewer images have as many, and the lower is "
    "CheckEmbed's score",
}


def notes_of(result: Studies, options: CheckEmbedSetup) -> list[str]:
    """Return the notes, the size of each study first."""
    notes = [f"{study}: {size_of(study, options)}" for study in result.studies]
    notes.append(
        f"took {result.seconds / 3600:.2f} hours on {result.cores} cores, without what was kept "
        "from earlier sessions"
    )
    if result.local:
        notes.append(f"texts by {result.llm}, a small model that runs here (local)")
    notes += [note for replies in result.replies for note in _of_replies(replies)]
    if any(g.matrices for g in result.groups):
        notes.append(
            "comet_style: COMET's ranking form on untrained sentence embeddings, not COMET's own "
            "trained model"
        )
    for study, reasons in result.reasons.items():
        notes += [f"{study}: {n} scores failed: {reason}" for reason, n in reasons.items()]
    return notes + [PAPER[study] for study in result.studies]


def size_of(study: str, options: CheckEmbedSetup) -> str:
    """Describe the size of a study in comparison with the possible size."""
    of_limit = "all topics" if options.limit is None else f"the first {options.limit} topics"
    if study == "pairs":
        each = len(PAIRS["generic"])
        return (
            f"{of_limit} of {each} of each detail, {options.n} replies to each request; the paper "
            "prints neither number"
        )
    if study == "errors":
        each = len(ERRORS["scientific"])
        return (
            f"{of_limit} of {each} about {' and '.join(options.subjects)}, "
            f"{_levels(options)}, {options.n} passages each. Paper: 1 to 10 errors; 30 scientific "
            "topics in its code, legal documents summarised"
        )
    if study == "terms":
        chunks = "all chunks" if options.limit is None else f"the first {options.limit} chunks"
        return f"{chunks}, {options.n} replies each (paper: 23 chunks, 10 replies)"
    if study == "counting":
        kinds = len(list(OBJECTS)[: options.limit])
        return (
            f"{kinds} of {len(OBJECTS)} objects, one to five of each, {options.n} images per "
            "prompt (paper: 8 objects, 1 to 5, 10 images). Images are drawn by code, so the wrong "
            "ones are known"
        )
    ks = ", ".join(map(str, options.sample_counts))
    lengths = ", ".join(map(str, options.text_lengths))
    return f"{ks} samples of {lengths} words (paper: 2 to 10 samples, 200 to 4000 tokens)"


def _levels(options: CheckEmbedSetup) -> str:
    levels = options.levels
    whole = levels == tuple(range(levels[0], levels[-1] + 1)) and len(levels) > 2
    told = f"{levels[0]} to {levels[-1]}" if whole else ", ".join(map(str, levels))
    return "1 error" if told == "1" else f"{told} errors"


def _of_replies(replies: Replies) -> Iterator[str]:
    told = [f"{replies.usable} of {replies.asked} replies can be used"]
    if replies.whole:
        told.append(f"{replies.whole} of them without the requested headings, taken whole")
    if replies.cut:
        told.append(f"{replies.cut} end at the limit of tokens")
    if replies.unusable:
        told.append(f"{replies.unusable} do not separate the requested parts")
    if replies.failed:
        why = "; ".join(f"{n} × {reason}" for reason, n in replies.reasons.items())
        told.append(f"{replies.failed} failed ({why})")
    yield f"{replies.study}: {'. '.join(told)}"
