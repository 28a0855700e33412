"""Suppressing small counts: no cell of a published report can be worked out from the others."""

from __future__ import annotations

from fairaudit.suppress.report import Data, suppress

__all__ = ["Data", "suppress"]
