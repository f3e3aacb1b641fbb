"""Drives all GPUs of this host through the steps of a bench, and reads what nvidia-smi says of them meanwhile.

Given `device`, `count`, and `steps`: each has a `name`, whether all GPUs do it `together`, a limit, and what
`gpu_work.py` is asked. Prints one JSON object. A GPU that fails ends its own process, and no other's.
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

START_S = 240.0  # importing torch and waking a driver: 3 s on an idle host, 120 s seen on a crowded one
POLL_INTERVAL_S = 0.5
SMI_S = 25.0  # a driver that starts cold takes about 3 s for each GPU
# Names as `nvidia-smi --help-query-gpu` lists them; where there are two, drivers before 535 know the second.
FIELDS = (
    ("index",), ("temperature.gpu",), ("clocks.current.sm",), ("clocks.max.sm",), ("power.draw",),
    ("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
    ("pcie.link.gen.current",), ("pcie.link.gen.max",), ("pcie.link.width.current",), ("pcie.link.width.max",),
)  # fmt: skip

Json = Dict[str, Any]
Reading = Tuple[float, Dict[int, Json]]


def main() -> None:
    """Readings begin before the first step, and end after the last."""
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
    """One step by these GPUs at the same time."""
    alive = [gpu for gpu in group if not gpu.why]
    began = time.monotonic()
    for gpu in alive:
        gpu.send(step["asked"])
    for gpu in alive:
        answer = gpu.answer(step["limit_s"])
        if not gpu.why:
            gpu.steps[step["name"]] = answer
            gpu.spans[step["name"]] = (began, time.monotonic())


class Worker:
    """The process of one GPU; `why` it has ended, once it has."""

    def __init__(self, options: Json, index: int) -> None:
        """Indices are those of nvidia-smi."""
        self.index, self.why = index, ""
        self.about, self.steps, self.spans = {}, {}, {}  # type: Json, Json, Dict[str, Tuple[float, float]]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (it is gone with this process)
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
        """Every line, and an empty one at the end."""
        for line in self.process.stdout or ():
            self.output.put(line)
        self.output.put(b"")

    def send(self, request: Json) -> None:
        """One line; a process that has ended says so when it is listened to."""
        try:
            assert self.process.stdin
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def answer(self, limit_s: float) -> Json:
        """The next line; nothing when there is none, and then `why` says it."""
        try:
            line = self.output.get(timeout=limit_s)
        except queue.Empty:
            self.why = "gave no answer in %g s" % limit_s
            self.process.kill()
            return {}
        if not line:
            self.why = self.last_error() or "ended with %s" % self.process.wait()
            return {}
        return dict(json.loads(line))

    def last_error(self) -> str:
        """Of its errors."""
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def end(self) -> None:
        """A process that hangs in the driver may be beyond reach of a signal; it is not waited for."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except processes.TimeoutExpired:
            self.process.kill()

    def report(self) -> Json:
        """What it is, what each step came to, and why there is no more."""
        return {"index": self.index, **self.about, "steps": self.steps, "why": self.why}


class Readings:
    """What nvidia-smi said of all GPUs, one call at a time; `blind` says why where it says nothing."""

    def __init__(self) -> None:
        """Nothing has been read yet."""
        self.fields = [list(names) for names in FIELDS]
        self.rows, self.blind, self.over = [], "", threading.Event()  # type: List[Reading], str, threading.Event
        self.thread = threading.Thread(target=self.poll_loop)

    def start(self) -> None:
        """Look again and again, until stopped."""
        self.thread.start()

    def poll_loop(self) -> None:
        """Until stopped, or blind."""
        while not self.over.wait(POLL_INTERVAL_S) and not self.blind:
            self.poll()

    def stop(self) -> None:
        """With one look more, at GPUs that rest again."""
        self.over.set()
        self.thread.join()
        if not self.blind:
            self.poll()

    def poll(self) -> None:
        """One reading; a name that this driver does not know is replaced by its older one, or left out."""
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
        """Index and numbers of each GPU that answers, by the first name of each field."""
        titles = [next(aliases[0] for aliases in FIELDS if names[0] in aliases) for names in self.fields]
        rows = []
        for line in out.splitlines():
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == len(titles) and cells[0].isdigit():
                row = dict(zip(titles, map(number, cells)))
                rows.append((int(cells[0]), row))
        return rows

    def for_gpu(self, gpu: Worker) -> Json:
        """Before, after, and all that was read in each step."""
        gpu_rows = [(time_s, by_index[gpu.index]) for time_s, by_index in self.rows if gpu.index in by_index]
        by_step = {
            step: [row for time_s, row in gpu_rows if began < time_s < ended]
            for step, (began, ended) in gpu.spans.items()
        }
        ends = {"before": gpu_rows[0][1], "after": gpu_rows[-1][1]} if gpu_rows else {}
        return {"readings": {**ends, "during": by_step}}


def run_query(argv: List[str]) -> "Tuple[str, str]":
    """What the command printed, and why it did not end well; a name that it refuses is no failure of its own."""
    result = processes.run(argv, SMI_S, merge=True)
    if result.code == processes.NOT_STARTED:
        return "", "there is no nvidia-smi"
    if result.stopped:
        return "", "nvidia-smi gave no answer in %g s" % SMI_S
    refused = "is not a valid field" in result.out
    return result.out, "" if result.ok or refused else (result.out.strip().splitlines() or ["(nothing)"])[-1]


def number(cell: str) -> Optional[float]:
    """None for [N/A] and the like."""
    try:
        return float(int(cell, 0)) if cell.startswith("0x") else float(cell)
    except ValueError:
        return None


if __name__ == "__main__":
    main()
