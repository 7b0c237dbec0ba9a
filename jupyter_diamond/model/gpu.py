"""What is documented of kinds of GPU: how much memory one has."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from .base import Value
from .machine import Fact, GpuClass, Source


def _listed(given: object) -> object:
    return [given] if isinstance(given, str) else given


class GpuModel(Fact):
    """One model with the sizes of memory that it is sold with. It is known by the words of its name, in any order."""

    name: str = Field(pattern=r"^[a-z0-9]+( [a-z0-9]+)*$")
    memory: Annotated[tuple[GpuClass, ...], BeforeValidator(_listed), Field(min_length=1)]
    names_host_memory: bool = False
    """The number in its full name is the memory of the processor beside it: a *GH200 480GB* has 96 or 141 GB itself."""


class GpuTable(Value):
    """All models that are documented, and where."""

    sources: dict[str, Source]
    gpus: tuple[GpuModel, ...]

    @model_validator(mode="after")
    def _sources_exist(self) -> GpuTable:
        for gpu in self.gpus:
            for name in gpu.source:
                if name not in self.sources:
                    raise ValueError(f"{gpu.name} names the source {name!r}, which is not there")
        return self
