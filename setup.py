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


def extension(source: Path) -> Extension:
    """Return the module of a file of kernels."""
    name = ".".join(source.relative_to("src").with_suffix("").parts)
    stable = [("Py_LIMITED_API", "0x030B0000")]
    return Extension(name, [source.as_posix()], define_macros=stable, extra_compile_args=EXACT, py_limited_api=True)


if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            [extension(source) for source in sorted(Path("src").rglob("kernels*.pyx"))],
            build_dir="build",
            include_path=["src"],
            nthreads=AT_ONCE if sys.platform == "linux" else 0,
            quiet=True,
        ),
        options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": AT_ONCE}},
    )
