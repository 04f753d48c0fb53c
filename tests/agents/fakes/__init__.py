"""Models that need no model: each is the `model.py` of the guide's programs of one framework."""
