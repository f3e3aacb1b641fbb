"""Prints the processes on each GPU, each with the Slurm job of its cgroup, as one JSON object."""

import json
import sys
from typing import Any, Dict

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.job_cgroups import job_of_process

COMMAND = ["nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_gpu_memory", "--format=csv,noheader,nounits"]


def text(path: str) -> str:
    """Return the text of a /proc file; "" if it cannot be read, as of a process that has ended."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def process(line: str) -> Dict[str, Any]:
    """Return one row of nvidia-smi's compute processes, with the process's Slurm job ("" for none) and its name."""
    uuid, pid, mib = (cell.strip() for cell in line.split(","))
    name = text("/proc/%s/comm" % pid).strip()
    return {"uuid": uuid, "pid": int(pid), "mib": mib, "job": job_of_process(int(pid)) or "", "name": name}


def main() -> None:
    """Print the processes on all GPUs, by nvidia-smi, as JSON; `absent` if that is missing."""
    result = processes.run(COMMAND, merge=True)
    if result.stopped:
        json.dump({"absent": True, "code": result.code, "said": result.stopped, "processes": []}, sys.stdout)
        return
    lines = result.out.splitlines()
    rows = [line for line in lines if line.startswith(("GPU-", "MIG-"))]
    messages = [line for line in lines if line.strip() and line not in rows]
    gpu_processes = [process(line) for line in rows]
    json.dump({"code": result.code, "said": " ".join(messages), "processes": gpu_processes}, sys.stdout)


if __name__ == "__main__":
    main()
