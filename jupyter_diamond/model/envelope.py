"""What a task needs, as ranges, and one concrete size inside them."""

from __future__ import annotations

from pydantic import Field, model_validator

from .base import Value


class Span(Value):
    """From the least viable to the most useful amount, both ends included."""

    min: int = Field(ge=0)
    max: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if self.min > self.max:
            raise ValueError(f"the range {self.min}-{self.max} runs backwards")
        return self

    @classmethod
    def exactly(cls, amount: int) -> Span:
        """A range of one amount."""
        return cls(min=amount, max=amount)


class Envelope(Value):
    """[least viable, most useful] per resource, and where the user pinned it.

    ``cpus`` and ``gpus`` are per node; ``memory_bytes`` is per node, None when the site's default will do.
    ``gpu_model`` names the kinds of GPU that will do, ``a100|h100``; ``gpu_memory_bytes`` is the least of one GPU.
    """

    nodes: Span = Span.exactly(1)
    cpus: Span = Span.exactly(1)
    gpus: Span = Span.exactly(0)
    memory_bytes: Span | None = None
    walltime_s: Span = Span.exactly(30 * 60)
    arch: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]{1,15}$")
    gpu_model: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]*(\|[A-Za-z0-9][A-Za-z0-9 _.-]*)*$"
    )
    gpu_memory_bytes: int | None = Field(default=None, ge=1)
    site: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None

    @model_validator(mode="after")
    def _useful(self) -> Envelope:
        for name in ("nodes", "cpus", "walltime_s"):
            if getattr(self, name).min < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.memory_bytes is not None and self.memory_bytes.min < 1:
            raise ValueError("memory_bytes must be at least 1")
        for name in ("gpu_model", "gpu_memory_bytes"):
            if getattr(self, name) is not None and self.gpus.min < 1:
                raise ValueError(f"{name} needs a GPU: write --gpus 1")
        if self.partition is not None and self.site is None:
            raise ValueError("a partition needs its site: write --site SITE:PARTITION")
        return self


class Size(Value):
    """One concrete allocation: what is asked of the scheduler. ``cpus``, ``gpus`` and ``memory_bytes`` are per node."""

    nodes: int = Field(default=1, ge=1)
    cpus: int = Field(default=1, ge=1)
    gpus: int = Field(default=0, ge=0)
    gpu_type: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """The scheduler's own name of the kind of GPU; set only where a partition mixes kinds."""
    memory_bytes: int | None = Field(default=None, ge=1)
    walltime_s: int = Field(ge=1)
