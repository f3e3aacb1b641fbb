"""`wright lint FILE --slurm VERSION`."""

import json

import pytest

from clusterwright.cli.lint import lint
from clusterwright.errors import SpecError, WrightError


@pytest.fixture
def old(tmp_path):
    """A slurm.conf as sites carry it along for years."""
    file = tmp_path / "slurm.conf"
    file.write_text("ClusterName=a\nSelectType=select/cons_res\nSlurmctldPlugstack=x\n")
    return file


def test_what_a_release_would_die_of_is_named_with_its_line(old, capsys):
    """Exit code 5: faults found."""
    assert lint(old, slurm="25.11") == 5

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{old}:2: select/cons_res: Slurm removed it after 23.02")
    assert lines[1].startswith(f"{old}:3: SlurmctldPlugstack: Slurm removed it after 22.05")


def test_the_release_of_its_time_takes_it(old, capsys):
    """Nothing on stdout, and exit code 0."""
    assert lint(old, slurm="22.05.8") == 0
    assert capsys.readouterr().out == ""


def test_the_findings_as_json(old, capsys):
    """Line, key, what, and whether the daemons would end."""
    assert lint(old, slurm="25.11", json=True) == 5

    document = json.loads(capsys.readouterr().out)
    assert [(row["line"], row["key"], row["fatal"]) for row in document["findings"]] == [
        (2, "select/cons_res", True),
        (3, "SlurmctldPlugstack", True),
    ]


@pytest.mark.parametrize(
    ("name", "slurm", "message", "fix"),
    [
        (
            "plugstack.conf",
            "25.11",
            "plugstack.conf has none of the names of Slurm's files",
            "name one of slurm.conf",
        ),
        ("site.yaml", "25.11", "site.yaml has none of the names of Slurm's files", "wright validate "),
        (
            "slurm.conf",
            "24.08",
            "`24.08` is not a release of Slurm that is known here",
            "choose one of 19.05, 20.02",
        ),
        (
            "slurm.conf",
            "9.99",
            "`9.99` is not a release of Slurm that is known here",
            "choose one of 19.05, 20.02",
        ),
        (".", "25.11", "has no file of Slurm", "slurm.conf, such as /etc/slurm"),
    ],
)
def test_what_there_is_no_table_for_is_refused(tmp_path, name, slurm, message, fix):
    """Another file, a release that never was, a folder without Slurm's files."""
    if name != ".":
        (tmp_path / name).write_text("")

    with pytest.raises(WrightError) as refused:
        lint(tmp_path / name, slurm=slurm)
    assert message in refused.value.findings[0].message
    assert fix in refused.value.findings[0].fix


def test_a_file_and_a_release_that_do_not_exist_are_two_findings(tmp_path):
    """Not one now and the other in the next run."""
    with pytest.raises(SpecError) as refused:
        lint(tmp_path / "slurm.conf", tmp_path / "notes.txt", slurm="23.12")

    assert [finding.code for finding in refused.value.findings] == [
        "lint-unknown",
        "file-unreadable",
        "file-unreadable",
    ]


def test_a_misspelled_kind_of_line_is_one_finding(tmp_path, capsys):
    """Its other keys belong to the kind that was meant."""
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nPartitonName=a Nodes=b\n")

    lint(tmp_path / "slurm.conf")

    assert "did you mean PartitionName?" in (out := capsys.readouterr().out)
    assert "Nodes:" not in out


def test_a_file_that_is_not_there_is_told(tmp_path):
    """As for a cluster file."""
    with pytest.raises(SpecError, match="No such file"):
        lint(tmp_path / "slurm.conf", slurm="25.11")


@pytest.fixture
def site(tmp_path):
    """A folder of a site: slurm.conf includes its nodes, and gres.conf has half of their GPUs."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=a\nSlurmctldHost=head(10.0.0.1)\nSlurmUser=slurm\nReturnToService=2\nGresTypes=gpu\n"
        "TaskPlugin=task/cgroup\nProlog=/opt/prolog\nInclude nodes.conf\n"
        "PartitionName=p Nodes=n[1-2] Default=YES MaxTime=60\n"
    )
    (tmp_path / "nodes.conf").write_text("NodeName=n[1-2] CPUs=8 Gres=gpu:8\n")
    (tmp_path / "gres.conf").write_text("NodeName=n[1-2] Name=gpu File=/dev/nvidia[0-3]\n")
    (tmp_path / "cgroup.conf").write_text("ConstrainCores=yes\nConstrainDevices=yes\n")
    return tmp_path


def test_a_folder_is_read_with_what_it_includes(site, capsys):
    """The finding names the file and line, and the next line is the right one; the newest release is assumed."""
    assert lint(site) == 5

    output = capsys.readouterr()
    assert output.out.splitlines() == [
        f"{site}/gres.conf:1: error[gres-count-differs]: n1 has 4 gpu in gres.conf, but 8 in slurm.conf",
        "  fix: NodeName=n[1-2] Gres=gpu:4",
    ]
    assert "the newest known" in output.err


def test_several_files_are_read_together(site, capsys):
    """As the folder, but only the files that are named."""
    assert lint(site / "slurm.conf", site / "gres.conf", slurm="25.11", json=True) == 5

    document = json.loads(capsys.readouterr().out)
    assert [(row["code"], row["severity"], row["line"]) for row in document["findings"]] == [
        ("gres-count-differs", "error", 1)
    ]
    assert document["findings"][0]["source"] == "gres.conf(5), File"


def test_notes_alone_are_no_faults(tmp_path, capsys):
    """Exit code 0, and the note is printed."""
    (tmp_path / "slurm.conf").write_text("SlurmdTimeout=0\n")

    assert lint(tmp_path / "slurm.conf", slurm="25.11") == 0
    assert "note[slurmd-timeout-off]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "expected"), [(None, "program-missing"), (0o644, "program-not-executable"), (0o755, "")]
)
def test_programs_are_searched_below_the_root(site, tmp_path_factory, capsys, mode, expected):
    """A prolog that is missing or not executable in the file system of a host."""
    root = tmp_path_factory.mktemp("root")
    if mode:
        (root / "opt").mkdir()
        (root / "opt" / "prolog").write_text("#!/bin/sh\n")
        (root / "opt" / "prolog").chmod(mode)
    lint(site, slurm="25.11", root=root, json=True)

    codes = {row["code"] for row in json.loads(capsys.readouterr().out)["findings"]}
    assert codes == {"gres-count-differs", expected} - {""}


def test_programs_of_other_hosts_are_not_searched_here(site, capsys):
    """This machine is none of the hosts, so /opt/prolog need not be on it."""
    lint(site, slurm="25.11")

    assert "prolog" not in capsys.readouterr().out


@pytest.mark.parametrize(("host", "expected"), [("head(127.0.0.1)", 0), ("a..b", 5)])
def test_names_of_controllers_are_resolved(tmp_path, capsys, host, expected):
    """An address resolves without a name service; a name with an empty label is none."""
    (tmp_path / "slurm.conf").write_text(f"SlurmctldHost={host}\n")

    assert lint(tmp_path / "slurm.conf", slurm="25.11", resolve=True) == expected
    assert ("controller-unresolved" in capsys.readouterr().out) is bool(expected)


def test_a_missing_include_is_a_finding_and_an_absolute_one_a_note(tmp_path, capsys):
    """A relative path is in the same folder; an absolute one may exist on the host only."""
    (tmp_path / "slurm.conf").write_text("Include lost.conf\nInclude /nowhere/nodes.conf\n")

    assert lint(tmp_path / "slurm.conf", slurm="25.11") == 5
    output = capsys.readouterr()
    assert "slurm.conf:1: error[include-missing]: lost.conf does not exist" in output.out
    assert "nodes.conf" not in output.out
    assert "an included file is not on this machine" in output.err


def test_keys_of_included_files_are_checked(site, capsys):
    """With the file and line of the included file."""
    (site / "nodes.conf").write_text("NodeName=n[1-2] CPUs=8 Gress=gpu:8\n")

    lint(site, slurm="25.11")

    assert f"{site}/nodes.conf:1: Gress: no release of Slurm has this key" in capsys.readouterr().out


def test_a_file_that_includes_itself_ends(tmp_path):
    """After eight levels."""
    (tmp_path / "slurm.conf").write_text("Include slurm.conf\n")

    assert lint(tmp_path / "slurm.conf", slurm="25.11") == 0


def test_the_files_of_plug_ins_are_read_with_slurm_conf(tmp_path, capsys):
    """Keys of their tables and rules between files; what belongs together has no finding."""
    texts = {
        "slurm.conf": "NamespaceType=namespace/tmpfs\nPrologFlags=Contain\nProctrackType=proctrack/cgroup\n"
        "NodeFeaturesPlugins=node_features/helpers\nRebootProgram=/sbin/reboot\nResumeTimeout=900\n"
        "AcctGatherEnergyType=acct_gather_energy/ipmi\nBurstBufferType=burst_buffer/lua\n",
        "mpi.conf": "PMIxCollFence=tree\nPMIxTimeout=600\n",
        "acct_gather.conf": "EnergyIPMIFrequency=30\nEnergyIPMICalcAdjustment=yes\n",
        "job_container.conf": "AutoBasePath=true\nBasePath=/scratch/jobs Dirs=/tmp,/var/tmp\n",
        "helpers.conf": "NodeName=n[1-2] Feature=a,b Helper=/opt/helper\n"
        "Feature=c Helper=/opt/helper Flags=rebootless\n"
        "MutuallyExclusive=a,b\nMutuallyExclusive=b,c\nExecTime=60\n",
        "burst_buffer.conf": "StageInTimeout=3600\nFlags=EnablePersistent\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    assert lint(tmp_path, slurm="25.11") == 0
    assert capsys.readouterr().out == ""

    (tmp_path / "mpi.conf").write_text("PMIxCollFences=tree\nPMIxShareServerTopology=true\n")
    (tmp_path / "acct_gather.conf").write_text("ProfileHDF5Dir=/shared/profiles\n")
    assert lint(tmp_path, slurm="25.05") == 5
    out = capsys.readouterr().out
    assert "mpi.conf:1: PMIxCollFences: no release of Slurm has this key; did you mean PMIxCollFence?" in out
    assert "mpi.conf:2: PMIxShareServerTopology: Slurm 25.05 does not support it" in out
    assert "error[acct-gather-plugin-missing]: ProfileHDF5Dir is unknown" in out


@pytest.mark.parametrize("json_option", [False, True])
def test_lines_of_any_file_are_not_shown(tmp_path, capsys, json_option):
    """Include may name a private file of the user who runs the command, also by a link: its lines have numbers only."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    (tmp_path / "private").write_text("TOPSECRET\nroot:SECRETHASH:19000\n")
    (folder / "link.conf").symlink_to(tmp_path / "private")
    (folder / "own.conf").write_text("word\n")
    (folder / "slurm.conf").write_text(f"Include {tmp_path}/private\nInclude link.conf\nInclude own.conf\n")
    assert lint(folder / "slurm.conf", json=json_option) == 5
    output = capsys.readouterr().out

    assert "SECRET" not in output
    if not json_option:
        assert f"{tmp_path}/private:1: the line is not KEY=VALUE" in output
        assert f"{folder}/link.conf:2: the line is not KEY=VALUE" in output
        assert f"{folder}/own.conf:1: word: the line is not KEY=VALUE" in output
