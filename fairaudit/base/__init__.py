"""Errors, names, records, arrays, inputs, memory and processes; the version of the tool."""

from __future__ import annotations

__version__ = "0.1.0"
"""The version of fairaudit; the build reads it from here."""
