"""Records of Slurm releases from 21.08: fields come, go and change their order; the learned cluster is the same."""

import pytest

from clusterwright.config.cluster import Unmanaged
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.script import script
from clusterwright.launch.unmanaged.learn import SlurmTexts, learn

HEAD = "NodeName=g1 Arch=x86_64 CoresPerSocket=32 "
FEATURES = "AvailableFeatures=a100,ib ActiveFeatures=a100,ib Gres=gpu:a100:4(S:0-1) "
MEMORY = "RealMemory=515000 AllocMem=0 FreeMem=480000 Sockets=2 Boards=1 "
STATE = "State={state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu "
SYSTEM = "OS=Linux 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC Wed Jul 31 15:28:35 UTC 2024 "
TRES = "CfgTRES=cpu=128,mem=515000M,billing=128,gres/gpu=4 AllocTRES= "
NODES = {
    "21.08": HEAD + "CPUAlloc=0 CPUTot=128 CPULoad=0.03 " + FEATURES + "NodeAddr=g1 NodeHostName=g1 Version=21.08.8-2 "
    + SYSTEM + MEMORY + STATE + "BootTime=2024-08-05T17:38:58 SlurmdStartTime=2024-08-05T17:39:37 "
    "LastBusyTime=2024-08-05T10:44:45 " + TRES + "CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s "
    "ExtSensorsWatts=0 ExtSensorsTemp=n/s",
    "22.05": HEAD + "CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.03 " + FEATURES + "NodeAddr=g1 NodeHostName=g1 "
    "Version=22.05.8 " + SYSTEM + MEMORY + STATE + "BootTime=2024-08-05T17:38:58 SlurmdStartTime=Unknown "
    "LastBusyTime=2024-08-05T10:44:45 " + TRES + "CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s "
    "ExtSensorsWatts=0 ExtSensorsTemp=n/s",
    "23.11": HEAD + "CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.03 " + FEATURES + "NodeAddr=g1 NodeHostName=g1 "
    "Version=23.11.6 " + SYSTEM + MEMORY + STATE + "BootTime=2024-08-05T17:38:58 SlurmdStartTime=2024-08-05T17:39:37 "
    "LastBusyTime=2024-08-05T10:44:45 ResumeAfterTime=None " + TRES + "CapWatts=n/a CurrentWatts=0 AveWatts=0 "
    "ExtSensorsJoules=n/a ExtSensorsWatts=0 ExtSensorsTemp=n/a",
    "24.11": HEAD + "CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.03 " + FEATURES + "NodeAddr=g1 NodeHostName=g1 "
    "Version=24.11.5 " + SYSTEM + MEMORY + STATE + "BootTime=2024-08-05T17:38:58 SlurmdStartTime=2024-08-05T17:39:37 "
    "LastBusyTime=2024-08-05T10:44:45 ResumeAfterTime=None " + TRES + "CurrentWatts=0 AveWatts=0",
    "later": HEAD + "Topology=default:s0 SomethingNew=a=b,c CPUEfctv=128 CPUTot=128 " + STATE + MEMORY + FEATURES
    + "NodeAddr=g1 Version=26.05.0 " + TRES + "Comment=rack 7 Extra=x:1 InstanceType=p4d",
}  # fmt: skip
LIMITS = "MaxNodes=UNLIMITED MaxTime=2-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED "
PARTITIONS = {
    "21.08": "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO " + LIMITS,
    "22.05": "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO " + LIMITS,
    "23.11": "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO " + LIMITS
    + "MaxCPUsPerSocket=UNLIMITED NodeSets=gpus ",
    "24.11": "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO ExclusiveTopo=NO GraceTime=0 Hidden=NO " + LIMITS
    + "MaxCPUsPerSocket=UNLIMITED ",
    "later": "DefaultTime=NONE Topology=default ExclusiveTopo=NO " + LIMITS,
}  # fmt: skip
PARTITION = (
    "PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A {limits}"
    "Nodes=g1 PriorityJobFactor=1 PriorityTier=1 RootOnly={root} ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE "
    "PreemptMode=OFF State=UP TotalCPUs=128 TotalNodes=1 SelectTypeParameters=NONE JobDefaults=(null) "
    "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=128,mem=515000M,node=1,billing=128,gres/gpu=4\n"
)
CONFIG = """Configuration data as of 2026-11-27T15:53:14
AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu
BootTime                = 2026-11-20T08:00:00
ClusterName             = physics
CommunicationParameters = (null)
Epilog[0]               = /etc/slurm/epilog.sh
SLURM_CONF              = /etc/slurm/slurm.conf
SLURM_VERSION           = {version}
SlurmctldHost[0]        = ctl(10.1.0.2)

Cgroup Support Configuration:
AllowedRAMSpace         = 100.0%
CgroupPlugin            = autodetect

Slurmctld(primary) at ctl is UP
"""
JOB = Job.model_validate({"name": "t", "command": ["t.py"], "gpus_per_node": 4, "time": "1h"}, strict=False)


def learned(node, *, limits=PARTITIONS["24.11"], root="NO", version="24.11.5"):
    """The cluster of one node and one partition."""
    config = CONFIG.format(version=version)
    texts = SlurmTexts(
        config, node + "\n", PARTITION.format(limits=limits, root=root), "10.1.0.9\n", "login1"
    )
    return learn(texts, "/home/bob/wright", Unmanaged(), "python3")


@pytest.mark.parametrize("release", NODES)
def test_the_cluster_is_the_same_whatever_release_prints_it(release):
    """One group of a node with four GPUs, and its partition with its time limit."""
    cluster = learned(NODES[release].format(state="IDLE"), limits=PARTITIONS[release], version=f"{release}.1")
    group = cluster.host("g1").group

    assert (cluster.name, cluster.software.slurm[:5]) == ("physics", release)
    assert list(cluster.nodes) == ["login", "a100-4"]
    assert (group.cpus.threads, group.gpus.count, group.gpus.gres_type) == (128, 4, "a100")
    assert (cluster.partitions["gpu"].max_time, cluster.partitions["gpu"].max_nodes) == (2 * 86400, None)
    text = script(JOB, cluster, "/home/bob/wright/runs/t")
    assert "--gres=gpu:a100:4 " in text
    assert "--cpus-per-task=128" in text


@pytest.mark.parametrize(
    "state", ["MIXED+CLOUD", "IDLE+CLOUD+POWERED_DOWN", "DOWN*+DRAIN+NOT_RESPONDING", "IDLE+PLANNED"]
)
def test_a_node_in_any_state_belongs_to_the_cluster(state):
    """It comes back; Slurm alone decides when."""
    assert learned(NODES["24.11"].format(state=state)).host("g1").group.gpus.count == 4


@pytest.mark.parametrize("old", ["CPUEfctv=128 CPUTot=128", "CPUTot=128"])
def test_a_job_requests_no_more_cpus_than_slurm_allocates(old):
    """Cores reserved for the system, or threads that slurm.conf does not count: sbatch would refuse the job."""
    new = old.replace("CPUEfctv=128", "CPUEfctv=96") if "Efctv" in old else "CPUTot=96"
    node = NODES["24.11" if "Efctv" in old else "21.08"].format(state="IDLE").replace(old, new)
    text = script(JOB, learned(node), "/home/bob/wright/runs/t")

    assert "--cpus-per-task=96" in text


def test_a_partition_of_root_is_none_of_a_user():
    """RootOnly: sbatch of a user would be refused."""
    with pytest.raises(WrightError, match="lists no nodes"):
        learned(NODES["24.11"].format(state="IDLE"), root="YES")
