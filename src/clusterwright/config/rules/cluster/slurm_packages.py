"""There are packages of that Slurm for that operating system."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import release

_WHERE = (("software", "slurm"), ("os",))
_OLDEST = "21.08"  # the oldest release that we render for


def slurm_packages(cluster: Cluster) -> Iterator[Clash]:
    """The distribution's own Slurm, or one that Slurm's own packaging makes and a repository of the site's holds."""
    os, platform, wanted = cluster.os, cluster.platform, cluster.software.slurm
    fits = platform.has_slurm(wanted) and release(wanted) >= _OLDEST
    if cluster.lab is not None or fits:  # a lab has a rule of its own
        return
    own, since = platform.slurm, platform.schedmd_slurm_since
    has = f"{os} itself has Slurm {own}" + (" (in EPEL)" if platform.uses_epel else "")
    take_own = f'set `slurm: "{own}"`' if own >= _OLDEST else ""
    if release(wanted) < _OLDEST:
        mend = 'set `slurm: "25.11"` and name the repository of its packages under `software.repositories`'
        yield Clash(
            "slurm-no-package",
            f"Slurm {wanted} is older than {_OLDEST}, the oldest that we can set up",
            mend,
            _WHERE,
        )
    elif release(wanted) < since and cluster.software.slurm_packages != "distribution":
        newer = f'set `slurm: "{since}"` or later, which Slurm\'s own packaging makes'
        mend = f"{take_own}, or {newer}" if take_own and own != since else newer
        yield Clash(
            "slurm-no-package",
            f"there are no packages of Slurm {wanted} for {os}: {has}, and Slurm's own deb packages begin with {since}",
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
