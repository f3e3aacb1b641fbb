"""A Python with torch imported that forks ranks: `python -m ...forkserver RUN AGENT MODULES...`.

The import of torch is the longest part of a rank's start: 2 to 6 s. The fork server imports it once, and all
forks share its memory. Orders are JSON lines on stdin; answers go to the agent's pipe (wake.py). A forked
process is the agent's child, so it survives the fork server.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from typing import Any, Dict, Optional, Sequence

from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor.host import forming, processes, rank, store, wake

NAME = "clusterwright.onhost.supervisor.host.forkserver"
PROBLEMS = "CLUSTERWRIGHT_FORKSERVER_PROBLEMS"
# what every rank needs by its first step: optimizers and DistributedDataParallel import torch._dynamo
TORCH = ("torch", "torch.distributed", "torch._dynamo")


def main(arguments: Sequence[str]) -> None:
    """Import torch and the modules, then fork a process at each order of the agent to start a rank or a store.

    In the child, run that. A module that prevents forks is left out, by a restart.
    """
    run, agent, *modules = arguments
    begun = time.monotonic()
    forming.install()
    problems = os.environ.pop(PROBLEMS, "").splitlines()
    problems += [problem for problem in map(imported, TORCH) if problem]
    for module in modules:
        threads = len(os.listdir("/proc/self/task"))
        problems += filter(None, [imported(module)])
        spoilt = no_fork_after(threads)
        if spoilt:
            problems.append(f"{module} {spoilt}")
            restart(run, agent, [name for name in modules if name != module], problems)
    seconds = round(time.monotonic() - begun, 3)
    wake.send(forkserver=os.getpid(), seconds=seconds, bytes=resident(), problems=problems)
    gc.collect()
    gc.freeze()  # the ranks' garbage collections skip these objects and so do not write to shared pages
    order = serve(int(agent))
    if order:
        become(order)


def imported(module: str) -> str:
    """Import the module; return the error as one line, empty for success. The rank reports it with a traceback."""
    try:
        importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 (the rank itself reports it)
        return f"{module}: {type(error).__name__}: {error}"[:200]
    return ""


def no_fork_after(threads: int) -> str:
    """Return why this process cannot be forked, given its number of threads before an import; "" if it can."""
    if len(os.listdir("/proc/self/task")) > threads:
        return "starts threads on import, which a fork would lack"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "uses CUDA on import, which does not survive a fork"
    return ""


def restart(run: str, agent: str, modules: Sequence[str], problems: Sequence[str]) -> None:
    """Replace this process by a new fork server that imports only these modules, without those that prevent forks.

    `problems` are those found so far, which the new one reports.
    """
    os.environ[PROBLEMS] = "\n".join(problems)
    os.execv(sys.executable, [sys.executable, "-u", *module_arguments(NAME, run, agent, *modules)])  # noqa: S606 (ourselves)


def serve(agent: int) -> Optional[Dict[str, Any]]:
    """Fork at each order, a request of the agent to start a process.

    Return the order in the child, None in the fork server when the agent closes stdin.
    """
    while True:
        line = sys.stdin.readline()
        if not line:
            return None
        if _forked_for(agent):
            order: Dict[str, Any] = json.loads(line)
            return order


def _forked_for(agent: int) -> bool:
    """Fork twice; return True in the new process, the agent's child, and False here.

    The process in between ends at once, and the agent, as a subreaper, inherits its child.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    intermediate_pid = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == intermediate_pid:
        time.sleep(0.0005)
    processes.die_with(agent)
    return True


def become(order: Dict[str, Any]) -> None:
    """Turn this forked process into the rank or store of an order: set up files, folder, environment; run it.

    It reports the start to the agent first.
    """
    os.setsid()
    for number, path in ((1, order["out"]), (2, order["err"])):
        target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(target, number)
        os.close(target)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (open as long as the rank lives)
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    processes.name(order["name"])
    wake.send(started=order["id"], pid=os.getpid())
    if order["kind"] == "store":
        store.serve(order["address"])
    else:
        rank.run(order["command"])


def resident() -> int:
    """Return the resident memory of this process in bytes (proc(5), statm)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main(sys.argv[1:])
