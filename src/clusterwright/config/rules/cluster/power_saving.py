"""Idle hosts are switched off by one who can also switch them on."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.power_saving import PowerSaving, Program
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._unknown import unknown

_AT = ("slurm", "power_saving")


def power_saving(cluster: Cluster) -> Iterator[Clash]:
    """The groups that stay on exist and are compute hosts, and there is one way for on and one for off."""
    saving = cluster.slurm.power_saving
    if saving is not None:
        yield from _kept(cluster, saving)
        yield from _two_programs(saving)
        yield from _one_way(saving)


def _kept(cluster: Cluster, saving: PowerSaving) -> Iterator[Clash]:
    compute = [name for name, group in cluster.nodes.items() if group.role == "compute"]
    for index, name in enumerate(saving.keep):
        at = (*_AT, "keep", index)
        if name not in cluster.nodes:
            yield unknown("power_saving", "node group", name, compute, (at, ("nodes",)))
        elif name not in compute:
            yield Clash(
                "not-compute",
                f"power_saving keeps `{name}` on, which is never switched off: its role is "
                f"{cluster.nodes[name].role}",
                f"take `{name}` out; only compute hosts are switched off",
                (at, ("nodes", name, "role")),
            )


def _two_programs(saving: PowerSaving) -> Iterator[Clash]:
    given = saving.provider
    one, other = saving.suspend, saving.resume
    at: tuple[tuple[str, ...], ...] = ("suspend",), ("resume",)
    if isinstance(given, Program):
        one, other, at = given.off, given.on, (("provider", "off"), ("provider", "on"))
    if one is not None and one == other:
        yield Clash(
            "same-program",
            f"{one} is to switch hosts off and on, and is not told which of the two",
            "give {} and {} a program each".format(*(place[-1] for place in at)),
            tuple((*_AT, *place) for place in at),
        )


def _one_way(saving: PowerSaving) -> Iterator[Clash]:
    programs = {"suspend": saving.suspend, "resume": saving.resume}
    given = [name for name, path in programs.items() if path is not None]
    if saving.provider is not None and given:
        yield Clash(
            "power-two-ways",
            f"a provider holds the switch, and Slurm is to call `{given[0]}` as well",
            f"take {' and '.join(f'`{name}`' for name in given)} out, or the provider",
            (*((*_AT, name) for name in given), (*_AT, "provider")),
        )
    if saving.provider is None and len(given) < len(programs):
        missing = [name for name in programs if name not in given]
        yield Clash(
            "power-no-way",
            f"idle hosts are to be switched off, and nobody is named who does it: {' and '.join(missing)} missing",
            "add a provider, such as provider: {kind: redfish, bmc: {a100: 10.0.9.11}}, or both suspend and resume",
            (_AT,),
        )
