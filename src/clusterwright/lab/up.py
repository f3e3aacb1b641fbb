"""`up`: from a cluster file to hosts that answer ssh, each step noted in the journal before it is made."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.edge.files import write_whole
from clusterwright.edge.ssh import Ssh
from clusterwright.errors import Finding, WrightError
from clusterwright.lab import boot, environment, host, image, keys, masters, network, power, state
from clusterwright.lab.able import able
from clusterwright.lab.down import clean
from clusterwright.lab.gpus import library
from clusterwright.lab.gpus import state as gpu_state
from clusterwright.lab.layout import Layout, layout
from clusterwright.lab.nfs import client as nfs_client
from clusterwright.lab.packages import lab as packages
from clusterwright.lab.rdma import state as rdma_state
from clusterwright.lab.state import LabState

Say = Callable[[str], None]


def up(cluster: Cluster, *, say: Say = lambda _: None) -> LabState:
    """The lab of that cluster stands and answers ssh; nothing is changed if it already does.

    What an interrupted `up` left is taken away first. On any error what was made stays for `down` (or the
    next `up`) to take away: the journal names it.

    Raises:
        WrightError: hosts cannot be made here, subnets are taken, or another file's lab has that name.
    """
    wanted = layout(cluster)
    if missing := able():
        raise WrightError(*missing)
    if standing := _standing(cluster):
        return _wake(standing, cluster, say)
    python = environment.find(cluster.lab.environment if cluster.lab else None, say)
    root_image = image.build(cluster.os, say)
    with state.locked(state.folder(cluster.name)):
        if standing := _standing(cluster):
            return standing
        _clear_remains(cluster.name, say)
        lab = _claim(cluster, wanted, root_image, python)
        try:
            packages.build(lab, cluster, say)
            return _with_switch(_make(lab, python, say, cluster.control.name), cluster)
        except BaseException:
            say(f"lab `{lab.name}` is half made: `wright lab down {lab.name}` or the next `up` takes it away")
            raise


def digest(cluster: Cluster) -> str:
    """Changes with whatever of the file a standing lab cannot follow: hosts, networks, folders."""
    parts = cluster.model_dump_json(include={"name", "os", "networks", "nodes", "storage", "lab"})
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def boot_id() -> str:
    """Another after each boot of this machine: then nothing of an old lab runs."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _standing(cluster: Cluster) -> LabState | None:
    lab = state.read(cluster.name)
    if lab is None or lab.phase != "up" or lab.boot_id != boot_id():
        return None
    if lab.file_digest != digest(cluster):
        raise WrightError.of(
            "lab-differs",
            f"lab `{cluster.name}` is up, made from other hosts, networks or folders than the file now has",
            f"take it down first: wright lab down {cluster.name}; or give the file another `name:`",
        )
    return lab


def _wake(lab: LabState, cluster: Cluster, say: Say) -> LabState:
    """Hosts that went down of themselves (`poweroff`) are booted; those that somebody keeps down stay down."""
    killed = {fault.host for fault in lab.faults if fault.kind == "kill-host"} | lab.switched_off
    with state.locked(lab.folder):
        lab = _with_switch(state.require(lab.name), cluster)
        packages.serve(lab)
        off = [one for one in lab.layout.hosts if not boot.is_running(lab.processes.get(one.name))]
        asleep = [one for one in off if one.name not in killed]
        for one in asleep:
            say(f"{one.name} was switched off: booting")
            lab = boot.start(lab, one)
        boot.wait_for_ssh(lab, [one.name for one in asleep])
    if not asleep:
        say(f"lab `{lab.name}` is already up: {len(lab.layout.hosts)} hosts; nothing to do")
    return lab


def _clear_remains(name: str, say: Say) -> None:
    if remains := state.read(name):
        say(f"lab `{name}`: taking away what an earlier run left")
        if left := clean(remains):
            raise WrightError.of(
                "lab-left-behind",
                f"cannot take away: {', '.join(left)}",
                "end what uses them, then run again",
            )
        state.folder(name).mkdir(parents=True, exist_ok=True)  # we hold its lock


def _claim(
    cluster: Cluster, wanted: Layout, root: Path, python: environment.PythonEnvironment | None
) -> LabState:
    """The journal is written, unless a subnet is in use; one lab at a time decides that."""
    with state.locked(state.folder(cluster.name).parent):
        taken = network.machine_networks()
        for other in state.labs():
            if other != cluster.name and (journal := state.read(other)):
                taken |= {
                    bridge.subnet: f"{bridge.network} of lab `{other}`" for bridge in journal.layout.bridges
                }
        found = network.clashes(wanted, taken)
        found += judge_inotify(len(wanted.hosts), inotify_in_use(), inotify_limit())
        if found:
            with suppress(OSError):
                state.folder(cluster.name).rmdir()
            raise WrightError(*found)
        binds = tuple(f"--bind-ro={path}" for path in (python.binds() if python else ()))
        shared = tuple(f"--bind={_shared(cluster.name, path)}:{path}" for path in wanted.shared)
        return state.write(
            LabState(wanted, "making", boot_id(), digest(cluster), str(root), (*binds, *shared))
        )


def _shared(name: str, path: str) -> Path:
    """The folder of the lab that stands for the shared folder `path`."""
    return state.folder(name) / "shared" / path.strip("/").replace("/", "-")


def _with_switch(lab: LabState, cluster: Cluster) -> LabState:
    """Who boots hosts when Slurm wants them, where the file says that it may."""
    saving = cluster.slurm.power_saving
    return power.start(lab, cluster.control.name) if saving and saving.provider else lab


def _make(lab: LabState, python: environment.PythonEnvironment | None, say: Say, control: str) -> LabState:
    started = time.monotonic()
    hosts = lab.layout.hosts
    _write_access(lab)
    for path in lab.layout.shared:
        folder = _shared(lab.name, path)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o1777)  # as /tmp: users make their own folders, until `apply` says otherwise
    network.make(lab.layout)
    say(f"networks: {', '.join(bridge.network for bridge in lab.layout.bridges)} ({_since(started)})")
    packages.serve(lab)
    driver, over_nfs = _driver(lab, say), _nfs_client(lab, say)
    for one in hosts:
        host.make(lab, one)
        packages.tell(lab, lab.host_folder(one.name) / "root")
        if one.name == control:
            host.power_folder(lab, one).mkdir()
        if driver and one.gpus:
            root = lab.host_folder(one.name) / "root"
            gpu_state.install(one.gpus, driver, host.gpu_folder(lab, one), root)
        if over_nfs and one.mounts_nfs:
            nfs_client.install(lab.folder, lab.host_folder(one.name) / "root")
        if one.rdma:
            rdma_state.install(one.rdma, host.rdma_folder(lab, one))
        if python:
            environment.offer(lab.host_folder(one.name) / "root", python)
        lab = boot.start(lab, one)
        say(f"booting {one.name} {one.address} ({_since(started)})")
    limit_s = max(boot.BOOT_LIMIT_S, boot.BOOT_EACH_S * len(hosts))
    boot.wait_for_ssh(lab, [one.name for one in hosts], limit_s=limit_s)
    _see_each_other(lab)
    lab = state.write(dataclasses.replace(lab, phase="up"))
    say(f"lab `{lab.name}` is up: {len(hosts)} hosts answer ssh ({_since(started)})")
    return lab


def _driver(lab: LabState, say: Say) -> Path | None:
    """The library that answers for simulated GPUs; None where there are none, or it cannot be made here."""
    if not any(one.gpus for one in lab.layout.hosts):
        return None
    if reason := library.build(lab.folder):
        say(f"note: GPUs are device files only, and there is no nvidia-smi: {reason}")
        return None
    return lab.folder / library.SONAME


def _nfs_client(lab: LabState, say: Say) -> bool:
    """Whether hosts can mount what comes over NFS, where any does."""
    if not any(one.mounts_nfs for one in lab.layout.hosts):
        return False
    reason = nfs_client.build(lab.folder)
    if reason:
        say(f"note: what comes over NFS is not mounted; nfs-ls, nfs-cat and nfs-cp reach it: {reason}")
    return not reason


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def _see_each_other(lab: LabState) -> None:
    """Packets pass between hosts: a firewall of this machine may drop what its bridges carry (Docker's does).

    Raises:
        WrightError: they do not; says which setting is behind it.
    """
    first, last = lab.layout.hosts[0], lab.layout.hosts[-1]
    if first == last:
        return
    done = Ssh(config=lab.ssh_config).run(last.name, f"ping -c 1 -w 5 {first.address}", timeout_s=20)
    if not done.ok:
        raise WrightError.of(
            "lab-bridge-filtered",
            f"{last.name} does not reach {first.name} ({first.address}), though this machine reaches both;"
            f" most likely its firewall drops what bridges carry: {done.last_lines(2)}",
            "sysctl net.bridge.bridge-nf-call-iptables=0, or let the firewall forward within bridges",
        )


def _write_access(lab: LabState) -> None:
    folder = lab.folder
    folder.chmod(0o711)
    masters.make(lab.name)
    keys.make_key(folder / "keys" / "user", f"wright lab {lab.name}")
    public = {one.name: keys.make_key(folder / "keys" / one.name, one.name) for one in lab.layout.hosts}
    write_whole(folder / "known_hosts", keys.known_hosts(lab.layout, public))
    write_whole(folder / "ssh_config", keys.ssh_config(lab.layout, folder, masters.folder(lab.name)))


INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_PER_HOST = 5  # counted on a host with Slurm running: 3 of systemd's, 1 of dbus; one in reserve


def judge_inotify(hosts: int, used: int, limit: int) -> tuple[Finding, ...]:
    """A finding when the hosts would not get the inotify instances that their systemd needs.

    Seen without it: hosts that boot half, with `Too many open files` on their consoles.
    """
    needed = hosts * INOTIFY_PER_HOST
    if used + needed <= limit:
        return ()
    enough = max(1024, 2 * (used + needed))
    return (
        Finding(
            "lab-inotify",
            f"{hosts} hosts need {needed} inotify instances, {used} are in use, and root may have {limit}",
            f"sysctl fs.inotify.max_user_instances={enough}, or take another lab down first",
        ),
    )


def inotify_in_use() -> int:
    """Instances that root's processes hold, in all hosts."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):  # processes come and go, and some are not ours to look into
            if folder.stat().st_uid == 0:
                count += sum(is_inotify(handle) for handle in folder.iterdir())
    return count


def inotify_limit() -> int:
    """How many instances one user may hold."""
    return int(INOTIFY.read_text())


def is_inotify(handle: Path) -> bool:
    """True for a /proc/PID/fd entry that is an inotify instance."""
    with suppress(OSError):
        return str(handle.readlink()) == "anon_inode:inotify"
    return False
