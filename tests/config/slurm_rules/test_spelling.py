"""Misspelled words of slurm.conf: the fix is the word that is meant, and a site's own plugin is accepted."""

import pytest

from clusterwright.config.slurm_rules import Source, check, parse_conf


def fixes_of(text, code):
    """Return the fixes of a rule about a slurm.conf."""
    sources = [Source("slurm.conf", "slurm.conf", text)]
    return [finding.fix for finding in check(parse_conf(sources, "25.11")) if finding.code == code]


@pytest.mark.parametrize(
    ("word", "limit"), [("INFINTE", "INFINITE"), ("unlimted", "UNLIMITED"), ("3d", "3-00:00:00")]
)
def test_a_misspelled_limit_is_not_capped_at_a_day(word, limit):
    """One day was proposed for INFINITE."""
    fixes = fixes_of(f"PartitionName=p Nodes=n1 MaxTime={word}", "time-invalid")
    assert fixes == [f"PartitionName=p MaxTime={limit}"]


@pytest.mark.parametrize(
    "line", ["SchedulerType=sched/wiki", "TaskPlugin=task/cgroup,affinity", "JobCompType=ours/x"]
)
def test_other_plugins_are_accepted(line):
    """A site's own, and the short form."""
    assert fixes_of(line, "plugin-misspelled") == []


def test_one_plugin_of_a_list_is_corrected():
    """The others stay."""
    assert fixes_of("TaskPlugin=task/cgrup,task/affinity", "plugin-misspelled") == [
        "TaskPlugin=task/cgroup,task/affinity"
    ]
