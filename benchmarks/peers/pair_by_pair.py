"""Pairs one by one, compared with ``TorchNli``, on a GPU.

The published packages send pairs one by one. Weights are random, in the sizes of published models;
time does not depend on their values.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from veridical.core.protocols import Pair
from veridical.engine.batching import Work

transformers: Any = importlib.import_module("transformers")  # types say too little of its classes
_LABELS = ("contradiction", "neutral", "entailment")
_ONE_BY_ONE = 200  # pairs that are enough to time a pair


def measure(
    name: str, pairs: Sequence[tuple[str, str]], tokenizer: Path
) -> Iterator[tuple[str, float, str, float | None]]:
    """Yield figures of one model: name, value, unit, aim.

    Args:
        name: a key of ``SIZES``.
        pairs: premises and hypotheses of realistic lengths, a few thousand.
        tokenizer: ``tokenizer.json`` of a BERT.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(tokenizer), model_max_length=512, pad_token="[PAD]"
        )
        config = SIZES[name](vocab_size=len(words), num_labels=3)
        config.id2label = dict(enumerate(_LABELS))
        config.label2id = {n: i for i, n in enumerate(_LABELS)}
        made = transformers.AutoModelForSequenceClassification.from_config(config)
        made.save_pretrained(folder)
        words.save_pretrained(folder)
        alone = {
            dtype: _pairs_a_second(made.to("cuda", getattr(torch, dtype)).eval(), words, pairs)
            for dtype in ("float32", "bfloat16")
        }
        body = sum(p.numel() for n, p in made.named_parameters() if "embeddings." not in n)
        del made
        torch.cuda.empty_cache()
        seconds, work = _batches(folder, pairs)
    rate = len(pairs) / seconds
    for dtype, single in alone.items():
        yield f"pairs a second one by one, {dtype}", single, "1/s", None
    yield "pairs a second in batches, bfloat16", rate, "1/s", None
    yield "batches bfloat16 / one by one float32", rate / alone["float32"], "x", None
    yield "batches / one by one, both bfloat16", rate / alone["bfloat16"], "x", None
    mean = work.tokens / work.windows
    attention = 4 * config.num_hidden_layers * config.hidden_size * mean
    done = work.tokens * (2 * body + attention) / seconds
    ceiling = matmul_ceiling()
    yield "bfloat16 matrix products at best", ceiling / 1e12, "TFLOP/s", None
    yield "share of that, without padding", 100 * done / ceiling, "%", None
    yield "padding", 100 * (1 - work.tokens / work.padded), "%", None


def _pairs_a_second(model: Any, words: Any, pairs: Sequence[tuple[str, str]]) -> float:
    step = max(len(pairs) // _ONE_BY_ONE, 1)
    chosen = pairs[::step]

    def run() -> None:
        with torch.inference_mode():
            for premise, hypothesis in chosen:
                given = words(premise, hypothesis, truncation=True, return_tensors="pt")
                inputs = {k: given[k].to("cuda") for k in ("input_ids", "attention_mask")}
                torch.softmax(model(**inputs).logits.float(), -1)[0, 0].item()

    run()
    return len(chosen) / _seconds(run)


def _batches(folder: Path, pairs: Sequence[tuple[str, str]]) -> tuple[float, Work]:
    """Time all pairs through the queue of the engine; return seconds and the work done."""
    import asyncio

    from veridical.engine.batching import IdleSignal
    from veridical.engine.nli import NliService
    from veridical.models import load_nli

    model = load_nli(f"torch:{folder}?labels={','.join(_LABELS)}", device="cuda")

    async def judge(given: Sequence[Pair]) -> Work:
        service = NliService(model, IdleSignal(0.002), None)
        try:
            await service.judge(given, [])
            return service.work
        finally:
            service.close()

    given = [Pair(*p) for p in pairs]
    asyncio.run(judge(given[:_ONE_BY_ONE]))
    started = time.perf_counter()
    work = asyncio.run(judge(given))
    return time.perf_counter() - started, work


def matmul_ceiling(size: int = 8192, times: int = 50) -> float:
    """Measure the FLOP/s of square bfloat16 matrix products."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def run() -> None:
        for _ in range(times):
            torch.mm(a, b)

    run()
    return times * 2 * size**3 / _seconds(run)


def _seconds(run: Callable[[], None]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def _deberta(**more: Any) -> Any:
    return transformers.DebertaV2Config(
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        max_position_embeddings=512,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        **more,
    )


def _roberta(**more: Any) -> Any:
    return transformers.RobertaConfig(
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        max_position_embeddings=514,
        type_vocab_size=1,
        pad_token_id=1,
        **more,
    )


def _modernbert(**more: Any) -> Any:
    return transformers.ModernBertConfig(
        hidden_size=1024,
        num_hidden_layers=28,
        num_attention_heads=16,
        intermediate_size=2624,
        pad_token_id=0,
        **more,
    )


#: Configurations of deberta-v3-large, roberta-large and ModernBERT-large.
SIZES: dict[str, Callable[..., Any]] = {
    "deberta-large": _deberta,
    "roberta-large": _roberta,
    "modernbert-large": _modernbert,
}
