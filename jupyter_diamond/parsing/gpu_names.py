"""What the name of a GPU tells: the memory that vendors and Slurm's own detection put into it.

``a100_1g.5gb``, ``1g.10gb+me`` and ``nvidia_a100_80gb_pcie`` do; ``a100`` does not.
"""

from __future__ import annotations

import re

_SLICE = re.compile(r"(?<![a-z0-9])[1-9][0-9]?g\.([0-9]{1,4})gb(?![a-z0-9])", re.IGNORECASE)
_NAMED = re.compile(r"(?<![a-z0-9.])([0-9]{1,4})gb?(?![a-z0-9.])", re.IGNORECASE)


def slice_bytes(name: str) -> int | None:
    """Memory of a MIG slice by its profile's name; None when the name is none."""
    found = _SLICE.search(name.replace("_", "-"))
    return int(found.group(1)) << 30 if found else None


def named_bytes(name: str) -> int | None:
    """Memory that the name gives in gigabytes (nominal ones: 2^30 bytes); None when it gives none."""
    sizes = {int(number) for number in _NAMED.findall(name.replace("_", "-"))}
    return sizes.pop() << 30 if len(sizes) == 1 and 0 not in sizes else None
