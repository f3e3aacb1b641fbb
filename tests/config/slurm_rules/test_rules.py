"""Each rule about Slurm's files finds its wrong example, and nothing in the corrected one."""

from dataclasses import replace

import pytest

from clusterwright.config.slurm_keys import RELEASES
from clusterwright.config.slurm_rules import KINDS, Source, all_rules, check, parse_conf
from clusterwright.config.slurm_rules.reference import example_files


def example_conf(text):
    """The content of an example.

    The sections `folder`, `includes`, `programs` and `unresolved` are no files: the example is a whole folder, files
    that do not exist, programs that a host lacks, and names that do not resolve.
    """
    files = example_files(text)
    includes = dict.fromkeys(files.get("includes", "").split(), ())
    sources = [Source(name, name, files[name], includes) for name in files if name in KINDS]
    return replace(
        parse_conf(sources, RELEASES[-1], is_folder="folder" in files),
        programs=dict(line.split(" ", 1) for line in files.get("programs", "").splitlines() if line),
        unresolved=frozenset(files.get("unresolved", "").split()),
    )


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_finds_its_wrong_example_only(rule):
    """The wrong example breaks this rule and no other; the corrected one breaks none."""
    assert {finding.code for finding in check(example_conf(rule.wrong))} == {rule.code}
    assert [str(finding) for finding in check(example_conf(rule.correct))] == []


def test_rules_have_codes_sources_and_reasons():
    """At least sixty rules, each with a code of its own, a page of Slurm's documentation and a sentence."""
    rules = all_rules()

    assert len(rules) >= 60
    assert len({rule.code for rule in rules}) == len(rules)
    assert [rule.code for rule in rules if not rule.source or not rule.about.endswith(".")] == []


@pytest.mark.parametrize(
    ("value", "correct"),
    [
        ("3d", "3-00:00:00"),
        ("5h", "05:00:00"),
        ("12H", "12:00:00"),
        ("1d12h", "1-12:00:00"),
        ("long", "1-00:00:00"),
    ],
)
def test_the_fix_of_a_time_with_units_is_the_same_time(value, correct):
    """A limit such as 3d is proposed as the same time in the form that Slurm reads; any other text as one day."""
    conf = example_conf(f"PartitionName=p Nodes=n1 MaxTime={value}")
    fixes = [finding.fix for finding in check(conf) if finding.code == "time-invalid"]
    assert fixes == [f"PartitionName=p MaxTime={correct}"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_fix_of_a_missing_gres_conf_is_correct_in_each_release(release):
    """The AutoDetect that a folder without gres.conf gets is one that the release has: nvidia came with 24.11."""
    text = "GresTypes=gpu\nNodeName=n1 Gres=gpu:4\n--- folder"
    conf = replace(example_conf(text), slurm_release=release)
    (fix,) = [finding.fix for finding in check(conf) if finding.code == "gres-conf-missing"]
    assert fix == ("AutoDetect=nvidia" if release >= "24.11" else "AutoDetect=nvml")


@pytest.mark.parametrize(
    ("gres", "lines", "fix"),
    [
        ("gpu:a100:4", "NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-7]", "gpu:a100:8"),
        (
            "gpu:2,nic:1",
            "NodeName=n1 Name=gpu File=/dev/nvidia[0-2]\nNodeName=n1 Name=nic Count=1",
            "gpu:3,nic:1",
        ),
        (
            "gpu:2",
            "NodeName=n1 Name=gpu File=/dev/nvidia0\nNodeName=n1 Name=gpu File=/dev/nvidia[1-3]",
            "gpu:4",
        ),
        ("gpu:2", "Name=gpu File=/dev/nvidia[0-3]", "gpu:4"),
        (
            "gpu:a100:2,gpu:h100:2",
            (
                "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
                "NodeName=n1 Name=gpu Type=h100 File=/dev/nvidia[2-5]"
            ),
            "gpu:a100:2,gpu:h100:4",
        ),
        ("gpu:2", "NodeName=n1 Name=gpu Count=4", None),
        ("gpu:2", "NodeName=n3 Name=gpu File=/dev/nvidia[0-3]", None),
        ("gpu:2", "NodeName=n1 Name=gpu AutoDetect=nvml File=/dev/nvidia[0-3]", None),
        ("gpu:4", "Name=gpu File=/dev/nvidia[0-3]", None),
    ],
)
def test_gpus_that_only_gres_conf_names_are_not_used(gres, lines, fix):
    """The fix has as many as the device files of the type, and the other GRES of the node."""
    conf = example_conf(f"GresTypes=gpu,nic\nNodeName=n[1-2] Gres={gres}\n--- gres.conf\n{lines}")
    fixes = [finding.fix for finding in check(conf) if finding.code == "gres-devices-unused"]

    assert fixes == ([f"NodeName=n[1-2] Gres={fix}"] if fix else [])
    assert not fix or "gres-devices-unused" not in {
        finding.code
        for finding in check(example_conf(f"GresTypes=gpu,nic\n{fixes[0]}\n--- gres.conf\n{lines}"))
    }


def test_one_hosts_gres_conf_may_have_the_number_of_any_node():
    """A gres.conf without NodeName that fits one of the nodes is that node's."""
    conf = example_conf(
        "GresTypes=gpu\nNodeName=n1 Gres=gpu:2\nNodeName=n2 Gres=gpu:4\n--- gres.conf\nName=gpu File=/dev/nvidia[0-3]"
    )
    assert [finding.code for finding in check(conf)] == []


@pytest.mark.parametrize(
    ("nodes", "fix"), [("n[1-5]", "PartitionName=p Nodes=n[1-4]"), ("m1", "NodeName=m1 CPUs=8")]
)
def test_a_partition_with_an_unknown_node_keeps_the_nodes_that_exist(nodes, fix):
    """No node is invented, unless the partition has no other."""
    conf = example_conf(f"NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes={nodes}")
    assert [finding.fix for finding in check(conf) if finding.code == "partition-node-unknown"] == [fix]
