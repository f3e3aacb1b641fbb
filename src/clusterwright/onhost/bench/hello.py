"""Reports the versions of this host's software and tools, and its interfaces by IPv4 address, before a bench."""

import glob
import json
import os
import shutil
import sys
from typing import Dict, Tuple

from clusterwright.onhost.lib import processes

TOOLS = (
    "iperf3", "fio", "all_reduce_perf", "ibping",
    "ib_send_bw", "ib_read_bw", "ib_write_bw", "ib_send_lat", "ib_read_lat",
)  # fmt: skip
PYTHON_S = 60  # a Python environment may be on slow shared storage
PYTHON_PROBE = (
    processes.NOT_HERE
    + """
import importlib.metadata as about, json
def version(name):
    try:
        return about.version(name)
    except about.PackageNotFoundError:
        return ""
print(json.dumps({"torch": version("torch"), "nccl": "".join(map(version, %r))}))
"""
    % [f"nvidia-nccl-cu{major}" for major in (11, 12, 13, 14)]
)


def main() -> None:
    """Print this host's versions, benchmark tools and network interfaces as one JSON object."""
    options = json.load(sys.stdin)
    report = {
        "versions": versions(options["python"]),
        "tools": {name: shutil.which(name) or "" for name in TOOLS},
    }
    json.dump(dict(report, interfaces=interfaces()), sys.stdout)


def versions(python: str) -> Dict[str, str]:
    """Return the versions that can affect a measurement; "" where a program is missing."""
    packages = json.loads(command_output([python, "-c", PYTHON_PROBE], PYTHON_S) or "{}")
    return {
        "kernel": os.uname().release,
        "driver": command_output(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        ),
        "firmware": " ".join(sorted(set(map(text, glob.glob("/sys/class/infiniband/*/fw_ver"))))),
        "slurm": command_output(["sinfo", "--version"]).replace("slurm ", ""),
        "torch": packages.get("torch", ""),
        "nccl": packages.get("nccl", ""),
        "python": sys.version.split()[0],
        "iperf3": first_line(command_output(["iperf3", "--version"])).replace("iperf ", ""),
        "perftest": command_output(["ib_send_bw", "--version"], codes=(0, 1)).replace("Version: ", ""),
        "fio": first_line(command_output(["fio", "--version"])).replace("fio-", ""),
    }


def interfaces() -> Dict[str, str]:
    """Return the names of this host's interfaces by IPv4 address."""
    rows = json.loads(command_output(["ip", "-json", "-4", "addr"]) or "[]")
    return {entry["local"]: row["ifname"] for row in rows for entry in row.get("addr_info", [])}


def command_output(argv: "list[str]", limit_s: float = 15, codes: Tuple[int, ...] = (0,)) -> str:
    """Return the command's output if its exit code is one of `codes`, else ""; perftest exits with 1."""
    result = processes.run(argv, limit_s)
    return result.out.strip() if result.code in codes else ""


def first_line(out: str) -> str:
    """Return name and version of the first line: `iperf 3.12 (cJSON 1.7.15)` without the rest."""
    parts = out.splitlines()[0].split() if out else []
    return " ".join(parts[:2])


def text(path: str) -> str:
    """Return the text of a file, such as one of sysfs, without blanks around it; raise OSError if it cannot be read."""
    with open(path) as file:
        return file.read().strip()


if __name__ == "__main__":
    main()
