"""The linter: what a release would die of is named with its line."""

import pytest

from clusterwright.config.slurm_keys.lint import lint


def said(text, file="slurm.conf", of="22.05"):
    """(line, key, fatal) of each finding."""
    return [(finding.line, finding.key, finding.fatal) for finding in lint(text, file, of)]


@pytest.mark.parametrize(
    ("text", "of", "expected"),
    [
        ("PrologTimeout=60", "22.05", [(1, "PrologTimeout", True)]),
        ("PrologTimeout=60", "25.05", []),
        ("prologtimeout = 60", "25.05", []),
        ("AccountingStorageUser=x", "25.05", []),
        ("AccountingStorageUser=x", "25.11", [(1, "AccountingStorageUser", False)]),
        ("AccountingStorageLoc=x", "25.11", [(1, "AccountingStorageLoc", True)]),
        ("# PrologTimeout=60\n\nKillWait=3 # PrologTimeout=60", "22.05", []),
        ("NodeName=a Parameters=x", "22.05", [(1, "Parameters", True)]),
        ("NodeName=a CPUs=2 \\\n  Parameters=x", "22.05", [(1, "Parameters", True)]),
        ("KillWait=3 PrologTimeout=60", "22.05", [(1, "PrologTimeout", True)]),
        ("SelectType=select/cons_res", "23.11", [(1, "select/cons_res", True)]),
        ("SelectType=cons_res", "23.11", [(1, "select/cons_res", True)]),
        ("TaskPlugin=task/cgroup,task/affinity", "26.05", []),
        ("SlurmctldParameters=rl_enable,rl_bucket_size=50", "22.05", [(1, "rl_enable", True)]),
        ('Prolog="/opt/a b=c"', "22.05", []),
        ("Include /etc/slurm/more.conf", "22.05", []),
        ("nonsense", "22.05", [(1, "nonsense", True)]),
    ],
)
def test_slurm_conf(text, of, expected):
    """Keys, keys of lines, words of lists, comments, continued lines, and what is only complained of."""
    assert said(text, of=of) == expected


def test_a_misspelt_key_is_guessed():
    """Among those that this release takes."""
    (finding,) = lint("BatchStartTimeot=60", "slurm.conf", "22.05")

    assert "did you mean BatchStartTimeout?" in finding.message
    assert str(finding).startswith("line 1: BatchStartTimeot: no release of Slurm has this key")


def test_what_went_says_what_took_its_place():
    """D2: CgroupAutomount is logged as an error at each start since 23.11."""
    (finding,) = lint("CgroupAutomount=yes", "cgroup.conf", "23.11")

    assert not finding.fatal
    assert "no effect since Slurm 23.11" in finding.message
    assert "; remove this key" in finding.message


@pytest.mark.parametrize(
    ("file", "text", "of", "expected"),
    [
        ("gres.conf", "NodeName=a Name=gpu File=/dev/nvidia0 Cores=0-3 Links=-1", "21.08", []),
        ("gres.conf", "AutoDetect=nvidia", "22.05", [(1, "nvidia", True)]),
        ("gres.conf", "Name=gpu Fille=/dev/nvidia0", "22.05", [(1, "Fille", True)]),
        ("topology.conf", "SwitchName=a Nodes=b", "21.08", []),
        ("topology.conf", "BlockName=a Nodes=b\nBlockSizes=2", "23.11", [(2, "BlockSizes", True)]),
        ("slurmdbd.conf", "DbdHost=control\nStoragePassScript=/x", "24.05", [(2, "StoragePassScript", True)]),
        ("oci.conf", 'RunTimeRun="crun run"\nEnvExclude=x', "22.05", [(2, "EnvExclude", True)]),
        ("oci.conf", 'RunTimeRun="crun run"\nEnvExclude=x', "23.02", []),
        ("plugstack.conf", "required /usr/lib/x.so", "22.05", []),
    ],
)
def test_the_other_files(file, text, of, expected):
    """Each with its own keys; a file without a table says nothing."""
    assert said(text, file, of) == expected
