"""Is a model still what it was? A reference, looks, and the evidence of a change that may be read at any time."""
