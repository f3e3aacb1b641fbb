from clusterwright.train.agent.torchrun import Generation, arguments, environment

GENERATION = Generation(
    number=3, hosts=("gpu-node1", "gpu-node4"), host="gpu-node4", ranks=2, address="10.77.1.11", port=20031,
    own_address="10.77.1.14", interface="compute", restarts=3, log_dir="/r/logs/3/gpu-node4", run="/shared/runs/r",
)  # fmt: skip


def test_who_serves_the_rendezvous_is_said():
    """Else torchrun guesses it by host name, and two guesses of `not me` hang."""
    first = Generation(**{**GENERATION.__dict__, "host": "gpu-node1"})

    assert any("is_host=1" in argument for argument in arguments(first, "python", ("train.py",)))
    assert any("is_host=0" in argument for argument in arguments(GENERATION, "python", ("train.py",)))


def test_every_generation_has_a_rendezvous_of_its_own():
    """The number is part of the id; what an older generation says is not heard."""
    assert "--rdzv-id=r-3" in arguments(GENERATION, "python", ("train.py",))


def test_the_command_comes_last_and_unchanged():
    """Whatever is in it."""
    assert arguments(GENERATION, "py", ("a b.py", "--x=$(y)"))[-4:] == ["py", "-u", "a b.py", "--x=$(y)"]


def test_what_the_user_has_set_stays():
    """Defaults give way to the user's environment, the run's own facts do not."""
    base = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth9", "CLUSTERWRIGHT_GENERATION": "1"}
    env = environment(base, GENERATION, {"CLUSTERWRIGHT_CHECKPOINT_KEEP": "3"}, threads=8)

    assert (env["OMP_NUM_THREADS"], env["GLOO_SOCKET_IFNAME"], env["NCCL_SOCKET_IFNAME"]) == (
        "1",
        "eth9",
        "compute",
    )
    assert (env["CLUSTERWRIGHT_GENERATION"], env["CLUSTERWRIGHT_CHECKPOINT_KEEP"]) == ("3", "3")
    assert env["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
