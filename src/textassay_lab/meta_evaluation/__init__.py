"""Which metric deserves trust: correlations with people, known truth, damaged text."""
