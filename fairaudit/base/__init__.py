"""Errors, names, records, arrays, inputs, memory and processes; the version of the tool."""

from __future__ import annotations

__version__ = "0.1.0"
"""The only place of the version: the build reads it here, too."""
