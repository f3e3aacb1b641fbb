"""Energy, network and profiles of jobs: acct_gather.conf against the plug-ins of slurm.conf."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import Setting, SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_FILE = "acct_gather.conf"
# The beginning of an option, the key of slurm.conf and the plug-ins that know the option.
_PLUGINS = (
    ("EnergyXCC", "AcctGatherEnergyType", ("xcc",)),
    ("EnergyIPMI", "AcctGatherEnergyType", ("ipmi", "xcc")),
    ("ProfileHDF5", "AcctGatherProfileType", ("hdf5",)),
    ("ProfileInfluxDB", "AcctGatherProfileType", ("influxdb",)),
    ("InterconnectOFED", "AcctGatherInterconnectType", ("ofed",)),
    ("InfinibandOFED", "AcctGatherInterconnectType", ("ofed",)),
    ("SysfsInterfaces", "AcctGatherInterconnectType", ("sysfs",)),
)
_DATA = ("all", "none", "energy", "filesystem", "network", "lustre", "task")
_IPMI = "AcctGatherEnergyType=acct_gather_energy/ipmi"
_HDF5 = "AcctGatherProfileType=acct_gather_profile/hdf5"
_INFLUX = "AcctGatherProfileType=acct_gather_profile/influxdb"


def _settings(conf: SlurmConf) -> Iterator[Setting]:
    for lines in conf.settings.get(_FILE, {}).values():
        yield lines[-1]


@rule(
    Severity.ERROR,
    "acct_gather.conf(5), DESCRIPTION",
    wrong="ClusterName=c\n--- acct_gather.conf\nEnergyIPMIFrequency=30",
    correct=f"{_IPMI}\n--- acct_gather.conf\nEnergyIPMIFrequency=30",
)
def acct_gather_plugin_missing(conf: SlurmConf) -> Iterator[Problem]:
    """Each option belongs to a plug-in that slurm.conf loads: Slurm's daemons do not start otherwise."""
    if "slurm.conf" not in conf.files or conf.has_unread:
        return
    for setting in _settings(conf):
        for prefix, key, names in _PLUGINS:
            if setting.key.lower().startswith(prefix.lower()):
                if not set(names) & set(conf.plugins(key)):
                    kind = key.removeprefix("AcctGather").removesuffix("Type").lower()
                    message = _("{option} is unknown without its plug-in in slurm.conf", option=setting.key)
                    yield Problem(setting, message, f"{key}=acct_gather_{kind}/{names[0]}")
                break


@rule(
    Severity.ERROR,
    "acct_gather.conf(5), EnergyIPMIFrequency",
    wrong=f"{_IPMI}\n--- acct_gather.conf\nEnergyIPMIFrequency=0",
    correct=f"{_IPMI}\n--- acct_gather.conf\nEnergyIPMIFrequency=30",
)
def energy_frequency_zero(conf: SlurmConf) -> Iterator[Problem]:
    """EnergyIPMIFrequency is a positive number of seconds: slurmd does not start otherwise."""
    setting = conf.line_of("EnergyIPMIFrequency", _FILE)
    if setting and not conf.number("EnergyIPMIFrequency", 0, _FILE):
        message = _("{value} is not a positive number of seconds", value=setting.value)
        yield Problem(setting, message, "EnergyIPMIFrequency=30")


@rule(
    Severity.NOTE,
    "acct_gather.conf(5), EnergyIPMIFrequency",
    wrong=f"{_IPMI}\nJobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherFrequency=task=10\n"
    "--- acct_gather.conf\nEnergyIPMIFrequency=30",
    correct=f"{_IPMI}\nJobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherFrequency=task=30\n"
    "--- acct_gather.conf\nEnergyIPMIFrequency=30",
)
def energy_sampled_rarely(conf: SlurmConf) -> Iterator[Problem]:
    """Tasks are sampled at most as often as the BMC; more frequent samples repeat its last value."""
    setting = conf.line_of("EnergyIPMIFrequency", _FILE)
    intervals = dict(item.partition("=")[::2] for item in conf.items("JobAcctGatherFrequency"))
    text = intervals.get("task") or next((item for item in intervals if item.isdigit()), "")
    tasks_s = int(text) if text.isdigit() else 0
    if setting and 0 < tasks_s < conf.number("EnergyIPMIFrequency", 0, _FILE):
        message = _("samples of tasks every {seconds} s repeat values of the BMC", seconds=tasks_s)
        yield Problem(setting, message, f"EnergyIPMIFrequency={tasks_s}")


@rule(
    Severity.ERROR,
    "acct_gather.conf(5), EnergyIPMIPowerSensors",
    wrong=f"{_IPMI}\n--- acct_gather.conf\nEnergyIPMIPowerSensors=Socket0=16;Socket1=19",
    correct=f"{_IPMI}\n--- acct_gather.conf\nEnergyIPMIPowerSensors=Node=16,19;Socket0=16;Socket1=19",
)
def power_sensors_without_node(conf: SlurmConf) -> Iterator[Problem]:
    """EnergyIPMIPowerSensors has the key Node, the sensors of the whole node: slurmd ends otherwise."""
    setting = conf.line_of("EnergyIPMIPowerSensors", _FILE)
    keys = [part.partition("=")[0].strip().lower() for part in setting.value.split(";")] if setting else []
    if setting and "node" not in keys:
        fix = f"EnergyIPMIPowerSensors=Node=...;{setting.value}"
        yield Problem(setting, _("the key Node is missing"), fix)


@rule(
    Severity.ERROR,
    "acct_gather.conf(5), ProfileHDF5Dir",
    wrong=f"{_HDF5}\n--- acct_gather.conf\nProfileHDF5Default=Task",
    correct=f"{_HDF5}\n--- acct_gather.conf\nProfileHDF5Dir=/shared/profiles\nProfileHDF5Default=Task",
)
def profile_folder_missing(conf: SlurmConf) -> Iterator[Problem]:
    """acct_gather_profile/hdf5 needs ProfileHDF5Dir, a shared folder: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("AcctGatherProfileType")
    is_read = _FILE in conf.files or conf.is_folder
    if setting and is_read and "hdf5" in setting.value.lower() and not conf.line_of("ProfileHDF5Dir", _FILE):
        yield Problem(setting, _("acct_gather.conf has no ProfileHDF5Dir"), "ProfileHDF5Dir=/shared/profiles")


@rule(
    Severity.ERROR,
    "acct_gather.conf(5), ProfileHDF5Default",
    wrong=f"{_HDF5}\n--- acct_gather.conf\nProfileHDF5Dir=/shared/profiles\nProfileHDF5Default=Memory",
    correct=f"{_HDF5}\n--- acct_gather.conf\nProfileHDF5Dir=/shared/profiles\nProfileHDF5Default=Task",
)
def profile_data_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """The defaults of profiles are All, None, Energy, Filesystem, Network or Task; memory belongs to Task."""
    for key in ("ProfileHDF5Default", "ProfileInfluxDBDefault"):
        setting = conf.line_of(key, _FILE)
        for item in setting.items if setting else ():
            if setting and item not in _DATA:
                yield Problem(setting, _("`{word}` is not a kind of profile data", word=item), f"{key}=Task")


@rule(
    Severity.WARNING,
    "acct_gather.conf(5), ProfileHDF5Default",
    wrong=f"{_HDF5}\n--- acct_gather.conf\nProfileHDF5Dir=/shared/profiles\nProfileHDF5Default=All,Task",
    correct=f"{_HDF5}\n--- acct_gather.conf\nProfileHDF5Dir=/shared/profiles\nProfileHDF5Default=All",
)
def profile_all_and_more(conf: SlurmConf) -> Iterator[Problem]:
    """All and None stand alone; with a further word they cannot be combined."""
    for key in ("ProfileHDF5Default", "ProfileInfluxDBDefault"):
        setting = conf.line_of(key, _FILE)
        if setting and len(setting.items) > 1 and {"all", "none"} & set(setting.items):
            yield Problem(setting, _("All and None cannot be combined with other words"), f"{key}=All")


@rule(
    Severity.WARNING,
    "acct_gather.conf(5), ProfileInfluxDBExtraTags",
    wrong=f"{_INFLUX}\n--- acct_gather.conf\nProfileInfluxDBExtraTags=user",
    correct=f"{_INFLUX}\n--- acct_gather.conf\nProfileInfluxDBExtraTags=user\nProfileInfluxDBFlags=grouped_fields",
)
def influx_tags_unused(conf: SlurmConf) -> Iterator[Problem]:
    """ProfileInfluxDBExtraTags needs ProfileInfluxDBFlags=grouped_fields."""
    setting = conf.line_of("ProfileInfluxDBExtraTags", _FILE)
    if setting and "grouped_fields" not in conf.items("ProfileInfluxDBFlags", _FILE):
        message = _("the tags need the flag grouped_fields")
        yield Problem(setting, message, "ProfileInfluxDBFlags=grouped_fields")
