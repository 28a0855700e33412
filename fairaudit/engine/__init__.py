"""Engines, which read data and count it; `DEFAULT` is the one on Polars and Arrow.

To add an engine, write a module or a class with the methods of `Engine` (`contract.py`), and choose
it here. Polars lives in this package and nowhere else; it is imported where its route runs.
"""

from __future__ import annotations

from fairaudit.engine import polars_engine
from fairaudit.engine.contract import CountsOrError, Data, Engine
from fairaudit.engine.dialects import Database, name_entry
from fairaudit.engine.files import Files, find_files, name_files
from fairaudit.engine.sources import Frame

__all__ = [
    "DEFAULT",
    "CountsOrError",
    "Data",
    "Database",
    "Engine",
    "Files",
    "Frame",
    "find_files",
    "name_entry",
    "name_files",
]

DEFAULT: Engine = polars_engine
"""The engine that counts where no other is asked for."""
