"""Suppression of small counts in published reports (`suppress_below`)."""

from __future__ import annotations

from fairaudit.suppress.publication import Data, suppress

__all__ = ["Data", "suppress"]
