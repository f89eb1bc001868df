"""Run setup: options, inputs and dry runs."""
