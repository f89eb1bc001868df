"""The engine: batches, queues of models, runs and their results."""
