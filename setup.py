"""Compile the kernels; everything else about the package stands in pyproject.toml.

Each ``kernels.pyx`` becomes a module beside it, of Python's stable interface: one wheel a platform serves every version
of Python. No flag lets the compiler reorder sums or fuse operations, so that numbers are the same on every machine.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

EXACT = ["/O2", "/fp:precise"] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"]
AT_ONCE = os.cpu_count() or 1
SHARED = "textassay._cyutility"  # what Cython's modules share, which it writes


def extension(name: str, source: str) -> Extension:
    """Return a module of Python's stable interface."""
    stable = [("Py_LIMITED_API", "0x030B0000")]
    return Extension(name, [source], define_macros=stable, extra_compile_args=EXACT, py_limited_api=True)


def kernels() -> list[Extension]:
    """Return the modules of all files of kernels."""
    sources = sorted(Path("src").rglob("kernels*.pyx"))
    return [
        extension(".".join(source.relative_to("src").with_suffix("").parts), source.as_posix()) for source in sources
    ]


if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            [extension(SHARED, "src/textassay/_cyutility.c"), *kernels()],
            build_dir="build",
            include_path=["src"],
            nthreads=AT_ONCE if sys.platform == "linux" else 0,
            quiet=True,
            shared_utility_qualified_name=SHARED,
        ),
        options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": AT_ONCE}},
    )
