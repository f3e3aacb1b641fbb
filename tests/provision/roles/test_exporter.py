"""Our exporter on every host: what it is told, what it may take, and what starts it anew."""

import json
import subprocess

import pytest

from clusterwright.onhost.exporter.settings import ExporterSettings, from_mapping
from clusterwright.provision.resources import File, Unit
from clusterwright.provision.roles.exporter import SETTINGS, UNIT, exporter


@pytest.fixture
def found(cluster, given):
    """Resources of a host, of this role alone, by id."""
    return lambda host, of=cluster: {each.id: each for each in exporter(of, of.host(host), given)}


def told(resources):
    """What the program reads."""
    return json.loads(resources[f"file:{SETTINGS}"].content)


def test_each_host_is_told_what_it_is(found):
    """GPUs that are declared, on compute hosts; Slurm and the runs on the control host."""
    control, compute = told(found("control")), told(found("gpu-node2"))

    assert (compute["gpus"], compute["slurmd"], compute["control"]) == (4, True, False)
    assert (control["gpus"], control["slurmd"], control["control"]) == (0, False, True)
    assert compute["listen"] == "10.77.0.12"
    assert control["runs"] == "/shared/runs"
    assert compute["paths"] == ["/", "/shared"]


def test_the_program_knows_every_word_of_it(found):
    """A misspelt key would silently be a default."""
    said = told(found("gpu-node1"))

    assert set(said) <= set(vars(ExporterSettings()))
    assert from_mapping(said).gpus == 4


def test_local_disks_are_looked_at_where_they_are_mounted(found, altered):
    """In a lab they are folders of the machine's."""
    disks = [{"kind": "nvme", "count": 1, "size": "1TB", "mount": "/scratch"}]
    real = altered({"nodes.a100.disks": disks, "lab": None})

    assert told(found("gpu-node1", real))["paths"] == ["/", "/shared", "/scratch"]


@pytest.mark.parametrize("lab", [True, False])
def test_the_unit_lets_it_read_the_kernel_log(found, altered, lab):
    """In the journal: its sandbox has neither /dev/kmsg nor the capability for it, on real hosts as in a lab."""
    resources = found("gpu-node1") if lab else found("gpu-node1", altered({"lab": None}))
    unit = resources[f"file:/etc/systemd/system/{UNIT}"].content

    assert "ProtectKernelLogs=yes" in unit
    assert "CAP_SYSLOG" not in unit


def test_it_is_held_to_a_share_of_the_host(found):
    """Memory and processor, and it may change nothing."""
    unit = found("gpu-node1")[f"file:/etc/systemd/system/{UNIT}"].content

    for line in (
        "MemoryMax=96M",
        "CPUQuota=20%",
        "NoNewPrivileges=yes",
        "OOMPolicy=continue",
        "Restart=always",
    ):
        assert f"\n{line}\n" in unit


def test_systemd_takes_the_unit(found, tmp_path):
    """As its own verifier says; the program need not be there."""
    text = found("gpu-node1")[f"file:/etc/systemd/system/{UNIT}"].content
    path = tmp_path / UNIT
    path.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert not [line for line in done.stderr.splitlines() if UNIT in line], done.stderr


def test_new_code_settings_and_certificates_start_it_anew(cluster, found):
    """And nothing else."""
    unit = found("gpu-node1")[f"unit:{UNIT}"]

    assert isinstance(unit, Unit)
    assert {f"file:{SETTINGS}", "file:/etc/clusterwright/tls/host.crt"} <= set(unit.restart_on)


def test_none_where_the_file_says_so(found, altered):
    """Neither unit nor settings."""
    assert found("gpu-node1", altered({"monitoring.exporter": False})) == {}


def test_nothing_of_it_is_secret(found):
    """Whoever can read the tree of files can read these."""
    assert not [each for each in found("control").values() if isinstance(each, File) and each.secret]
