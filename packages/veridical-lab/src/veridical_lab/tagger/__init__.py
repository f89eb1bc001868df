"""A tagger of (head, relation, tail) over a token encoder, distilled from an LLM's triplets."""
