"""The study of the judges."""
