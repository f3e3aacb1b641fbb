"""Which Python the hosts see."""

import sys
from pathlib import Path

import pytest

from clusterwright.errors import WrightError
from clusterwright.lab.environment import PythonEnvironment, link_environment, probe_environment


@pytest.mark.parametrize(
    ("prefix", "base", "real", "binds"),
    [
        ("/opt/venv", "/usr", "/usr/bin/python3.11", ("/opt/venv",)),
        ("/opt/venv", "/root/py/3.11", "/root/py/3.11/bin/python3.11", ("/opt/venv", "/root/py/3.11")),
        ("/opt/conda", "/opt/conda", "/opt/conda/bin/python3.12", ("/opt/conda",)),
    ],
)
def test_what_an_environment_stands_on_is_bound_with_it(prefix, base, real, binds):
    """Except the system's Python, which the image has itself."""
    assert PythonEnvironment(prefix, base, real, torch=True).binds() == binds


def test_our_own_environment_says_what_it_is():
    """Asked by running it."""
    found = probe_environment(sys.prefix)

    assert found.prefix == sys.prefix
    assert found.base == sys.base_prefix


def test_a_folder_without_python_is_refused(tmp_path):
    """Said before anything is made."""
    with pytest.raises(WrightError, match="lab-environment"):
        probe_environment(str(tmp_path))


def test_users_may_walk_to_the_environment(tmp_path):
    """Every folder on the way may be entered, root's own too, and the link leads there."""
    (tmp_path / "root").mkdir(mode=0o700)
    link_environment(
        tmp_path, PythonEnvironment("/root/a/venv", "/root/py/3.11", "/root/py/3.11/bin/python", torch=True)
    )

    assert (tmp_path / "root").stat().st_mode & 0o777 == 0o711
    assert (tmp_path / "root/a").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "opt/clusterwright/env").readlink() == Path("/root/a/venv")
