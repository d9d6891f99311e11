"""Compile the kernels; everything else about the package stands in pyproject.toml.

Each ``kernels.pyx`` becomes a module beside it, of Python's stable interface: one wheel a platform serves every version
of Python. No flag lets the compiler reorder sums or fuse operations, so that numbers are the same on every machine.
"""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = sorted(Path("src").rglob("kernels*.pyx"))
EXACT = ["-O3", "-g0", "-ffp-contract=off"]

setup(
    ext_modules=cythonize(
        [
            Extension(
                ".".join(source.relative_to("src").with_suffix("").parts),
                [str(source)],
                define_macros=[("Py_LIMITED_API", "0x030B0000")],
                extra_compile_args=EXACT,
                py_limited_api=True,
            )
            for source in SOURCES
        ],
        build_dir="build",
        nthreads=2,
        include_path=["src"],
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": 2}},
)
