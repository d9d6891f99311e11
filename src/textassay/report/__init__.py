"""Results as terminal text, Markdown, LaTeX, HTML, CSV and figures."""
