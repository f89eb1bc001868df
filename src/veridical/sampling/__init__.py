"""Sampling of answers to prompts: streamed, adaptive, over decoding grids."""
