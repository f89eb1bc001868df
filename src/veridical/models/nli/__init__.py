"""Back ends behind :class:`veridical.core.protocols.NliModel`."""
