"""What all values share: they are frozen, strict about unknown fields, and their times are aware UTC."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import Self


class Value(BaseModel):
    """A frozen value. Unknown fields are an error: a misspelt field must never be dropped in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def but(self, **changes: Any) -> Self:
        """The same value but for some fields that are known to be good: ``model_copy`` in a third of its time.

        For thousands of values at once; else ``model_copy`` says the same.
        """
        made = object.__new__(type(self))
        put = object.__setattr__
        put(made, "__dict__", {**self.__dict__, **changes})
        put(made, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys())
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made


def _as_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone")
    return moment.astimezone(timezone.utc)


UtcTime = Annotated[datetime, AfterValidator(_as_utc)]

Param = Annotated[bool | int | float | str | None, Field(union_mode="smart")]
"""What a member of a group may be given."""


def from_epoch(seconds: float) -> datetime:
    """Seconds since 1970 as an aware UTC time."""
    return datetime.fromtimestamp(seconds, tz=timezone.utc)
