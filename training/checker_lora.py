"""Training of a statement checker: a LoRA adapter for GGUF models.

    python training/checker_lora.py --base qwen2.5-coder-0.5b-instruct-q4_k_m.gguf --data FOLDER \\
        --minutes 90 --device auto --out RUN [--resume RUN]

The base is the file that users run, dequantised, so that the adapter fits it as it is. It is a
file, a folder of its parts, or a glob pattern. FOLDER has ``train.jsonl`` and ``dev.jsonl``: rows
of ``document``, ``statement``, ``label`` (supported, contradicted, not_stated, or not_supported for
either of the last two), ``kind`` and ``group``. The prompt is that of ``statement_judge``: the
document comes first, then the statement, and the reply is one token: Yes, No or Unknown. The loss
is the cross-entropy of that token alone (of No and Unknown together for not_supported). Supported
rows and the others weigh alike in each kind. Statements of a document share its tokens, and rows of
a group come in the same batch.

Every few minutes RUN gets ``adapter.gguf``, which llama.cpp loads over the base, and
``state.json``: where the run is and its curve of dev figures. ``best.gguf`` is the adapter of the
best dev AUROC, and ``checker.json`` describes it: base, calibration, figures. SIGTERM and Ctrl-C
save first. ``--resume`` continues an adapter (a file, its parts, or the folder of a run) with a
new warm-up. The learning rate falls to 0 at the end of ``--minutes``.

Runs on a CPU (in bfloat16 with AMX) and a GPU, without any network. Needs:
torch, transformers, peft, gguf, accelerate and this package.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from checker_rows import (
    ANSWERS,
    RIGHT,
    Batch,
    Branch,
    Tree,
    batches,
    encoder,
    part_of,
    read_rows,
    spread,
    trees,
)
from lora_base import load_base
from lora_files import MODULES, digest, joined, parts_of, read_adapter, split, write_adapter
from lora_product import fuse
from peft import LoraConfig, get_peft_model

from veridical.stats.logistic import fit_logistic
from veridical.stats.metrics.ranking import auroc

WARM_UP = 0.08  # share of the minutes
BETAS = 0.9, 0.99  # a run has few steps
CLIP = 1.0  # norm of the gradient
EDGE = 0.001  # statement_judge's: how far from 0 and 1 a probability counts at least
SHOWN = 20.0  # seconds between lines
CPU_INFO = Path("/proc/cpuinfo")
MOST_ODDS = math.log((1 - EDGE) / EDGE)


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parser().parse_args(arguments)
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    Run(args).train()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", required=True, help="GGUF file, folder of parts, or pattern")
    parser.add_argument("--data", type=Path, required=True, help="train.jsonl and dev.jsonl")
    parser.add_argument(
        "--minutes", type=float, required=True, help="on a CPU, of processor time over its threads"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--resume", help="adapter, its parts, or the folder of a run")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all")
    parser.add_argument(
        "--steps", type=int, default=0, help="stop after this many; 0: by the clock"
    )
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=float, default=32.0)
    parser.add_argument("--from-layer", type=int, default=0, help="first layer with an adapter")
    parser.add_argument("--rate", type=float, default=6e-5, help="peak learning rate")
    parser.add_argument("--tokens", type=int, default=2048, help="maximum of a batch, with padding")
    parser.add_argument("--longest", type=int, default=2048, help="prompts over it are left out")
    parser.add_argument("--dev-rows", type=int, default=200)
    parser.add_argument("--dev-minutes", type=float, default=15.0, help="between dev figures")
    parser.add_argument("--save-minutes", type=float, default=4.0)
    parser.add_argument("--recompute", action="store_true", help="gradient checkpointing")
    parser.add_argument("--parts", action="store_true", help="also write adapters in parts")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def device_of(name: str) -> tuple[torch.device, torch.dtype]:
    """Return the device to train on, and the type of its products."""
    if name == "cuda" or (name == "auto" and torch.cuda.is_available()):
        return torch.device("cuda"), torch.bfloat16
    known = CPU_INFO.read_text() if CPU_INFO.is_file() else ""
    # with AVX512-BF16 alone, bfloat16 trains at three fifths of the speed of float32
    return torch.device("cpu"), torch.bfloat16 if "amx_bf16" in known else torch.float32


class Checker:
    """The base model with its adapter.

    Attributes:
        tokenizer: of the base.
        device, dtype: where and in what type it runs.
    """

    def __init__(self, base: Path, args: argparse.Namespace) -> None:
        self.device, self.dtype = device_of(args.device)
        model, self.tokenizer = load_base(base, self.dtype)
        self.architecture = str(model.config.model_type)
        layers = model.config.num_hidden_layers
        config = LoraConfig(
            r=args.rank,
            lora_alpha=args.alpha,
            target_modules=[name.rpartition(".")[2] for name in MODULES],
            layers_to_transform=list(range(args.from_layer, layers)),
            layers_pattern="layers",
        )
        self.alpha = args.alpha
        self.model = get_peft_model(model, config)
        fuse(self.model)
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
        self.model.to(self.device)
        self.causal = self.model.get_base_model()
        self.causal.config.use_cache = False
        if args.recompute:
            self.causal.gradient_checkpointing_enable({"use_reentrant": False})
            self.causal.enable_input_require_grads()
        self.answers = [self._token(answer) for answer in ANSWERS]

    def _token(self, answer: str) -> int:
        ids = self.tokenizer(answer, add_special_tokens=False)["input_ids"]
        if len(ids) != 1:
            raise SystemExit(f"{answer} is not one token of this model")
        return int(ids[0])

    @property
    def trained(self) -> list[tuple[str, torch.nn.Parameter]]:
        return [(n, p) for n, p in self.model.named_parameters() if p.requires_grad]

    def log_probabilities(self, one: Batch) -> torch.Tensor:
        """Compute (statements, answers) the log-probability of each answer as the verdict."""
        to = self.device
        products = (
            torch.autocast(to.type, torch.bfloat16)
            if self.dtype == torch.bfloat16
            else nullcontext()
        )
        mask = None  # causal, unless sequences branch or are padded
        if len(one.branches) > 1:
            mask = torch.from_numpy(one.seen)[:, None].to(to)
        with products:
            states = self.causal.model(
                input_ids=torch.from_numpy(one.ids).to(to),
                position_ids=torch.from_numpy(one.positions).to(to),
                attention_mask=mask,
                use_cache=False,
            ).last_hidden_state
            ends = torch.from_numpy(one.ends).to(to)
            logits = self.causal.lm_head(states[ends[:, 0], ends[:, 1]])
        return torch.log_softmax(logits.float(), -1)[:, self.answers]

    def load(self, weights: dict[str, np.ndarray]) -> None:
        """Take the LoRA weights of another adapter.

        Raises:
            SystemExit: they do not fit.
        """
        left = dict(weights)
        with torch.no_grad():
            for name, parameter in self.trained:
                key = name.partition("model.layers.")[2].replace(".default.weight", "")
                values = left.pop(f"layers.{key}", None)
                if values is None:
                    continue
                if values.shape != tuple(parameter.shape):
                    raise SystemExit(f"{name}: the adapter has the shape {values.shape}")
                parameter.copy_(torch.from_numpy(values))
        if left:
            raise SystemExit(f"the adapter has weights without a place: {sorted(left)[:3]}")

    def save(self, path: Path) -> None:
        weights = {name: p.detach().float().cpu().numpy() for name, p in self.trained}
        write_adapter(path, weights, self.alpha, self.architecture)


def losses(log_p: torch.Tensor, branches: Sequence[Branch]) -> torch.Tensor:
    """Compute each statement's weighted loss: minus the log-probability of its right answers."""
    right = torch.tensor([[a in RIGHT[b.label] for a in ANSWERS] for b in branches])
    right = right.to(log_p.device)
    likelihood = torch.logsumexp(log_p.masked_fill(~right, -torch.inf), -1)
    weights = torch.tensor([b.weight for b in branches], device=log_p.device)
    return -likelihood * weights


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """Compute the log-odds of any answer but Yes, clipped as ``statement_judge`` does."""
    odds = np.logaddexp(log_p[:, 1], log_p[:, 2]) - log_p[:, 0]
    return np.clip(odds, -MOST_ODDS, MOST_ODDS)


def figures(rows: Sequence[dict[str, Any]], odds: np.ndarray) -> dict[str, Any]:
    """Compute AUROC, balanced accuracy (at even odds) and calibration.

    The first two are over all rows, and as means over the parts that have both labels. ``parts``
    has the AUROC and the rows of each part.
    """
    wrong = np.array([float(row["label"] != "supported") for row in rows])
    names = np.array([part_of(row) for row in rows])
    found: dict[str, Any] = {}
    parts, accuracies = {}, []
    for name in sorted(set(names)):
        here = names == name
        if len(set(wrong[here])) > 1:
            accuracies.append(_balanced(wrong[here], odds[here]))
            parts[name] = [round(float(auroc(wrong[here], odds[here])), 4), int(here.sum())]
    if len(set(wrong)) > 1:
        found["auroc"] = round(float(auroc(wrong, odds)), 4)
        found["balanced_accuracy"] = round(_balanced(wrong, odds), 4)
        fit = fit_logistic(odds[:, None], wrong, ridge=1.0)
        even = math.log(wrong.mean() / (1 - wrong.mean()))  # at equal numbers of both
        found["intercept"] = round(fit.intercept - even, 4)
        found["slope"] = round(float(fit.coefficients[0]), 4)
    if parts:
        found["macro_auroc"] = round(float(np.mean([a for a, _ in parts.values()])), 4)
        found["macro_balanced_accuracy"] = round(float(np.mean(accuracies)), 4)
    return found | {"parts": parts}


def _balanced(wrong: np.ndarray, odds: np.ndarray) -> float:
    said = odds >= 0
    return float((said[wrong == 1].mean() + (~said[wrong == 0]).mean()) / 2)


class Clock:
    """Working time of a run in seconds.

    On a CPU it is processor time over threads, so that a pause, or a busy machine, does not end
    the run early.
    """

    def __init__(self, device: torch.device) -> None:
        self._by_processor = device.type == "cpu"
        self._began = self._now()

    def _now(self) -> float:
        if self._by_processor:
            return time.process_time() / torch.get_num_threads()
        return time.monotonic()

    def __call__(self) -> float:
        return self._now() - self._began


class Run:
    """One training, from its arguments."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        args.out.mkdir(parents=True, exist_ok=True)
        base = joined(args.base, args.out)
        self.base = {"file": base.name, "sha256": digest(base)}
        self.checker = Checker(base, args)
        self.state: dict[str, Any] = {
            "step": 0, "tokens": 0, "statements": 0, "seconds": 0.0, "epoch": 0, "batch": 0,
            "best": None, "curve": [],
        }  # fmt: skip
        if args.resume:
            self._resume(args.resume)
        encode = encoder(self.checker.tokenizer)
        rows = read_rows(args.data / "train.jsonl")
        self.trees = trees(rows, encode, args.longest, args.seed)
        dev = spread(read_rows(args.data / "dev.jsonl"), args.dev_rows, args.seed)
        self.dev_trees = trees(dev, encode, args.longest, args.seed)
        self.dev = dev
        sizes = [len(b.ids) + len(t.trunk) for t in self.trees for b in t.branches]
        self._say(
            f"{len(sizes)} of {len(rows)} rows in {len(self.trees)} trees, "
            f"{sum(map(len, self.trees)):,} tokens ({sum(sizes):,} unshared); dev {len(dev)}; "
            f"{self.checker.device} {self.checker.dtype}, {torch.get_num_threads()} threads, "
            f"{sum(p.numel() for _, p in self.checker.trained):,} weights"
        )
        self.stopped = False
        self.optimiser = torch.optim.AdamW(
            [p for _, p in self.checker.trained],
            lr=args.rate,
            betas=BETAS,
            weight_decay=0.0,
            fused=True,
        )

    def _resume(self, spec: str) -> None:
        path = Path(spec)
        files = [path / "adapter.gguf"] if (path / "adapter.gguf").is_file() else parts_of(spec)
        weights, alpha = read_adapter(files)
        if alpha != self.args.alpha:
            raise SystemExit(f"the adapter's alpha is {alpha:g}: say --alpha {alpha:g}")
        self.checker.load(weights)
        state = files[0].parent / "state.json"
        if files[0].name.startswith("adapter.gguf") and state.is_file():
            self.state = json.loads(state.read_text())
            self._say(f"resuming after step {self.state['step']}")

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

    def _endless(self) -> Iterator[Batch]:
        """Yield the batches of epoch after epoch, from the state's place."""
        while True:
            seed = self.args.seed * 1000 + self.state["epoch"]
            for i, one in enumerate(batches(self.trees, self.args.tokens, seed)):
                if i >= self.state["batch"]:
                    yield one
                    self.state["batch"] = i + 1
            self.state["epoch"], self.state["batch"] = self.state["epoch"] + 1, 0

    def train(self) -> None:
        args, state = self.args, self.state
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        if not state["curve"]:
            self._look()
        clock = Clock(self.checker.device)
        shown = saved = looked = 0.0
        before, sums, first = state["seconds"], [0.0, 0, 0.0], state["step"]
        self.checker.model.train()
        for one in self._endless():
            share = clock() / (60 * args.minutes)
            if args.steps:
                share = max(share, (state["step"] - first) / args.steps)
            if share >= 1 or self.stopped:
                break
            loss = self._step(one, args.rate * min(share / WARM_UP + 0.02, 1.0) * (1 - share))
            now = clock()
            state["step"] += 1
            state["tokens"] += one.tokens
            state["statements"] += len(one.branches)
            state["seconds"] = before + now
            sums = [sums[0] + loss, sums[1] + 1, sums[2] + one.tokens]
            if now - shown > SHOWN:
                self._say(
                    f"step {state['step']} loss {sums[0] / sums[1]:.4f} "
                    f"{sums[2] / (now - shown):.0f} tokens/s {100 * share:.1f}%"
                )
                shown, sums = now, [0.0, 0, 0.0]
            if now - saved > 60 * args.save_minutes:
                self._save()
                saved = now
            if now - looked > 60 * args.dev_minutes:
                self._look()
                looked = shown = clock()
                sums = [0.0, 0, 0.0]
        self._save()
        if not self.stopped:
            self._look()
        self._save()
        speed = state["tokens"] / max(state["seconds"], 1e-9)
        self._say(f"done: step {state['step']}, {state['tokens']:,} tokens, {speed:.0f} a second")

    def _step(self, one: Batch, rate: float) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        loss = losses(self.checker.log_probabilities(one), one.branches).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in self.checker.trained], CLIP)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _stop(self, *_: Any) -> None:
        self._say("stopping after this step")
        self.stopped = True

    def predict(self, some: Sequence[Tree], count: int) -> tuple[np.ndarray, float]:
        """Compute (count, answers) log-probabilities, NaN for too long rows; and the mean loss."""
        found = np.full((count, len(ANSWERS)), np.nan)
        total = []
        self.checker.model.eval()
        with torch.inference_mode():
            for one in batches(some, self.args.tokens, None):
                log_p = self.checker.log_probabilities(one)
                total += losses(log_p, one.branches).tolist()
                for branch, values in zip(one.branches, log_p.cpu().numpy(), strict=True):
                    found[branch.row] = values
        self.checker.model.train()
        return found, float(np.mean(total)) if total else math.nan

    def _look(self) -> None:
        """Add a point to the curve, and keep the adapter if it is the best."""
        log_p, loss = self.predict(self.dev_trees, len(self.dev))
        kept = ~np.isnan(log_p[:, 0])
        rows = [row for row, here in zip(self.dev, kept, strict=True) if here]
        found = figures(rows, log_odds(log_p[kept]))
        state = self.state
        point = {k: state[k] for k in ("step", "tokens", "statements")} | {"loss": round(loss, 4)}
        state["curve"].append(point | found)
        self._say(f"dev {json.dumps(point | found)}")
        reached = found.get("macro_auroc", found.get("auroc", -loss))
        if state["step"] and (state["best"] is None or reached > state["best"]):
            state["best"] = reached
            self.checker.save(self.args.out / "best.gguf")
            self._describe(point | found, len(rows))

    def _describe(self, point: dict[str, Any], rows: int) -> None:
        """Write the description of the best adapter next to it."""
        best = self.args.out / "best.gguf"
        description = {
            "base": self.base,
            "sha256": digest(best),
            "size": best.stat().st_size,
            "calibration": [point.get("intercept", 0.0), point.get("slope", 1.0)],
            "trained": {k: self.state[k] for k in ("step", "tokens", "statements", "seconds")},
            "dev": point | {"rows": rows},
        }
        (self.args.out / "checker.json").write_text(json.dumps(description, indent=1) + "\n")
        if self.args.parts:
            split(best)

    def _save(self) -> None:
        adapter, state = self.args.out / "adapter.gguf", self.args.out / "state.json"
        self.checker.save(adapter)
        if self.args.parts:
            split(adapter)
        partial = state.with_suffix(".tmp")
        partial.write_text(json.dumps(self.state, indent=1) + "\n")
        partial.replace(state)


if __name__ == "__main__":
    main()
