"""Record fields, and the column names that stand for them."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from veridical.text.display import cut

#: Record field -> aliases used when the field's own name is absent.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("example_id", "idx"),
    "prompt": ("question", "query", "input", "user_input"),
    "response": ("answer", "output", "actual_output", "generated_text", "prediction"),
    "samples": ("sampled_responses", "gpt3_text_samples"),
    "contexts": (
        "context",
        "retrieved_contexts",
        "retrieval_context",
        "knowledge",
        "document",
        "documents",
        "source",
        "passages",
    ),
    "reference": ("reference_answer", "gold", "ground_truth", "expected_output", "right_answer"),
    "logprobs": (),
    "sentences": (),
    "label": (),
    "unit_labels": (),
    "meta": (),
}
#: Record field -> names used by tools, taken if a row has no other column for it: MLflow's, and
#: LangChain's for retrieved texts.
FALLBACKS: dict[str, tuple[str, ...]] = {
    "prompt": ("inputs",),
    "response": ("outputs",),
    "samples": (),
    "contexts": ("retrieved_context", "source_documents", "retrieved_documents", "retrieved_docs"),
    "reference": ("targets", "ground_truths", "expected_response", "reference_outputs"),
}
#: Aliases too common as metadata names to be accepted in capitals ("Source").
_ONLY_AS_WRITTEN = frozenset({"source", "document", "input", "output", "gold"})
#: Names of the text of a context object, in order of preference.
CONTEXT_TEXT = ("text", "content", "page_content", "passage")
#: Record field -> other names in use, in lower case with underscores.
_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "prompt": (
        *("q", "ques", "questions", "queries", "prompts", "user_query", "user_prompt"),
        *("user_question", "user_message", "inputs", "instruction", "messages", "human"),
    ),
    "response": (
        *("resp", "responses", "ans", "answers", "a", "reply", "replies", "completion"),
        *("completions", "generation", "generations", "generated", "generated_answer"),
        *("llm_output", "llm_response", "llm_answer", "model_output", "model_response"),
        *("model_answer", "outputs", "result", "predicted", "pred"),
        *("predictions", "assistant", "summary", "bot_reply", "bot_response", "chatbot_response"),
        *("chatgpt_response", "gpt_response", "final_answer", "text_output"),
    ),
    "samples": (
        *("sample", "sampled", "sampled_answers", "sampled_outputs", "alternatives"),
        *("other_answers", "other_responses", "candidates", "resamples", "sampled_generations"),
    ),
    "contexts": (
        *(
            "ctx",
            "ctxs",
            "cntx",
            "cntxt",
            "doc",
            "docs",
            "chunk",
            "chunks",
            "evidence",
            "evidences",
        ),
        *("snippet", "snippets", "sources", "passage", "retrieved", "retrieved_docs"),
        *("retrieved_documents", "retrieved_chunks", "retrieved_passages", "source_documents"),
        *("source_text", "search_results", "supporting_facts", "facts", "background", "premise"),
        *("paragraph", "paragraphs", "article", "grounding", "contexts_text", "reference_text"),
        *("references_text", "context_text", "kb", "wiki", "sources_text"),
    ),
    "reference": (
        *("ref", "refs", "references", "gt", "gts", "gold_answer", "gold_answers", "golden"),
        *("golden_answer", "ground_truths", "ground_truth_answer", "target", "targets", "truth"),
        *("expected", "expected_answer", "expected_response", "correct_answer", "correct_answers"),
        *("best_answer", "ideal", "ideal_answer", "solution", "label_text", "true_answer"),
        *("reference_response", "reference_answers", "acceptable_answers"),
    ),
    "logprobs": ("logprob", "log_probs", "logprobabilities", "token_logprobs"),
    "label": (
        *("labels", "is_hallucination", "hallucination", "hallucinated", "is_hallucinated"),
        *("hallucination_label", "is_wrong", "wrong"),
    ),
    "unit_labels": ("spans", "span_labels", "hallucination_spans", "sentence_labels"),
}
_ALIAS_OF = {
    name: field
    for field in FALLBACKS
    for name in (
        field,
        *ALIASES[field],
        *(n for n in FALLBACKS[field] if n not in ("inputs", "outputs", "targets")),
    )
    if name not in _ONLY_AS_WRITTEN
}
#: Words that mark a name as an id or metadata if they are last in it.
_METADATA = frozenset(
    {
        *("id", "ids", "idx", "index", "uuid", "guid", "hash", "key", "url", "uri", "link", "path"),
        *("file", "filename", "folder", "date", "time", "timestamp", "created", "updated"),
        *("version", "model", "models", "split", "part", "group", "task", "dataset", "category"),
        *("categories", "topic", "topics", "tag", "tags", "type", "kind", "lang", "language"),
        *("user", "username", "author", "session", "trace", "run", "seed", "temperature", "tokens"),
        *("latency", "cost", "price", "score", "scores", "rank", "count", "num", "number"),
        *("length", "size", "meta", "metadata", "note", "notes", "comment", "comments", "title"),
        *("titles", "status", "name", "names"),
    }
)
#: Words after a name that do not change its meaning.
_ENDINGS = frozenset({"text", "texts", "str", "string", "content", "list", "raw", "body", "json"})
_GOLD = frozenset({"gold", "golden", "correct", "expected", "right", "true", "reference", "ideal"})
_SHORT = 4  # letters; shorter names cannot be distinguished from misspellings
_CLOSE = 0.8
#: Every known name, as written by :func:`plain_name` -> its field.
FIELD_OF = {
    name: field
    for field in [f for f in ALIASES if f not in ("id", "meta", "sentences")]
    for name in (field, *ALIASES[field], *_OTHER_NAMES.get(field, ()))
}
_LONG_NAMES = sorted(name for name in FIELD_OF if len(name) >= _SHORT)


@lru_cache(maxsize=4096)
def known_alias(column: str) -> str | None:
    """Return the field of which a name is an alias; None for other names.

    Names are compared in lower case with underscores (``Ground Truth``). Names common in metadata
    are not aliases.
    """
    return _ALIAS_OF.get(plain_name(column))


@lru_cache(maxsize=4096)
def field_by_name(column: str) -> str | None:
    """Return the field that a column's name stands for.

    It is a known name, possibly with words before or after it (``model_answer``, ``context_text``),
    or a misspelt one. None for ids and metadata.
    """
    field = known_name(column)
    name = plain_name(column)
    if field is None and len(name) > _SHORT and not is_metadata(column):
        near = difflib.get_close_matches(name, _LONG_NAMES, n=1, cutoff=_CLOSE)
        field = FIELD_OF[near[0]] if near else None
    return field


def known_name(column: str) -> str | None:
    """Return the field of a column's name as :func:`field_by_name` does, but faster and without
    misspelt names."""
    name = plain_name(column)
    if name in FIELD_OF:
        return FIELD_OF[name]
    words = re.sub(r"_?\d+$", "", name).split("_")
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    if is_metadata(column):
        return None
    for start in range(len(words)):  # the longest ending first
        field = FIELD_OF.get("_".join(words[start:]))
        if field is not None and (start == 0 or len(words[-1]) > 1):
            return "reference" if field == "response" and _GOLD & set(words[:start]) else field
    return None


def is_metadata(column: str) -> bool:
    """Return True if a name denotes ids, counts or other metadata."""
    words = re.sub(r"_?\d+$", "", plain_name(column)).split("_")
    last = words[-1]
    return not words[0] or last in _METADATA or last.endswith("id") or words[0] in ("n", "num")


def plain_name(column: str) -> str:
    """Return a name in lower case with words joined by underscores: ``refText`` becomes
    ``ref_text``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cut(column))
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")
