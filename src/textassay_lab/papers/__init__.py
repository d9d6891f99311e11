"""The studies of the four papers."""
