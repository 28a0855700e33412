"""scikit-learn on one thread: sums in one order, and no threads that wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager

from fairaudit.errors import UsageError


def one_thread() -> AbstractContextManager[object]:
    """A context in which scikit-learn uses one thread; raises `UsageError` where it is missing."""
    try:
        import sklearn  # noqa: F401  # what the context is for
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        what = "this needs scikit-learn, which is not installed"
        raise UsageError(what, "pip install 'fairaudit-cli[rows]'") from error
    return threadpool_limits(1)  # type: ignore[no-any-return]
