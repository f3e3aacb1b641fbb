"""There are packages of that Slurm for that operating system."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.distributions import OLDEST, OWN_SLURM, can_be_built, has_own, is_rhel_kind, release

_WHERE = (("software", "slurm"), ("os",))


def slurm_packages(cluster: Cluster) -> Iterator[Clash]:
    """The distribution's own Slurm, or one that Slurm's own packaging makes and a repository of the site's holds."""
    os, wanted = cluster.os, cluster.software.slurm
    fits = has_own(os, wanted) and release(wanted) >= OLDEST
    if cluster.lab is not None or fits:  # a lab has a rule of its own
        return
    own = OWN_SLURM[os]
    has = f"{os} itself has Slurm {own}" + (" (in EPEL)" if is_rhel_kind(os) else "")
    take_own = f'set `slurm: "{own}"`' if release(own) >= OLDEST else ""
    if release(wanted) < OLDEST:
        mend = 'set `slurm: "25.11"` and name the repository of its packages under `software.repositories`'
        yield Clash(
            "slurm-no-package",
            f"Slurm {wanted} is older than 21.08, the oldest that we can set up",
            mend,
            _WHERE,
        )
    elif not can_be_built(os, wanted) and cluster.software.slurm_packages != "distribution":
        newer = 'set `slurm: "23.11"` or later, which Slurm\'s own packaging makes'
        mend = f"{take_own}, or {newer}" if take_own and own != "23.11" else newer
        yield Clash(
            "slurm-no-package",
            f"there are no packages of Slurm {wanted} for {os}: {has}, and Slurm's own deb packages begin with 23.11",
            mend,
            _WHERE,
        )
    elif not cluster.software.repositories:
        name = "name the repository of the packages under `software.repositories`"
        mend = f"{name}, or {take_own}" if take_own else name
        yield Clash(
            "slurm-no-package",
            f"nothing says where the packages of Slurm {wanted} for {os} come from; {has}",
            mend,
            _WHERE,
        )
