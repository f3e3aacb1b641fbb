"""The power control service on the control host; in a lab also a slurmd that reports a boot of its host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.power_saving import Ipmi, Program, Provider
from clusterwright.edge.bundler import power_programs
from clusterwright.provision.render.power import PROGRAMS, power_settings
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Unit
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("slurm_account",)  # sorts before slurm, because slurm.conf names the programs

LIBRARY = "/opt/clusterwright/power"
SETTINGS = f"{PROGRAMS}/power.json"
UNIT = "clusterwright-power.service"
CALLED = {"power_on": "resume", "power_off": "suspend", "power_failed": "resume failed:"}
PYTHON = "$(command -v python3 || echo /usr/libexec/platform-python)"
_THREATS = (
    "Reached by: root and slurm on this host, through its socket. Reads: Slurm's node states. Changes: the "
    "power of hosts, with the BMC passwords. Whoever takes it over can power off every host; it has no other "
    "rights on this host."
)
_KEEPER = """[Unit]
Description=Powers hosts on and off at Slurm's request (clusterwright)
After=network-online.target munge.service
Wants=network-online.target

[Service]
User=slurm
Group=slurm
Environment=PYTHONPATH={library}
ExecStart=/bin/sh -c 'exec {python} -m clusterwright.onhost.power.keeper'
StateDirectory=clusterwright-power
RuntimeDirectory=clusterwright-power
Restart=always
RestartSec=2
{sandbox}

[Install]
WantedBy=multi-user.target
"""
# Shorter than the prolog timeout (render/slurm_conf); slurmctld itself polls every half minute.
_JOINED = """#!/bin/sh
{header}# Ends when every host of the job has joined, and soon in any case.
end=$(($(date +%s) + 100))
while [ "$(date +%s)" -lt "$end" ]; do
  sinfo -h -N -n "$SLURM_JOB_NODELIST" -o %T 2>/dev/null | grep -q '[~#%!]' || exit 0
  sleep 0.5
done
exit 0
"""
# A virtual host's uptime is its machine's, so the first slurmd after a boot gets -b; otherwise Slurm assumes that a
# host which was up before the request never booted.
_BOOTED = """[Service]
ExecStart=
ExecStart=/bin/sh -c 'mkdir /run/clusterwright-booted 2>/dev/null && set -- -b; exec slurmd -Ds $$SLURMD_OPTIONS "$$@"'
"""


def power(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the power control service for the first control host; in a lab also a drop-in of slurmd on compute hosts.

    Nothing without power saving or if Slurm calls the site's programs itself.
    """
    saving = cluster.slurm.power_saving
    if saving is None or saving.provider is None:
        return ()
    if host.name == cluster.control.name:
        tool = (Package(name="ipmitool"),) if isinstance(saving.provider, Ipmi) and not cluster.lab else ()
        return (*tool, *_keeper(power_settings(cluster, saving), context.header(), _sandbox(saving.provider)))
    if cluster.lab and host.group.role == "compute":
        path = "/etc/systemd/system/slurmd.service.d/clusterwright-power.conf"
        return (File(path=path, content=context.header() + _BOOTED),)
    return ()


def _sandbox(provider: Provider) -> str:
    """Return the sandbox lines; none for programs of the site, which may need sudo and files anywhere."""
    if isinstance(provider, Program):
        return "# The site's own programs run here: the account is their only limit."
    return sandbox(_THREATS, RestrictAddressFamilies="AF_UNIX AF_INET AF_INET6")


def _keeper(settings: str, header: str, lines: str) -> tuple[Resource, ...]:
    code = [File(path=f"{LIBRARY}/{path}", content=text) for path, text in sorted(power_programs().items())]
    settings_file = File(path=SETTINGS, content=settings)
    text = header + _KEEPER.format(library=LIBRARY, python=PYTHON.replace("$", "$$"), sandbox=lines)
    unit = File(path=f"/etc/systemd/system/{UNIT}", content=text)
    return (
        Directory(path="/etc/slurm"),
        Directory(path=PROGRAMS),
        *code,
        settings_file,
        *(_called(name, verb, header) for name, verb in CALLED.items()),
        File(path=f"{PROGRAMS}/power_joined", content=_JOINED.format(header=header), mode=0o755),
        unit,
        Unit(
            name=UNIT, restart_on=(settings_file.id, unit.id, *(file.id for file in code)), independent=True
        ),
    )


def _called(name: str, verb: str, header: str) -> File:
    """Return a program for slurm.conf that calls slurm_hook with `verb`; only root may write it, as Slurm requires."""
    text = f"""#!/bin/sh
{header}export PYTHONPATH={LIBRARY}
exec {PYTHON} -m clusterwright.onhost.power.slurm_hook '{verb}' "$1"
"""
    return File(path=f"{PROGRAMS}/{name}", content=text, mode=0o755)
