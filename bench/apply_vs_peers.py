"""Seconds of a first and a repeated apply of the base and Slurm roles on 8 lab hosts: wright, ansible-core, pyinfra.

    python -m bench.apply_vs_peers [--rounds 1] [--hosts 8] [--many 32] [--json FILE]

Needs root and the package index (each peer has its own venv). Every first apply is on a fresh lab whose image has
the packages. The peers do the same work: the playbook of `wright export`, and a deploy of the same steps; unlike
wright, neither installs packages or the library of `wright train`. Ansible runs with 64 forks, pipelining, one
persistent connection per host and no facts. Afterwards wright's dry run must find no changes. wright also runs on 32
hosts. The limit of inotify instances is raised for 32 hosts if needed, and restored at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.lib.lab import Document, write_cluster
from clusterwright import lab
from clusterwright.config.cluster import Cluster
from clusterwright.config.site import Lab
from clusterwright.edge.ssh import fan_out
from clusterwright.edge.trees import write_files
from clusterwright.lab import cgroups
from clusterwright.lab.up import INOTIFY, INOTIFY_PER_HOST
from clusterwright.provision.apply import apply, build_context, remote_of
from clusterwright.provision.export.export import export
from clusterwright.provision.export.fold import places
from clusterwright.provision.export.places import places_of, top
from clusterwright.provision.export.playbook import LOADED, NAMED, RELOAD_UNIT_FILES
from clusterwright.provision.export.steps import ExportStep, of_kind, steps
from clusterwright.provision.export.tasks import hold_command, restart_name
from clusterwright.provision.resources import Directory, File, Group, Hold, Symlink, Unit, User

HERE = Path(__file__).parent
WRIGHT = Path(sys.executable).with_name("wright")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clusterwright" / "bench"
PEERS = {"ansible": "ansible-core==2.19.*", "pyinfra": "pyinfra==3.*"}
GOALS = {"ansible": (15, 25), "pyinfra": (8, 10)}  # times as fast: first apply, again
MANY_GOAL = 3.0
LIMIT_S = 800
LOAD = "sysctl --quiet --load /etc/sysctl.d/60-clusterwright.conf || true"  # a kernel may lack some settings
COMMANDS = {  # by action: the path of a changed file and the command that follows
    NAMED: ("/etc/hostname", "hostname HOST"),
    LOADED: ("/etc/sysctl.d/", LOAD),
    RELOAD_UNIT_FILES: ("/etc/systemd/system/", "systemctl daemon-reload"),
}


def without_accounting(document: Document) -> None:
    """Remove accounting, as the peers set up no database."""
    document["accounting"] = {"enabled": False}


class Site:
    """A lab: its cluster file, and the export that the peers read."""

    def __init__(self, folder: Path, hosts: int, net: str) -> None:
        self.folder, self.file, self.out = folder, folder / "cluster.yaml", folder / "out"
        folder.mkdir()
        self.cluster = write_cluster(self.file, f"bench-{hosts}", net, hosts - 1, without_accounting)

    def fresh(self) -> None:
        """Recreate the lab, and wait until its hosts have booted and the load of their creation is over."""
        lab.down(self.cluster.name)
        lab.up(self.cluster)
        settled = "timeout 60 systemctl is-system-running --wait || true"
        fan_out([host.name for host in self.cluster.hosts()], lambda host: self.remote.run(host, settled))
        time.sleep(3)

    @property
    def remote(self):  # noqa: ANN201 (the type is apply's own)
        """Return the connection to the hosts."""
        return remote_of(self.cluster)

    def export(self) -> None:
        """Write what the peers read: the export, and a plan of the same steps for pyinfra."""
        given = build_context(self.cluster, str(self.file))
        files = export(self.cluster, given, ansible=True, with_secrets=True)
        write_files(self.out, {path: (one.data, one.mode) for path, one in files.items()})
        (self.out / "plan.json").write_text(json.dumps(pyinfra_plan(self.cluster, given)))
        (self.out / "deploy.py").write_text((HERE / "peers" / "deploy.py").read_text())
        (self.out / "inventory.py").write_text(pyinfra_inventory(self.cluster))

    def left(self) -> list[str]:
        """Return what an apply by wright would still change, except the library and packages, which the peers omit."""
        report = apply(self.cluster, str(self.file), self.remote, dry_run=True)
        found = [f"{host.host}: {host.error}" for host in report.hosts if host.error]
        return found + [
            f"{host.host}: {change.id}: {change.summary}"
            for host in report.hosts
            for change in host.changes
            if "/opt/clusterwright/lib" not in change.id and not change.id.startswith("package:")
        ]


def pyinfra_plan(cluster: Cluster, given) -> dict[str, object]:  # noqa: ANN001 (internal type)
    """Return the steps as keyword arguments of pyinfra's operations, and the units to restart after file changes."""
    found = steps(cluster, given)
    folded = places_of(cluster, given).folded
    units = of_kind(found, Unit)
    handlers = [
        {
            "name": name,
            "command": command,
            "unit": "",
            "hosts": [h.name for h in cluster.hosts()],
        }
        for name, (_path, command) in COMMANDS.items()
    ]
    handlers += [
        {
            "name": restart_name(unit),
            "command": reload_of(unit),
            "unit": unit.name,
            "hosts": step.hosts,
        }
        for step, unit in units
    ]
    rows = [
        row for step in found if (row := pyinfra_step(cluster, step, folded, [unit for _step, unit in units]))
    ]
    return {
        "steps": rows,
        "handlers": handlers,
        "units": [{"unit": unit.name, "hosts": step.hosts} for step, unit in units],
    }


def reload_of(unit: Unit) -> str:
    """Return a reload command: pyinfra has no operation for it, and `reloaded` fails for units without reload."""
    return f"systemctl reload-or-restart -- {unit.name}" if unit.reload else ""


def pyinfra_step(
    cluster: Cluster,
    step: ExportStep,
    folded,  # noqa: ANN001 (places)
    units: list[Unit],
) -> dict[str, object] | None:
    """Convert a step to a pyinfra operation; None for a kind that is handled elsewhere."""
    one = step.resource
    row: dict[str, object] = {"hosts": step.hosts, "kind": type(one).__name__.lower(), "notify": []}
    if isinstance(one, File):
        want = {"dest": one.path, "user": one.owner, "group": one.group, "mode": f"{one.mode:o}"}
        notify = [restart_name(unit) for unit in units if one.id in unit.restart_on]
        notify += [name for name, (path, _command) in COMMANDS.items() if one.path.startswith(path)]
        return row | {"want": want, "notify": notify, "sources": sources(cluster, one, folded)}
    if isinstance(one, Directory):
        return row | {
            "want": {"path": one.path, "user": one.owner, "group": one.group, "mode": f"{one.mode:o}"}
        }
    if isinstance(one, Symlink):
        return row | {"want": {"path": one.path, "target": one.target}}
    if isinstance(one, Group):
        return row | {"want": {"group": one.name, "gid": one.gid}}
    if isinstance(one, User):
        return row | {"want": {"user": one.name, "uid": one.uid, "group": one.group, "shell": "/bin/bash"}}
    if isinstance(one, Hold):
        return row | {"want": {"name": one.id, "commands": [hold_command(one)]}}
    return None


def sources(cluster: Cluster, file: File, folded) -> dict[str, str]:  # noqa: ANN001 (places)
    """Return the exported file of each host that has one."""
    return {
        host.name: f"{top(file)}/{place}{file.path}"
        for host in cluster.hosts()
        for place in places(host)
        if file.path in folded.get(place, {})
    }


def pyinfra_inventory(cluster: Cluster) -> str:
    """Return an inventory of the hosts with the lab's ssh_config."""
    data = {"ssh_config_file": f"{Lab.folder(cluster.name)}/ssh_config", "ssh_user": "root"}
    return f"hosts = {[(host.name, data) for host in cluster.hosts()]!r}\n"


def command(tool: str, site: Site) -> list[str | Path]:
    """Return the tool's command line for the whole cluster."""
    if tool == "wright":
        return [WRIGHT, "apply", "--cluster", site.file, "--yes"]
    if tool == "ansible":
        return [CACHE / "ansible/bin/ansible-playbook", "site.yaml", "--skip-tags", "packages,library"]
    return [CACHE / "pyinfra/bin/pyinfra", "-y", "inventory.py", "deploy.py"]


def run(tool: str, site: Site) -> tuple[float, float]:
    """Run the tool; return wall seconds and CPU seconds on this machine and all hosts; exit if it fails."""
    started, used = time.monotonic(), cpu_seconds(site.cluster.name)
    done = subprocess.run(
        command(tool, site), cwd=site.out, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    seconds, used = time.monotonic() - started, cpu_seconds(site.cluster.name) - used
    if done.returncode != 0:
        sys.exit(f"{tool} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return seconds, used


def cpu_seconds(name: str) -> float:
    """Return CPU seconds of the lab's hosts (control groups) and of this process's children."""
    here = os.times()
    on_hosts = 0.0
    for group in cgroups.groups(name):
        if (group / "cpuacct.usage").exists():
            on_hosts = int((group / "cpuacct.usage").read_text()) / 1e9
        elif (group / "cpu.stat").exists() and not on_hosts:
            words = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
            on_hosts = int(words.get("usage_usec", 0)) / 1e6
    return here.children_user + here.children_system + on_hosts


def measure(tool: str, site: Site, *, again: int) -> dict[str, object]:
    """Measure a first apply on a fresh lab and repeated ones."""
    site.fresh()
    load = os.getloadavg()[0]
    first, *repeated = [run(tool, site) for _ in range(1 + again)]
    left = [] if tool == "wright" else site.left()
    print(
        f"  {tool:<8} {len(site.cluster.hosts()):>3} hosts  first {first[0]:7.2f} s (CPU {first[1]:.1f})  again "
        f"{', '.join(f'{wall:.2f} s (CPU {used:.1f})' for wall, used in repeated)}  load before {load:.1f}",
        flush=True,
    )
    for line in left:
        print(f"    NOT DONE by {tool}: {line}")
    return {
        "tool": tool, "load": load, "left": left,
        "first": first[0], "first_cpu": first[1],
        "again": [wall for wall, _used in repeated], "again_cpu": [used for _wall, used in repeated],
    }  # fmt: skip


def install_peers() -> None:
    """Create a venv for each peer, once."""
    for name, requirement in PEERS.items():
        if not (CACHE / name / "bin" / "pip").exists():
            subprocess.run([sys.executable, "-m", "venv", CACHE / name], check=True)
        pip = [CACHE / name / "bin" / "pip", "install", "-q", "--disable-pip-version-check", requirement]
        subprocess.run(pip, check=True, stderr=subprocess.DEVNULL)


@contextmanager
def enough_inotify(hosts: int) -> Iterator[None]:
    """Raise the limit of root's inotify instances, which hosts share, and restore it at the end."""
    before = int(INOTIFY.read_text())
    wanted = max(before, 256 + hosts * INOTIFY_PER_HOST)
    INOTIFY.write_text(str(wanted))
    try:
        yield
    finally:
        INOTIFY.write_text(str(before))


def main() -> None:
    """Measure alternately and compare medians with the goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--many", type=int, default=32, help="hosts of the larger lab; 0: skip it")
    parser.add_argument("--tools", default="wright,pyinfra,ansible")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # removes labs and restores the limit
    install_peers()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {asked.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as folder, enough_inotify(asked.many):
        rows = few(Site(Path(folder) / "few", asked.hosts, "10.208"), asked.tools.split(","), asked.rounds)
        many = []
        if asked.many:
            many = in_turns(Site(Path(folder) / "many", asked.many, "10.209"), ["wright"], asked.rounds)
    judge(rows, many)
    if asked.json:
        asked.json.write_text(json.dumps({"few": rows, "many": many}, indent=1))


def few(site: Site, tools: list[str], rounds: int) -> list[dict[str, object]]:
    """Measure all tools on the lab of few hosts, in several rounds."""
    site.export()
    return in_turns(site, tools, rounds)


def in_turns(site: Site, tools: list[str], rounds: int) -> list[dict[str, object]]:
    """Measure each tool once per round, starting with a different one each time."""
    site.out.mkdir(exist_ok=True)
    rows = []
    try:
        for turn in range(rounds):
            start = turn % len(tools)
            for tool in tools[start:] + tools[:start]:
                rows.append(measure(tool, site, again=3 if tool == "wright" else 1))
    finally:
        lab.down(site.cluster.name)
    return rows


def median(rows: list[dict[str, object]], tool: str, what: str) -> float:
    """Return the median of a measure over all runs of a tool."""
    values = [row[what] for row in rows if row["tool"] == tool]
    return statistics.median(
        one for value in values for one in (value if isinstance(value, list) else [value])
    )


def judge(rows: list[dict[str, object]], many: list[dict[str, object]]) -> None:
    """Print medians, ratios, and whether each goal is met."""
    measures = ("first", "again", "first_cpu", "again_cpu")
    ours = {what: median(rows, "wright", what) for what in measures}
    print(f"\n{'medians':<9}" + "".join(f"{what + ' s':>13}" for what in measures) + "   times ours (goal)")
    print(f"{'wright':<9}" + "".join(f"{ours[what]:13.2f}" for what in measures))
    for tool, goals in GOALS.items():
        if any(row["tool"] == tool for row in rows):
            theirs = {what: median(rows, tool, what) for what in measures}
            ratios = [theirs[what] / ours[what] for what in measures]
            verdicts = [
                f"{what} {ratio:.1f} ({goal}: {'met' if ratio >= goal else 'MISSED'})"
                for what, ratio, goal in zip(measures, ratios, goals, strict=False)
            ]
            words = f"{', '.join(verdicts)}; of CPU {ratios[2]:.1f}, {ratios[3]:.1f}"
            print(f"{tool:<9}" + "".join(f"{theirs[what]:13.2f}" for what in measures) + f"   {words}")
    for what in ("first", "again") if many else ():
        ratio = median(many, "wright", what) / ours[what]
        word = "met" if ratio <= MANY_GOAL else "MISSED"
        print(
            f"many/few hosts, {what}: {median(many, 'wright', what):.2f} s, {ratio:.2f} ({MANY_GOAL}: {word})"
        )


if __name__ == "__main__":
    main()
