"""The wheel has a bill of materials beside it."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def built(tmp_path):
    """The bill beside a wheel that was built, as bytes."""

    def build(folder):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / folder]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
        [wheel] = (tmp_path / folder).glob("*.whl")
        [bill] = (tmp_path / folder).glob("*.cdx.json")
        assert wheel.name.startswith(bill.name.removesuffix(".cdx.json"))
        return bill.read_bytes()

    return build


def test_a_wheel_has_a_bill_of_what_it_requires(built):
    """Two builds write the same bytes; every package of pyproject.toml is there, those of extras as optional."""
    pytest.importorskip("hatchling")
    data = built("one")
    document = json.loads(data)
    scopes = {component["name"]: component["scope"] for component in document["components"]}

    assert built("two") == data
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["name"] == "clusterwright"
    assert {name for name, scope in scopes.items() if scope == "required"} == {
        "ahocorasick-rs", "clustershell", "cyclopts", "prometheus-client", "pydantic", "rich", "ruamel-yaml",
    }  # fmt: skip
    assert scopes["torch"] == scopes["textual"] == "optional"
    assert len(PROJECT["dependencies"]) == sum(scope == "required" for scope in scopes.values())


def test_the_baseline_of_the_secret_scan_has_tests_alone():
    """A secret elsewhere is removed, never listed."""
    baseline = json.loads((ROOT / ".secrets.baseline").read_text())

    assert all(name.startswith("tests/") for name in baseline["results"])
