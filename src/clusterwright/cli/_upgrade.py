"""How an upgrade of Slurm is shown, asked for, done step by step, and said."""

from __future__ import annotations

import time
from pathlib import Path

from clusterwright.cli._members import Asked, agreed, failures
from clusterwright.cli._show import say, show_json, show_text
from clusterwright.config.load import source_of
from clusterwright.config.names import fold
from clusterwright.config.reader import read
from clusterwright.edge.files import write_whole
from clusterwright.errors import EXIT_DONE, EXIT_FAILED
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.edit import put
from clusterwright.provision.change.fields import Said
from clusterwright.provision.change.upgrade import NOTE, Step, batch_size, refuse_span, steps
from clusterwright.provision.upgrade import Upgrade, do, refuse_without_packages, running, verify, versions


def upgrade(path: Path, version: str, batch: str, asked: Asked) -> int:
    """All steps that are left, or what they are."""
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
    for version in sorted(set(have.values())):
        say(f"{fold([host for host, has in have.items() if has == version])}: Slurm {version}")
    if not todo:
        say("nothing to do: every host has that release")
        return
    show_text("\n".join(f"{number}. {step}" for number, step in enumerate(todo, 1)))
    say("Slurm cannot go back: there is no downgrade")
