"""Results as terminal text, Markdown, LaTeX, HTML, CSV and figures."""

from textassay.face import make_face

make_face(__name__)
