"""How hosts join and leave: shown, asked for, done, and said."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from pathlib import Path

from clusterwright.cli._show import say, show_json, show_text
from clusterwright.cli.diff import drift_lines, field_line
from clusterwright.config.load import source_of
from clusterwright.config.names import fold
from clusterwright.config.reader import read
from clusterwright.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.drift import drift
from clusterwright.provision.change.fields import Said, between, new_hosts
from clusterwright.provision.change.hosts import hostlist, refuse_to_remove, with_hosts, without_hosts
from clusterwright.provision.grow import Growth, grow, is_ready, look
from clusterwright.provision.report import Report
from clusterwright.provision.shrink import Leave, leave, refuse_reserved, remembered


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that both commands have."""

    dry_run: bool
    yes: bool
    json: bool


@dataclass(frozen=True, slots=True)
class How:
    """How hosts leave."""

    wait_s: float
    cancel: bool
    purge: bool


def add(path: Path, group: str, hosts: str, asked: Asked) -> int:
    """New hosts into a group of the file, and into the cluster."""
    names = hostlist(hosts)
    before = Said.of(source_of(path))
    after = Said.of(read(with_hosts(before, group, names), str(path)))
    remote = remote_of(after.cluster)
    growth = Growth(path, after, names)
    seen = look(growth, remote)
    if not asked.json:
        show(before, after, seen)
    if asked.dry_run or not agreed("Let them join?", asked):
        show_json(_document(before, after, seen)) if asked.json else None
        return EXIT_DONE
    done = grow(growth, remote, say)
    if asked.json:
        show_json({"ok": done.ok, "new": done.new, "others": done.others, "states": done.states})
    failures(done.new, done.others)
    for host, state in done.states.items():
        if not is_ready(state):
            say(f"{host}: Slurm has it as {state}; ask there: journalctl -u slurmd")
    say(f"{fold(names)}: joined" if done.ok else f"next: mend that, then again: {_again(path, group, hosts)}")
    return EXIT_DONE if done.ok else EXIT_FAILED


def remove(path: Path, hosts: str, how: How, asked: Asked) -> int:
    """Hosts out of the cluster, and out of its file."""
    names = hostlist(hosts)
    before = Said.of(source_of(path))
    begun = remembered(before.cluster.name)
    there = {host.name for host in before.cluster.hosts()}
    present = tuple(name for name in names if name in there or name not in begun)
    if _gone_already(before, names, begun):
        say(f"{fold(names)}: not in {path} any more; nothing to do")
        return EXIT_DONE
    refuse_to_remove(before.cluster, present)
    after = Said.of(read(without_hosts(before, present), str(path)))
    remote = remote_of(before.cluster)
    task = Leave(path, before, names, how.wait_s, how.cancel, how.purge)
    refuse_reserved(task, remote)
    seen = apply(after.cluster, str(path), remote, dry_run=True)
    if not asked.json:
        show(before, after, seen)
    if asked.dry_run or not agreed("Drain them, and take them out?", asked):
        show_json(_document(before, after, seen)) if asked.json else None
        return EXIT_DONE
    done = leave(task, remote, say)
    if asked.json:
        show_json({"ok": done.ok, "others": done.others, "still_there": done.still_there})
    failures(done.others)
    say(f"{fold(names)}: gone" if done.ok else f"next: mend that, then again: wright apply {path}")
    return EXIT_DONE if done.ok else EXIT_FAILED


def show(before: Said, after: Said, seen: Report) -> None:
    """The file's lines, what they mean for running jobs, and what is to be done on which hosts."""
    show_text("\n".join(file_lines(before, after)) or "the file has them so already")
    for change in between(before, after):
        show_text(field_line(change))
    coming = new_hosts(before.cluster, after.cluster)
    others = Report(tuple(host for host in seen.hosts if host.host not in coming), dry=True)
    if lines := drift_lines(drift(others).rows):
        show_text("\n".join(line for line in lines if not line.startswith("    ")))
    if coming:
        count = sum(len(host.changes) for host in seen.hosts if host.host in coming)
        show_text(f"{fold(coming)}: {count} changes make them hosts of the cluster; nothing runs there yet")
    for host in seen.hosts:
        if not host.ok:
            say(
                f"note: {host.host}: {host.error.splitlines()[0]}; it takes no part, and a later apply brings it up"
            )


def file_lines(before: Said, after: Said) -> list[str]:
    """The difference of the two texts."""
    old, new = before.source.text.splitlines(), after.source.text.splitlines()
    return list(difflib.unified_diff(old, new, before.source.file, after.source.file, lineterm="", n=1))


def agreed(question: str, asked: Asked) -> bool:
    """What --yes says, or a person at the terminal.

    Raises:
        WrightError: neither.
    """
    if asked.yes:
        return True
    if not sys.stdin.isatty():
        raise WrightError.of(
            "apply-needs-yes",
            "hosts would be changed, and there is no terminal to ask at",
            "pass --yes to go on, or --dry-run to see what would be done",
            exit_code=EXIT_USAGE,
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def failures(*reports: Report | None) -> None:
    """Hosts on which something went wrong, with the words."""
    for report in reports:
        for host in report.hosts if report else ():
            if not host.ok:
                say(f"{host.host}: {host.error}")
            elif host.left_out:
                say(f"{host.host}: {host.left_out}")


def _gone_already(before: Said, names: tuple[str, ...], begun: tuple[str, ...]) -> bool:
    """True when the file knows them as absent, or not at all since they left, and nothing is left to do."""
    there = {host.name for host in before.cluster.hosts()}
    known = {name for group in before.cluster.nodes.values() for name in group.all_names()}
    return not there.intersection(names) and not set(begun).intersection(names) and known >= set(names)


def _document(before: Said, after: Said, seen: Report) -> object:
    return {"file": file_lines(before, after), "fields": between(before, after), "drift": drift(seen)}


def _again(path: Path, group: str, hosts: str) -> str:
    return f"wright add-hosts {path} {group} {hosts}"
