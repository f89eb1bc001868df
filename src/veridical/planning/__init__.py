"""`veridical plan`: what a run will ask, counted on its own code path."""
