"""An exporter of its own: settings in a scratch folder, the lab's simulated GPUs, a keeper that runs as on a host."""

import ctypes
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clusterwright.config.load import load_cluster
from clusterwright.lab import compiling
from clusterwright.lab.gpus import library, state
from clusterwright.lab.gpus.simulated import simulated
from clusterwright.onhost.exporter.settings import from_mapping
from clusterwright.onhost.exporter.text import rendered

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src"


@pytest.fixture
def settings(tmp_path):
    """`settings(gpus=4)`: those of a host whose places are all in a scratch folder."""
    places = {
        name: str(tmp_path / name) for name in ("run", "state", "tls", "proc", "cgroup", "net", "hooks")
    }
    for place in places.values():
        Path(place).mkdir()

    def make(**more):
        return from_mapping({"node": "gpu-node1", "infiniband": str(tmp_path / "ib"), **places, **more})

    return make


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with the library that a lab's hosts have."""
    if compiling.compiler() is None:
        pytest.skip("there is no C compiler here (apt-get install gcc libc6-dev)")
    folder = tmp_path_factory.mktemp("library")
    assert library.build(folder) == ""
    return folder


class Gpus:
    """Simulated GPUs whose state is `folder`."""

    def __init__(self, folder):
        self.folder = folder

    def put(self, name, rows, index=None):
        """Something happened to them."""
        state.set_values(self.folder, name, rows, index, lasting=False)

    def take(self, name):
        """And was taken back."""
        state.clear_values(self.folder, name)


@pytest.fixture
def gpus(built, tmp_path, monkeypatch):
    """Eight A100 with NVLink, for this process and for those that it starts."""
    cluster = load_cluster(ROOT / "examples" / "lab" / "cluster.yaml")
    eight = cluster.nodes["a100"].gpus.model_copy(update={"count": 8, "nvlink": True})
    folder = tmp_path / "gpus"
    folder.mkdir()
    path = built / library.SONAME
    state.install(simulated(cluster, eight, "0123456789abcdef" * 2), path, folder, tmp_path / "root")
    monkeypatch.setenv("CLUSTERWRIGHT_LAB_GPUS", str(folder / state.STATE))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(built))
    ctypes.CDLL(str(path))
    return Gpus(folder)


@pytest.fixture
def samples():
    """`samples(families)` or `samples(text)`: by name and labels, as Prometheus' own parser reads the text."""

    def read(said):
        text = said if isinstance(said, str) else rendered(said)
        return {
            (sample.name.removeprefix("clusterwright_"), *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    return read


class Running:
    """An exporter as systemd starts it."""

    def __init__(self, file, port):
        self.port = port
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clusterwright.onhost.exporter", "--settings", str(file)],
            env=os.environ | {"PYTHONPATH": str(SOURCES)}, stderr=subprocess.PIPE,
        )  # fmt: skip

    def scrape(self):
        """The text, or none while nobody answers."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}/metrics", timeout=20) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def until(self, seen, limit_s=60):
        """The first text that `seen` likes."""
        end = time.monotonic() + limit_s
        while not seen(text := self.scrape()):
            assert time.monotonic() < end, text
            time.sleep(0.1)
        return text

    def end(self, number=15):
        """Ended, and what it said."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=30)[1].decode()


@pytest.fixture
def exporter(tmp_path):
    """`exporter(settings)`: running until the test ends."""
    started = []

    def start(settings):
        file = tmp_path / "exporter.json"
        file.write_text(json.dumps(vars(settings)))
        started.append(Running(file, settings.port))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end(9)
