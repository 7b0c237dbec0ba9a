"""What a person reads of a site's environments."""

from datetime import datetime, timezone

import pytest

from jupyter_diamond.cli.site_env import environment_lines
from jupyter_diamond.model.environment import BuiltEnvironment, NamedEnvironment, SiteEnvironments


def built(state, **fields):
    return BuiltEnvironment(
        site="delta", digest="0123456789ab", state=state, prefix="/w/envs/0123", changed_at=datetime.now(timezone.utc),
        **fields,
    )  # fmt: skip


def test_environments_are_named_as_the_option_names_them():
    found = SiteEnvironments(
        site="delta", builds=True,
        named=(
            NamedEnvironment(name="torch", runs="/sw/torch/bin/python", note="CUDA 12"),
            NamedEnvironment(name="plain", runs="apptainer: /sw/plain.sif"),
        ),
    )  # fmt: skip
    assert environment_lines(found) == [
        ("--env torch", "/sw/torch/bin/python  (CUDA 12)"),
        ("--env plain", "apptainer: /sw/plain.sif"),
        ("other environments", "may be built from requirements with --env FILE"),
    ]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (built("ready", python_version="3.11.7", packages={"b": "2", "a": "1"}), "Python 3.11.7, 2 packages: a, b"),
        (built("building"), "is being built"),
        (built("failed", problem="No such package."), "failed: No such package."),
    ],
)
def test_what_was_built_says_how_it_stands(one, said):
    assert environment_lines(SiteEnvironments(site="delta", builds=True, built=(one,)))[0] == ("built 01234567", said)


def test_a_site_without_any_says_whether_one_can_be_made():
    assert environment_lines(SiteEnvironments(site="delta", builds=False)) == [("environments", "none is built there")]
