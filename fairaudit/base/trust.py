"""`--untrusted`: a spec that is not trusted can only read local files of the repository.

Each function that opens a file or an address checks it here. Without the option, a spec is trusted
like a script.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from fairaudit.base.errors import UsageError

OPTION = "--untrusted"

_PACKAGE = Path(__file__).resolve().parents[1]
_SHOWN = {".github"}
"""Names with a leading dot that may be read. Other such names may hold secrets: `.env`, `.git`."""

_root: ContextVar[Path | None] = ContextVar("root", default=None)


@contextmanager
def untrusted(*, is_on: bool = True) -> Iterator[None]:
    """Makes specs untrusted within a `with` block if `is_on`; a nested block changes nothing.

    The root is the repository that contains the current folder, or else the current folder. The
    parents of the path in `PWD` are searched first, so that a link inside a repository cannot move
    the root out of it.
    """
    if not is_on or _root.get() is not None:
        yield
        return
    root, here = Path(os.devnull), None
    with suppress(OSError):  # the current folder was deleted: no file is inside the root
        here = Path(os.path.realpath(Path.cwd()))
    if here is not None:
        shown = Path(os.environ.get("PWD", ""))
        is_here = shown.is_absolute() and os.path.realpath(shown) == str(here)
        ways = [shown, here] if is_here else [here]
        folders = (folder for way in ways for folder in (way, *way.parents))
        repository = next((folder for folder in folders if (folder / ".git").exists()), here)
        root = Path(os.path.realpath(repository))
    token = _root.set(root)
    try:
        yield
    finally:
        _root.reset(token)


def trust_in(root: Path | None) -> None:
    """Sets the root of this process to the root of its parent process."""
    _root.set(root)


def current_root() -> Path | None:
    """The folder whose files may be read; None if specs are trusted."""
    return _root.get()


def refuse(name: str, what: str) -> None:
    """Raises `UsageError` if specs are untrusted, for data that they must not read."""
    if _root.get() is not None:
        hint = f"use files of the repository; leave out {OPTION} only if you trust the spec"
        raise UsageError(f"{name}: {OPTION} refuses {what}", hint)


def refuse_path(path: Path) -> None:
    """Raises `OSError` if specs are untrusted and a path is outside the root, or hidden.

    Links and `..` are resolved first. The profiles of this package are always allowed.
    """
    root = _root.get()
    if root is None:
        return
    real = Path(os.path.realpath(path))
    if real.is_relative_to(_PACKAGE):
        return
    if not real.is_relative_to(root):
        raise OSError(errno.EPERM, f"{OPTION} reads only files inside {root}")
    hidden = [name for name in real.relative_to(root).parts if name.startswith(".")]
    if {*hidden} - _SHOWN:
        raise OSError(errno.EPERM, f"{OPTION} does not read hidden files or folders ({hidden[0]})")


def refuse_output(path: Path) -> None:
    """Raises `OSError` if specs are untrusted and a link would write a report outside the root.

    The author of the spec may have committed the link. A path outside the root is allowed if the
    command line names it.
    """
    root = _root.get()
    if root is None:
        return
    here = Path(os.path.realpath(Path.cwd()))
    named, real = Path(os.path.normpath(here / path)), Path(os.path.realpath(path))
    is_led_out = not path.is_absolute() and not here.is_relative_to(root)
    if is_led_out or (named.is_relative_to(root) and real != named):
        inner = real.relative_to(root).parts if real.is_relative_to(root) else ("..",)
        if any(name.startswith(".") for name in inner):
            raise OSError(errno.EPERM, f"{OPTION} does not follow a link to {real}")
