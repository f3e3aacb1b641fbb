"""What a job shows inside its image hides nothing of the image or of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash

# The image's own system, what the runtime puts there, and our agent: hier(7).
_TAKEN = (
    "/bin", "/dev", "/etc", "/lib", "/lib64", "/opt/clusterwright", "/proc", "/run", "/sbin", "/sys",
    "/tmp", "/usr", "/var",  # noqa: S108 (named so that nothing is mounted there)
)  # fmt: skip


def container_mounts(job: Job) -> Iterator[Clash]:
    """No mount over, within or above those, and none twice."""
    mounts = job.container.mounts if job.container else ()
    for index, path in enumerate(mounts):
        at: tuple[str | int, ...] = ("container", "mounts", index)
        taken = next((top for top in _TAKEN if _within(path, top) or _within(top, path)), None)
        if taken:
            yield Clash(
                "container-mount",
                f"a mount on {path} would hide {taken} of the image, which it needs or where our agent is",
                "show a folder of data or code, such as /data; shared folders are seen inside as they are",
                (at,),
            )
        elif path in mounts[:index]:
            yield Clash(
                "container-mount",
                f"{path} is mounted twice",
                "keep it once",
                (at, (*at[:2], mounts.index(path))),
            )


def _within(path: str, top: str) -> bool:
    return PurePosixPath(path).is_relative_to(top)
