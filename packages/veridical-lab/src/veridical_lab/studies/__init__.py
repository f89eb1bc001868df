"""Studies of published papers, run on texts made for them."""
