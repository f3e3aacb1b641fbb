"""Prints which processes compute on which GPU and the Slurm job whose control group holds each, as one JSON object."""

import json
import re
import sys
from typing import Any, Dict

from clusterwright.onhost.lib import processes

JOB = re.compile(r"/job_(\d+)(/|$)", re.MULTILINE)
WORDS = ["nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_gpu_memory", "--format=csv,noheader,nounits"]


def text(path: str) -> str:
    """What a file of /proc says; nothing for a process that is gone."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def process(line: str) -> Dict[str, Any]:
    """One row of nvidia-smi, with what the kernel knows of the process."""
    uuid, pid, mib = (cell.strip() for cell in line.split(","))
    job = JOB.search(text("/proc/%s/cgroup" % pid))
    name = text("/proc/%s/comm" % pid).strip()
    return {"uuid": uuid, "pid": int(pid), "mib": mib, "job": job.group(1) if job else "", "name": name}


def main() -> None:
    """Ask, look up, print."""
    done = processes.run(WORDS, merge=True)
    if done.stopped:
        json.dump({"absent": True, "code": done.code, "said": done.stopped, "processes": []}, sys.stdout)
        return
    lines = done.out.splitlines()
    rows = [line for line in lines if line.startswith(("GPU-", "MIG-"))]
    said = [line for line in lines if line.strip() and line not in rows]
    found = [process(line) for line in rows]
    json.dump({"code": done.code, "said": " ".join(said), "processes": found}, sys.stdout)


if __name__ == "__main__":
    main()
