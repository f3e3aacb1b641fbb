"""Watch torch's process group form: after its time, the rank ends with the names of the ranks that are missing.

`install` wraps `torch.distributed.init_process_group` and torchrun's rendezvous when torch is imported. A group
that forms within seconds costs one thread; only after SLOW_S does a rank (a node, for torchrun) leave a file for the
others, in the log folder of its generation.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading
import types
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from clusterwright.onhost.supervisor.host import wake

TORCH = "torch.distributed.distributed_c10d"
TORCHRUN = "torch.distributed.elastic.agent.server.api"
METHOD = "_rendezvous"  # of SimpleElasticAgent
RANK, NODE = "rank", "node"
FOLDER, LIMIT = "CLUSTERWRIGHT_FORMING", "CLUSTERWRIGHT_FORMING_S"
# torch's default for NCCL and torchrun's join_timeout; of Gloo it is 30 min, which no group needs to form
LIMIT_S = 600.0
SLOW_S = 15.0  # a group forms within seconds of its last rank's arrival
EARLY = 0.95  # of the script's own timeout: torch would give up at the same time, without names
EXIT_CODE = 73  # beside those of runtime/codes.py
MOST_FILES = 100_000


def python_path(environ: Mapping[str, str]) -> str:
    """Return a PYTHONPATH with our folder in front, whose `sitecustomize` calls `install` in each Python."""
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
    return os.pathsep.join(filter(None, (ours, environ.get("PYTHONPATH", ""))))


class Arrival:
    """One rank that waits for its group, or one torchrun, of unit `node`, that waits for those of the other hosts."""

    def __init__(self, rank: int, world: int, host: str, address: str, unit: str = RANK) -> None:
        self.rank, self.world, self.host, self.address, self.unit = rank, world, host, address, unit

    def write(self, folder: str) -> None:
        """Write this arrival to a file in the folder, by which other ranks know that this one waits for its group."""
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.unit}-{self.rank}-{self.host}-{os.getpid()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.__dict__, file)


def read(folder: str, unit: str = RANK) -> List[Arrival]:
    """Return the arrivals in a folder that are of this `unit` (ranks or nodes), of the first MOST_FILES names.

    A file that is being written is left out.
    """
    arrivals = []
    for name in sorted(os.listdir(folder))[:MOST_FILES]:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                arrivals.append(Arrival(**json.load(file)))
        except (OSError, ValueError, TypeError):
            continue
    return [arrival for arrival in arrivals if arrival.unit == unit]


def describe(arrivals: Sequence[Arrival], hosts: Sequence[str] = ()) -> str:
    """Return a text on a group that does not form: which ranks are missing, and which came more than once.

    Also where they meet if that is not one address. `hosts` are all hosts in order of their ranks.
    """
    world, unit = max(arrival.world for arrival in arrivals), arrivals[0].unit
    places: Dict[int, List[str]] = {}
    for arrival in arrivals:
        places.setdefault(arrival.rank, []).append(arrival.host)
    missing = [rank for rank in range(world) if rank not in places]
    parts = [f"{len(places)} of {world} {unit}s came"]
    if missing:
        per_host = world // len(hosts) if hosts and world % len(hosts) == 0 else 0
        names = sorted({hosts[rank // per_host] for rank in missing}) if per_host else []
        parts.append(f"missing: {unit} {ranges(missing)}" + (f" (of {', '.join(names)})" if names else ""))
    parts += [
        f"{unit} {rank} came {len(rank_hosts)} times, on {', '.join(sorted(set(rank_hosts)))}"
        for rank, rank_hosts in sorted(places.items())
        if len(rank_hosts) > 1
    ]
    worlds = sorted({arrival.world for arrival in arrivals})
    if len(worlds) > 1:
        parts.append(f"the {unit}s disagree on the world size: {', '.join(map(str, worlds))}")
    addresses = sorted({arrival.address for arrival in arrivals})
    if len(addresses) > 1:
        parts.append(f"they meet at different addresses: {', '.join(addresses)}")
    elif not missing:
        parts.append(f"they cannot reach the address where they meet: {addresses[0]}")
    return "; ".join(parts)


def ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers as text such as `1-3, 7`."""
    spans: List[Tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


class Watch:
    """The thread of one rank that waits for its group."""

    def __init__(self, arrival: Arrival, folder: str, limit_s: float, hosts: Sequence[str]) -> None:
        self._arrival, self._folder, self._limit_s, self._hosts = arrival, folder, limit_s, hosts
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clusterwright-forming", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the watch: the group has formed, or torch has given up."""
        self._over.set()

    def _run(self) -> None:
        slow_s = min(SLOW_S, self._limit_s / 2)
        if self._over.wait(slow_s):
            return
        try:
            self._arrival.write(self._folder)
            if self._over.wait(self._limit_s - slow_s):
                return
            message = self.message()
        except OSError as error:
            units = f"{self._arrival.unit}s"
            message = (
                f"the process group did not form in {self._limit_s:.0f} s; its {units} are unknown: {error}"
            )
            if self._over.wait(self._limit_s - slow_s):
                return
        end_rank(message)

    def message(self) -> str:
        """Return the error message that the group did not form, and who is missing."""
        text = describe(read(self._folder, self._arrival.unit), self._hosts)
        return f"the process group did not form in {self._limit_s:.0f} s: {text}"


def end_rank(message: str) -> None:
    """End this process with EXIT_CODE and a message on stderr and to its agent."""
    sys.stderr.write(f"clusterwright: {message}\n")
    sys.stderr.flush()
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    wake.send(raised=local_rank, pid=os.getpid(), message=message[:500], cause="group-not-formed")
    os._exit(EXIT_CODE)


def watch(arguments: Sequence[Any], named: Dict[str, Any]) -> Optional[Watch]:
    """Start to watch a call of init_process_group by its arguments; return the watch.

    None where no run is known or a store of the script's own is used, and for a group of one or of unknown size.
    """
    names = ("backend", "init_method", "timeout", "world_size", "rank", "store")
    settings = {**dict(zip(names, arguments)), **named}
    if settings.get("store") is not None:
        return None
    rank, world = (
        _number(settings, name, variable)
        for name, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE"))
    )
    environ = os.environ
    meets = f"{environ.get('MASTER_ADDR', '?')}:{environ.get('MASTER_PORT', '?')}"
    method = str(settings.get("init_method") or "env://")
    return begin(rank, world, meets if method.startswith("env://") else method, RANK, settings.get("timeout"))


def watch_nodes(handler: Any) -> Optional[Watch]:
    """Start to watch torchrun's rendezvous; return the watch, None where no run is known or for a single node.

    The node rank is the handler's if it has one, else the host's number in the job.
    """
    environ = os.environ
    number = environ.get("SLURM_NODEID") or environ.get("NODE_RANK") or ""
    rank = getattr(handler, "rank", int(number) if number.isdigit() else None)
    world = getattr(handler, "world_size", len(hosts_of(environ)))
    address = f"{getattr(handler, 'master_addr', '')}:{getattr(handler, 'master_port', '')}"
    if address == ":":
        address = environ.get("CLUSTERWRIGHT_FIRST", "?")
    return begin(rank, world, address, NODE, None)


def begin(
    rank: Optional[int], world: Optional[int], address: str, unit: str, timeout: Any
) -> Optional[Watch]:
    """Start to watch how a process group of two or more forms, and return the watch; it waits in a thread of its own.

    None for a smaller one, for an unknown rank or size, and where no run is known.
    """
    environ = os.environ
    run, generation = environ.get("CLUSTERWRIGHT_RUN", ""), environ.get("CLUSTERWRIGHT_GENERATION", "0")
    folder = environ.get(FOLDER) or (os.path.join(run, "logs", generation, "forming") if run else "")
    if not folder or rank is None or world is None or world < 2:
        return None
    host = environ.get("CLUSTERWRIGHT_HOST") or os.uname().nodename
    arrival = Arrival(rank, world, host, address, unit)
    return Watch(arrival, folder, limit(timeout, environ.get(LIMIT, "")), hosts_of(environ))


def hosts_of(environ: Mapping[str, str]) -> List[str]:
    """Return the hosts of the job by the variable that its launcher sets; empty without it."""
    return [name for name in environ.get("CLUSTERWRIGHT_HOSTS", "").split(",") if name]


def limit(timeout: Any, setting: str) -> float:
    """Return the seconds after which a group that has not formed is ended: EARLY times its own timeout.

    Without one EARLY times the run's setting in seconds, else LIMIT_S.
    """
    if timeout is not None and hasattr(timeout, "total_seconds"):
        return EARLY * float(timeout.total_seconds())
    return EARLY * (float(setting) if setting.isdigit() else LIMIT_S)


def _number(settings: Dict[str, Any], name: str, variable: str) -> Optional[int]:
    value = settings.get(name, -1)
    text = os.environ.get(variable, "") if not isinstance(value, int) or value < 0 else str(value)
    return int(text) if text.isdigit() else None


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function init_process_group with a watch while it runs."""

    @functools.wraps(function)
    def init_process_group(*arguments: Any, **named: Any) -> Any:
        watching = watch(arguments, named)
        try:
            return function(*arguments, **named)
        finally:
            if watching:
                watching.end()

    return init_process_group


def wrapped_rendezvous(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return torchrun's method that waits for the other nodes, with a watch while it runs."""

    @functools.wraps(function)
    def rendezvous(agent: Any, worker_group: Any) -> Any:
        watching = watch_nodes(worker_group.spec.rdzv_handler)
        try:
            return function(agent, worker_group)
        finally:
            if watching:
                watching.end()

    return rendezvous


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of torch as Python would, then wraps its function."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute the module, and replace its function (init_process_group or rendezvous) by a watched one."""
        super().exec_module(module)
        names = vars(module)
        if "init_process_group" in names:
            names["init_process_group"] = wrapped(names["init_process_group"])
        agent = names.get("SimpleElasticAgent")
        if agent and METHOD in vars(agent):
            setattr(agent, METHOD, wrapped_rendezvous(vars(agent)[METHOD]))


class Finder(importlib.abc.MetaPathFinder):
    """Finds torch's modules where Python would."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[types.ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Return the spec of a module of torch to watch, with `Loader`; None for any other module."""
        if fullname not in (TORCH, TORCHRUN):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(fullname, spec.loader.path)
        return spec


def install() -> None:
    """Make the import of torch wrap init_process_group; no effect once torch is imported."""
    if TORCH not in sys.modules and not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
