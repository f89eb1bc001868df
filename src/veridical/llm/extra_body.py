"""Validation of an endpoint's ``extra_body``.

Three kinds of keys change the cost of a call. Keys that set the content or the number of answers
are reserved for veridical and always refused. Keys that limit the length of an answer are included
in the worst case. Of all other keys, only some are known not to change the price; with a budget the
rest are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from veridical.errors import UsageError

#: Keys set by each request, or by a reply form that is not supported.
OWN = frozenset(
    {"model", "models", "messages", "prompt", "input", "n", "best_of", "num_return_sequences"}
    | {"stream", "stream_options", "echo", "suffix", "background"}
)
#: Keys that limit an answer, in tokens.
LENGTHS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "max_length",
    "n_predict",
    "num_predict",
)
#: Keys known not to change prices or counts, except for the tokens of their own text, which the
#: worst case includes.
FREE = frozenset(
    # sampling
    {"temperature", "dynatemp_range", "dynatemp_exponent", "top_p", "top_k", "top_a", "top_n_sigma"}
    | {"min_p", "typical_p", "xtc_probability", "xtc_threshold", "tfs_z", "epsilon_cutoff"}
    | {"eta_cutoff", "mirostat", "mirostat_tau", "mirostat_eta", "mirostat_mode", "samplers"}
    | {"seed", "logit_bias", "presence_penalty", "frequency_penalty", "repetition_penalty"}
    | {"repeat_penalty", "repeat_last_n", "length_penalty", "dry_multiplier", "dry_base"}
    | {"dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers", "do_sample"}
    # stopping before the limit
    | {"stop", "stop_token_ids", "ignore_eos", "min_tokens", "include_stop_str_in_output"}
    # output format
    | {"response_format", "guided_json", "guided_regex", "guided_choice", "guided_grammar"}
    | {"guided_decoding_backend", "structured_outputs", "grammar", "json_schema", "verbosity"}
    | {"logprobs", "top_logprobs", "n_probs", "skip_special_tokens"}
    | {"spaces_between_special_tokens"}
    # reasoning: its tokens count towards the limit
    | {"reasoning_effort", "thinking", "enable_thinking", "think", "include_reasoning"}
    | {"chat_template_kwargs", "add_generation_prompt", "chat_template"}
    # caller identity and retention
    | {"user", "safety_identifier", "metadata", "store", "priority", "cache_prompt", "id_slot"}
    | {"slot_id", "cache_salt", "keep_alive", "request_id", "timings_per_token", "safety_settings"}
)


def check_extra_body(owner: str, body: Mapping[str, Any]) -> None:
    """Refuse values that are not JSON, and keys that set the content or number of answers.

    Args:
        owner: the endpoint, for messages.

    Raises:
        UsageError: a value is not JSON, a key is one of :data:`OWN`, or a length is not a number of
            tokens.
    """
    _check_json(f"{owner}: extra_body", dict(body))
    for key, value in body.items():
        if key in OWN:
            raise UsageError(
                f"{owner}: extra_body.{key} would change the request and its cost; remove it"
            )
        if key in LENGTHS and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise UsageError(
                f"{owner}: extra_body.{key} must be a whole number of at least 1, not {value!r}"
            )


def check_reservable(owner: str, body: Mapping[str, Any]) -> None:
    """Refuse keys that may change the price of a call by an unknown amount.

    Raises:
        UsageError: a key is neither in :data:`FREE` nor in :data:`LENGTHS`.
    """
    for key in body:
        if key not in FREE and key not in LENGTHS:
            raise UsageError(
                f"{owner}: extra_body.{key} may change the cost of a call, so no budget can be "
                "kept with it: remove it, or run without --budget"
            )


def longest_of(body: Mapping[str, Any]) -> int | None:
    """Return the maximum tokens that ``body`` allows an answer; None if it sets no limit."""
    return max((body[key] for key in LENGTHS if key in body), default=None)


def _check_json(where: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise UsageError(f"{where} has the key {key!r}: JSON keys must be texts; quote it")
            _check_json(f"{where}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _check_json(f"{where}[{i}]", item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} is {value}, which is not valid JSON; remove it")
    elif value is not None and not isinstance(value, (str, bool, int, float)):
        raise UsageError(
            f"{where} is a {type(value).__name__} ({value}), which is not valid JSON: "
            "write it as a text"
        )
