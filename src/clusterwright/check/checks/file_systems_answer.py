"""The file systems answer."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.folders_answer import folders_answer
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_SLOW_S = (
    1.0  # ours: a file system that is only asked how full it is, and takes that long, makes every `ls` wait
)
_EXPECTED = N_("an answer at once, 5 s at the very most")


@check(
    folders_answer,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="see the server and the path to it; `umount -f -l PATH`, then mount it again, or reboot the host",
)
def file_systems_answer(spec: HostSpec, have: dict[str, float | str]) -> Iterator[Verdict]:
    """Every shared folder and local disk says how full it is, within five seconds and without an error."""
    shared = {folder.path: name for name, folder in spec.cluster.storage.items()}
    verdicts = []
    for path, answer in have.items():
        expected = (
            _("{expected} (storage.{shared})", expected=_EXPECTED, shared=shared[path])
            if path in shared
            else _EXPECTED
        )
        if answer == "not asked":
            verdicts.append(
                unknown(_("{path}: the host is too busy to ask", path=path), expected=expected, part=path)
            )
        elif (
            isinstance(answer, str) and "No such file" not in answer
        ):  # one that is not there: see shared_folders
            verdicts.append(fault(observed=f"{path}: {answer}", expected=expected, part=path))
        elif not isinstance(answer, str) and answer > _SLOW_S:
            observed = _("{path} took {answer:.1f} s", path=path, answer=answer)
            verdicts.append(fault(observed=observed, expected=expected, part=path, otherwise=Status.WARN))
    yield from verdicts or [fine(observed=_("{count} answer at once", count=len(have)), expected=_EXPECTED)]
