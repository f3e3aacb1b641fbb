"""What a user has who installs the wheel alone: no extra, no checkout, no PyTorch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
LARGEST_MB = 70
CLIENT = """
import asyncio, sys
from mcp import Client, StdioServerParameters
async def session():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env={"PATH": "/usr/bin:/bin"})
    async with Client(server) as client:
        print(len((await client.list_tools()).tools))
        result = await client.call_tool("why", {"sources": ["slurm-1.out"]})
        print(result.content[1].text)
asyncio.run(session())
"""
SEARCH = (
    *("plan", "search", "--model", "llama3-70b", "--gpu", "h100", "--gpus", "512"),
    *("--seq", "8192", "--global-batch", "1024"),
)


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel, outside the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True, timeout=120)
    install = [folder / "env" / "bin" / "pip", "install", "-q", "--no-compile", wheel]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    return folder / "env"


@pytest.fixture
def wright(environment, tmp_path):
    """Run a command of the installed wheel in an empty folder."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "CLUSTERWRIGHT_CLUSTER")
    }

    def call(*arguments):
        argv = [environment / "bin" / "wright", *arguments]
        return subprocess.run(
            argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )

    return call


def test_the_core_is_small(environment):
    """Of all packages but pip and setuptools, which the environment brings; in 10**6 bytes."""
    packages = environment / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    size = sum(
        path.stat().st_size
        for path in packages.rglob("*")
        if path.is_file() and not path.relative_to(packages).parts[0].startswith(tools)
    )

    assert size < LARGEST_MB * 10**6


def test_the_version_is_that_of_the_wheel(environment, wright):
    """Also as a module's attribute; no file of the source repeats it."""
    [notes] = environment.glob("lib/*/site-packages/clusterwright-*.dist-info")

    assert wright("--version").stdout.strip() == wright("-V").stdout.strip()
    assert notes.name == f"clusterwright-{wright('-V').stdout.strip()}.dist-info"


def test_a_log_is_diagnosed_and_a_cluster_file_is_written(wright, tmp_path):
    """The first commands of a new user need nothing else."""
    (tmp_path / "slurm-1.out").write_text(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    )

    assert wright("why", "slurm-1.out").stdout.startswith("gpu-oom")
    assert wright("init", "--template", "university", "--out", "cluster.yaml").returncode == 0
    assert wright("validate", "cluster.yaml").returncode == 0
    assert wright("render", "--out", "tree").returncode == 0
    assert (tmp_path / "tree").is_dir()
    assert wright("plan", "fabric", "--nodes", "64").returncode == 0
    assert wright("plan", "cost", "--gpu", "h100", "--nodes", "4").returncode == 0


@pytest.mark.parametrize(
    ("command", "extra"),
    [(SEARCH, "plan"), (("plan", "claims"), "plan"), (("web",), "web"), (("mcp",), "mcp")],
)
def test_a_command_that_needs_an_extra_names_it(wright, command, extra):
    """No ModuleNotFoundError; the fix is the line to type."""
    wright("init", "--template", "university", "--out", "cluster.yaml")
    failed = wright(*command)

    assert failed.returncode == 2, failed.stderr
    assert f"clusterwright[{extra}]" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_every_command_has_help(wright):
    """Importing a command needs no extra either."""
    document = wright("jobs", "--json")
    commands = [
        line.split()[0]
        for line in wright("--help").stdout.splitlines()
        if line.startswith("  ") and line[2] != "-"
    ]

    assert json.loads(document.stdout)["errors"][0]["code"] == "no-cluster-file"
    assert len(commands) > 30
    assert [name for name in commands if wright(name, "--help").returncode] == []


def test_an_assistant_asks_the_installed_wheel(tmp_path_factory, wheel, tmp_path):
    """With the extra alone, by the client of the package."""
    folder = tmp_path_factory.mktemp("mcp") / "env"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    install = [folder / "bin/pip", "install", "-q", "--no-compile", f"{wheel}[mcp]"]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    (tmp_path / "slurm-1.out").write_text("torch.cuda.OutOfMemoryError: CUDA out of memory.\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [folder / "bin/python", "-c", CLIENT, folder / "bin/wright"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("15\n")
    assert "gpu-oom" in done.stdout
