"""A generator's next-token distribution from its draws, and its perplexity."""
