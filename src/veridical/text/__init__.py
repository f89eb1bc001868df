"""Text analysis with exact code-point offsets: sentences, words, scripts, values."""
