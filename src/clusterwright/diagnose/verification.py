"""Diagnoses that blame a host by text which a user can have written: what to verify before the host is drained."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.reading.line import is_of_kernel
from clusterwright.i18n import _

_TEXT_CONFIDENCE = 0.8  # ours: below that of a message of the journal, whose begin is known


def with_verification(
    diagnosis: Diagnosis, is_of_user: Callable[[str], bool], hosts: Collection[str] = ()
) -> Diagnosis:
    """Return a diagnosis that blames a host by output of a job alone, which its user can write, with how to verify it.

    Also one that names no host but is of a host's fault, so that the job is to be repeated elsewhere.

    `is_of_user`: whether that user can write the source of this name. A host that is none of `hosts`, the hosts of the
    job if they are known, is not excluded.
    """
    of_unnamed = diagnosis.retry == "elsewhere" and not diagnosis.verify
    host = diagnosis.exclude or ("HOST" if of_unnamed else "")
    if not host or not diagnosis.evidence or not all(is_of_user(line.source) for line in diagnosis.evidence):
        return diagnosis
    if diagnosis.exclude and hosts and host not in hosts:
        text = _("{host} is no host of the job, and only output that its user can write names it", host=host)
        return replace(diagnosis, exclude="", verify=text)
    text = _(
        "only output that the job's user can write shows this: before you drain {host}, run wright check --hosts "
        "{host}",
        host=host,
    )
    return replace(diagnosis, verify=text)


def with_doubt(diagnosis: Diagnosis, kernel_logs: Collection[str]) -> Diagnosis:
    """Return a diagnosis of a host by the kernel's text in files alone as a claim to be verified.

    In a text, line ends in names that users choose look like the ends of messages. `kernel_logs`: names of files with
    messages of the kernel, besides the lines that look like one.
    """
    lines = diagnosis.evidence
    if not lines or not all(line.source in kernel_logs or is_of_kernel(line.text) for line in lines):
        return diagnosis
    host = diagnosis.exclude or diagnosis.subject.get("host") or "HOST"
    text = _(
        "a text does not show which line begins a message of the kernel, and users put names into messages: before you "
        "drain {host}, run wright check --hosts {host}",
        host=host,
    )
    confidence = min(diagnosis.confidence, _TEXT_CONFIDENCE)
    return replace(diagnosis, exclude="", verify=text, confidence=confidence)
