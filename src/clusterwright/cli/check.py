"""`wright check FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from clusterwright.check import Verdict

_EXIT = {"fail": 5, "unknown": 1}  # by the worst status found


def check(
    file: Path,
    /,
    *,
    hosts: str = "",
    only: tuple[str, ...] = (),
    everything: Annotated[bool, Parameter(name="--all", negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Ask every host what it is, and say where that is not what the cluster file wants.

    Exit code: 5 when a check fails; 1 when none fails but something could not be seen (unknown is not green);
    0 when the rest is ok, skipped or a warning.

    Parameters
    ----------
    file
        The cluster file.
    hosts
        Only these hosts, as a hostlist: gpu-node[1-4].
    only
        Only this check; may be given several times.
    everything
        Show the checks that are ok, too.
    json
        One JSON document: the counts, and every verdict of every host.
    """
    from clusterwright.check import run  # noqa: PLC0415 (start-up time)
    from clusterwright.check.folding import counts  # noqa: PLC0415
    from clusterwright.cli._show import show_json  # noqa: PLC0415
    from clusterwright.edge.ssh import Ssh  # noqa: PLC0415
    from clusterwright.spec.load import load_cluster  # noqa: PLC0415

    cluster = load_cluster(file)
    config = Path(cluster.ssh_config) if cluster.ssh_config else None
    remote = Ssh(user=cluster.ssh.user, port=cluster.ssh.port, config=config)
    verdicts = run(cluster, remote, hosts=_expanded(hosts), only=only)
    number = counts(verdicts)
    if json:
        show_json({"counts": number, "verdicts": verdicts})
    else:
        _tell(verdicts, number, everything=everything)
    return next((code for status, code in _EXIT.items() if number[status]), 0)


def _expanded(hostlist: str) -> tuple[str, ...] | None:
    from ClusterShell.NodeSet import NodeSetException  # noqa: PLC0415 (start-up time)

    from clusterwright.errors import EXIT_USAGE, WrightError  # noqa: PLC0415
    from clusterwright.spec.names import expand  # noqa: PLC0415

    try:
        return expand(hostlist) if hostlist else None
    except NodeSetException as why:
        message, mend = f"`{hostlist}` is not a hostlist: {why}", "write it as gpu-node[1-8,12]"
        raise WrightError.of("bad-hostlist", message, mend, exit_code=EXIT_USAGE) from why


def _tell(verdicts: list[Verdict], number: dict[str, int], *, everything: bool) -> None:
    from clusterwright.check.folding import folded  # noqa: PLC0415 (start-up time)
    from clusterwright.cli._show import say, show_table  # noqa: PLC0415

    shown = [each for each in folded(verdicts) if everything or each.status != "ok"]
    if shown:
        rows = [(each.status, each.check, each.subject, each.saw, each.want, each.mend) for each in shown]
        show_table(("status", "check", "hosts", "saw", "want", "mend"), rows)
    say(", ".join(f"{count} {status}" for status, count in number.items()))
