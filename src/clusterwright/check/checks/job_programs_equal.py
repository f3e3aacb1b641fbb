"""Prolog, epilog and health check programs are equal on all hosts of a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, expect, most_common, unmanaged
from clusterwright.check.fact import is_compute
from clusterwright.check.facts.job_programs import Program, job_programs
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _, _n
from clusterwright.provision.render.job_hooks import PROGRAMS

_EXPECTED = N_("{programs} in /etc/slurm/clusterwright, as on most hosts of the group")
_NONE = Program("", runnable=False)


@check(
    job_programs,
    cluster_wide=True,
    when=is_compute,
    unless=unmanaged("job_hooks"),
    fix="run `wright apply`; otherwise Slurm drains the node at its next job, when the prolog is missing or fails",
)
def job_programs_equal(cluster: Cluster, have: Mapping[str, dict[str, Program]]) -> Iterator[Verdict]:
    """Prolog, epilog and health check programs are executable and the same on all hosts of a group."""
    groups: dict[str, list[str]] = {}
    for host in have:
        groups.setdefault(cluster.host(host).group_name, []).append(host)
    for hosts in groups.values():
        names = sorted({*PROGRAMS, *(name for host in hosts for name in have[host])})
        usual = {
            name: most_common({host: have[host].get(name, _NONE) for host in hosts}, hosts[0])
            for name in names
        }
        for host in hosts:
            odd = [
                difference for name in names if (difference := _odd(name, have[host].get(name), usual[name]))
            ]
            observed = ", ".join(odd) or _n("{count} file equal", "{count} files equal", len(have[host]))
            yield expect(
                not odd, observed=observed, expected=_(_EXPECTED, programs=", ".join(PROGRAMS)), subject=host
            )


def _odd(name: str, program: Program | None, usual: Program) -> str:
    if program is None:
        return _("{file} is missing", file=name) if usual != _NONE or name in PROGRAMS else ""
    if name in PROGRAMS and not program.runnable:
        return _("{file} is not executable", file=name)
    return _("{file} differs", file=name) if program.digest != usual.digest else ""
