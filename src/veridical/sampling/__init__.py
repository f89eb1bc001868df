"""Sampling: prompts to answers, streamed, adaptive, over a grid of decodings."""
