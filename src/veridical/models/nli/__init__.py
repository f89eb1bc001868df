"""Back ends behind :class:`veridical.models.protocols.NliModel`."""
