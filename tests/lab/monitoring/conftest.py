"""Tests of adapters are collected where the packages they adapt to are installed."""

from importlib.util import find_spec

_NEEDED = {"test_loop.py": "torch", "test_transformers.py": "transformers"}
collect_ignore = [file for file, package in _NEEDED.items() if find_spec(package) is None]
