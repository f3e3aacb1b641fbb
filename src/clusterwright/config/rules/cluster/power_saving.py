"""Power saving: who powers idle hosts down and up."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from clusterwright.config.clash import Clash, members, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.power_saving import Ipmi, LabPower, PowerSaving, Program, Redfish
from clusterwright.config.storage import Nfs
from clusterwright.i18n import _

_LOC = ("slurm", "power_saving")


def power_saving(cluster: Cluster) -> Iterator[Clash]:
    """The groups that stay on exist and are compute hosts, and there is one way for on and one for off."""
    saving = cluster.slurm.power_saving
    if saving is not None:
        yield from _suspend_exclude(cluster, saving)
        yield from _two_programs(saving)
        yield from _single_method(saving)


def _suspend_exclude(cluster: Cluster, saving: PowerSaving) -> Iterator[Clash]:
    compute = [name for name, group in cluster.nodes.items() if group.role == "compute"]
    for index, name in enumerate(saving.exclude):
        loc = (*_LOC, "exclude", index)
        if name not in cluster.nodes:
            yield unknown("power_saving", _("node group"), name, compute, (loc, ("nodes",)))
        elif name not in compute:
            yield Clash(
                "not-compute",
                _(
                    "power_saving keeps `{name}` on, which is never switched off: its role is {role}",
                    name=name,
                    role=cluster.nodes[name].role,
                ),
                _("take `{name}` out; only compute hosts are switched off", name=name),
                (loc, ("nodes", name, "role")),
            )


def _two_programs(saving: PowerSaving) -> Iterator[Clash]:
    provider = saving.provider
    off_program, on_program = saving.suspend, saving.resume
    locs: tuple[tuple[str, ...], ...] = ("suspend",), ("resume",)
    if isinstance(provider, Program):
        off_program, on_program, locs = provider.off, provider.on, (("provider", "off"), ("provider", "on"))
    if off_program is not None and off_program == on_program:
        yield Clash(
            "same-program",
            _(
                "{off_program} is to switch hosts off and on, and is not told which of the two",
                off_program=off_program,
            ),
            "give {} and {} a program each".format(*(loc[-1] for loc in locs)),
            tuple((*_LOC, *loc) for loc in locs),
        )


def _single_method(saving: PowerSaving) -> Iterator[Clash]:
    programs = {"suspend": saving.suspend, "resume": saving.resume}
    program_names = [name for name, path in programs.items() if path is not None]
    if saving.provider is not None and program_names:
        yield Clash(
            "power-two-ways",
            _(
                "a provider holds the switch, and Slurm is to call `{program_names}` as well",
                program_names=program_names[0],
            ),
            _(
                "take {program_names} out, or the provider",
                program_names=" and ".join(f"`{name}`" for name in program_names),
            ),
            (*((*_LOC, name) for name in program_names), (*_LOC, "provider")),
        )
    if saving.provider is None and len(program_names) < len(programs):
        missing = [name for name in programs if name not in program_names]
        yield Clash(
            "power-no-way",
            _(
                "idle hosts are to be switched off, and nobody is named who does it: {missing} missing",
                missing=" and ".join(missing),
            ),
            _(
                "add a provider, such as provider: {kind: redfish, bmc: {a100: 10.0.9.11}}, or both "
                "suspend and resume"
            ),
            (_LOC,),
        )


_BMC = (*_LOC, "provider", "bmc")


def power_provider(cluster: Cluster) -> Iterator[Clash]:
    """A lab's switch is a lab's; each group has its management controllers; some hosts are left to switch off."""
    saving = cluster.slurm.power_saving
    if saving is None or saving.provider is None:
        return
    if isinstance(saving.provider, LabPower) and cluster.lab is None:
        yield Clash(
            "power-not-a-lab",
            _("the lab's own switch is to hold the power of hosts that are no lab's"),
            _("name another provider, such as kind: redfish; or add a `lab:` section"),
            ((*_LOC, "provider", "kind"),),
        )
    if isinstance(saving.provider, Redfish | Ipmi):
        yield from _controllers(cluster, saving, saving.provider)
    switched = sum(len(cluster.nodes[name].names()) for name in _switched(cluster, saving))
    if saving.spares > switched:
        yield Clash(
            "power-spares",
            _(
                "{spares} idle hosts are to be kept on, and {switched} are ever switched off",
                spares=saving.spares,
                switched=switched,
            ),
            _("lower it to {switched}", switched=switched),
            ((*_LOC, "spares"),),
        )


def _switched(cluster: Cluster, saving: PowerSaving) -> list[str]:
    return [
        name
        for name, group in cluster.nodes.items()
        if group.role == "compute" and name not in saving.exclude
    ]


def _controllers(cluster: Cluster, saving: PowerSaving, provider: Redfish | Ipmi) -> Iterator[Clash]:
    switched = _switched(cluster, saving)
    for name in provider.bmc:
        if name not in cluster.nodes:
            yield unknown("power_saving", _("node group"), name, switched, ((*_BMC, name), ("nodes",)))
    for name in switched:
        if name not in provider.bmc:
            yield Clash(
                "power-no-controller",
                _(
                    "hosts of `{name}` are switched off, and their management controllers are not named",
                    name=name,
                ),
                _(
                    "add the address of its first host's: bmc: {{{name}: ADDRESS}}; or keep `{name}` on",
                    name=name,
                ),
                (_BMC, ("nodes", name)),
            )
    yield from _shared(cluster, provider)


def _shared(cluster: Cluster, provider: Redfish | Ipmi) -> Iterator[Clash]:
    """No two hosts have one management controller, and none has the address of a host."""
    owners: dict[IPv4Address, str] = {
        address: f"host {host}"
        for name, group in cluster.nodes.items()
        for index, host in group.places()
        for address in [first_address + index for first_address in group.addresses.values()]
    }
    for name in [name for name in provider.bmc if name in cluster.nodes]:
        for index, host in cluster.nodes[name].places():
            address = provider.bmc[name] + index
            if address in owners:
                yield Clash(
                    "power-controller-taken",
                    _(
                        "{address} would be the management controller of {host}, and is that of {owners}",
                        address=address,
                        host=host,
                        owners=owners[address],
                    ),
                    _(
                        "give each group a first address with room for its hosts, in the controllers' own "
                        "network"
                    ),
                    ((*_BMC, name), ("nodes", name)),
                )
                break
            owners[address] = host


def power_saving_servers(cluster: Cluster) -> Iterator[Clash]:
    """No compute host that serves a folder is in a group that power saving may switch off."""
    saving = cluster.slurm.power_saving
    groups = members(cluster, "compute")
    for name, folder in cluster.storage.items():
        group = groups.get(folder.server) if isinstance(folder, Nfs) else None
        if saving and isinstance(folder, Nfs) and group and group not in saving.exclude:
            yield Clash(
                "server-switched-off",
                _(
                    "`{server}` serves `{name}` to all hosts, and is switched off when no job runs on it",
                    server=folder.server,
                    name=name,
                ),
                _(
                    "add `{group}` to slurm.power_saving.exclude, or let a control host serve `{name}`",
                    group=group,
                    name=name,
                ),
                (("storage", name, "server"), ("slurm", "power_saving")),
            )
