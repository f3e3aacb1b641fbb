"""Measures a folder's storage on this host: large files and small reads by fio, many small files by itself.

Input: `folder`, `size_mib`, `seconds`. Uses the job's own part of the folder (SCRATCH), if there is one. Prints a
JSON object: fio's figures for each of its jobs, and files per second for create, stat, read and remove of small files.
Standard library, Python 3.8 or later.
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
    """Measure the storage of the folder in the options on stdin by fio and small files, and print the result as JSON.

    It works in a temporary folder there, which it removes.
    """
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
    """Return the job's own folder (SCRATCH) if it is below the folder, else the folder."""
    scratch = os.environ.get("SCRATCH", "")
    return scratch if scratch.startswith(folder.rstrip("/") + "/") else folder


def fio_jobs(folder: str, options: Json) -> Json:
    """Run each fio job, with direct I/O where the file system supports it; return their figures by job.

    `direct` in them is whether it was direct; {} if fio is not installed.
    """
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
    """Run one fio job on the file `large`, which the next jobs read again; return its result.

    The folder comes before the file name, since fio ignores a directory that follows it.
    """
    file_arguments = ["--directory=" + folder, "--filename=large"]
    argv = ["fio", "--name=wright", *file_arguments, "--ioengine=psync", "--output-format=json", *how]
    return processes.run(argv, merge=True)


def extract_metrics(result: processes.Result) -> str:
    """Return the used figures of fio's report of one job as JSON; the end of the output if it is no report."""
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
    """Return files per second to create, stat, read and remove small files, one at a time as a data loader works."""
    names = [os.path.join(folder, "%04d" % index) for index in range(FILES)]
    steps = {"made": write, "looked at": os.stat, "read": read, "removed": os.unlink}  # type: Dict[str, Any]
    return {step: FILES / seconds(work, names) for step, work in steps.items()}


def seconds(work: Any, names: List[str]) -> float:
    """Return the seconds that `work` takes on all these files, one after the other."""
    began = time.perf_counter()
    for name in names:
        work(name)
    return time.perf_counter() - began


def write(name: str) -> None:
    """Write a file of FILE_BYTES zero bytes with that name, as one operation on metadata to measure."""
    with open(name, "wb") as file:
        file.write(bytes(FILE_BYTES))


def read(name: str) -> None:
    """Read a whole file and discard its content, as one operation to measure."""
    with open(name, "rb") as file:
        file.read()


if __name__ == "__main__":
    main()
