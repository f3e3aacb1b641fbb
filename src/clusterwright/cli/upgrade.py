"""`wright upgrade --slurm VERSION`, or `--driver VERSION`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli import apply as command
from clusterwright.cli._disruption import DisruptionOptions
from clusterwright.cli._progress import progress
from clusterwright.cli._quantities import Batch, DriverVersion, Duration, SlurmVersion
from clusterwright.cli._show import cluster_option, show_json, show_message, show_note, show_text
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.cli._members import MemberOptions
    from clusterwright.provision.change.upgrade import UpgradeStep
    from clusterwright.provision.upgrade import Upgrade


def upgrade(
    *,
    cluster: Path | None = None,
    slurm: SlurmVersion = "",
    driver: DriverVersion = "",
    batch: Batch = "25%",
    wait: Duration = "1h",
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Upgrade Slurm without stopping jobs, or change the version of the NVIDIA driver.

    Slurm: slurmdbd, slurmctld, slurmd in batches, clients. Driver: each batch of hosts is drained, changed, rebooted,
    checked and resumed.

    Parameters
    ----------
    cluster
        Cluster file, whose version the command sets; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    slurm
        New version of Slurm, such as 26.05.
    driver
        New version of the driver, such as 580.95.05; written to `software.driver`.
    batch
        Compute hosts changed at a time after the first host, as a number or a percentage: 8 or 25%.
    wait
        With --driver: longest total wait for jobs to end.
    dry_run
        Show the steps; change nothing.
    yes
        Do not ask for confirmation.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._connection import cluster_file
    from clusterwright.cli._disruption import DisruptionOptions
    from clusterwright.cli._members import MemberOptions
    from clusterwright.cli._option_rules import TARGET

    if bool(slurm) == bool(driver):
        raise TARGET.error(*(TARGET.options if slurm else ()))
    options = MemberOptions(dry_run=dry_run, yes=yes, json=json)
    file = cluster_file(cluster)
    _check_managed(file, "nvidia" if driver else "slurm")
    if driver:
        return upgrade_driver(file, driver, DisruptionOptions(batch=batch, wait=wait), options)
    return upgrade_slurm(file, slurm, batch, options)


def _check_managed(file: Path, role: str) -> None:
    """Raise WrightError if the cluster file does not manage the role whose packages would change."""
    from clusterwright.config.load import load_cluster
    from clusterwright.errors import EXIT_USAGE, WrightError

    if not load_cluster(file).manages(role):
        raise WrightError.from_code(
            "role-not-managed",
            _("the cluster file does not manage the role `{role}`", role=role),
            _("upgrade with the tools that installed it, or add {role} to `manage`", role=role),
            exit_code=EXIT_USAGE,
        )


def upgrade_slurm(path: Path, version: str, batch: str, options: MemberOptions) -> int:
    """Upgrade Slurm to the version by the steps that remain, after confirmation; return the exit code.

    With `dry_run`, or if it is not confirmed, list the steps only.
    """
    from clusterwright.cli._members import agreed
    from clusterwright.config.load import source_of
    from clusterwright.config.reader import read
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.provision.apply import remote_of
    from clusterwright.provision.batches import batch_size
    from clusterwright.provision.change.edit import set_value
    from clusterwright.provision.change.fields import ClusterFile
    from clusterwright.provision.change.upgrade import refuse_span, steps
    from clusterwright.provision.upgrade import Upgrade, refuse_without_packages, versions

    current_file = ClusterFile.from_source(source_of(path))
    size = batch_size(batch, len(current_file.cluster.hosts("compute")))
    has = current_file.source.text
    proposed_file = ClusterFile.from_source(read(set_value(has, ("software", "slurm"), version), str(path)))
    task = Upgrade(
        path,
        proposed_file.cluster,
        remote_of(proposed_file.cluster),
        f"{time.strftime('%Y%m%d')}-before-slurm-{version}",
    )
    have = versions(task)
    refuse_span(have, version)
    todo = steps(proposed_file.cluster, have, version, size)
    if not options.json:
        show(have, todo)
    if todo:
        refuse_without_packages(task, tuple(host for step in todo for host in step.hosts))
    if options.dry_run or not (todo and agreed(_("Start the upgrade?"), options)):
        show_json({"have": have, "steps": todo}) if options.json else None
        return EXIT_OK
    if proposed_file.source.text != has:
        write_file_atomic(path, proposed_file.source.text, mode=path.stat().st_mode & 0o777)
        show_message(_("{file}: software.slurm is {version}", file=path, version=version))
    with progress("upgrade", quiet=options.json):
        return _run_steps(task, todo, options)


def _run_steps(task: Upgrade, todo: tuple[UpgradeStep, ...], options: MemberOptions) -> int:
    """Run the steps of an upgrade, then apply the whole file, which should change nothing; return the exit code."""
    from clusterwright.cli._members import failures
    from clusterwright.config.names import fold
    from clusterwright.provision.apply import apply
    from clusterwright.provision.change.upgrade import NOTE, steps
    from clusterwright.provision.upgrade import do, running, verify

    jobs = running(task)
    started = time.monotonic()
    for number, step in enumerate(todo, 1):
        begun = time.monotonic()
        show_message(
            _(
                "step {number} of {count}: {kind} on {hosts}",
                number=number,
                count=len(todo),
                kind=step.kind,
                hosts=fold(step.hosts),
            )
        )
        do(task, step, jobs, show_message)
        show_message(
            _(
                "step {number} of {count}: done in {duration}; verified: {condition}",
                number=number,
                count=len(todo),
                duration=human_duration(time.monotonic() - begun),
                condition=step.then,
            )
        )
    final_report = apply(task.cluster, str(task.path), task.remote)
    failures(final_report)
    for step in steps(task.cluster, {}, task.target, len(task.cluster.hosts())):
        verify(task, step)  # includes the steps of an interrupted upgrade
    show_message(
        _(
            "Slurm {version} on all hosts; running jobs: {jobs}; time: {duration}",
            version=task.target,
            jobs=len(jobs),
            duration=human_duration(time.monotonic() - started),
        )
    )
    show_note(_(NOTE))
    if options.json:
        show_json({"ok": final_report.ok, "steps": todo, "jobs": sorted(jobs), "rest": final_report})
    return EXIT_OK if final_report.ok else EXIT_FAILED


def show(have: dict[str, str], todo: tuple[UpgradeStep, ...]) -> None:
    """Print which hosts have which version of Slurm, and the steps of the upgrade in order."""
    from clusterwright.config.names import fold

    for version in sorted(set(have.values())):
        hosts = fold([host for host, has in have.items() if has == version])
        show_message(_("{hosts}: Slurm {version}", hosts=hosts, version=version))
    if not todo:
        show_message(_("nothing to do: every host has this version"))
        return
    show_text("\n".join(f"{number}. {step}" for number, step in enumerate(todo, 1)))
    show_message(_("Slurm cannot be downgraded afterwards"))


def upgrade_driver(path: Path, version: str, disruption: DisruptionOptions, options: MemberOptions) -> int:
    """Change the driver's version on the hosts, as apply with --reboot does; return the exit code.

    The cluster file is written after confirmation.

    Raises:
        WrightError: Clusterwright does not install the driver packages, or the new file is invalid.
    """
    from clusterwright.config.load import source_of
    from clusterwright.config.reader import read
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.provision.apply import remote_of
    from clusterwright.provision.change.edit import set_value
    from clusterwright.provision.change.fields import ClusterFile

    current_file = ClusterFile.from_source(source_of(path))
    if current_file.cluster.software.nvidia is None:
        raise WrightError.from_code(
            "upgrade-not-ours",
            _("{file} has no software.nvidia: Clusterwright does not install the driver", file=path),
            _("add `nvidia: {repository: NAME}` under software and apply it, or upgrade the driver manually"),
            exit_code=EXIT_USAGE,
        )
    text = set_value(current_file.source.text, ("software", "driver"), version)
    proposed_file = ClusterFile.from_source(read(text, str(path)))
    remote = remote_of(proposed_file.cluster)
    rebooting = replace(disruption, reboot=True)
    asking = command.Asking(yes=options.yes, quiet=options.json, disruption=rebooting)
    policy = command.read_disruption_policy(rebooting, proposed_file.cluster, remote)

    def write() -> None:
        if text != path.read_text(encoding="utf-8"):
            write_file_atomic(path, text, mode=path.stat().st_mode & 0o777)
            show_message(_("{file}: software.driver is {version}", file=path, version=version))

    asking.on_agreed = write
    cluster = proposed_file.cluster
    report = command.apply_with_progress(
        "upgrade", cluster, str(path), remote, asking=asking, policy=policy, dry_run=options.dry_run
    )
    if report.ok and not report.pending and not options.dry_run:
        write()  # every host has the driver already
    retry_command = f"wright apply {cluster_option(path)} --reboot"
    following, displayed = f"wright check {cluster_option(path)}", asking.plan_displayed
    command.show(report, retry_command, next_command=following, plan_displayed=displayed, json=options.json)
    return command.exit_of(report, exit_code=False)
