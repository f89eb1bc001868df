"""Reports: what people read of a run."""
