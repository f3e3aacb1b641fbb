"""`wright plan fabric`."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

GPU1024 = Path(__file__).parents[3] / "examples" / "gpu1024" / "cluster.yaml"


def test_all_kinds_stand_side_by_side_with_the_three_networks(plan):
    """A row a kind, a row a network; talk on stderr."""
    code, out, err = plan("fabric", "--nodes", 64)

    assert code == 0
    for word in ("star", "ring", "leaf-spine", "fat-tree", "rail-optimized", "storage", "management"):
        assert word in out
    assert "16 + 8" in out
    assert "--model" in err


def test_one_kind_in_full_from_a_cluster_file(plan, tmp_path):
    """Levels, cables to order, topology.conf; the drawing and every cable in files."""
    picture, table = tmp_path / "fabric.svg", tmp_path / "cables.csv"
    files = ("--svg", picture, "--cables", table)

    code, out, err = plan("fabric", "--cluster", GPU1024, "--kind", "rail-optimized", *files)

    assert code == 0, err
    assert "SwitchName=su4 Nodes=gpu[097-128]" in out
    assert "switch: su1" in out
    assert ET.fromstring(picture.read_text()).tag.endswith("svg")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert sum(int(row["cables"]) for row in rows) == 2048


def test_json_has_every_count(plan):
    """The reference table's row of 128 nodes."""
    document = json.loads(plan("fabric", "--nodes", 128, "--kind", "rail-optimized", "--json")[1])
    levels = document["kinds"][0]["levels"]

    assert [(level["name"], level["switches"]) for level in levels] == [("leaf", 32), ("spine", 16)]
    assert document["networks"]["compute"]["cables"] == 2048
    assert document["topology_conf"].count("Nodes=") == 4


def test_nvl72_racks_are_blocks(plan):
    """36 trays of GB200: topology/block beside the tree."""
    out = plan("fabric", "--nodes", 36, "--gpu", "gb200", "--kind", "rail-optimized")[1]

    assert "BlockName=rack2 Nodes=gpu[19-36]" in out


def test_with_a_model_steps_and_advice_are_there(plan):
    """A step on each kind, and a verdict with figures."""
    asked = ("--nodes", 4, "--gpu", "a100-80g", "--model", "llama2-7b")
    document = json.loads(plan("fabric", *asked, "--json")[1])

    assert all(row["step_s"] > 0 for row in document["kinds"] if "step_s" in row)
    assert "enough" in document["advice"]["verdict"]
    assert len(document["advice"]["choices"]) == 5
    assert document["advice"]["verdict"] in plan("fabric", *asked)[1]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("usage", ("--nodes", 0)),
        ("fabric-size", ("--nodes", 999_999_999)),
        ("fabric-size", ()),
        ("usage", ("--nodes", 4, "--nodes-per-rack", 0)),
        ("usage", ("--nodes", 4, "--planes", 0)),
        ("fabric-size", ("--nodes", 4, "--nic-rate", "0Gbit/s")),
        ("usage", ("--nodes", 4, "--oversubscription", 0.5)),
        ("unknown-part", ("--nodes", 4, "--switch", "qm970")),
        ("unknown-gpu", ("--nodes", 4, "--gpu", "h1000")),
        ("bad-quantity", ("--nodes", 4, "--nic-rate", "400")),
        ("fabric-rate", ("--nodes", 4, "--switch", "sn2201")),
        ("fabric-too-large", ("--nodes", 9000, "--kind", "fat-tree")),
        ("fabric-kind", ("--nodes", 3, "--kind", "direct")),
        ("fabric-model", ("--nodes", 1, "--gpu", "t4", "--model", "llama2-70b")),
    ],
)
def test_bad_input_is_told(plan, code, arguments):
    """With its code and a fix, on stderr, exit code 2."""
    exit_code, out, err = plan("fabric", *arguments)

    assert exit_code == 2
    assert f"error[{code}]" in err
    assert "fix: " in err
    assert out == ""


def test_no_numpy_without_a_model():
    """The arithmetic of networks is plain; numpy is for the search that a model asks for."""
    start = (
        "import sys; sys.argv = ['wright', 'plan', 'fabric', '--nodes', '64']\n"
        "from clusterwright.cli import main\n"
        "try:\n    main()\nfinally:\n    assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr


def test_the_page_draws_the_fabric_and_lists_all_kinds(plan, tmp_path):
    """One file, in both languages, with the drawing in it."""
    code, _, _ = plan("fabric", "--nodes", 64, "--html", tmp_path / "fabric.html")

    page = (tmp_path / "fabric.html").read_text()
    assert code == 0
    for words in ("<svg", "rail-optimized", "规划", "24 switches", "102.4"):
        assert words in page
