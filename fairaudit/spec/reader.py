"""`Reader`: how pydantic reads a value of a spec, and what the JSON Schema says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic_core import CoreSchema, core_schema

MakeSchema: TypeAlias = Callable[[], CoreSchema]


class Reader:
    """What reads a value, what is checked of it then, and its JSON Schema.

    It does what `BeforeValidator` and `WithJsonSchema` do for a value whose types are known here:
    pydantic finds them out, and how the function is called, at each of a hundred fields anew.
    """

    def __init__(
        self,
        read: Callable[[object], object],
        described: dict[str, Any],
        check: MakeSchema = core_schema.any_schema,
    ) -> None:
        self.read, self.described, self.check = read, described, check

    def make(self) -> CoreSchema:
        """What pydantic does with a value; a new one, as pydantic adds to it."""
        return core_schema.no_info_before_validator_function(self.read, self.check())

    def __get_pydantic_core_schema__(self, _type: object, _handler: object) -> CoreSchema:
        return self.make()

    def __get_pydantic_json_schema__(self, _schema: object, _handler: object) -> dict[str, Any]:
        return {**self.described}


def list_of(make: MakeSchema) -> MakeSchema:
    """What pydantic does with a list of such values."""
    return lambda: core_schema.list_schema(make())
