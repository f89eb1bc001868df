"""Samples of many models by many decodings."""
