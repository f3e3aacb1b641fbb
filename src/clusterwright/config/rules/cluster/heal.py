"""What is allowed is of use, and spares can stand in."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _

_DOES = ("approve", "act")


def heal(cluster: Cluster) -> Iterator[Clash]:
    """Who may act is allowed something, and who may not is allowed nothing; what acts on empty hosts may empty them."""
    yield from _mode(cluster)
    yield from _drain(cluster)
    yield from _spares(cluster)


def _mode(cluster: Cluster) -> Iterator[Clash]:
    ours = cluster.heal
    locs = (("heal", "allow"), ("heal", "mode"))
    if ours.allow and ours.mode not in _DOES:
        yield Clash(
            "heal-allow-unused",
            _(
                "{names} may be done, and with mode `{mode}` nothing ever is",
                names=names(ours.allow),
                mode=ours.mode,
            ),
            _("set heal.mode to act (or approve: a person is asked each time), or take allow out"),
            locs,
        )
    if ours.mode in _DOES and not ours.allow:
        yield Clash(
            "heal-nothing-allowed",
            _("mode `{mode}` acts, and nothing is allowed", mode=ours.mode),
            _("list what may be done, such as allow: [restart-service, drain], or set mode to propose"),
            locs[::-1],
        )
    if ours.watch and ours.mode == "none":
        yield Clash(
            "heal-watch-off",
            _("a unit is to look after the cluster, and mode `none` looks at nothing"),
            _("set heal.mode to propose, approve or act, or take watch out"),
            (("heal", "watch"), ("heal", "mode")),
        )


def _drain(cluster: Cluster) -> Iterator[Clash]:
    allow = cluster.heal.allow
    actions = [action for action in allow if action in ("reset-gpu", "reboot", "replace")]
    if actions and "drain" not in allow:
        yield Clash(
            "heal-without-drain",
            _(
                "{names} may be done, which is done to a host without jobs only, and no host may be drained",
                names=names(actions),
            ),
            _("add drain, or take {names} out", names=names(actions)),
            (("heal", "allow"),),
        )


def _spares(cluster: Cluster) -> Iterator[Clash]:
    ours, saving = cluster.heal, cluster.slurm.power_saving
    compute = [name for group in cluster.nodes.values() if group.role == "compute" for name in group.names()]
    for index, name in enumerate(ours.spares):
        if name not in compute:
            yield unknown(
                "heal.spares", _("compute host"), name, compute, (("heal", "spares", index), ("nodes",))
            )
    if "replace" in ours.allow and not ours.spares and (saving is None or saving.provider is None):
        yield Clash(
            "heal-no-spare",
            _("hosts may be replaced, and there is nothing to replace them with"),
            _(
                "name hosts as heal.spares, or let slurm.power_saving with a provider wake others, "
                "or take replace out"
            ),
            (("heal", "allow"), ("heal", "spares")),
        )
