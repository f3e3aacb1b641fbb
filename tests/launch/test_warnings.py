"""What `scontrol show config` of several releases says, and which of it a training is warned of.

Recorded on 2026-11-21: a slurmctld with nothing set but proctrack/linuxproc (defaults-*), as guides begin, and a lab
as `wright apply` makes it (ours-*).
"""

from pathlib import Path

import pytest

from clusterwright.launch.warnings import warnings

RECORDED = Path(__file__).parent / "slurm_config"
RELEASES = ["22.05.8", "24.11.5", "26.05.5"]


def warned(text):
    """The settings that are warned of."""
    return [one.setting for one in warnings(text)]


def recorded(name):
    """One recorded output."""
    return (RECORDED / f"{name}.txt").read_text()


@pytest.mark.parametrize("release", RELEASES)
def test_slurms_defaults_are_warned_of_in_every_release(release):
    """Each with its figure, in the order of what they cost."""
    found = warnings(recorded(f"defaults-{release}"))

    assert [one.setting for one in found] == [
        "SlurmdTimeout", "ProctrackType", "HealthCheckInterval", "ReturnToService", "AuthInfo cred_expire",
    ]  # fmt: skip
    assert "300 s" in found[0].costs
    assert "121 s" in found[-1].costs


def test_what_apply_renders_is_not_warned_of():
    """The lab's own settings are the fix."""
    assert warnings(recorded("ours-22.05.8")) == ()


def test_a_slurm_that_says_nothing_is_said_to_be_silent():
    """Not seen is not well."""
    assert warned("") == ["scontrol show config"]
    assert warned("slurm_load_ctl_conf error: Unable to contact slurm controller\n") == [
        "scontrol show config"
    ]


@pytest.mark.parametrize(
    ("line", "setting", "words"),
    [
        ("SlurmdTimeout = 0 sec", "SlurmdTimeout", "never"),
        ("SlurmdTimeout = 121 sec", "SlurmdTimeout", "121 s"),
        ("KillWait = 5 sec", "KillWait", "5 s to save"),
        ("ProctrackType = proctrack/pgid", "ProctrackType", "GPUs"),
        ("HealthCheckInterval = 0 sec", "HealthCheckInterval", "not checked"),
        (
            "HealthCheckInterval = 300 sec\nHealthCheckProgram = (null)",
            "HealthCheckInterval",
            "successor",
        ),
        ("ReturnToService = 0", "ReturnToService", "stays down"),
        ("SchedulerParameters = defer,sched_interval=90", "SchedulerParameters", "90 s"),
        ("SchedulerParameters = bf_continue,defer", "SchedulerParameters", "60 s"),
        ("PreemptMode = GANG,SUSPEND", "PreemptMode", "restart the ranks"),
        ("AuthInfo = (null)", "AuthInfo cred_expire", "121 s"),
        ("AuthInfo = cred_expire=300", "AuthInfo cred_expire", "301 s"),
    ],
)
def test_each_setting_that_hurts_is_named_with_its_cost(line, setting, words):
    """One setting changed in a configuration that has nothing to warn of."""
    name = line.split(" ", 1)[0]
    kept = [had for had in recorded("ours-22.05.8").splitlines() if had.split(" ", 1)[0] != name]
    (found,) = warnings("\n".join([*kept, *line.splitlines()]))

    assert found.setting == setting
    assert words in found.costs
    assert "fix: " in str(found)


@pytest.mark.parametrize(
    "line",
    [
        "SlurmdTimeout = 120 sec",
        "KillWait = 30 sec",
        "AuthInfo = socket=/run/m,cred_expire=60",
        "ReturnToService = 1",
        "PreemptMode = CANCEL",
        "SchedulerParameters = defer_batch,bf_continue",
    ],
)
def test_what_is_well_is_not_warned_of(line):
    """Values at the edge, and words that only look alike."""
    name = line.split(" ", 1)[0]
    kept = [had for had in recorded("ours-22.05.8").splitlines() if had.split(" ", 1)[0] != name]

    assert warned("\n".join([*kept, line])) == []
