"""Start and end the ranks of one host: forked from a Python that has torch imported, or started cold.

`read_messages`, `reap` and `poll` return messages for the supervisor.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor.host import available, processes, wake
from clusterwright.onhost.supervisor.host.generation import Generation, variables
from clusterwright.onhost.supervisor.wire import Message

KILL_S = 3.0  # shorter than any sensible host timeout, since no heartbeat is sent meanwhile
# A fork server takes 0.3 GB, and each rank its model on top; with less available, ranks start cold.
STANDBY_BYTES = 1 << 30
LOG_POLL_S = 1.0
COLD_STORE_S = 10.0  # without a fork server, the next store imports torch only after the ranks have
REFILL_S = 5.0  # a fork server that died restarts after the ranks have started
F_SETPIPE_SZ, ORDERS_BYTES = 1031, 1 << 20  # fcntl(2); holds orders for 128 ranks during the import of torch
HOST = "clusterwright.onhost.supervisor.host"
MOST_BYTES = 256 << 20  # of one file; 100 MB/s fill a terabyte in three hours
EDGE_BYTES = 1 << 20  # kept of the beginning, and of the end

# An import makes progress if it reads a byte or gets 0.01 s of CPU time within this: at a load of 30, two imports got
# that each third of a second.
IDLE_S = 30.0
LONGEST_S = 1800.0  # an import that never ends: no file system fit for training takes half an hour


class Ranks:
    """The ranks, stores and fork server of one host."""

    def __init__(self, run: str, log: str, pipe: wake.Pipe) -> None:
        self.pipe = pipe
        self._run, self._log = run, log
        self._env: Dict[str, str] = {}
        self._modules: Sequence[str] = ()
        self._server: Any = None
        self._server_pid = 0
        self._forks: Sequence[str] = ()  # the kinds of orders that the fork server takes
        self._progress_timeout, self._why = ProgressTimeout(), ""
        self._standby = False
        self._restart_at = float("inf")
        self._pending_orders: Dict[str, Dict[str, Any]] = {}  # orders without a started process yet
        self._stores: Dict[int, int] = {}  # port of each store by process id
        self.next_store = 0  # port of the store for the next generation; 0 for none
        self.excluded_pid = 0  # a child that is no rank (a supervisor); it and its descendants live on
        # process id of the store that has not reported its port yet, and the number of stores ordered
        self._making = self._store_count = 0
        self._store_address = ""  # where stores listen
        self._pids: Dict[int, int] = {}  # local rank by process id
        self._early: Dict[int, int] = {}  # exit codes of processes reaped before their start was reported
        self._finished_ranks: Set[int] = set()
        self._generation = 0
        self._size = 0
        self._logs: List[str] = []
        self._logs_polled_at = 0.0
        self._begun = float("-inf")

    def warm(self, env: Mapping[str, str], modules: Sequence[str], *, standby: bool) -> List[Message]:
        """Start the fork server for ranks and stores; for stores only, if `standby` is False or memory is short.

        Return notes to log, such as that memory is short. If one runs, only store the arguments.
        """
        self._env = {**env, **dict([self.pipe.variable()])}
        self._modules, self._standby = modules, standby
        if self._server_pid:
            return []
        free_bytes = available.available_bytes()
        if standby and free_bytes >= STANDBY_BYTES:
            self._start_server("forkserver", modules, forks=("store", "rank"))
            return []
        self._start_server("stores", (), forks=("store",))
        reason = f"{free_bytes >> 20} of {STANDBY_BYTES >> 20} MiB of memory available; ranks start cold"
        return [{"standby": {"reason": reason}}] if standby else []

    def _start_server(self, module: str, modules: Sequence[str], *, forks: Sequence[str]) -> None:
        self._forks = forks
        argv = [
            sys.executable,
            "-u",
            *module_arguments(f"{HOST}.{module}", self._run, str(os.getpid()), *modules),
        ]
        self._server = processes.start(argv, self._env, self._log, orders=True)
        self._server.returncode = 0  # `reap` collects it
        self._server_pid, self._restart_at = self._server.pid, float("inf")
        fcntl.fcntl(self._server.stdin.fileno(), F_SETPIPE_SZ, ORDERS_BYTES)

    def prepare_store(self, address: str) -> None:
        """Order a rendezvous store for the next generation unless there is one; its port comes as a message.

        While ranks start cold, none is ordered yet.
        """
        self._store_address = address
        cold = not self._server_pid and time.monotonic() < self._begun + COLD_STORE_S
        if (
            cold
            or self.next_store
            or self._making
            or any(order["kind"] == "store" for order in self._pending_orders.values())
        ):
            return
        self._store_count += 1
        self._order(
            {
                "id": f"store:{self._store_count}",
                "kind": "store",
                "name": "store",
                "address": address,
                "env": {},
                "cwd": "/",
                "out": self._log,
                "err": self._log,
            }
        )

    @property
    def running(self) -> List[int]:
        """Return the process ids of all ranks, by local rank; empty before all have started and once one has ended."""
        pids = {local_rank: pid for pid, local_rank in self._pids.items()}
        return [pids[local_rank] for local_rank in range(self._size)] if len(pids) == self._size else []

    def start(
        self,
        generation: Generation,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        rank_variables: Callable[[int], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """End earlier ranks and order the ranks of a generation, without waiting until they run.

        `env` and `rank_variables` extend the environment of `warm`.
        """
        self.end()
        self.next_store = 0  # on the first host, that store serves this generation now
        self._generation, self._size, self._finished_ranks = generation.number, generation.ranks, set()
        self._begun, self._logs = time.monotonic(), []
        for local_rank in range(generation.ranks):
            out = os.path.join(generation.log_dir, f"{local_rank}.out")
            self._order(
                {
                    "id": f"{generation.number}:{local_rank}",
                    "kind": "rank",
                    "name": f"rank {local_rank}",
                    "command": list(command),
                    "cwd": cwd,
                    "env": {**env, **variables(generation, local_rank), **rank_variables(local_rank)},
                    "out": out,
                    "err": out[:-3] + "err",
                }
            )
            self._logs += [out, out[:-3] + "err"]

    def start_launcher(
        self, generation: Generation, argv: List[str], env: Mapping[str, str], cwd: str
    ) -> None:
        """End earlier ranks and start a launcher of this host's ranks; the launcher counts as one rank."""
        self.end()
        self._generation, self._size, self._finished_ranks = generation.number, 1, set()
        log = os.path.join(generation.log_dir, "launcher.log")
        started = processes.start(argv, {**self._env, **env}, log, cwd=cwd)
        started.returncode = 0
        self._pids[started.pid] = 0

    def read_messages(self) -> List[Message]:
        """Read and handle the messages of this host's processes; return messages for the supervisor."""
        messages: List[Message] = []
        for message in self.pipe.read():
            if "started" in message:
                messages += self._started(message["started"], message["pid"])
            elif "store" in message and message["store"] == self._making:
                self._stores[self._making] = self.next_store = message["port"]
                self._making = 0
                messages.append({"store": message["port"]})
            elif "store_error" in message and message["pid"] == self._making:
                messages.append({"store_error": message["store_error"]})
            elif "raised" in message and message["pid"] in self._pids:
                messages.append(
                    self._exited(self._pids[message["pid"]], 1, message["message"], message["cause"])
                )
            elif "forkserver" in message:
                messages.append({"standby": message})
        return messages

    def reap(self) -> List[Message]:
        """Collect ended processes of this host; return messages about them for the supervisor."""
        messages: List[Message] = []
        for pid, code in processes.reap():
            if pid == self._server_pid:
                messages += self._lost_server()
            elif pid == self._making:
                self._making = 0  # `poll` orders another
            elif pid in self._stores:
                if self._stores.pop(pid) == self.next_store:
                    self.next_store = 0
                    messages.append({"store": 0})
            elif pid in self._pids:
                messages += self._left_with(self._pids.pop(pid), code)
            elif self._pending_orders:
                self._early[pid] = code
        return messages

    def poll(self) -> List[Message]:
        """Truncate long logs, restart a dead fork server, kill a stuck one; return messages for the supervisor.

        Logs are checked every LOG_POLL_S; messages come only from a restart.
        """
        if time.monotonic() >= self._logs_polled_at + LOG_POLL_S:
            self._logs_polled_at = time.monotonic()
            for log in self._logs:
                truncate_log(log)
            if self._store_address:
                self.prepare_store(self._store_address)
        if time.monotonic() >= self._restart_at:
            return self.warm(self._env, self._modules, standby=self._standby)
        if self._pending_orders and self._server_pid and not self._why:
            self._why = self._progress_timeout.over(self._server_pid, time.monotonic())
            if self._why:
                processes.signal_process(self._server_pid, signal.SIGKILL)
        return []

    def terminate(self) -> None:
        """Send SIGTERM to all ranks: those of the runtime save and leave, one without a handler dies."""
        for pid in self._pids:
            processes.signal_process(pid, signal.SIGTERM)

    def end(self) -> bool:
        """Kill all ranks and their descendants, but no fork server or next store; return False if one survives."""
        self._pending_orders.clear()  # stores included: one not yet started is killed when it starts
        self._pids.clear()
        self._begun = float("-inf")
        next_store = [pid for pid, port in self._stores.items() if port == self.next_store]
        survivors = {self._server_pid, self._making, *next_store}
        return processes.end_descendants(KILL_S, survivors=survivors, excluded_pid=self.excluded_pid)

    def _order(self, order: Dict[str, Any]) -> None:
        """Send the order, to start a rank or a store, to the fork server.

        The process is started cold if the server does not run or does not fork that kind; a server that just died is
        no error.
        """
        if not self._pending_orders:
            self._progress_timeout.begin(time.monotonic())
        self._pending_orders[order["id"]] = order
        if not self._server_pid or order["kind"] not in self._forks:
            self._start_cold(order)
            return
        try:
            self._server.stdin.write(json.dumps(order).encode() + b"\n")
            self._server.stdin.flush()
        except OSError:  # the fork server has died; `reap` handles that
            return

    def _start_cold(self, order: Dict[str, Any]) -> None:
        arguments = [
            str(argument)
            for argument in ([order["address"]] if order["kind"] == "store" else order["command"])
        ]
        argv = [sys.executable, "-u", *module_arguments(f"{HOST}.{order['kind']}", *arguments)]
        env = {**self._env, **order["env"]}
        started = processes.start(argv, env, order["out"], err=order["err"], cwd=order["cwd"])
        started.returncode = 0
        self._started(order["id"], started.pid)

    def _started(self, order: str, pid: int) -> List[Message]:
        """Record the process that the order with this id has started; kill it if the order no longer exists.

        Return messages for the supervisor, only if a rank has ended already.
        """
        pending_order = self._pending_orders.pop(order, None)
        if pending_order is None:
            processes.signal_process(pid, signal.SIGKILL)
            return []
        if pending_order["kind"] == "store":
            self._making = pid if self._early.pop(pid, None) is None else 0
            return []
        local_rank = int(order.partition(":")[2])
        if pid in self._early:
            return self._left_with(local_rank, self._early.pop(pid))
        self._pids[pid] = local_rank
        return []

    def _left_with(self, local_rank: int, code: int) -> List[Message]:
        if code:
            return [self._exited(local_rank, code, "")]
        self._finished_ranks.add(local_rank)
        return [{"done": self._generation}] if len(self._finished_ranks) == self._size else []

    def _exited(self, local_rank: int, code: int, message: str, cause: str = "") -> Message:
        exited = {"exited": self._generation, "local_rank": local_rank, "code": code, "message": message}
        return dict(exited, cause=cause) if cause else exited

    def _lost_server(self) -> List[Message]:
        """Start the pending orders of a dead fork server cold, schedule its restart, return a note to log."""
        reason, self._why = self._why or "died", ""
        with contextlib.suppress(OSError):  # orders that it has not read
            self._server.stdin.close()
        self._server_pid, self._server = 0, None
        self._restart_at = time.monotonic() + REFILL_S
        for order in list(self._pending_orders.values()):
            self._start_cold(order)
        effect = "ranks start" if "rank" in self._forks else "stores start"
        return [{"standby": {"reason": f"the fork server {reason}; {effect} cold until it restarts"}}]


def truncate_log(path: str, most: int = MOST_BYTES, edge_bytes: int = EDGE_BYTES) -> bool:
    """Truncate a log in place if it exceeds `most` bytes, and return whether it did; beginning and end stay.

    The rank appends meanwhile (O_APPEND); what it writes during the truncation may be lost.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError:
        return False
    try:
        size = os.fstat(file).st_size
        if size <= most:
            return False
        head, tail = os.pread(file, edge_bytes, 0), os.pread(file, edge_bytes, size - edge_bytes)
        omitted = size - 2 * edge_bytes
        notice = f"\n[clusterwright: {omitted} bytes omitted; a log is limited to {most} bytes]\n".encode()
        os.ftruncate(file, 0)
        os.write(file, head + notice + tail)
    finally:
        os.close(file)
    return True


class ProgressTimeout:
    """Timeout for a process without progress, by the kernel's counters of CPU time and reads (proc(5)).

    One process at a time; `now` is the monotonic clock.
    """

    def __init__(self) -> None:
        self._begun = self._moved = 0.0
        self._work_counts: Optional[Tuple[int, ...]] = None

    def begin(self, now: float) -> None:
        """Start the time limits of a process at `now` (monotonic), as if it made progress then."""
        self._begun = self._moved = now
        self._work_counts = None

    def over(self, pid: int, now: float) -> str:
        """Return why to stop waiting for the process: idle for IDLE_S, or not ready after LONGEST_S; "" before that."""
        counts = work(pid)
        if counts != self._work_counts:
            self._work_counts, self._moved = counts, now
        if now - self._moved > IDLE_S:
            return f"was idle for {IDLE_S:.0f} s"
        return f"was not ready after {LONGEST_S:.0f} s" if now - self._begun > LONGEST_S else ""


def work(pid: int) -> Optional[Tuple[int, ...]]:
    """Return user and system CPU time in ticks, and bytes read; None if the process has ended or is not readable."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            user, kernel = file.read().rpartition(b")")[2].split()[11:13]
        with open(f"/proc/{pid}/io", "rb") as file:
            read = file.readline().split()[1]
    except (OSError, IndexError):
        return None
    return int(user), int(kernel), int(read)
