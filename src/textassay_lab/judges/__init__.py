"""Neural discriminators and trained meta-evaluators."""
