"""slurmctld's settings and partitions, as scontrol prints them."""

from clusterwright.slurm.settings import parse_partitions, parse_settings

CONFIG = """Configuration data as of 2026-11-27T15:53:14
AccountingStorageBackupHost = (null)
ClusterName             = lab
SlurmctldHost[0]        = ctl(10.1.0.2)
SchedulerParameters     = bf_max_job_test=100,batch_sched_delay=3
SLURM_CONF              = /etc/slurm/slurm.conf

Cgroup Support Configuration:
AllowedRAMSpace         = 100.0%

Slurmctld(primary) at ctl is UP
"""
PARTITION = (
    "PartitionName={name} AllowGroups=ALL Default={default} DefaultTime=NONE MaxNodes={most} MaxTime={time}"
    " Nodes=n[1-2] State={state} TotalCPUs=8 TotalNodes=2\n"
)


def test_settings_have_names_and_values():
    """An index is part of the name; what Slurm prints for nothing is empty; headings are no settings."""
    settings = parse_settings(CONFIG)
    assert settings["ClusterName"] == "lab"
    assert settings["SlurmctldHost[0]"] == "ctl(10.1.0.2)"
    assert settings["SchedulerParameters"] == "bf_max_job_test=100,batch_sched_delay=3"
    assert settings["AccountingStorageBackupHost"] == ""
    assert set(settings) >= {"AllowedRAMSpace", "SLURM_CONF"}
    assert not any("Configuration data" in name or "primary" in name for name in settings)


def test_partitions_have_limits_and_states():
    """No limit is None, and minutes alone are a time."""
    text = PARTITION.format(name="gpu", default="YES", most="2", time="1-00:00:00", state="UP")
    text += PARTITION.format(name="old", default="NO", most="UNLIMITED", time="UNLIMITED", state="DOWN")
    gpu, old = parse_partitions(text + "garbage\n")
    assert (gpu.name, gpu.is_default, gpu.is_up, gpu.max_time_s, gpu.max_nodes) == (
        "gpu",
        True,
        True,
        86400,
        2,
    )
    assert (old.name, old.is_default, old.is_up, old.max_time_s, old.max_nodes) == (
        "old",
        False,
        False,
        None,
        None,
    )
    assert parse_partitions("") == ()
