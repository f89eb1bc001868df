"""Triplet tagger over a token encoder, distilled from an LLM's triplets."""
