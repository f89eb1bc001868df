"""Two runs compared: are they different, by how much, and which records changed."""
