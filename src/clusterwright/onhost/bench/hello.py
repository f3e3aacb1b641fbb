"""Says what this host runs and has: versions, tools, the interfaces of its addresses."""

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
PYTHON_S = 60  # an environment may lie on a slow network
PYTHON_PROBE = """
import importlib.metadata as about, json
def version(name):
    try:
        return about.version(name)
    except about.PackageNotFoundError:
        return ""
print(json.dumps({"torch": version("torch"), "nccl": "".join(map(version, %r))}))
""" % [f"nvidia-nccl-cu{major}" for major in (11, 12, 13, 14)]


def main() -> None:
    """Print one JSON object."""
    options = json.load(sys.stdin)
    report = {
        "versions": versions(options["python"]),
        "tools": {name: shutil.which(name) or "" for name in TOOLS},
    }
    json.dump(dict(report, interfaces=interfaces()), sys.stdout)


def versions(python: str) -> Dict[str, str]:
    """What could change a figure; empty where there is none."""
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
    """IPv4 address to the interface that has it."""
    rows = json.loads(command_output(["ip", "-json", "-4", "addr"]) or "[]")
    return {entry["local"]: row["ifname"] for row in rows for entry in row.get("addr_info", [])}


def command_output(argv: "list[str]", limit_s: float = 15, codes: Tuple[int, ...] = (0,)) -> str:
    """What the command prints when it ends well within the limit, which perftest shows by 1; else nothing."""
    result = processes.run(argv, limit_s)
    return result.out.strip() if result.code in codes else ""


def first_line(out: str) -> str:
    """The version, in what has more to tell: `iperf 3.12 (cJSON 1.7.15)`."""
    parts = out.splitlines()[0].split() if out else []
    return " ".join(parts[:2])


def text(path: str) -> str:
    """What the file holds."""
    with open(path) as file:
        return file.read().strip()


if __name__ == "__main__":
    main()
