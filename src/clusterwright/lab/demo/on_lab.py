"""The demo on a lab: hosts made, built, proved, trained on, one killed, one brought back, all taken away."""

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
from clusterwright.lab import image, layout, state
from clusterwright.lab.demo import here, lanes, reckon
from clusterwright.lab.demo.course import Course, ripe, strike_step, victim
from clusterwright.lab.demo.report import DrawnCluster, DrawnHost, DrawnNetwork, Told
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import There
from clusterwright.launch.submit import submit
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.report import Report as Applied
from clusterwright.units import format_rate

MARK = "demo"  # a file in the lab's folder: this lab is the demo's own, and whose
JOIN_LIMIT_S = 120.0  # a host of a lab boots in 2 s; slurmd registers when munge and the network are there
LOOK_S = 0.3


def on_lab(cluster: Cluster, source: str, job: Job, told: Told, talk: Talk, clock: Clock) -> None:
    """Everything from the node image to `lab down`; the lab is taken down whatever happens."""
    told.cluster = drawn(cluster)
    told.places = tuple(host.name for host in cluster.hosts("compute"))
    told.checkpoint_every = job.checkpoint.every.steps
    _make_room(cluster.name, talk)
    try:
        remote = _build(cluster, source, told, talk)
        told.software |= _software(cluster, remote)
        _train(job, cluster, remote, told, talk, clock)
    finally:
        _away(cluster, told, talk)


def _build(cluster: Cluster, source: str, told: Told, talk: Talk) -> Remote:
    with talk.chapter("image", "node image: what every host boots from, made once"):
        image.build(cluster.os, talk.say)
    with talk.chapter("lab_up", f"lab up: {len(cluster.hosts())} hosts boot"):
        lab.up(cluster, say=talk.say)
        (state.folder(cluster.name) / MARK).write_text(f"{os.getpid()}\n")
    remote = remote_of(cluster)
    with talk.chapter("apply", "apply: the hosts become the cluster that the file describes"):
        done = _sound(apply(cluster, source, remote))
        talk.say(f"{done.changed} changes on {len(done.hosts)} hosts")
    with talk.chapter("second_apply", "apply again: there should be nothing to do"):
        told.second_apply_changes = _sound(apply(cluster, source, remote)).pending
        talk.say(f"{told.second_apply_changes} changes")
    with talk.chapter("check", "check: every host is asked what it is"):
        told.verdicts = tuple(check.run(cluster, remote))
        for found in told.verdicts:
            if found.status in {check.Status.FAIL, check.Status.WARN, check.Status.UNKNOWN}:
                talk.say(f"{found.status}: {found.check} on {found.subject}: {found.saw}")
        talk.say(
            f"{sum(found.status == check.Status.OK for found in told.verdicts)} ok of {len(told.verdicts)}"
        )
    return remote


def _train(job: Job, cluster: Cluster, remote: Remote, told: Told, talk: Talk, clock: Clock) -> None:
    with talk.chapter("train", f"training {job.name}: a host is to be killed on the way"):
        course = _submit(job, cluster, remote, talk, clock)
        try:
            told.fault = _strike(course, job, cluster.name, talk, clock)
            course.until(
                lambda events: reckon.recovery(events, _since(told)) is not None, "a step after the fault"
            )
            took = reckon.recovery(course.events, _since(told))
            talk.say(f"new progress {took.seconds:.1f} s after the kill" if took else "")
            told.fault = _bring_back(told.fault, cluster, remote, talk, clock)
            course.finish()
        finally:
            told.faulted = course.events
    with talk.chapter("train_uninterrupted", "the same training without the fault"):
        course = _submit(job, cluster, remote, talk, clock)
        try:
            course.finish()
        finally:
            told.uninterrupted = course.events


def _submit(job: Job, cluster: Cluster, remote: Remote, talk: Talk, clock: Clock) -> Course:
    run = submit(job, cluster, remote)
    talk.say(f"run {run.name}, Slurm job {run.job_id}")
    return Course(run, There(remote, cluster.control.name), talk, clock)


def _strike(course: Course, job: Job, name: str, talk: Talk, clock: Clock) -> lanes.Fault:
    """A host that trains loses its power, in the middle of an epoch."""
    every = job.checkpoint.every.steps or 1
    step = strike_step(int(job.arguments.get("steps", 0)), every)
    course.until(partial(ripe, step=step, every=every), f"step {step}, where a host was to be killed")
    host = victim(course.events)
    if host is None:
        raise WrightError.of(
            "demo-no-victim", "no host trains beside the supervisor's own", "set `nodes` to 2 or more"
        )
    now = clock.now()
    lab.fault(name, "kill-host", host)
    talk.say(f"kill-host {host}: its power is cut, nobody is told")
    return lanes.Fault("kill-host", host, None, now)


def _since(told: Told) -> float:
    return told.fault.time if told.fault else 0.0


def _bring_back(
    fault: lanes.Fault, cluster: Cluster, remote: Remote, talk: Talk, clock: Clock
) -> lanes.Fault:
    """The host has power again, and Slurm uses it again; how long that took is in the fault."""
    undone = clock.now()
    talk.say(f"{fault.host} has power again, and boots")
    lab.undo(cluster.name, fault.host)
    until = clock.monotonic() + JOIN_LIMIT_S
    while clock.monotonic() < until:
        said = Host(remote, cluster.control.name).run(
            f"sinfo --noheader --nodes={fault.host} --format=%T", timeout_s=30
        )
        words = said.out.split()
        if said.ok and words and all(word in {"idle", "mixed", "allocated", "completing"} for word in words):
            joined = clock.now()
            talk.say(
                f"{fault.host} is in Slurm again ({words[0]}), {joined - undone:.1f} s after it had power"
            )
            return lanes.Fault(fault.kind, fault.host, None, fault.time, undone, joined)
        clock.sleep(LOOK_S)
    talk.say(f"{fault.host} is not in Slurm again: {said.out.strip() or said.last_lines()}")
    return lanes.Fault(fault.kind, fault.host, None, fault.time, undone)


def _away(cluster: Cluster, told: Told, talk: Talk) -> None:
    """The lab is down, and we have looked ourselves that nothing of it is left."""
    folder = state.folder(cluster.name)
    if state.read(cluster.name) is None:
        told.left_behind = ()
        return
    with talk.undisturbed(), talk.chapter("lab_down", "lab down: everything is taken away"):
        left = lab.down(cluster.name, say=talk.say)
        told.left_behind = tuple(dict.fromkeys([*left, *here.remains(layout.tag(cluster.name), folder)]))
        talk.say(f"left behind: {', '.join(told.left_behind) or 'nothing'}")


def _make_room(name: str, talk: Talk) -> None:
    """A lab that an earlier demo left is taken away; somebody's own lab is not touched.

    Raises:
        WrightError: a lab of that name stands, and it is not a dead demo's.
    """
    standing = state.read(name)
    if standing is None or standing.phase != "up":
        return
    mark = state.folder(name) / MARK
    owner = mark.read_text().strip() if mark.exists() else ""
    if not owner or Path("/proc", owner).exists():
        whose = f"the demo of process {owner}" if owner else "you"
        raise WrightError.of(
            "demo-lab-stands",
            f"lab `{name}` stands and belongs to {whose}; the demo would take it down at its end",
            f"take it down first: wright lab down {name}; or give the demo another file: --cluster FILE",
        )
    talk.say(f"lab `{name}` of an earlier demo is taken away")
    lab.down(name, say=talk.say)


def _sound(report: Applied) -> Applied:
    """The report, when every host was reached and did what it was to do.

    Raises:
        WrightError: what went wrong on which host.
    """
    wrong = [f"{host.host}: {host.error or 'not reached'}" for host in report.hosts if not host.ok]
    if wrong:
        raise WrightError.of("demo-apply", "\n".join(wrong), "run the demo again; an apply can be repeated")
    return report


def _software(cluster: Cluster, remote: Remote) -> dict[str, str]:
    """Versions that the control host says."""
    said = Host(remote, cluster.control.name).run(
        "sinfo --version; systemctl --version | head -1; uname -r", timeout_s=30
    )
    slurm, systemd, *_ = [*said.out.splitlines(), "", ""]
    return {
        "slurm": slurm.removeprefix("slurm ").removeprefix("slurm-wlm "),
        "systemd": systemd,
        "hosts": cluster.os,
    }


def drawn(cluster: Cluster) -> DrawnCluster:
    """The cluster file, as far as the drawing needs it."""
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
