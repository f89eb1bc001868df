"""Image embedders, loaded by :func:`veridical.models.images.names.load_image_embedder`."""
