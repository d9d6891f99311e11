"""Real or generated? Classifiers of texts, and the family that chooses among them."""
