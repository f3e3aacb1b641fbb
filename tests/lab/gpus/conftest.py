"""Sound simulated GPUs on this machine: the library that a lab builds, and the state file that it reads."""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.lab import compiling
from clusterwright.lab.gpus import library, state
from clusterwright.lab.gpus.simulated import Simulated, simulated


@pytest.fixture
def gpus(cluster):
    """Two A100 with NVLink."""
    alike = cluster.nodes["a100"].gpus.model_copy(update={"nvlink": True, "sockets": (0, 1)})
    return simulated(cluster, alike, "0123456789abcdef" * 2)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with the library; a warning of the compiler is an error."""
    if compiling.compiler() is None:
        pytest.skip("there is no C compiler here (apt-get install gcc libc6-dev)")
    folder = tmp_path_factory.mktemp("library")
    assert library.build(folder, "-Werror") == ""
    return folder


@dataclass
class Bench:
    """GPUs whose state is `folder`, and programs beside it."""

    gpus: Simulated
    folder: Path
    root: Path
    library: Path

    def put(self, name, rows, index=None):
        """Something happened to them."""
        state.set_values(self.folder, name, rows, index, lasting=False)

    def take(self, name):
        """And was taken back."""
        state.clear_values(self.folder, name)

    def smi(self, *words):
        """What nvidia-smi says."""
        return subprocess.run(
            [sys.executable, "-IS", self.root / "usr/bin/nvidia-smi", *words],
            env=os.environ | {"LD_LIBRARY_PATH": str(self.library)},
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

    def fields(self, names):
        """One list of values for each GPU."""
        done = self.smi(f"--query-gpu={names}", "--format=csv,noheader,nounits")
        assert done.returncode == 0, done.stdout
        return [line.split(", ") for line in done.stdout.splitlines()]


@pytest.fixture
def bench(gpus, built, tmp_path, monkeypatch):
    """Sound GPUs, for programs that are started and for this process."""
    folder = tmp_path / "gpus"
    folder.mkdir()
    state.install(gpus, built / library.SONAME, folder, tmp_path / "root")
    monkeypatch.setenv("CLUSTERWRIGHT_LAB_GPUS", str(folder / state.STATE))
    return Bench(gpus, folder, tmp_path / "root", built)


@pytest.fixture
def nvml(bench):
    """NVIDIA's own Python over the library, initialised; a library of that name that is loaded is taken."""
    pynvml = pytest.importorskip("pynvml")
    ctypes.CDLL(str(bench.library / library.SONAME))
    pynvml.nvmlInit()
    yield pynvml
    pynvml.nvmlShutdown()
