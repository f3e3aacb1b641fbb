"""What a folder does for this host: large files and small reads by fio, many small files by itself.

Given `folder`, `size_mib`, `seconds`. Where the job has a part of that folder to itself (SCRATCH), it is done there.
Prints a JSON object: what fio says of each of its jobs, and files a second for making, looking at, reading and
removing small ones. Standard library, Python 3.8 or later.
"""

import json
import os
import shutil
import sys
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes

FILES, FILE_BYTES = 1000, 4096
JOBS = {
    "write": ["--rw=write", "--bs=1M", "--end_fsync=1"],
    "read": ["--rw=read", "--bs=1M"],
    "random read": ["--rw=randread", "--bs=4k"],
}
METRICS = ("bw", "bw_bytes", "iops", "clat", "clat_ns")

Json = Dict[str, Any]


def main() -> None:
    """In a folder of this host's own, which is gone afterwards."""
    options = json.load(sys.stdin)
    folder = os.path.join(
        job_folder(options["folder"]), ".wright-bench-%s-%d" % (os.uname().nodename, os.getpid())
    )
    os.mkdir(folder)
    try:
        report = {"fio": fio_jobs(folder, options), "files": small_files(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    json.dump(report, sys.stdout)


def job_folder(folder: str) -> str:
    """The job's own folder in it, which the prolog makes on a local disk; else the folder."""
    scratch = os.environ.get("SCRATCH", "")
    return scratch if scratch.startswith(folder.rstrip("/") + "/") else folder


def fio_jobs(folder: str, options: Json) -> Json:
    """Each job past the page cache where the file system allows it; `direct` says whether it did."""
    if not shutil.which("fio"):
        return {}
    size = ["--size=%dM" % options["size_mib"], "--runtime=%d" % options["seconds"]]
    outputs = {}
    for name, how in JOBS.items():
        for direct in (1, 0):
            result = fio(folder, [*how, *size, "--direct=%d" % direct])
            outputs[name] = {"direct": bool(direct), "out": extract_metrics(result)}
            if result.ok:
                break
    return outputs


def fio(folder: str, how: List[str]) -> processes.Result:
    """One job of fio on one file, which later jobs read again; fio forgets a directory that comes after the name."""
    file_arguments = ["--directory=" + folder, "--filename=large"]
    argv = ["fio", "--name=wright", *file_arguments, "--ioengine=psync", "--output-format=json", *how]
    return processes.run(argv, merge=True)


def extract_metrics(result: processes.Result) -> str:
    """The figures of its one job, in its own form: the whole would be 30 kB for each."""
    out = result.out
    try:
        job = json.loads(out[out.index("{") :])["jobs"][0]
    except (ValueError, LookupError):
        return out[-2000:]
    sides = {
        side: {name: job[side][name] for name in METRICS if name in job[side]} for side in ("read", "write")
    }
    return json.dumps({"jobs": [{"error": job["error"], **sides}]})


def small_files(folder: str) -> Dict[str, float]:
    """Files a second, one after the other, as a data loader or an unpacking archive does it."""
    names = [os.path.join(folder, "%04d" % index) for index in range(FILES)]
    steps = {"made": write, "looked at": os.stat, "read": read, "removed": os.unlink}  # type: Dict[str, Any]
    return {step: FILES / seconds(work, names) for step, work in steps.items()}


def seconds(work: Any, names: List[str]) -> float:
    """Of the work on all of them."""
    began = time.perf_counter()
    for name in names:
        work(name)
    return time.perf_counter() - began


def write(name: str) -> None:
    """A small file, with its content."""
    with open(name, "wb") as file:
        file.write(bytes(FILE_BYTES))


def read(name: str) -> None:
    """All of it."""
    with open(name, "rb") as file:
        file.read()


if __name__ == "__main__":
    main()
