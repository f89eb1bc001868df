"""Answers of random checkpoints against plain loops over transformers' own logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from causal_checkpoints import KINDS, save

from veridical.core.messages import ChatRequest, LlmError, Reply, user
from veridical.engine.clients import check_client, open_client
from veridical.errors import UsageError
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.llm.service import LlmService

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ASKED = user("Where is Timbuktu?")


def opened(folder: Path, **body: Any) -> Any:
    from veridical.models.causal.generation import TorchChat

    endpoint = Endpoint("torch", f"torch:{folder}", "m", extra_body=body)
    return TorchChat(endpoint, device="cpu")


async def ask(chat: Any, n: int = 1, **settings: Any) -> list[Reply]:
    replies = await chat.chat(
        ChatRequest(ASKED, max_tokens=settings.pop("max_tokens", 12), **settings), range(n)
    )
    assert all(isinstance(r, Reply) for r in replies), replies
    return list(replies)


def logits_after(folder: Path, ids: list[int]) -> Any:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0, -1].double(), -1)


def token_ids(folder: Path, chat: Any) -> list[int]:
    made = transformers.AutoTokenizer.from_pretrained(folder)
    return list(made(chat.chat_prompt(ASKED), add_special_tokens=True)["input_ids"])


@pytest.mark.parametrize("kind", KINDS)
async def test_greedy_is_the_likeliest_token_at_every_place(kind: str, tmp_path: Path) -> None:
    folder = save(tmp_path / kind, kind)
    chat = opened(folder)
    (reply,) = await ask(chat, logprobs=3, max_tokens=8)
    assert reply.logprobs is not None
    assert "".join(t.token for t in reply.logprobs) == reply.text
    ids = token_ids(folder, chat)
    assert reply.usage.prompt == len(ids)
    for token in reply.logprobs:
        logs = logits_after(folder, ids)
        best = logs.topk(3)
        assert token.logprob == pytest.approx(float(best.values[0]), abs=1e-4)
        assert [t.logprob for t in token.top] == pytest.approx(best.values.tolist(), abs=1e-4)
        ids.append(int(best.indices[0]))
    (top_one,) = await ask(chat, temperature=1.0, top_k=1, max_tokens=8)
    assert top_one.text == reply.text


def best_by_beams(folder: Path, ids: list[int], width: int, most: int) -> float:
    """The log-probability of the best of ``width`` beams after ``most`` tokens, none of which
    ends the text."""
    beams: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(most):
        grown = []
        for score, tokens in beams:
            logs = logits_after(folder, ids + tokens)
            best = logs.topk(width)
            grown += [
                (score + float(v), [*tokens, int(i)])
                for v, i in zip(best.values, best.indices, strict=True)
            ]
        beams = sorted(grown, reverse=True)[:width]
    return beams[0][0]


async def test_beam_search_keeps_the_best_beams(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", "gpt2", seed=3)
    chat = opened(folder, num_beams=3)
    (reply,) = await ask(chat, logprobs=0, max_tokens=4)
    assert reply.logprobs is not None and reply.finish_reason == "length"
    total = sum(t.logprob for t in reply.logprobs)
    assert total == pytest.approx(best_by_beams(folder, token_ids(folder, chat), 3, 4), abs=1e-3)
    (greedy,) = await ask(opened(folder), logprobs=0, max_tokens=4)
    assert greedy.logprobs is not None
    assert total >= sum(t.logprob for t in greedy.logprobs) - 1e-6


async def test_draws_differ_and_seeds_repeat_them(tmp_path: Path) -> None:
    chat = opened(save(tmp_path / "m"))
    drawn = await ask(chat, 6, temperature=1.5)
    assert len({r.text for r in drawn}) > 1
    once = await ask(chat, 3, temperature=1.5, seed=7)
    again = await ask(chat, 3, temperature=1.5, seed=7)
    assert [r.text for r in once] == [r.text for r in again]


async def test_draws_follow_the_models_probabilities(tmp_path: Path) -> None:
    """First tokens of ancestral sampling by their frequency; top-p leaves out the tail."""
    folder = save(tmp_path / "m", "gpt2", seed=1)
    chat = opened(folder)
    n = 600
    drawn = await ask(chat, n, temperature=1.0, top_p=1.0, max_tokens=1, logprobs=0)
    seen = [r.logprobs[0].logprob for r in drawn if r.logprobs]
    logs = logits_after(folder, token_ids(folder, chat))
    entropy = float(-(logs.exp() * logs).sum())
    spread = float((logs.exp() * (logs + entropy) ** 2).sum()) ** 0.5
    assert -sum(seen) / len(seen) == pytest.approx(entropy, abs=4 * spread / len(seen) ** 0.5)
    ranked = logs.sort(descending=True).values
    kept = int((ranked.exp().cumsum(0) < 0.5).sum())
    cut = await ask(chat, 100, temperature=1.0, top_p=0.5, max_tokens=1, logprobs=0)
    assert min(r.logprobs[0].logprob for r in cut if r.logprobs) >= float(ranked[kept]) - 1e-4


async def test_a_model_without_a_template_goes_on_from_the_prompt(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", "gpt2", chat=False)
    chat = opened(folder)
    replies = await chat.chat(ChatRequest(user("Paris is"), max_tokens=5), (0,))
    assert isinstance(replies[0], Reply) and replies[0].usage.prompt < 12


@pytest.mark.parametrize(
    ("messages", "most", "why"),
    [
        (user("why? " * 200), 1, "do not fit"),
        (user("why?"), 60, "do not fit"),
        (
            ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},),
            1,
            "images",
        ),
    ],
)
async def test_what_it_cannot_be_asked(messages: Any, most: int, why: str, tmp_path: Path) -> None:
    chat = opened(save(tmp_path / "m"))
    replies = await chat.chat(ChatRequest(messages, max_tokens=most), (0, 1))
    assert [type(r) for r in replies] == [LlmError] * 2
    assert why in str(replies[0]) and replies[0].trouble == "rejected"


async def test_stop_words_cut_text_and_tokens(tmp_path: Path) -> None:
    chat = opened(save(tmp_path / "m"))
    (whole,) = await ask(chat, logprobs=0)
    mark = whole.text[4]
    (cut,) = await ask(chat, logprobs=0, stop=(mark,))
    assert cut.text == whole.text[: whole.text.index(mark)] and cut.finish_reason == "stop"
    assert cut.logprobs is not None and "".join(t.token for t in cut.logprobs) == cut.text


async def test_it_is_an_endpoint_like_others(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    endpoint = find_endpoint(f"torch:{folder}")
    service = LlmService(endpoint, client=open_client(endpoint))
    one, two = await service.chat([ChatRequest(ASKED, max_tokens=4)] * 2)
    assert one == two and service.ledger.calls == 1 and service.ledger.cost == 0
    await service.close()
    with pytest.raises(UsageError, match="no option"):
        opened(folder, mirostat=1)


async def test_its_options_are_those_of_a_model_that_reads(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    half = find_endpoint(f"torch:{folder}?dtype=bfloat16")
    assert half.model == str(folder)
    chat = open_client(half)
    assert chat._model.dtype == torch.bfloat16
    assert chat.identity != open_client(find_endpoint(f"torch:{folder}")).identity
    for spec, why in [
        (f"torch:{folder}?dtype=half", "unknown dtype 'half'"),
        (f"torch:{folder}?beams=3", "beams"),
        (f"torch:{tmp_path / 'none'}", "no such model folder"),
        (f"torch:{tmp_path / 'none.gguf'}", "cannot read the model"),
    ]:
        with pytest.raises(UsageError, match=why):
            check_client(find_endpoint(spec))
    check_client(half)
