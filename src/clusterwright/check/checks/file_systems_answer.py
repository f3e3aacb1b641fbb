"""Shared folders and local disks respond."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.folders_answer import folders_answer
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n
from clusterwright.units import human_duration

_SLOW_S = 1.0  # ours: where statvfs takes that long, every `ls` is slow
_EXPECTED = N_("statvfs returns within 1 s")
_EXPECTED_SHARED = N_("statvfs returns within 1 s (storage.{name})")


@check(
    folders_answer,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="check the file server and the network to it; run `umount -f -l PATH` and mount it again, or reboot the host",
    in_jobs=True,
)
def file_systems_answer(spec: HostSpec, have: dict[str, float | str]) -> Iterator[Verdict]:
    """Statvfs on every shared folder and local disk returns within five seconds and without an error.

    More than 1 s is a warning. A folder that does not exist is ignored, one that was not tested is unknown.
    """
    shared = {folder.path: name for name, folder in spec.cluster.storage.items()}
    verdicts = []
    for path, answer in have.items():
        expected = _(_EXPECTED_SHARED, name=shared[path]) if path in shared else _(_EXPECTED)
        if answer == "not asked":
            verdicts.append(
                unknown(
                    _("{path}: not tested, the host is too busy", path=path), expected=expected, part=path
                )
            )
        elif isinstance(answer, str) and "No such file" not in answer:  # shared_folders reports missing ones
            verdicts.append(fault(observed=f"{path}: {answer}", expected=expected, part=path))
        elif not isinstance(answer, str) and answer > _SLOW_S:
            observed = _("{path}: statvfs took {time}", path=path, time=human_duration(answer))
            verdicts.append(fault(observed=observed, expected=expected, part=path, otherwise=Status.WARN))
    yield from verdicts or [
        fine(
            observed=_n("{count} file system responds", "{count} file systems respond", len(have)),
            expected=_(_EXPECTED),
        )
    ]
