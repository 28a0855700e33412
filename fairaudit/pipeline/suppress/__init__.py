"""Suppression of small counts in published reports (`suppress_below`)."""

from __future__ import annotations

from fairaudit.pipeline.suppress.publication import SuppressionSource, suppress

__all__ = ["SuppressionSource", "suppress"]
