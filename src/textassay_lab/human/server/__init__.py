"""The web server of a human study."""
