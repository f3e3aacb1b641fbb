"""Units: what is done to one, from its state and from what has changed."""

import pytest

from clusterwright.onhost.provision.units import plan_unit, replaced

RUNNING = {"ActiveState": "active", "UnitFileState": "enabled"}


def unit(**other):
    """slurmd, which reads one file."""
    return {"name": "slurmd.service", "restart_on": ["file:/etc/slurm/slurm.conf"], "reload": False} | other


def test_a_running_unit_is_left_alone():
    """Also when something else has changed."""
    assert plan_unit(unit(), RUNNING, {"file:/etc/hosts"}, set()) is None


@pytest.mark.parametrize(
    ("state", "what", "cost"),
    [
        (RUNNING, "restart for file:/etc/slurm/slurm.conf", "restart"),
        ({"ActiveState": "failed", "UnitFileState": "enabled"}, "start", "live"),
        ({"ActiveState": "inactive", "UnitFileState": "disabled"}, "enable, start", "live"),
        (
            {"ActiveState": "active", "UnitFileState": "disabled"},
            "enable, restart for file:/etc/slurm/slurm.conf",
            "restart",
        ),
        ({"ActiveState": "inactive", "UnitFileState": "static"}, "start", "live"),
        ({}, "enable, start", "live"),
    ],
)
def test_a_changed_input_restarts_what_runs_and_starts_what_does_not(state, what, cost):
    """A start disturbs no job; a restart may."""
    change = plan_unit(unit(), state, {"file:/etc/slurm/slurm.conf"}, set())

    assert (change["summary"], change["cost"]) == (what, cost)


def test_a_gentle_change_is_a_reload_and_another_beside_it_a_restart():
    """Slurm reads a new time limit by itself; a new port needs a new daemon."""
    name = "file:/etc/slurm/slurm.conf"
    gentle = plan_unit(unit(), RUNNING, {name}, {name})
    both = plan_unit(unit() | {"restart_on": [name, "file:/x"]}, RUNNING, {name, "file:/x"}, {name})

    assert (gentle["summary"], gentle["cost"]) == (f"reload for {name}", "reconfigure")
    assert both["cost"] == "restart"


def test_what_can_be_reloaded_is_not_restarted():
    """Sshd and the firewall: no connection is lost."""
    change = plan_unit(unit(reload=True), RUNNING, {"file:/etc/slurm/slurm.conf"}, set())

    assert (change["summary"], change["cost"]) == ("reload for file:/etc/slurm/slurm.conf", "live")


def test_a_unit_takes_the_place_of_another_only_where_that_one_is():
    """One that is not installed, or off, is not touched and not named."""
    states = {
        "a.service": RUNNING | {"LoadState": "loaded"},
        "b.service": {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""},
        "c.service": {"LoadState": "loaded", "ActiveState": "inactive", "UnitFileState": "disabled"},
    }
    others = replaced(unit(replaces=list(states)), states)
    change = plan_unit(unit(), RUNNING, set(), set(), others)

    assert others == ["a.service"]
    assert (change["summary"], change["replaces"], change["cost"]) == (
        "in place of a.service",
        ["a.service"],
        "live",
    )
