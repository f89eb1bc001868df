"""What an endpoint's ``extra_body`` may hold: JSON, and nothing that undoes what is reserved.

Three kinds of keys change what a call costs. Those that say what is asked for, and how many
answers, are veridical's own and always refused. Those that say how long an answer may be are
reserved for. Of all others it is known only for some that they change no price; with a budget the
rest are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from veridical.errors import UsageError

#: Set by each request, or of a form of reply that is not read.
OWN = frozenset(
    {"model", "models", "messages", "prompt", "input", "n", "best_of", "num_return_sequences"}
    | {"stream", "stream_options", "echo", "suffix", "background"}
)
#: By which servers limit an answer; all are tokens.
LENGTHS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "max_length",
    "n_predict",
    "num_predict",
)
#: Of which it is known that they change neither prices nor what is counted, but for the tokens of
#: their own text, which are reserved for.
FREE = frozenset(
    # how the next token is drawn
    {"temperature", "dynatemp_range", "dynatemp_exponent", "top_p", "top_k", "top_a", "top_n_sigma"}
    | {"min_p", "typical_p", "xtc_probability", "xtc_threshold", "tfs_z", "epsilon_cutoff"}
    | {"eta_cutoff", "mirostat", "mirostat_tau", "mirostat_eta", "mirostat_mode", "samplers"}
    | {"seed", "logit_bias", "presence_penalty", "frequency_penalty", "repetition_penalty"}
    | {"repeat_penalty", "repeat_last_n", "length_penalty", "dry_multiplier", "dry_base"}
    | {"dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers", "do_sample"}
    # when it ends, before the limit
    | {"stop", "stop_token_ids", "ignore_eos", "min_tokens", "include_stop_str_in_output"}
    # what it looks like
    | {"response_format", "guided_json", "guided_regex", "guided_choice", "guided_grammar"}
    | {"guided_decoding_backend", "structured_outputs", "grammar", "json_schema", "verbosity"}
    | {"logprobs", "top_logprobs", "n_probs", "skip_special_tokens"}
    | {"spaces_between_special_tokens"}
    # thinking: its tokens count to the limit
    | {"reasoning_effort", "thinking", "enable_thinking", "think", "include_reasoning"}
    | {"chat_template_kwargs", "add_generation_prompt", "chat_template"}
    # who asks, and what the server keeps
    | {"user", "safety_identifier", "metadata", "store", "priority", "cache_prompt", "id_slot"}
    | {"slot_id", "cache_salt", "keep_alive", "request_id", "timings_per_token", "safety_settings"}
)


def check_extra_body(owner: str, body: Mapping[str, Any]) -> None:
    """Refuse what no request can carry, and what says how much is asked for.

    Args:
        owner: for messages.

    Raises:
        UsageError: a value is no JSON; a key is one of :data:`OWN`; a length is no number of
            tokens.
    """
    _check_json(f"{owner}: extra_body", dict(body))
    for key, value in body.items():
        if key in OWN:
            raise UsageError(
                f"{owner}: extra_body.{key} would change what is asked for and paid: remove it"
            )
        if key in LENGTHS and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise UsageError(
                f"{owner}: extra_body.{key} must be a whole number of at least 1, not {value!r}"
            )


def check_reservable(owner: str, body: Mapping[str, Any]) -> None:
    """Refuse what may change the price of a call by more than can be reserved.

    Raises:
        UsageError: a key is neither of :data:`FREE` nor of :data:`LENGTHS`.
    """
    for key in body:
        if key not in FREE and key not in LENGTHS:
            raise UsageError(
                f"{owner}: extra_body.{key} may change what a call costs, so no budget can be "
                "kept with it: remove it, or run without --budget"
            )


def longest_of(body: Mapping[str, Any]) -> int | None:
    """The most tokens that ``body`` allows an answer; None where it does not say."""
    return max((body[key] for key in LENGTHS if key in body), default=None)


def _check_json(where: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise UsageError(f"{where} has the key {key!r}: a JSON key is a text")
            _check_json(f"{where}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _check_json(f"{where}[{i}]", item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} is {value}, which JSON does not have")
    elif value is not None and not isinstance(value, (str, bool, int, float)):
        raise UsageError(
            f"{where} is a {type(value).__name__} ({value}), which JSON does not have: "
            "write it as a text"
        )
