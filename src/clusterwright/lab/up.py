"""`up`: create a lab from a cluster file; each step is recorded in the journal before it is taken."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.ssh import Ssh
from clusterwright.errors import Finding, WrightError
from clusterwright.i18n import _
from clusterwright.lab import boot, environment, host, image, keys, masters, network, power, state
from clusterwright.lab.able import able
from clusterwright.lab.down import clean
from clusterwright.lab.gpus import library
from clusterwright.lab.gpus import state as gpu_state
from clusterwright.lab.layout import LabHost, LabLayout, layout
from clusterwright.lab.nfs import client as nfs_client
from clusterwright.lab.packages import lab as packages
from clusterwright.lab.rdma import state as rdma_state
from clusterwright.lab.state import LabState

Log = Callable[[str], None]


def up(cluster: Cluster, *, log: Log = lambda _: None) -> LabState:
    """Create the lab of that cluster, wait until it responds to SSH, and return its state.

    A lab that is up already only boots hosts that powered off. The remains of an interrupted `up` are removed first.
    After an error everything created stays for `down` (or the next `up`) to remove: the journal names it.

    Raises:
        WrightError: This machine cannot run hosts, subnets are in use, or another file's lab has that name.
    """
    desired_layout = layout(cluster)
    if missing := able():
        raise WrightError(*missing)
    if existing_lab := _existing_lab(cluster):
        return _wake(existing_lab, cluster, log)
    python = environment.find(cluster.lab.environment if cluster.lab else None, log)
    root_image = image.build(cluster.os, log)
    with state.locked(state.folder(cluster.name)):
        if existing_lab := _existing_lab(cluster):
            return existing_lab
        _clear_remains(cluster.name, log)
        lab = _claim(cluster, desired_layout, root_image, python)
        try:
            packages.build(lab, cluster, log)
            return _with_switch(_make(lab, python, log, cluster.control.name), cluster)
        except BaseException:
            log(
                _(
                    "lab `{lab}` is incomplete: `wright lab down {lab}` or the next `up` removes it",
                    lab=lab.name,
                )
            )
            raise


def digest(cluster: Cluster) -> str:
    """Return a hash of the parts of the file that a running lab cannot follow: hosts, networks, folders."""
    parts = cluster.model_dump_json(include={"name", "os", "networks", "nodes", "storage", "lab"})
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def boot_id() -> str:
    """Return the ID of this machine's boot: after another boot nothing of an old lab runs."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _existing_lab(cluster: Cluster) -> LabState | None:
    lab = state.read(cluster.name)
    if lab is None or lab.phase != "up" or lab.boot_id != boot_id():
        return None
    if lab.file_digest != digest(cluster):
        raise WrightError.from_code(
            "lab-differs",
            _(
                "lab `{cluster}` is up with other hosts, networks or folders than the file declares now",
                cluster=cluster.name,
            ),
            _(
                "remove the existing lab first (wright lab down {cluster}), or change `name:` in the file",
                cluster=cluster.name,
            ),
        )
    return lab


def _wake(lab: LabState, cluster: Cluster, log: Log) -> LabState:
    """Boot those hosts of a lab that shut down by themselves (`poweroff`), and wait for them; return its state.

    Hosts killed or powered down on purpose stay down.
    """
    killed = {fault.host for fault in lab.faults if fault.kind == "kill-host"} | lab.switched_off
    with state.locked(lab.folder):
        lab = _with_switch(state.require(lab.name), cluster)
        packages.serve(lab)
        off = [
            lab_host for lab_host in lab.layout.hosts if not boot.is_running(lab.processes.get(lab_host.name))
        ]
        stopped_hosts = [lab_host for lab_host in off if lab_host.name not in killed]
        for lab_host in stopped_hosts:
            log(_("{lab_host} was powered off: booting", lab_host=lab_host.name))
            lab = boot.start(lab, lab_host)
        boot.wait_for_ssh(lab, [lab_host.name for lab_host in stopped_hosts])
    if not stopped_hosts:
        log(
            _(
                "lab `{lab}` is already up: {count} hosts; nothing to do",
                lab=lab.name,
                count=len(lab.layout.hosts),
            )
        )
    return lab


def _clear_remains(name: str, log: Log) -> None:
    if remains := state.read(name):
        log(_("lab `{name}`: removing what an earlier run left", name=name))
        if leftovers := clean(remains):
            raise WrightError.from_code(
                "lab-left-behind",
                _("cannot remove these parts of the lab: {leftovers}", leftovers=", ".join(leftovers)),
                _("end the processes that use these parts, then run the command again"),
            )
        state.folder(name).mkdir(parents=True, exist_ok=True)  # this process holds its lock


def _claim(
    cluster: Cluster, desired_layout: LabLayout, root: Path, python: environment.PythonEnvironment | None
) -> LabState:
    """Write the journal of a new lab and return its state; a lock lets one lab at a time do so.

    Raises:
        WrightError: a subnet is in use, or too few inotify instances are free.
    """
    with state.locked(state.folder(cluster.name).parent):
        used_subnets = network.machine_networks()
        for lab_name in state.labs():
            if lab_name != cluster.name and (journal := state.read(lab_name)):
                used_subnets |= {
                    bridge.subnet: _(
                        "{network} of lab `{lab_name}`", network=bridge.network, lab_name=lab_name
                    )
                    for bridge in journal.layout.bridges
                }
        findings = network.clashes(desired_layout, used_subnets)
        findings += judge_inotify(len(desired_layout.hosts), inotify_in_use(), inotify_limit())
        if findings:
            with suppress(OSError):
                state.folder(cluster.name).rmdir()
            raise WrightError(*findings)
        binds = tuple(f"--bind-ro={path}" for path in (python.binds() if python else ()))
        shared = tuple(f"--bind={_shared(cluster.name, path)}:{path}" for path in desired_layout.shared)
        return state.write(
            LabState(desired_layout, "making", boot_id(), digest(cluster), str(root), (*binds, *shared))
        )


def _shared(name: str, path: str) -> Path:
    """Return the folder on this machine that the lab's hosts see as the shared folder `path`."""
    return state.folder(name) / "shared" / path.strip("/").replace("/", "-")


def _with_switch(lab: LabState, cluster: Cluster) -> LabState:
    """Start the power switch if the file enables power saving with a provider; return the lab's state."""
    saving = cluster.slurm.power_saving
    return power.start(lab, cluster.control.name) if saving and saving.provider else lab


def _make(lab: LabState, python: environment.PythonEnvironment | None, log: Log, control: str) -> LabState:
    started = time.monotonic()
    hosts = lab.layout.hosts
    _write_access(lab)
    for path in lab.layout.shared:
        folder = _shared(lab.name, path)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o1777)  # as /tmp: users make their own folders, until `apply` changes it
    network.make(lab.layout)
    bridges = ", ".join(bridge.network for bridge in lab.layout.bridges)
    log(_("networks: {bridges} ({elapsed})", bridges=bridges, elapsed=_elapsed(started)))
    packages.serve(lab)
    driver, over_nfs = _driver(lab, log), _nfs_client(lab, log)
    for lab_host in hosts:
        _install(lab, lab_host, driver=driver, over_nfs=over_nfs)
        if lab_host.name == control:
            host.power_folder(lab, lab_host).mkdir()
        if python:
            environment.link_environment(lab.host_folder(lab_host.name) / "root", python)
        lab = boot.start(lab, lab_host)
        name, address = lab_host.name, lab_host.address
        log(_("booting {host} {address} ({elapsed})", host=name, address=address, elapsed=_elapsed(started)))
    limit_s = max(boot.BOOT_LIMIT_S, boot.BOOT_PER_HOST_S * len(hosts))
    boot.wait_for_ssh(lab, [lab_host.name for lab_host in hosts], limit_s=limit_s)
    _check_connectivity(lab)
    lab = state.write(dataclasses.replace(lab, phase="up"))
    log(
        _(
            "lab `{lab}` is up: {count} hosts respond to ssh ({elapsed})",
            lab=lab.name,
            count=len(hosts),
            elapsed=_elapsed(started),
        )
    )
    return lab


def _install(lab: LabState, lab_host: LabHost, *, driver: Path | None, over_nfs: bool) -> None:
    """Create the host's disk and root, and install the simulated GPUs, RDMA ports and NFS client of its layout."""
    root = lab.host_folder(lab_host.name) / "root"
    host.make(lab, lab_host)
    packages.configure_apt(lab, root)
    if driver and lab_host.gpus:
        gpu_state.install(lab_host.gpus, driver, host.gpu_folder(lab, lab_host), root)
    if over_nfs and lab_host.mounts_nfs:
        nfs_client.install(lab.folder, root)
    if lab_host.rdma:
        rdma_state.install(lab_host.rdma, host.rdma_folder(lab, lab_host))


def _driver(lab: LabState, log: Log) -> Path | None:
    """Build the NVML library of simulated GPUs and return its path; None without GPUs, or if it cannot be built."""
    if not any(lab_host.gpus for lab_host in lab.layout.hosts):
        return None
    if reason := library.build(lab.folder):
        log(_("note: GPUs are device files only, without nvidia-smi: {reason}", reason=reason))
        return None
    return lab.folder / library.SONAME


def _nfs_client(lab: LabState, log: Log) -> bool:
    """Build the NFS client; return True if hosts can mount folders over NFS, False if none needs it."""
    if not any(lab_host.mounts_nfs for lab_host in lab.layout.hosts):
        return False
    reason = nfs_client.build(lab.folder)
    if reason:
        log(
            _(
                "note: NFS folders are not mounted; use nfs-ls, nfs-cat and nfs-cp: {reason}",
                reason=reason,
            )
        )
    return not reason


def _elapsed(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def _check_connectivity(lab: LabState) -> None:
    """Raise WrightError if packets do not pass between hosts.

    A firewall of this machine may drop bridged packets (Docker's does).

    Raises:
        WrightError: They do not; names the setting.
    """
    first_host, last = lab.layout.hosts[0], lab.layout.hosts[-1]
    if first_host == last:
        return
    result = Ssh(config=lab.ssh_config).run(last.name, f"ping -c 1 -w 5 {first_host.address}", timeout_s=20)
    if not result.ok:
        raise WrightError.from_code(
            "lab-bridge-filtered",
            _(
                "{last} cannot reach {first_host} ({address}), though this machine reaches both; the "
                "firewall of this machine probably drops bridged packets: {last_lines}",
                last=last.name,
                first_host=first_host.name,
                address=first_host.address,
                last_lines=result.last_lines(2),
            ),
            _(
                "sysctl net.bridge.bridge-nf-call-iptables=0, or allow forwarding within bridges in "
                "the firewall"
            ),
        )


def _write_access(lab: LabState) -> None:
    folder = lab.folder
    masters.make(lab.name)
    keys.make_key(folder / "keys" / "user", f"wright lab {lab.name}")
    public = {
        lab_host.name: keys.make_key(folder / "keys" / lab_host.name, lab_host.name)
        for lab_host in lab.layout.hosts
    }
    write_file_atomic(folder / "known_hosts", keys.known_hosts(lab.layout, public))
    write_file_atomic(folder / "ssh_config", keys.ssh_config(lab.layout, folder, masters.folder(lab.name)))


INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_PER_HOST = 5  # counted on a host with Slurm running: 3 of systemd's, 1 of dbus; one in reserve


def judge_inotify(hosts: int, used: int, limit: int) -> tuple[Finding, ...]:
    """Return a finding if the hosts would lack the inotify instances that their systemd needs; else none.

    Observed without it: hosts that boot half, with `Too many open files` on their consoles.
    """
    needed = hosts * INOTIFY_PER_HOST
    if used + needed <= limit:
        return ()
    enough = max(1024, 2 * (used + needed))
    return (
        Finding(
            "lab-inotify",
            _(
                "{hosts} hosts need {needed} inotify instances; {used} are in use, and the limit for "
                "root is {limit}",
                hosts=hosts,
                needed=needed,
                used=used,
                limit=limit,
            ),
            _("sysctl fs.inotify.max_user_instances={enough}, or remove another lab first", enough=enough),
        ),
    )


def inotify_in_use() -> int:
    """Return the number of inotify instances of root's processes, in this machine and all hosts."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):  # processes come and go, and some are not readable
            if folder.stat().st_uid == 0:
                count += sum(is_inotify(handle) for handle in folder.iterdir())
    return count


def inotify_limit() -> int:
    """Return the limit of inotify instances per user on this machine."""
    return int(INOTIFY.read_text())


def is_inotify(handle: Path) -> bool:
    """Return True if a /proc/PID/fd link is to an inotify instance; False if it cannot be read."""
    with suppress(OSError):
        return str(handle.readlink()) == "anon_inode:inotify"
    return False
