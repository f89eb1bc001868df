"""NLI back ends of :class:`veridical.core.protocols.NliModel`."""
