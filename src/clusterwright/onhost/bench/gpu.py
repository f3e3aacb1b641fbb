"""Runs the steps of a bench on all GPUs of this host, and polls nvidia-smi meanwhile.

Input: `device`, `count`, and `steps`: each has a `name`, `together` (all GPUs at once or in turn), a limit, and the
request for `gpu_work.py`. Prints one JSON object. A GPU that fails ends its own process and no other.
Standard library, Python 3.8 or later; run with the Python that has torch.
"""

import json
import os
import queue
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from clusterwright.onhost.lib import processes

START_S = 240.0  # import of torch and start of the driver: 3 s on an idle host, 120 s measured on a busy one
POLL_INTERVAL_S = 0.5
SMI_S = 25.0  # a driver that starts cold takes about 3 s for each GPU
# Names of `nvidia-smi --help-query-gpu`; the second of two is for drivers before 535.
FIELDS = (
    ("index",), ("temperature.gpu",), ("clocks.current.sm",), ("clocks.max.sm",), ("power.draw",),
    ("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
    ("pcie.link.gen.current",), ("pcie.link.gen.max",), ("pcie.link.width.current",), ("pcie.link.width.max",),
)  # fmt: skip

Json = Dict[str, Any]
Reading = Tuple[float, Dict[int, Json]]


def main() -> None:
    """Run all steps of the options on stdin on this host's GPUs; print results and nvidia-smi's readings as JSON.

    Readings start before the first step and end after the last.
    """
    options = json.load(sys.stdin)
    readings = Readings()
    readings.poll()
    gpus = [Worker(options, index) for index in range(options["count"])]
    for gpu in gpus:
        gpu.about = gpu.answer(START_S)
    readings.start()
    for step in options["steps"]:
        for group in [gpus] if step["together"] else [[gpu] for gpu in gpus]:
            run_step(group, step)
    readings.stop()
    for gpu in gpus:
        gpu.end()
    reports = [dict(gpu.report(), **readings.for_gpu(gpu)) for gpu in gpus]
    json.dump({"gpus": reports, "blind": readings.blind}, sys.stdout)


def run_step(group: "List[Worker]", step: Json) -> None:
    """Send the step's request to these GPUs, run concurrently, and store their answers; skip ended processes."""
    alive = [gpu for gpu in group if not gpu.reason]
    began = time.monotonic()
    for gpu in alive:
        gpu.send(step["asked"])
    for gpu in alive:
        answer = gpu.answer(step["limit_s"])
        if not gpu.reason:
            gpu.steps[step["name"]] = answer
            gpu.spans[step["name"]] = (began, time.monotonic())


class Worker:
    """The gpu_work.py process of one GPU; `reason` says why it ended early, "" while it runs."""

    def __init__(self, options: Json, index: int) -> None:
        """Start gpu_work.py for the GPU of that index in nvidia-smi's order."""
        self.index, self.reason = index, ""
        self.about, self.steps, self.spans = {}, {}, {}  # type: Json, Json, Dict[str, Tuple[float, float]]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (removed when this process ends)
        about = json.dumps({"device": options["device"], "index": index, "count": options["count"]})
        program = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "gpu_work.py")
        self.process = processes.start(
            [sys.executable, program, about],
            stdin=processes.PIPE, stdout=processes.PIPE, stderr=self.errors,
            env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        )  # fmt: skip
        self.output = queue.Queue()  # type: queue.Queue[bytes]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        """Queue every line that the GPU's process prints, and an empty one at its end."""
        for line in self.process.stdout or ():
            self.output.put(line)
        self.output.put(b"")

    def send(self, request: Json) -> None:
        """Send one request to the GPU's process; if that has ended, the next `answer` reports it."""
        try:
            assert self.process.stdin
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def answer(self, limit_s: float) -> Json:
        """Return the next answer of the GPU's process, waiting at most `limit_s` seconds.

        {} with `reason` set if it ended, or did not answer in time; it is then killed.
        """
        try:
            line = self.output.get(timeout=limit_s)
        except queue.Empty:
            self.reason = "no response in %g s" % limit_s
            self.process.kill()
            return {}
        if not line:
            self.reason = self.last_error() or "exited with code %s" % self.process.wait()
            return {}
        return dict(json.loads(line))

    def last_error(self) -> str:
        """Wait for the process's end and return the last line of its stderr; "" if it printed none."""
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def end(self) -> None:
        """Stop the GPU's process without waiting for it: one that hangs in the driver may ignore SIGKILL."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except processes.TimeoutExpired:
            self.process.kill()

    def report(self) -> Json:
        """Return as JSON the GPU's index and device, each step's result, and why its process ended early or ""."""
        return {"index": self.index, **self.about, "steps": self.steps, "reason": self.reason}


class Readings:
    """nvidia-smi's readings of all GPUs, one call at a time; `blind` is the reason if there are none."""

    def __init__(self) -> None:
        """Prepare the polling thread; no readings yet."""
        self.fields = [list(names) for names in FIELDS]
        self.rows, self.blind, self.over = [], "", threading.Event()  # type: List[Reading], str, threading.Event
        self.thread = threading.Thread(target=self.poll_loop)

    def start(self) -> None:
        """Start the thread that polls nvidia-smi for readings of all GPUs."""
        self.thread.start()

    def poll_loop(self) -> None:
        """Poll nvidia-smi until stopped or until it fails."""
        while not self.over.wait(POLL_INTERVAL_S) and not self.blind:
            self.poll()

    def stop(self) -> None:
        """Stop polling nvidia-smi and take one last reading, of the idle GPUs."""
        self.over.set()
        self.thread.join()
        if not self.blind:
            self.poll()

    def poll(self) -> None:
        """Take one reading of nvidia-smi and store it with its time; on failure store the reason in `blind`.

        A field unknown to the driver is read by its older name, or left out.
        """
        while True:
            query = ",".join(names[0] for names in self.fields)
            out, self.blind = run_query(
                ["nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader,nounits"]
            )
            unknown = [names for names in self.fields if 'Field "%s" is not a valid' % names[0] in out]
            if not unknown:
                break
            for names in unknown:
                names.pop(0)
            self.fields = [names for names in self.fields if names]
        if not self.blind:
            self.rows.append((time.monotonic(), dict(self.read(out))))

    def read(self, out: str) -> "List[Tuple[int, Json]]":
        """Return index and readings of each GPU from nvidia-smi's output, by the first name of each field."""
        titles = [next(aliases[0] for aliases in FIELDS if names[0] in aliases) for names in self.fields]
        rows = []
        for line in out.splitlines():
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == len(titles) and cells[0].isdigit():
                row = dict(zip(titles, map(number, cells)))
                rows.append((int(cells[0]), row))
        return rows

    def for_gpu(self, gpu: Worker) -> Json:
        """Return the GPU's readings before and after all steps, and those during each step."""
        gpu_rows = [(time_s, by_index[gpu.index]) for time_s, by_index in self.rows if gpu.index in by_index]
        by_step = {
            step: [row for time_s, row in gpu_rows if began < time_s < ended]
            for step, (began, ended) in gpu.spans.items()
        }
        ends = {"before": gpu_rows[0][1], "after": gpu_rows[-1][1]} if gpu_rows else {}
        return {"readings": {**ends, "during": by_step}}


def run_query(argv: List[str]) -> "Tuple[str, str]":
    """Return nvidia-smi's output, and the reason of its failure or ""; an unknown field name is no failure."""
    result = processes.run(argv, SMI_S, merge=True)
    if result.code == processes.NOT_STARTED:
        return "", "nvidia-smi is not installed"
    if result.stopped:
        return "", "no response of nvidia-smi in %g s" % SMI_S
    refused = "is not a valid field" in result.out
    return result.out, "" if result.ok or refused else (result.out.strip().splitlines() or ["(nothing)"])[-1]


def number(cell: str) -> Optional[float]:
    """Return a cell of nvidia-smi as a number; None for [N/A] and the like."""
    try:
        return float(int(cell, 0)) if cell.startswith("0x") else float(cell)
    except ValueError:
        return None


if __name__ == "__main__":
    main()
