"""Counters of RDMA ports, from files as the kernel has them; slurmdbd, by programs in Slurm's place."""

import pytest

from clusterwright.onhost.exporter.collectors import rdma
from clusterwright.onhost.exporter.collectors.control_host import accounting
from clusterwright.onhost.exporter.settings import from_mapping
from clusterwright.onhost.exporter.text import rendered


def test_counters_of_a_port_are_read(tmp_path):
    """Those that it has; one that cannot be read is left out."""
    counters = tmp_path / "mlx5_0" / "ports" / "1" / "hw_counters"
    counters.mkdir(parents=True)
    (counters / "out_of_sequence").write_text("12\n")
    (counters / "local_ack_timeout_err").write_text("\n")
    settings = from_mapping({"infiniband": str(tmp_path)})

    assert rdma.is_enabled(settings)
    assert rendered(rdma.collect(settings, {})).splitlines()[2:] == [
        'clusterwright_rdma_errors_total{device="mlx5_0",port="1",counter="out_of_sequence"} 12'
    ]


def test_without_adapters_it_is_not_wanted(tmp_path):
    """Such as on a host of Ethernet alone."""
    assert not rdma.is_enabled(from_mapping({"infiniband": str(tmp_path / "none")}))


@pytest.mark.parametrize(
    ("config", "code", "value"),
    [
        ("accounting_storage/slurmdbd", 0, "1"), ("accounting_storage/slurmdbd", 1, "0"),
        ("accounting_storage/none", 1, None),
    ],
)  # fmt: skip
def test_slurmdbd_answers_or_does_not(tmp_path, monkeypatch, config, code, value):
    """And nothing is said where there are no accounts."""
    for name, text in (("scontrol", f"echo AccountingStorageType = {config}"), ("sacctmgr", f"exit {code}")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")  # the one seam: where a command is looked for
    found = rendered(accounting.collect(from_mapping({"control": True}), {}))

    assert (f"clusterwright_slurm_accounting_up {value}\n" in found) is (value is not None)
    assert ("slurm_accounting_up" in found) is (value is not None)
