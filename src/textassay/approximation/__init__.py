"""A generator's next-token distribution from its draws, and its perplexity."""

from textassay.face import make_face

make_face(__name__)
