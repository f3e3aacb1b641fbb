"""Nodes as scontrol and sinfo print them."""

import ast
from pathlib import Path

import pytest

from clusterwright import slurm
from clusterwright.slurm.nodes import parse_node, parse_nodes, parse_sinfo

LINE = (
    "NodeName=n1 CPUTot=16 CPUAlloc=4 RealMemory=15872 Gres=gpu:a100:4(S:0-1) State=IDLE+DRAIN Partitions=a,b"
)


@pytest.mark.parametrize(
    ("behind", "reason"),
    [
        ("", ""),
        (" Reason=a State=DOWN CPUTot=9 [ann@2026-11-22T01:00:00]", "a State=DOWN CPUTot=9 [ann@2026-11-22T01:00:00]"),
        (" Reason=fan [ann@2026-11-22T01:00:00] Comment=x Reason=y State=DOWN", "fan [ann@2026-11-22T01:00:00]"),
        (" Reason=fan [ann@2026-11-22T01:00:00] ReservationName=r1", "fan [ann@2026-11-22T01:00:00]"),
        (" Comment=x Reason=y State=DOWN", ""),
        (" Extra=Reason=y InstanceId=i-1 InstanceType=t", ""),
    ],
)  # fmt: skip
def test_what_people_write_makes_no_field(behind, reason):
    """Reason, comment and extra may hold anything; in every order that scontrol prints."""
    node = parse_node(LINE + behind)

    assert (node.name, node.state.text, node.cpus, node.partitions) == ("n1", "IDLE+DRAIN", 16, ("a", "b"))
    assert node.reason == reason


# Not recorded: derived from slurm_sprint_node_table (src/api/node_info.c) of the tags 21.08.8-2, 22.05.8, 23.02.7,
# 23.11.10, 24.05.4, 24.11.5, 25.05.3, 25.11.3 and 26.05.3. n1 has all texts, n2 a reason of two lines, n3 a comment.
DERIVED = sorted((Path(__file__).parent / "derived").glob("node-*"))


@pytest.mark.parametrize("path", DERIVED, ids=lambda path: path.name)
def test_nodes_of_each_release_have_the_same_fields(path):
    """21.08 to 26.05: fields come, go and change their order, and free texts are no others than they are."""
    nodes = parse_nodes(path.read_text())

    assert len(DERIVED) == 9
    assert [node.reason for node in nodes.values()] == [
        "fan [ann@2026-11-22T01:00:00]",
        "first line [ann@2026-11-22T01:00:00]         second line",
        "",
    ]
    texts = ["beyond State=IDLE repair", "", "beyond State=IDLE repair"]
    assert [node.comment for node in nodes.values()] == texts
    assert [node.state.text for node in nodes.values()] == ["MIXED+DRAIN", "MIXED+DRAIN", "MIXED"]
    for node in nodes.values():
        assert (node.cpus, node.cpus_allocated, node.memory_mib) == (16, 6, 15872)
        assert node.cpus_allocatable == (16 if path.name == "node-21.08" else 14)
        assert (node.gpus, node.gpus_allocated, node.gpu_model) == (4, 1, "a100")
        assert node.partitions == ("debug", "gpu")
        assert node.record["Version"] == path.name.removeprefix("node-")


@pytest.mark.parametrize(
    ("gres", "tres", "count", "model"),
    [
        ("gpu:a100:4(S:0-1)", "", 4, "a100"), ("gpu:2", "", 2, ""), ("gpu:a100:2,gpu:h100:3", "", 5, "a100"),
        ("(null)", "cpu=4,gres/gpu=8,gres/gpu:a100=8", 8, ""), ("(null)", "cpu=4", 0, ""),
        ("shard:8", "gres/gpu:a100=2,gres/gpu:h100=1", 3, ""), ("gpu:1080ti:4", "", 4, "1080ti"),
    ],
)  # fmt: skip
def test_gpus_are_counted_of_all_types(gres, tres, count, model):
    """By Gres; without it, by what is accounted for."""
    node = parse_node(f"NodeName=n1 State=IDLE Gres={gres} CfgTRES={tres}")

    assert (node.gpus, node.gpu_model) == (count, model)


def test_lines_of_another_form_are_no_nodes():
    """Warnings, and a line that was cut."""
    assert parse_nodes("slurm: warning\n\nNodeName=n2") == {}
    assert parse_sinfo("slurm: warning\n") == {}


def test_a_bar_in_a_reason_is_part_of_it():
    """Of sinfo."""
    assert parse_sinfo("n1|drained*|fan | call Ann\n")["n1"].reason == "fan | call Ann"


@pytest.mark.parametrize("path", sorted(Path(slurm.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_it_is_python_3_6(path):
    """RHEL 8's platform Python imports it on the control host."""
    text = path.read_text()

    assert ast.parse(text, feature_version=(3, 6))
    assert "from __future__ import annotations" not in text
