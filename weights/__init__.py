"""Owns the encoder's weights: which teacher files are pinned, how they are fetched, and the model made from them."""
