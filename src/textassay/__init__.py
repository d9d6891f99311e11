"""textassay: how far generated text is from real text, which generator is closer, and how sure you can be."""

from importlib.metadata import version

from textassay.face import make_face

__version__ = version("textassay")

make_face(__name__)
