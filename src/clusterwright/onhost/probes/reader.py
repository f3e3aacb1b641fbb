"""Runs commands on this host, some at once, each with a limit, and prints one JSON line of how they ended.

Runs on any host with Python 3.6; nothing here outlives its limit, not even a command stuck in the kernel:
that one is killed with its process group, then left behind, and named in the answer.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Tuple

MARK = "@clusterwright-facts "  # what comes before it on stdout is a login banner or the like
AT_ONCE = 8  # ours: most facts wait for a daemon or the network and use no processor
MOST_BYTES = 1 << 20  # ours: the largest honest answer (the nodes of a 1,000-host cluster) is about 700 kB
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "HOME": "/root",
}


Process = Any  # subprocess.Popen[bytes], which Python 3.6 cannot say


def kill(process: Process) -> bool:
    """End the whole process group; True when it is gone soon after (not stuck in the kernel)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        return False
    return True


def feed(process: Process, text: str) -> None:
    """Write the command's input without waiting for the command."""

    def write() -> None:
        try:
            process.stdin.write(text.encode())
            process.stdin.close()
        except OSError:
            pass  # it ended without reading all of it, which is its right

    threading.Thread(target=write, daemon=True).start()


def collect(process: Process, limit_s: float) -> Tuple[Dict[Any, List[bytes]], str]:
    """What it said until it closed both pipes, and why it had to be stopped, if so."""
    parts = {process.stdout: [], process.stderr: []}  # type: Dict[Any, List[bytes]]
    end, size = time.monotonic() + limit_s, 0
    with selectors.DefaultSelector() as selector:
        for pipe in parts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0, end - time.monotonic()))
            if not ready:
                return parts, "overran"
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                parts[key.fileobj].append(data)
                size += len(data)
                if not data:
                    selector.unregister(key.fileobj)
            if size > MOST_BYTES:
                return parts, "said too much"
    try:
        process.wait(max(0.01, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return parts, "overran"
    return parts, ""


def ask(item: Dict[str, Any], deadline: float) -> Dict[str, Any]:
    """How one command ended."""
    started = time.monotonic()
    limit_s = min(item["limit_s"], deadline - started)
    if limit_s <= 0:
        return {"code": None, "out": "", "err": "", "seconds": 0, "stopped": "never had its turn"}
    argv = [sys.executable if word == "python3" else word for word in item["argv"]]
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            start_new_session=True,
        )
    except OSError as why:
        return {"code": 127, "out": "", "err": "", "seconds": 0, "stopped": why.strerror or str(why)}
    feed(process, item.get("stdin", ""))
    parts, stopped = collect(process, limit_s)
    survived = bool(stopped) and not kill(process)
    out, err = (b"".join(parts[pipe]).decode(errors="replace") for pipe in (process.stdout, process.stderr))
    seconds = round(time.monotonic() - started, 4)
    return {
        "code": process.returncode,
        "out": out[:MOST_BYTES],
        "err": err[-2000:],
        "seconds": seconds,
        "stopped": stopped,
        "survived": survived,
    }


def main() -> None:
    """Ask everything that stdin names, print the answer, leave; threads that are stuck do not hold us."""
    request = json.load(sys.stdin)
    began, deadline = time.time(), time.monotonic() + request["deadline_s"]
    answers = {}  # type: Dict[str, Any]
    waiting = list(reversed(request["facts"]))

    def work() -> None:
        while waiting:
            try:
                item = waiting.pop()
            except IndexError:
                return
            answers[item["id"]] = ask(item, deadline)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, deadline + 2 - time.monotonic()))
    whole = {"python": sys.version.split()[0], "began": began, "facts": dict(answers), "ended": time.time()}
    sys.stdout.write("\n" + MARK + json.dumps(whole) + "\n")
    sys.stdout.flush()
    os._exit(0)
