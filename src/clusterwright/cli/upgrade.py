"""`wright upgrade CLUSTER --slurm VERSION`, or `--driver VERSION`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli import apply as command
from clusterwright.cli._disruption import Gently
from clusterwright.cli._show import say, show_json, show_text
from clusterwright.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError

if TYPE_CHECKING:
    from clusterwright.cli._members import Asked
    from clusterwright.provision.change.upgrade import Step
    from clusterwright.provision.report import Report
    from clusterwright.provision.upgrade import Upgrade


def upgrade(
    cluster: Path,
    /,
    *,
    slurm: str = "",
    driver: str = "",
    batch: str = "25%",
    wait: str = "1h",
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Bring Slurm to a newer release while jobs run, or the NVIDIA driver to another version.

    Slurm: slurmdbd, slurmctld, slurmd in batches, clients. The driver: each batch of hosts is drained, changed,
    rebooted, checked and given back.

    Parameters
    ----------
    cluster
        The cluster file; what it says of the version becomes the new one.
    slurm
        The new version of Slurm, such as 26.05.
    driver
        The new version of the driver, such as 580.95.05; the file's `software.driver` becomes it.
    batch
        Compute hosts at once after the first one, as a number or a part: 8, 25%.
    wait
        With --driver: longest time for jobs to end, in all.
    dry_run
        Show the steps; change nothing.
    yes
        Do not ask.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli._disruption import Gently
    from clusterwright.cli._members import Asked

    asked = Asked(dry_run=dry_run, yes=yes, json=json)
    _one_thing(slurm, driver)
    if driver:
        return upgrade_driver(cluster, driver, Gently(batch=batch, wait=wait), asked)

    return upgrade_slurm(cluster, slurm, batch, asked)


def _one_thing(slurm: str, driver: str) -> None:
    """Exactly one of them is named."""
    from clusterwright.errors import EXIT_USAGE, WrightError

    if bool(slurm) == bool(driver):
        words = "pass --slurm VERSION or --driver VERSION"
        raise WrightError.of("upgrade-what", "one thing is upgraded at a time", words, exit_code=EXIT_USAGE)


def upgrade_slurm(path: Path, version: str, batch: str, asked: Asked) -> int:
    """All steps that are left, or what they are."""
    from clusterwright.cli._members import agreed
    from clusterwright.config.load import source_of
    from clusterwright.config.reader import read
    from clusterwright.edge.files import write_whole
    from clusterwright.provision.apply import remote_of
    from clusterwright.provision.change.edit import put
    from clusterwright.provision.change.fields import Said
    from clusterwright.provision.change.upgrade import batch_size, refuse_span, steps
    from clusterwright.provision.upgrade import Upgrade, refuse_without_packages, versions

    before = Said.of(source_of(path))
    size = batch_size(batch, len(before.cluster.hosts("compute")))
    has = before.source.text
    after = Said.of(read(put(has, ("software", "slurm"), version), str(path)))
    task = Upgrade(
        path, after.cluster, remote_of(after.cluster), f"{time.strftime('%Y%m%d')}-before-slurm-{version}"
    )
    have = versions(task)
    refuse_span(have, version)
    todo = steps(after.cluster, have, version, size)
    if not asked.json:
        show(have, todo)
    if todo:
        refuse_without_packages(task, tuple(host for step in todo for host in step.hosts))
    if asked.dry_run or not (todo and agreed("Begin?", asked)):
        show_json({"have": have, "steps": todo}) if asked.json else None
        return EXIT_DONE
    if after.source.text != has:
        write_whole(path, after.source.text, mode=path.stat().st_mode & 0o777)
        say(f"{path}: software.slurm is {version}")
    return _go(task, todo, asked)


def _go(task: Upgrade, todo: tuple[Step, ...], asked: Asked) -> int:
    """One step after the other; then the whole file, which should have nothing to do."""
    from clusterwright.cli._members import failures
    from clusterwright.config.names import fold
    from clusterwright.provision.apply import apply
    from clusterwright.provision.change.upgrade import NOTE, steps
    from clusterwright.provision.upgrade import do, running, verify

    jobs = running(task)
    started = time.monotonic()
    for number, step in enumerate(todo, 1):
        begun = time.monotonic()
        say(f"{number} of {len(todo)}: {step.kind} on {fold(step.hosts)}")
        do(task, step, jobs, say)
        say(f"{number} of {len(todo)}: done ({time.monotonic() - begun:.1f} s); {step.then}: it does")
    rest = apply(task.cluster, str(task.path), task.remote)
    failures(rest)
    for step in steps(task.cluster, {}, task.wanted, len(task.cluster.hosts())):
        verify(task, step)  # also those that a run which was cut short had begun
    say(f"Slurm {task.wanted} on all hosts; {len(jobs)} jobs went on; {time.monotonic() - started:.1f} s")
    say(f"note: {NOTE}")
    if asked.json:
        show_json({"ok": rest.ok, "steps": todo, "jobs": sorted(jobs), "rest": rest})
    return EXIT_DONE if rest.ok else EXIT_FAILED


def show(have: dict[str, str], todo: tuple[Step, ...]) -> None:
    """Who has which version, and the steps in order."""
    from clusterwright.config.names import fold

    for version in sorted(set(have.values())):
        say(f"{fold([host for host, has in have.items() if has == version])}: Slurm {version}")
    if not todo:
        say("nothing to do: every host has that release")
        return
    show_text("\n".join(f"{number}. {step}" for number, step in enumerate(todo, 1)))
    say("Slurm cannot go back: there is no downgrade")


def upgrade_driver(path: Path, version: str, gently: Gently, asked: Asked) -> int:
    """Like an apply with --reboot of the file that has the new version, which is written once it is agreed to.

    Raises:
        WrightError: the packages are not ours to install, or the file would not be a good one.
    """
    from clusterwright.config.load import source_of
    from clusterwright.config.reader import read
    from clusterwright.edge.files import write_whole
    from clusterwright.provision.apply import apply, remote_of
    from clusterwright.provision.change.edit import put
    from clusterwright.provision.change.fields import Said

    before = Said.of(source_of(path))
    if before.cluster.software.nvidia is None:
        raise WrightError.of(
            "upgrade-not-ours",
            f"{path} has no software.nvidia, so the driver is not installed by us",
            "add `nvidia: {repository: NAME}` under software, and apply; or upgrade it as it was installed",
            exit_code=EXIT_USAGE,
        )
    text = put(before.source.text, ("software", "driver"), version)
    after = Said.of(read(text, str(path)))
    remote = remote_of(after.cluster)
    asking = command.Asking(yes=asked.yes, quiet=asked.json, gently=replace(gently, reboot=True))
    care = command.care_of(replace(gently, reboot=True), after.cluster, remote)

    def write() -> None:
        if text != path.read_text(encoding="utf-8"):
            write_whole(path, text, mode=path.stat().st_mode & 0o777)
            say(f"{path}: software.driver is {version}")

    def agree(report: Report) -> bool:
        agreed = asking(report)
        if agreed:
            write()
        return agreed

    report = apply(after.cluster, str(path), remote, dry_run=asked.dry_run, agree=agree, care=care)
    if report.ok and not report.pending and not asked.dry_run:
        write()  # every host had it already
    again = f"wright apply {path} --reboot"
    command.show(report, again, after=f"wright check {path}", shown=asking.shown, json=asked.json)
    return command.exit_of(report, exit_code=False)
