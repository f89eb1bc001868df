"""Batching, model queues, runs and their results."""
