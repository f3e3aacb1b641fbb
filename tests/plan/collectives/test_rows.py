"""Rows of published measurements: what their words mean, and how near the stored coefficients come."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import pytest
from bench.lib.rows import bus_bw_of_row

from clusterwright.plan.collectives.kinds import Collective
from clusterwright.plan.collectives.rows import read

PUBLISHED = Path(__file__).parents[3] / "bench" / "accuracy" / "published" / "nccl_measured.csv"
MEASURED = ("time_us", "algbw_GBps", "busbw_GBps")


def published():
    """All rows."""
    return list(csv.DictReader(PUBLISHED.read_text("utf-8").splitlines()))


def row(**columns):
    """A row of 8 H100 with these columns."""
    return {"gpu_type": "H100-SXM-80GB", "num_nodes": "1", "collective": "all_reduce", **columns}


def large():
    """Rows of 64 MiB and more."""
    return [each for each in published() if float((each["size_bytes"] or "1e10").split()[0]) >= 2**26]


def test_large_messages_are_within_the_gate():
    """Median error of messages above 64 MiB is below 5%, and none is above 35%."""
    errors = [abs(bus_bw_of_row(each)[0] / float(each["busbw_GBps"]) - 1) for each in large()]

    assert len(errors) > 80
    assert statistics.median(errors) < 0.05
    assert max(errors) < 0.35


def test_the_result_is_never_read():
    """Blank or absurd results change nothing."""
    each = published()[20]
    without = {name: "" if name in MEASURED else value for name, value in each.items()}

    assert bus_bw_of_row(without) == bus_bw_of_row(each | dict.fromkeys(MEASURED, "1e9"))


@pytest.mark.parametrize(
    ("words", "kind", "ports", "rate"),
    [
        ("InfiniBand NDR 4x400Gb/s per node", "infiniband", 4, 50e9),
        ("RoCE SR-IOV 2x100GbE", "roce", 2, 12.5e9),
        ("GPUDirect-TCPX", "tcpx", 8, 50e9),
        ("GPUDirect-TCPXO (A3 Mega)", "tcpxo", 8, 25e9),
        ("EFA (p4de.24xlarge)", "efa", 4, 12.5e9),
        ("25GbE TCP", "ethernet", 1, 3.125e9),
        ("EFA v2", "efa", 8, 50e9),
        ("RoCE 4x ConnectX-7", "roce", 4, 50e9),
        ("InfiniBand NDR 8x400", "infiniband", 8, 50e9),
        ("RDMA RoCE ConnectX-6", "roce", 8, 25e9),
        ("Omni-Path", "omnipath", 8, 50e9),
    ],
)
def test_networks_are_read_from_words(words, kind, ports, rate):
    """Kind, ports of a node and their rate; what is missing is the vendor's reference system."""
    network = read(row(num_nodes="2", fabric=words)).group.machine.network

    assert (network.kind, network.nics, network.nic_bytes_per_s) == (kind, ports, rate)


@pytest.mark.parametrize(
    ("gpu_type", "fabric", "domain"),
    [
        ("A100-PCIe-80GB", "NVLink bridge", 2),
        ("A100-PCIe-80GB", "PCIe only", 1),
        ("H100-SXM-80GB", "NVLink4/NVSwitch", 8),
        ("GB300", "NVLink MNNVL rack", 72),
        ("GB200", "NVL72", 72),
        ("GB300", "InfiniBand NDR 4x400Gb/s per node, inter-rack", 4),
    ],
)
def test_what_nvlink_joins_is_read_from_words(gpu_type, fabric, domain):
    """A pair, a board, a rack, or nothing."""
    gpus = "72" if domain == 72 else ""

    assert (
        read(row(gpu_type=gpu_type, fabric=fabric, num_gpus=gpus, num_nodes="")).group.machine.nvlink_domain
        == domain
    )


def test_what_is_blank_is_said():
    """The note says what was taken for it."""
    _, notes = bus_bw_of_row({"gpu_type": "H900", "collective": "all_mix", "fabric": "InfiniBand"})

    assert "unknown GPU `H900`" in notes
    assert "unknown operation `all_mix`" in notes
    assert "no number of nodes given: assumed 2" in notes
    assert "no size given" in notes


@pytest.mark.parametrize(
    ("name", "kind"), [("alltoall", Collective.ALL_TO_ALL), ("sendrecv", Collective.SEND_RECV)]
)
def test_nccl_tests_spell_operations_their_own_way(name, kind):
    """As its programs are called."""
    assert read(row(collective=f"{name}_perf")).kind is kind
    assert read(row(collective="All-Reduce")).kind is Collective.ALL_REDUCE
