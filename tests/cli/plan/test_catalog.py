"""`wright plan catalog`."""

import json

import pytest

from clusterwright.cli.plan.catalog import catalog
from clusterwright.errors import WrightError

KINDS = (
    "gpus",
    "models",
    "networks",
    "nics",
    "switches",
    "cables",
    "storage",
    "servers",
    "prices",
    "software",
)
ONE = {
    "gpus": "NVIDIA A100-SXM4-80GB (400W)", "models": "LLAMA3_70B", "networks": "ResNet-50 v1.5", "nics": "ConnectX-7",
    "switches": "QM9700", "cables": "DAC-400", "storage": "nfs server 25g", "servers": "HGX H100", "software": "2.9.1",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_listed_with_sources(kind, capsys):
    """As a table, and as JSON in base units."""
    assert catalog(kind) == 0
    assert "source" in capsys.readouterr().out.splitlines()[0]

    assert catalog(kind, json=True) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) > 5
    assert all(row["source"] for row in rows)


@pytest.mark.parametrize("kind", ONE)
def test_one_row_is_shown_in_full_under_any_spelling(kind, capsys):
    """For people with units, for programs without."""
    assert catalog(kind, ONE[kind]) == 0
    assert "source" in capsys.readouterr().out

    assert catalog(kind, ONE[kind], json=True) == 0
    assert json.loads(capsys.readouterr().out)["source"]


def test_a_gpu_is_shown_with_its_units(capsys):
    """A reader needs no powers of ten."""
    catalog("gpus", "h100")

    said = capsys.readouterr().out.splitlines()
    assert "power        700 W" in said
    assert "memory rate  3,350 GB/s" in said


@pytest.mark.parametrize("name", ["h100", "qm9700", "electricity"])
def test_prices_of_one_item(name, capsys):
    """A GPU in any spelling, a part, or a kilowatt-hour."""
    assert catalog("prices", name, json=True) == 0

    rows = json.loads(capsys.readouterr().out)
    assert {row["item"] for row in rows} == {{"h100": "h100-sxm-80gb"}.get(name, name)}


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [("gpus", "h10", "unknown-gpu"), ("models", "lama", "unknown-model"), ("networks", "resnet51", "unknown-network"),
     ("switches", "qm9701", "unknown-part"), ("prices", "banana", "unknown-part"), ("prices", "p40", "unknown-part"),
     ("software", "9.9", "unknown-part")],
)  # fmt: skip
def test_an_unknown_name_is_an_error(kind, name, code):
    """Each with its code."""
    with pytest.raises(WrightError, match=code):
        catalog(kind, name)


@pytest.mark.parametrize("where", ["catalog.toml", "config/clusterwright/catalog.toml", "mine.toml"])
def test_rows_of_ones_own_come_first(where, elsewhere, capsys):
    """From the folder, from the home, or from the file named."""
    file = elsewhere / where
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[gpus.x1]\nlike = "h100"\npower = "350W"\n')

    assert catalog("gpus", json=True, catalog=file if where == "mine.toml" else None) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert (first["name"], first["power_w"]) == ("x1", 350)
