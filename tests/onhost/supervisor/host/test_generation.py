from clusterwright.onhost.supervisor.host.generation import Generation, environment, variables

GENERATION = Generation(
    number=3, hosts=("gpu-node1", "gpu-node4"), host="gpu-node4", ranks=2, address="10.77.1.11", port=20031,
    local_address="10.77.1.14", interface="compute", restarts=3, log_dir="/r/logs/3/gpu-node4", run="/shared/runs/r",
)  # fmt: skip


def test_ranks_are_numbered_host_by_host():
    """The second rank of the second host is rank 3 of 4."""
    said = variables(GENERATION, 1)

    assert (said["RANK"], said["LOCAL_RANK"], said["WORLD_SIZE"], said["NODE_RANK"]) == ("3", "1", "4", "1")
    assert (said["MASTER_ADDR"], said["MASTER_PORT"]) == ("10.77.1.11", "20031")


def test_no_rank_serves_the_store():
    """Torch's env:// would else let rank 0 listen on the port that the store has."""
    assert variables(GENERATION, 0)["TORCHELASTIC_USE_AGENT_STORE"] == "True"


def test_what_the_user_has_set_stays():
    """Defaults give way to the user's environment, the run's own facts do not."""
    base = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth9", "CLUSTERWRIGHT_RUN": "other"}
    env = environment(base, "/shared/runs/r", "gpu-node4", "compute", threads=8)

    assert (env["OMP_NUM_THREADS"], env["GLOO_SOCKET_IFNAME"]) == ("1", "eth9")
    assert (env["NCCL_SOCKET_IFNAME"], env["CLUSTERWRIGHT_RUN"]) == ("compute", "/shared/runs/r")
