"""Keys and signatures are printed from values, and stored keys read back to them."""

from __future__ import annotations

import pytest

from veridical.core.identity import Identity
from veridical.core.registry import REGISTRY

CALLS = (
    "ngram",
    "ngram(n=2, stat=avg)",
    "cosine(against=contexts)",
    "hhem(nli='hhem:folder/with,comma|and bar')",
    "ngram(against=reference)",
    "claims(extractor=given, top=3)",
)


@pytest.mark.parametrize("call", CALLS)
def test_a_stored_key_reads_back_to_the_identity_that_printed_it(call: str) -> None:
    (bound,) = REGISTRY.parse(call)
    assert Identity.read(bound.key) == bound.identity
    assert str(bound.identity) == bound.key


def test_parameters_are_sorted_and_those_at_their_defaults_left_out() -> None:
    (bound,) = REGISTRY.parse("ngram(stat=avg, n=2, against=samples)")
    assert bound.identity == Identity("ngram", (("n", "2"), ("stat", "avg")))
    assert bound.identity.names("n") and not bound.identity.names("against")


def test_a_signature_is_told_from_those_of_other_versions_parameters_and_names() -> None:
    one, two = REGISTRY.parse("ngram, ngram(n=2)")
    assert one.may_sign(one.signature()) and one.may_sign(one.signature("llm:a|b|c@1"))
    assert not one.may_sign(two.signature())
    assert not one.may_sign(one.signature().replace("|v1|", "|v10|"))
    assert not one.may_sign(one.signature().replace("ngram|", "ngram_presence|"))
