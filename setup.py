"""Builds the native kernel where there is a compiler; without one the install succeeds, too.

Everything else of the build stands in pyproject.toml.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNEL = Path("fairaudit", "kernel")

STABLE_ABI = "0x030B0000"
"""One build serves Python 3.11 and all that come after it."""


class BuildKernel(build_ext):
    """The extension by C11, optimised, whichever compiler there is."""

    def build_extensions(self) -> None:
        """Builds the kernel; `optional` makes of a failure a warning."""
        is_microsoft = self.compiler.compiler_type == "msvc"
        for extension in self.extensions:
            extension.extra_compile_args = (
                ["/std:c11", "/O2"]
                if is_microsoft
                else ["-std=c11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"]
            )
        super().build_extensions()


setup(
    ext_modules=[
        Extension(
            "fairaudit._kernel",
            sources=sorted(map(str, KERNEL.glob("*.c"))),
            depends=sorted(map(str, KERNEL.glob("*.h"))),
            define_macros=[("Py_LIMITED_API", STABLE_ABI)],
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
