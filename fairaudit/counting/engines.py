"""`DEFAULT`: the engine that counts unless another one is named."""

from __future__ import annotations

from fairaudit.counting import polars_engine
from fairaudit.counting.contract import Engine

DEFAULT: Engine = polars_engine
"""The engine on Polars and Arrow."""
