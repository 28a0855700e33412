"""Suppression of small counts in published reports (`suppress_below`)."""

from __future__ import annotations

from fairaudit.suppress.publication import SuppressionSource, suppress
from fairaudit.suppress.scores import Cuts

__all__ = ["Cuts", "SuppressionSource", "suppress"]
