"""Core dumps of jobs."""

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, fact, is_compute
from clusterwright.check.verdict import Status, Verdict


@fact("cat", "/proc/sys/kernel/core_pattern")
def core_pattern(out: str) -> str:
    """Where the kernel writes core dumps."""
    return out.strip()


@check(core_pattern, when=is_compute, fix="set kernel.core_pattern to a program or an absolute path")
def core_dumps(_spec: HostSpec, pattern: str) -> Verdict:
    """Core dumps of jobs go to a program or to one folder, not into the folders of users."""
    return expect(
        pattern.startswith(("|", "/")),
        observed=f"kernel.core_pattern is {pattern}",
        expected="a program or an absolute path",
        otherwise=Status.WARN,
    )
