"""The lab that a command means, where several exist."""

import pytest

from clusterwright.cli.lab import shell, status
from clusterwright.errors import WrightError
from clusterwright.lab import state


@pytest.mark.parametrize(
    ("call", "fix"),
    [(lambda: shell("gpu-node1"), "name the lab: --name first"), (status, "name the lab: first")],
)
def test_the_fix_names_a_lab_as_the_command_takes_it(call, fix, tmp_path, monkeypatch):
    """An option of `shell`, whose arguments are a host and a command; an argument of the others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(state, "labs", lambda: ["first", "second"])
    with pytest.raises(WrightError, match="several labs exist: first, second") as raised:
        call()

    assert raised.value.findings[0].fix == fix
