"""The study of evaluators and people."""
