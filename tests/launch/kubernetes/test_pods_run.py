"""The pods of a manifest as processes of this machine: their command, their variables, their signals, real torchrun."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(280)]

SOURCE = Path(__file__).parents[3] / "src"
STEPS, EVERY = 120, 20
JOB = [
    ("arguments: {steps: 300}", f"arguments: {{steps: {STEPS}}}"),
    (
        "checkpoint: {every: 25 steps, save_total_limit: 3}",
        f"checkpoint: {{every: {EVERY} steps, save_total_limit: 3}}",
    ),
]
TORCH = pytest.importorskip("torch", reason="there is no torch here (make install)")


def free_port():
    """A port of the loopback that nobody has."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


@contextmanager
def pods(found, place):
    """One process for each pod, as the kubelet starts their containers; gone afterwards.

    The shared folder is a folder of the test, and the first pod's name is the loopback's.
    """
    (template,) = found.pods()
    (container,) = template["spec"]["containers"]
    told = {each["name"]: each.get("value", "") for each in container["env"]}
    told |= {"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": str(free_port())}
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    shared = {name: text.replace("/shared", str(place)) for name, text in told.items()}
    argv = [sys.executable if word == "python3" else word for word in container["command"]]
    processes, logs = [], []
    try:
        for index in range(int(told["PET_NNODES"])):
            own = {"PET_NODE_RANK": str(index), "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
            logs.append((place / f"pod-{index}.log").open("ab"))
            processes.append(subprocess.Popen(
                argv, env={**base, **shared, **own}, cwd=place, stdout=logs[-1], stderr=logs[-1], start_new_session=True
            ))  # fmt: skip
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for log in logs:
            log.close()


def said(place):
    """What all pods have printed."""
    return "".join(path.read_text(errors="replace") for path in sorted(place.glob("pod-*.log")))


def saved(place):
    """Steps of the whole checkpoints that there are."""
    folder = place / "runs/gpt-small/checkpoints"
    return sorted(int(path.parent.name.removeprefix("step-")) for path in folder.glob("step-*/manifest.json"))


def resumed(place):
    """Steps that rank 0 says it went on from."""
    rows = map(json.loads, (place / "runs/gpt-small/events/rank-00000.jsonl").read_text().splitlines())
    return [row["step"] for row in rows if row.get("event") == "resumed"]


def wait_until(condition, processes, place, limit_s=120):
    """It holds; or a pod has ended, or the time is over, and that is told with what they printed."""
    end = time.monotonic() + limit_s
    while not condition():
        assert all(each.poll() is None for each in processes), said(place)[-3000:]
        assert time.monotonic() < end, said(place)[-3000:]
        time.sleep(0.2)


def test_pods_train_together_save_when_they_are_evicted_and_go_on_where_they_were(made, tmp_path):
    """Two pods of two ranks; SIGTERM, as the kubelet sends it; and all pods anew, as the JobSet starts them."""
    found = made("lab", job=JOB)

    with pods(found, tmp_path) as running:
        wait_until(lambda: saved(tmp_path)[-1:] >= [EVERY], running, tmp_path)
        for each in running:
            each.send_signal(signal.SIGTERM)
        codes = [each.wait(timeout=60) for each in running]
    last = saved(tmp_path)[-1]
    with pods(found, tmp_path) as again:
        done = [each.wait(timeout=200) for each in again]

    assert all(codes), codes  # not finished: the Job has failed, and the JobSet starts it anew
    assert EVERY <= last < STEPS
    assert done == [0, 0], said(tmp_path)[-3000:]
    assert resumed(tmp_path) == [last]
    assert saved(tmp_path)[-1] == STEPS
