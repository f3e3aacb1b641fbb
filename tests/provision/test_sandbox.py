"""The exposure that systemd computes for our units, from their files alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.config.power_saving import Ipmi
from clusterwright.edge.processes import run
from clusterwright.provision.resources import File, RoleContext
from clusterwright.provision.roles.heal import heal
from clusterwright.provision.roles.power import _KEEPER, _sandbox
from clusterwright.provision.sandbox import sandbox

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "render"
MOST_EXPOSURE = 3.0
LAB_EXPORTER = 3.4  # sees the simulated GPUs in the /proc of its host
UNITS = sorted(GOLDEN.glob("**/clusterwright-*.service"))

pytestmark = pytest.mark.skipif(
    "--offline" not in run(("systemd-analyze", "--help")).out, reason="systemd-analyze 250 or later"
)


def exposure(folder: Path, name: str, text: str) -> float:
    """Return systemd's exposure of a unit, from 0 to 10."""
    (folder / name).write_text(text)
    result = run(("systemd-analyze", "security", "--no-pager", "--offline=true", str(folder / name)))
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", result.out)
    assert found, result.err
    return float(found[1])


@pytest.mark.parametrize("path", UNITS, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_a_rendered_unit_is_closed(path: Path, tmp_path: Path) -> None:
    """In every golden tree."""
    most = LAB_EXPORTER if path.is_relative_to(GOLDEN / "lab") and "exporter" in path.name else MOST_EXPOSURE
    assert exposure(tmp_path, path.name, path.read_text()) <= most


@pytest.mark.parametrize("path", UNITS, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_a_unit_with_a_sandbox_has_its_threat_model(path: Path) -> None:
    """Who reaches it, what it reads, and what it or who takes it over changes."""
    text = path.read_text()
    comments = " ".join(line[1:].strip() for line in text.splitlines() if line.startswith("#"))

    assert "ProtectSystem=" not in text or re.search(
        r"Reached by: .+ Reads: .+ (Changes: |who takes it over )", comments
    )


def test_heal_is_closed(tmp_path: Path) -> None:
    """Although it acts as root on every host."""
    file = tmp_path / "cluster.yaml"
    file.write_text((ROOT / "examples/lab/cluster.yaml").read_text() + "\nheal: {watch: true}\n")
    cluster = load_cluster(file)
    context = RoleContext({"munge.key": b"", "heal/key": b"", "heal/key.pub": b"ssh-ed25519 AAAA heal\n"})
    unit = next(
        one
        for one in heal(cluster, cluster.control, context)
        if isinstance(one, File) and one.path.endswith(".service")
    )
    assert exposure(tmp_path, "clusterwright-heal.service", unit.content) <= MOST_EXPOSURE


def test_the_power_control_is_closed(tmp_path: Path) -> None:
    """With a provider of our own."""
    lines = _sandbox(Ipmi.model_construct())
    text = _KEEPER.format(library="/opt", python="python3", sandbox=lines)
    assert exposure(tmp_path, "clusterwright-power.service", text) <= MOST_EXPOSURE


def test_a_setting_is_replaced_or_omitted() -> None:
    """An empty text omits it; the others stay."""
    lines = sandbox("Reached by: nobody.", PrivateTmp="", CapabilityBoundingSet="CAP_KILL").splitlines()
    assert lines[0] == "# Reached by: nobody."
    assert "CapabilityBoundingSet=CAP_KILL" in lines
    assert not any(line.startswith("PrivateTmp") for line in lines)
