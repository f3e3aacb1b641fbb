"""Rules about package repositories: root installs what they contain."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


def repositories(cluster: Cluster) -> Iterator[Clash]:
    """Check that each repository has a key, or is declared unsigned and read over https; not both.

    If the hosts use apt and dnf, it also names its `os`.
    """
    managers = {on_system.platform.package_manager for on_system, _loc in cluster.systems()}
    for name, repository in cluster.software.repositories.items():
        loc = ("software", "repositories", name)
        if len(managers) > 1 and not repository.os:
            yield Clash(
                "repository-os",
                _("the hosts use apt and dnf, and repository `{name}` names neither", name=name),
                _("set `os` of the repository, such as [{os}]", os=cluster.os),
                (loc, ("os",)),
            )
        if repository.key and repository.unsigned:
            yield Clash(
                "repository-unsigned",
                _("repository `{name}` has a key and `unsigned: true`", name=name),
                _("remove `unsigned: true`"),
                ((*loc, "unsigned"), (*loc, "key")),
            )
        elif not repository.key and repository.url.startswith("http://"):
            yield Clash(
                "repository-unsigned",
                _(
                    "repository `{name}` is read over http and has no key: whoever answers for its server becomes root "
                    "on every host",
                    name=name,
                ),
                _("set its `key`, or use https with `unsigned: true`"),
                ((*loc, "url"),),
            )
        elif not repository.key and not repository.unsigned:
            yield Clash(
                "repository-unsigned",
                _(
                    "repository `{name}` has no key, so signatures of its packages are not verified",
                    name=name,
                ),
                _("set its `key`, or `unsigned: true` to trust its server"),
                (loc,),
            )


def bundle_systems(cluster: Cluster) -> Iterator[Clash]:
    """Check that hosts with a package bundle run one operating system."""
    differing = [loc for on_system, loc in cluster.systems() if on_system is not cluster]
    if cluster.software.bundle and differing:
        yield Clash(
            "mixed-systems",
            _("a package bundle is for one operating system"),
            _("use software.repositories in its place, or give all hosts {os}", os=cluster.os),
            (("software", "bundle"), *differing),
        )
