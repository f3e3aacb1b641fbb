"""Run the demo on a lab: create hosts, apply, check, train, kill a host, restore it, remove the lab."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from clusterwright import check, lab
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import image, layout, state
from clusterwright.lab.demo import event_metrics, lanes, local_machine
from clusterwright.lab.demo.report import DemoFacts, DrawnCluster, DrawnHost, DrawnNetwork
from clusterwright.lab.demo.run_follower import RunFollower, fault_step, is_time_for_fault, victim
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import RemoteReader
from clusterwright.launch.submission import submit
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.report import ChangeReport as Applied
from clusterwright.units import format_rate

OWNER_FILE = "demo"  # a file in the lab's folder that marks it as a demo's, with the demo's PID
JOIN_LIMIT_S = 120.0  # a host of a lab boots in 2 s; slurmd registers when munge and the network are there
POLL_INTERVAL_S = 0.3


def on_lab(cluster: Cluster, source: str, job: Job, facts: DemoFacts, talk: Talk, clock: Clock) -> None:
    """Run every step of the demo on a lab, from the node image to `lab down`; the lab is removed in any case.

    What is observed is stored in `facts`.
    """
    facts.cluster = drawn(cluster)
    facts.places = tuple(host.name for host in cluster.hosts("compute"))
    facts.checkpoint_every = job.checkpoint.every.steps
    _remove_old_lab(cluster.name, talk)
    try:
        remote = _build(cluster, source, facts, talk)
        facts.software |= _software(cluster, remote)
        _train(job, cluster, remote, facts, talk, clock)
    finally:
        _tear_down(cluster, facts, talk)


def _build(cluster: Cluster, source: str, facts: DemoFacts, talk: Talk) -> Remote:
    with talk.chapter("image", _("node image: built once, every host boots from it")):
        image.build(cluster.os, talk.log)
    with talk.chapter("lab_up", _("lab up: {count} hosts boot", count=len(cluster.hosts()))):
        lab.up(cluster, log=talk.log)
        (state.folder(cluster.name) / OWNER_FILE).write_text(f"{os.getpid()}\n")
    remote = remote_of(cluster)
    with talk.chapter("apply", _("apply: configure the hosts as the cluster file declares")):
        report = _require_success(apply(cluster, source, remote))
        talk.log(_("{changed} changes on {count} hosts", changed=report.changed, count=len(report.hosts)))
    with talk.chapter("second_apply", _("second apply: expect no change")):
        facts.second_apply_changes = _require_success(apply(cluster, source, remote)).pending
        talk.log(_("{count} changes", count=facts.second_apply_changes))
    with talk.chapter("check", _("check: compare every host with the cluster file")):
        facts.verdicts = tuple(check.run(cluster, remote))
        for verdict in facts.verdicts:
            if verdict.status in {check.Status.FAIL, check.Status.WARN, check.Status.UNKNOWN}:
                talk.log(
                    _(
                        "{status}: {check} on {subject}: {observed}",
                        status=verdict.status,
                        check=verdict.check,
                        subject=verdict.subject,
                        observed=verdict.observed,
                    )
                )
        talk.log(
            _(
                "{passed} of {count} ok",
                passed=sum(verdict.status == check.Status.OK for verdict in facts.verdicts),
                count=len(facts.verdicts),
            )
        )
    return remote


def _train(job: Job, cluster: Cluster, remote: Remote, facts: DemoFacts, talk: Talk, clock: Clock) -> None:
    with talk.chapter("train", _("training {job}: one host will be killed", job=job.name)):
        follower = _submit(job, cluster, remote, talk, clock)
        try:
            facts.fault = _kill_host(follower, job, cluster.name, talk, clock)
            follower.wait_until(
                lambda events: event_metrics.recovery(events, _fault_time(facts)) is not None,
                _("a step after the fault"),
            )
            recovery = event_metrics.recovery(follower.events, _fault_time(facts))
            talk.log(
                _("first new step {seconds:.1f} s after the kill", seconds=recovery.seconds)
                if recovery
                else ""
            )
            facts.fault = _restore_host(facts.fault, cluster, remote, talk, clock)
            follower.finish()
        finally:
            facts.faulted = follower.events
    with talk.chapter("train_uninterrupted", _("the same training without the fault")):
        follower = _submit(job, cluster, remote, talk, clock)
        try:
            follower.finish()
        finally:
            facts.uninterrupted = follower.events


def _submit(job: Job, cluster: Cluster, remote: Remote, talk: Talk, clock: Clock) -> RunFollower:
    run = submit(job, cluster, remote)
    talk.log(_("run {run}, Slurm job {job_id}", run=run.name, job_id=run.job_id))
    return RunFollower(run, RemoteReader(remote, cluster.control.name), talk, clock)


def _kill_host(follower: RunFollower, job: Job, name: str, talk: Talk, clock: Clock) -> lanes.InjectedFault:
    """Wait for the middle of an epoch, cut the power of a host that trains, and return this fault.

    Raises:
        WrightError: `demo-no-victim`: every rank runs on the supervisor's host.
    """
    every = job.checkpoint.every.steps or 1
    step = fault_step(int(job.arguments.get("steps", 0)), every)
    follower.wait_until(
        partial(is_time_for_fault, step=step, every=every),
        _("step {step}, at which the demo kills a host", step=step),
    )
    host = victim(follower.events)
    if host is None:
        raise WrightError.from_code(
            "demo-no-victim",
            _("every rank runs on the supervisor's host: no other host can be killed"),
            _("set `nodes` to 2 or more"),
        )
    now = clock.now()
    lab.fault(name, "kill-host", host)
    talk.log(_("kill-host {host}: power off without warning", host=host))
    return lanes.InjectedFault("kill-host", host, None, now)


def _fault_time(facts: DemoFacts) -> float:
    return facts.fault.time if facts.fault else 0.0


def _restore_host(
    fault: lanes.InjectedFault, cluster: Cluster, remote: Remote, talk: Talk, clock: Clock
) -> lanes.InjectedFault:
    """Power the host up and wait until Slurm has it in service; return the fault with both times.

    After JOIN_LIMIT_S without that, the fault has no time of joining.
    """
    undone = clock.now()
    talk.log(_("{fault} is powered up and boots", fault=fault.host))
    lab.undo(cluster.name, fault.host)
    deadline = clock.monotonic() + JOIN_LIMIT_S
    while clock.monotonic() < deadline:
        result = Host(remote, cluster.control.name).run(
            f"sinfo --noheader --nodes={fault.host} --format=%T", timeout_s=30
        )
        node_states = result.out.split()
        if (
            result.ok
            and node_states
            and all(node_state in {"idle", "mixed", "allocated", "completing"} for node_state in node_states)
        ):
            joined = clock.now()
            talk.log(
                _(
                    "{fault} rejoined Slurm ({node_states}) {joined:.1f} s after power-up",
                    fault=fault.host,
                    node_states=node_states[0],
                    joined=joined - undone,
                )
            )
            return lanes.InjectedFault(fault.kind, fault.host, None, fault.time, undone, joined)
        clock.sleep(POLL_INTERVAL_S)
    talk.log(
        _(
            "{fault} has not rejoined Slurm: {out}",
            fault=fault.host,
            out=result.out.strip() or result.last_lines(),
        )
    )
    return lanes.InjectedFault(fault.kind, fault.host, None, fault.time, undone)


def _tear_down(cluster: Cluster, facts: DemoFacts, talk: Talk) -> None:
    """Remove the lab, if there is one, and store in `facts` what is left of it on the machine."""
    folder = state.folder(cluster.name)
    if state.read(cluster.name) is None:
        facts.leftovers = ()
        return
    with talk.undisturbed(), talk.chapter("lab_down", _("lab down: remove everything")):
        leftovers = lab.down(cluster.name, log=talk.log)
        facts.leftovers = tuple(
            dict.fromkeys([*leftovers, *local_machine.remains(layout.tag(cluster.name), folder)])
        )
        talk.log(_("left behind: {leftovers}", leftovers=", ".join(facts.leftovers) or "nothing"))


def _remove_old_lab(name: str, talk: Talk) -> None:
    """Remove a lab that an earlier demo left; another lab is not touched.

    Raises:
        WrightError: A lab of that name is up, and no dead demo owns it.
    """
    old_lab = state.read(name)
    if old_lab is None or old_lab.phase != "up":
        return
    owner_file = state.folder(name) / OWNER_FILE
    owner = owner_file.read_text().strip() if owner_file.exists() else ""
    if not owner or Path("/proc", owner).exists():
        owner_name = f"the demo of process {owner}" if owner else "you"
        raise WrightError.from_code(
            "demo-lab-stands",
            _(
                "lab `{name}` is up and belongs to {owner_name}; the demo would remove it at its end",
                name=name,
                owner_name=owner_name,
            ),
            _(
                "remove the existing lab first (wright lab down {name}), or name another file: --cluster FILE",
                name=name,
            ),
        )
    talk.log(_("lab `{name}` of an earlier demo is removed", name=name))
    lab.down(name, log=talk.log)


def _require_success(report: Applied) -> Applied:
    """Return the report if every host succeeded.

    Raises:
        WrightError: The errors by host.
    """
    wrong = [f"{host.host}: {host.error or 'not reached'}" for host in report.hosts if not host.ok]
    if wrong:
        raise WrightError.from_code(
            "demo-apply", "\n".join(wrong), _("run the demo again; an apply can be repeated safely")
        )
    return report


def _software(cluster: Cluster, remote: Remote) -> dict[str, str]:
    """Return the Slurm and systemd versions of the control host, and the cluster file's `os` as `hosts`."""
    result = Host(remote, cluster.control.name).run(
        "sinfo --version; systemctl --version | head -1; uname -r", timeout_s=30
    )
    slurm, systemd, *_ = [*result.out.splitlines(), "", ""]
    return {
        "slurm": slurm.removeprefix("slurm ").removeprefix("slurm-wlm "),
        "systemd": systemd,
        "hosts": cluster.os,
    }


def drawn(cluster: Cluster) -> DrawnCluster:
    """Return the names, networks and GPUs of the cluster file's hosts that the drawing of the demo needs."""
    return DrawnCluster(
        name=cluster.name,
        os=cluster.os,
        networks=tuple(
            DrawnNetwork(name, str(network.subnet), format_rate(network.rate), network.kind)
            for name, network in cluster.networks.named().items()
        ),
        hosts=tuple(
            DrawnHost(
                name=host.name,
                role=host.group.role,
                networks=tuple(host.addresses),
                address=str(host.management),
                gpus=host.group.gpus.count if host.group.gpus else 0,
                gpu_model=host.group.gpus.model if host.group.gpus else "",
                switch=host.group.switch,
            )
            for host in cluster.hosts()
        ),
    )
