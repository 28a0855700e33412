"""Suppressing small counts: no cell of a published report can be worked out from the others."""

from __future__ import annotations

from fairaudit.suppress.publication import Data, suppress
from fairaudit.suppress.scores import Cuts

__all__ = ["Cuts", "Data", "suppress"]
