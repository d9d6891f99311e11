"""textassay: how far generated text is from real text, which generator is closer, and how sure you can be."""

from textassay.face import make_face


def __getattr__(name: str) -> str:
    """Return the version, whose reader takes as long to load as a command line; what else there is, the face has."""
    if name == "__version__":
        from importlib.metadata import version

        return version("textassay")
    raise AttributeError(name)


make_face(__name__, group="textassay.names")
