"""Settings of QOS and associations in slurmdbd by sacctmgr's name, and their headings in its tables and dumps."""

from typing import Dict, Tuple

# sacctmgr(1): settings that both kinds have, with the other spellings that `sacctmgr show` and `dump` use.
_SHARED: Dict[str, Tuple[str, ...]] = {
    "GrpJobs": (),
    "GrpJobsAccrue": (),
    "GrpSubmitJobs": ("GrpSubmit",),
    "GrpTRES": (),
    "GrpTRESMins": (),
    "GrpTRESRunMins": (),
    "GrpWall": (),
    "MaxTRESPerJob": ("MaxTRES",),
    "MaxTRESPerNode": (),
    "MaxTRESMinsPerJob": ("MaxTRESMins",),
    "MaxWall": ("MaxWallDurationPerJob",),
    "Priority": (),
    "MinPrioThreshold": ("MinPrioThresh",),
}
QOS_SETTINGS: Dict[str, Tuple[str, ...]] = {
    **_SHARED,
    "Flags": (),
    "GraceTime": (),
    "LimitFactor": (),
    "MaxJobsAccruePerAccount": ("MaxJobsAccruePA",),
    "MaxJobsAccruePerUser": ("MaxJobsAccruePU",),
    "MaxJobsPerAccount": ("MaxJobsPA",),
    "MaxJobsPerUser": ("MaxJobsPU",),
    "MaxSubmitJobsPerAccount": ("MaxSubmitPA", "MaxSubmitJobsPA"),
    "MaxSubmitJobsPerUser": ("MaxSubmitPU", "MaxSubmitJobsPU"),
    "MaxTRESPerAccount": ("MaxTRESPA",),
    "MaxTRESPerUser": ("MaxTRESPU",),
    "MaxTRESRunMinsPerAccount": ("MaxTRESRunMinsPA",),
    "MaxTRESRunMinsPerUser": ("MaxTRESRunMinsPU",),
    "MinTRESPerJob": ("MinTRES",),
    "Preempt": (),
    "PreemptExemptTime": (),
    "PreemptMode": (),
    "UsageFactor": (),
    "UsageThreshold": ("UsageThres",),
}
ASSOCIATION_SETTINGS: Dict[str, Tuple[str, ...]] = {
    **_SHARED,
    "DefaultQOS": ("Def QOS",),
    "Fairshare": ("Share", "FairShare"),
    "MaxJobs": (),
    "MaxJobsAccrue": (),
    "MaxSubmitJobs": ("MaxSubmit",),
    "MaxTRESRunMins": (),
    "QOS": (),
}
# Associations inherit these from the account above; each of the others limits an account and all below it together.
INHERITED = frozenset(
    {
        "DefaultQOS",
        "MaxJobs",
        "MaxJobsAccrue",
        "MaxSubmitJobs",
        "MaxTRESMinsPerJob",
        "MaxTRESPerJob",
        "MaxTRESPerNode",
        "MaxTRESRunMins",
        "MaxWall",
        "MinPrioThreshold",
        "Priority",
        "QOS",
    }
)
