"""Sentences, words and scripts of a text, with exact code-point offsets."""
