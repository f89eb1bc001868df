"""Guard set-up from command options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.decide.policy import Policy
from veridical.decide.policy_file import PolicyFile, policy_of, read_policy
from veridical.errors import UsageError
from veridical.serve.keys import read_keys
from veridical.text.display import display, shown

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.serve.keys import Key


#: Policy without ``--policy``: reject by verdict.
DEFAULT_POLICY: dict[str, Any] = {
    "accept": 1.0,
    "rules": [
        {"verdict": verdict, "then": "reject"}
        for verdict in ("contradicted", "unsupported", "inconsistent")
    ],
}


def scorers_of(file: PolicyFile, where: str) -> list[BoundScorer]:
    """Return the scorers of a guard: those of the default and those that the policy names.

    Raises:
        UsageError: the policy names an unknown scorer.
    """
    bound = resolve(None)
    keys = {b.key for b in bound}
    for text in (file.on, *(rule.scorer for rule in file.rules)):
        if text is None or text == "risk":
            continue
        try:
            named = REGISTRY.parse(text)
        except UsageError as e:
            raise UsageError(f"{where}: {e}") from None
        for scorer in named:
            if scorer.key not in keys:
                keys.add(scorer.key)
                bound.append(scorer)
    return bound


def policy_and_scorers(path: Path | None) -> tuple[PolicyFile, Policy, list[BoundScorer]]:
    """Read a policy file for a guard; without one, return the policy that rejects by verdict.

    Raises:
        UsageError: the file is not a policy, or names a missing scorer or file.
    """
    if path is None:
        file = policy_of(DEFAULT_POLICY, "the default policy")
        scorers = scorers_of(file, "the default policy")
        return file, Policy.of(file, scorers), scorers
    file = read_policy(path)
    policy, scorers = Policy.read(path, scorers_of(file, f"policy {path}"))
    if file.guard.on_reject == "repair" and policy.by is not None:
        raise UsageError(f"policy {path}: a guard does not support strata; remove them")
    return file, policy, scorers


def read_guard_keys(path: Path) -> list[Key]:
    """Read the keys file of a guard.

    Raises:
        UsageError: as :func:`~veridical.serve.keys.read_keys`; or a key has a money limit, which a
            guard cannot enforce, because it does not know the upstream's costs.
    """
    keys = read_keys(path)
    for key in keys:
        if key.usd_per_day is not None:
            raise UsageError(
                f"--keys {display(path)}: the key {shown(key.name)} has usd_per_day, which a "
                "guard does not support; use requests_per_minute, or a separate file"
            )
    return keys
