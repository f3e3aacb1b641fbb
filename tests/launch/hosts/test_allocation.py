"""Hosts and slots of an allocation, from the variables and files that each scheduler documents."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.launch.hosts.allocation import find_allocation, mpi_task
from clusterwright.launch.hosts.hostfile import SlotHost

TWO = [SlotHost("node1", 4), SlotHost("node2", 4)]
FILES = {
    # OpenPBS, PBS Professional and Torque: a line for each MPI process (`mpiprocs`, `ppn`)
    "/var/spool/pbs/aux/12.pbs": "node1\nnode1\nnode1\nnode1\nnode2\nnode2\nnode2\nnode2\n",
    "/home/a/.lsbatch/1700000000.12.hostfile": "node1\nnode1\nnode1\nnode1\nnode2\nnode2\nnode2\nnode2\n",
    # Grid Engine: host, slots, queue instance, processors
    "/spool/active_jobs/12.1/pe_hostfile": "node1 4 gpu.q@node1 UNDEFINED\nnode2 4 gpu.q@node2 <NULL>\n",
    "/var/tmp/cobalt.12": "node1\nnode2\n",
    # PBS with names as its server has them, and Torque with slots in the order of the vnodes
    "/var/spool/pbs/aux/13.pbs": "node1.hpc.example\nnode2.hpc.example\n",
    "/var/spool/torque/aux/14.head": "node2\nnode1\nnode2\nnode1\n",
    # LSF with a launch host first, as `bsub` of clusters with CSM has it
    "/home/a/.lsbatch/1700000000.15.hostfile": "batch01\nnode1\nnode1\nnode1\nnode1\n",
    # MPICH and Intel MPI: slots after a colon
    "/etc/mpi/hydra": "node1:4\nnode2:4\n",
    "/etc/mpi/hostfile": "node1 slots=4\nnode2 slots=4\n",
    "/empty": "\n",
}


@pytest.mark.parametrize(
    ("environment", "scheduler", "hosts"),
    [
        ({"PBS_NODEFILE": "/var/spool/pbs/aux/12.pbs", "PBS_JOBID": "12.pbs"}, "PBS", TWO),
        (
            {"LSB_DJOB_HOSTFILE": "/home/a/.lsbatch/1700000000.12.hostfile", "LSB_HOSTS": "cut off"},
            "LSF",
            TWO,
        ),
        ({"LSB_MCPU_HOSTS": "node1 4 node2 4 "}, "LSF", TWO),
        ({"LSB_HOSTS": "node1 node1 node1 node1 node2 node2 node2 node2"}, "LSF", TWO),
        ({"PE_HOSTFILE": "/spool/active_jobs/12.1/pe_hostfile", "NSLOTS": "8"}, "Grid Engine", TWO),
        ({"COBALT_NODEFILE": "/var/tmp/cobalt.12"}, "Cobalt", [SlotHost("node1"), SlotHost("node2")]),
        ({"OAR_NODEFILE": "/var/spool/pbs/aux/12.pbs"}, "OAR", TWO),
        ({"SLURM_JOB_NODELIST": "node[1-2]", "SLURM_TASKS_PER_NODE": "4(x2)"}, "Slurm", TWO),
        (
            {"SLURM_JOB_NODELIST": "node[1-2]", "SLURM_TASKS_PER_NODE": "4,3"},
            "Slurm",
            [TWO[0], SlotHost("node2", 3)],
        ),
        ({"SLURM_JOB_NODELIST": "node[1-2]"}, "Slurm", [SlotHost("node1"), SlotHost("node2")]),
        ({"OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"}, "MPI", TWO),
        ({"I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile"}, "MPI", TWO),
        ({"HYDRA_HOST_FILE": "/etc/mpi/hydra"}, "MPI", TWO),
        ({"PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile"}, "MPI", TWO),
        (
            {"PBS_NODEFILE": "/var/spool/pbs/aux/13.pbs"},
            "PBS",
            [SlotHost("node1.hpc.example"), SlotHost("node2.hpc.example")],
        ),
        (
            {"PBS_NODEFILE": "/var/spool/torque/aux/14.head"},
            "PBS",
            [SlotHost("node2", 2), SlotHost("node1", 2)],
        ),
        (
            {"LSB_DJOB_HOSTFILE": "/home/a/.lsbatch/1700000000.15.hostfile"},
            "LSF",
            [SlotHost("batch01"), TWO[0]],
        ),
        ({"LSB_MCPU_HOSTS": "node1 4"}, "LSF", [TWO[0]]),
        (
            {"SLURM_JOB_NODELIST": "node[1-2],big7", "SLURM_TASKS_PER_NODE": "4(x2),3"},
            "Slurm",
            [*TWO, SlotHost("big7", 3)],
        ),
    ],
)
def test_the_hosts_of_each_scheduler_are_found(environment, scheduler, hosts):
    """Each host once, in the scheduler's order, with its slots."""
    allocation = find_allocation(environment, FILES.__getitem__)

    assert allocation is not None
    assert (allocation.scheduler, list(allocation.hosts)) == (scheduler, hosts)
    assert allocation.variable in environment


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PBS_NODEFILE": ""},
        {"LSB_MCPU_HOSTS": " "},
        {"SLURM_JOB_NODELIST": "["},
        {"SLURM_JOB_NODELIST": "n[1-3"},
        {"LSB_HOSTS": "-oX"},
    ],
)
def test_outside_of_an_allocation_there_are_no_hosts(environment):
    """Variables that are empty or damaged are none."""
    assert find_allocation(environment, FILES.__getitem__) is None


def test_a_node_file_without_hosts_is_an_error():
    """It names the scheduler's file."""
    with pytest.raises(WrightError, match="/empty lists 0 hosts"):
        find_allocation({"PBS_NODEFILE": "/empty"}, FILES.__getitem__)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "16"}, "OMPI_COMM_WORLD_RANK=1"),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "PMI_RANK=0"),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}, "SLURM_PROCID=3"),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
    ],
)
def test_one_of_several_processes_of_mpirun_is_recognized(environment, expected):
    """Each of them would start the same training."""
    assert mpi_task(environment) == expected
