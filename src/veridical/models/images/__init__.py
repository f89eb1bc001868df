"""Embedders of images; :func:`veridical.models.images.names.load_image_embedder` loads one."""
