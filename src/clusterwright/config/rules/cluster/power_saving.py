"""Rules about power saving: providers, excluded groups, management controllers."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from clusterwright.config.clash import Clash, members, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.power_saving import Ipmi, LabPower, PowerSaving, Program, Redfish
from clusterwright.config.storage import Nfs
from clusterwright.i18n import _

_LOC = ("slurm", "power_saving")


def power_saving(cluster: Cluster) -> Iterator[Clash]:
    """Check that excluded groups are compute groups, and there is exactly one method of power control."""
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
                    "power_saving.exclude has `{name}`, whose role is {role}",
                    name=name,
                    role=cluster.nodes[name].role,
                ),
                _("remove `{name}`; only compute hosts are powered down", name=name),
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
            _("{program} is the program for both power down and power up", program=off_program),
            _("set different programs for {off} and {on}", off=locs[0][-1], on=locs[1][-1]),
            tuple((*_LOC, *loc) for loc in locs),
        )


def _single_method(saving: PowerSaving) -> Iterator[Clash]:
    programs = {"suspend": saving.suspend, "resume": saving.resume}
    program_names = [name for name, path in programs.items() if path is not None]
    if saving.provider is not None and program_names:
        yield Clash(
            "power-two-ways",
            _("both a provider and {programs} control the power", programs=names(program_names)),
            _("remove {programs}, or the provider", programs=names(program_names)),
            (*((*_LOC, name) for name in program_names), (*_LOC, "provider")),
        )
    if saving.provider is None and len(program_names) < len(programs):
        missing = [name for name in programs if name not in program_names]
        yield Clash(
            "power-no-way",
            _("power_saving has no power control: {programs} missing", programs=names(missing)),
            _(
                "add a provider, such as provider: {kind: redfish, bmc: {a100: 10.0.9.11}}, or both suspend and resume"
            ),
            (_LOC,),
        )


_BMC = (*_LOC, "provider", "bmc")


def power_provider(cluster: Cluster) -> Iterator[Clash]:
    """Check that provider lab is in a lab, each group has a BMC, and `spares` is at most the number of hosts.

    Only with a provider; only Redfish and IPMI have BMCs.
    """
    saving = cluster.slurm.power_saving
    if saving is None or saving.provider is None:
        return
    if isinstance(saving.provider, LabPower) and cluster.lab is None:
        yield Clash(
            "power-not-a-lab",
            _("provider `lab` controls the power of a lab, but the file has no `lab:` section"),
            _("use another provider, such as kind: redfish; or add a `lab:` section"),
            ((*_LOC, "provider", "kind"),),
        )
    if isinstance(saving.provider, Redfish | Ipmi):
        yield from _controllers(cluster, saving, saving.provider)
    switched = sum(len(cluster.nodes[name].names()) for name in _switched(cluster, saving))
    if saving.spares > switched:
        values = {"spares": saving.spares, "hosts": switched}
        message = _("power_saving.spares is {spares}, but only {hosts} hosts can be powered down", **values)
        yield Clash(
            "power-spares", message, _("lower `spares` to {hosts}", hosts=switched), ((*_LOC, "spares"),)
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
            message = _("node group `{name}` has power saving, but no BMC address", name=name)
            fix = _(
                "add the BMC address of its first host, bmc: {{{name}: ADDRESS}}, or add `{name}` to exclude",
                name=name,
            )
            yield Clash("power-no-controller", message, fix, (_BMC, ("nodes", name)))
    yield from _shared(cluster, provider)


def _shared(cluster: Cluster, provider: Redfish | Ipmi) -> Iterator[Clash]:
    """Check that BMC addresses are unique and are no addresses of hosts; one clash for each group."""
    owners: dict[IPv4Address, str] = {
        address: host
        for name, group in cluster.nodes.items()
        for index, host in group.places()
        for address in [first_address + index for first_address in group.addresses.values()]
    }
    for name in [name for name in provider.bmc if name in cluster.nodes]:
        for index, host in cluster.nodes[name].places():
            address = provider.bmc[name] + index
            if address in owners:
                message = _(
                    "the BMC address of {host}, {address}, is also an address of {owner}",
                    host=host,
                    address=address,
                    owner=owners[address],
                )
                fix = _(
                    "set a first address for each group with room for its hosts, in the network of the BMCs"
                )
                yield Clash("power-controller-taken", message, fix, ((*_BMC, name), ("nodes", name)))
                break
            owners[address] = host


def power_saving_servers(cluster: Cluster) -> Iterator[Clash]:
    """Check that no compute host that serves an NFS folder is in a group that power saving may power down."""
    saving = cluster.slurm.power_saving
    groups = members(cluster, "compute")
    for name, folder in cluster.storage.items():
        group = groups.get(folder.server) if isinstance(folder, Nfs) else None
        if saving and isinstance(folder, Nfs) and group and group not in saving.exclude:
            yield Clash(
                "server-switched-off",
                _(
                    "`{server}` serves `{name}` to all hosts, but is powered down when it runs no jobs",
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
