"""The study of the generators: every evaluator of every writer."""
