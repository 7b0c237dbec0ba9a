"""The words that run a command inside a container: one set for each runtime that sites have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jupyter_diamond.model.environment import Container
from jupyter_diamond.parsing.quoting import quote

PYTHON = "python3"
"""The interpreter inside, where none is named."""
_PASSED = r"s/^\(\(DIAMOND\|SLURM\|CUDA\|NVIDIA\|ROCR\|HIP\|OMP\)_[A-Za-z0-9_]*\)=.*/-e \1/p"


def wrapped(container: Container, *, folders: Iterable[str] = (), names: Iterable[str] = (), gpus: bool = False) -> str:
    """Shell text in front of a command, which then runs inside, in the folder where this shell is.

    ``folders`` are absolute paths of the site that are seen inside under the same path; ``names`` of variables that
    are set outside and shall be inside, too, where a runtime does not pass them by itself.
    """
    return _HOW[container.runtime](container, tuple(dict.fromkeys(folders)), tuple(names), gpus)


def image_file(container: Container) -> str | None:
    """The image's path, where it is a file of the site."""
    return container.image if container.image.startswith("/") else None


def _apptainer(container: Container, folders: tuple[str, ...], _names: tuple[str, ...], gpus: bool) -> str:
    binds = [f"--bind {quote(each)}" for each in (*folders, *container.binds)]
    # --pwd, not --cwd: the older name is known to every version
    return " ".join([container.runtime, "exec", *(["--nv"] if gpus else []), *binds, '--pwd "$PWD"', _image(container)])


def _shifter(container: Container, _folders: tuple[str, ...], _names: tuple[str, ...], gpus: bool) -> str:
    # a site's own file systems are seen inside by themselves, and shifter refuses to be told of them
    volumes = [f"--volume={quote(_pair(each))}" for each in container.binds]
    module = ["--module=gpu"] if gpus else []
    return " ".join(["shifter", f"--image={_image(container)}", *module, *volumes, '--workdir="$PWD"'])


def _podman(container: Container, folders: tuple[str, ...], names: tuple[str, ...], gpus: bool) -> str:
    volumes = [f"-v {quote(_pair(each))}" for each in (*folders, *container.binds)]
    passed = [f"$(env | sed -n {quote(_PASSED)})", *(f"-e {name}" for name in names)]
    gpu = ["--gpu"] if gpus else []
    return " ".join([
        container.runtime, "run", "--rm", "--network=host", *gpu, *volumes, *passed, '-w "$PWD"', "--entrypoint=",
        _image(container),
    ])  # fmt: skip


def _image(container: Container) -> str:
    return quote(container.image, "the image")


def _pair(bind: str) -> str:
    """Of ``/scratch`` and ``/scratch:/data``, both names."""
    return bind if ":" in bind else f"{bind}:{bind}"


_How = Callable[[Container, tuple[str, ...], tuple[str, ...], bool], str]
_HOW: dict[str, _How] = {
    "apptainer": _apptainer, "singularity": _apptainer, "shifter": _shifter, "podman-hpc": _podman,
}  # fmt: skip
