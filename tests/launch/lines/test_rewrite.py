"""Launch lines compared with the allocation: what contradicts it is rewritten, what does not is unchanged."""

import shlex

import pytest

from clusterwright.errors import WrightError
from clusterwright.launch.lines.rewrite import rewrite
from clusterwright.launch.lines.rule import Size
from clusterwright.launch.lines.sizes import named_size

TWO = Size(2, 4)
REWRITTEN = [
    (
        "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=0 --master_addr=192.168.1.10 --master_port=29500 train.py",
        "torchrun --nnodes=2 --nproc_per_node=4 --master_port=29500 train.py",
        ("--node_rank=0", "--master_addr=192.168.1.10"),
    ),
    (
        "torchrun --nnodes=4 --rdzv_backend=c10d --rdzv_endpoint=192.168.1.10:29500 --max_restarts=3 train.py",
        "torchrun --nnodes=2 --rdzv_backend=c10d --max_restarts=3 train.py",
        ("--nnodes=4", "--rdzv_endpoint=192.168.1.10:29500"),
    ),
    (
        "python -m torch.distributed.launch --nproc_per_node=8 --node_rank= --master_addr=10.0.0.1 t.py --node_rank=5",
        "python -m torch.distributed.launch --nproc_per_node=4 t.py --node_rank=5",
        ("--nproc_per_node=8", "--node_rank=", "--master_addr=10.0.0.1"),
    ),
    (
        "python3 -u -m torch.distributed.run --nnodes 2 --node-rank 1 --standalone -m pkg.train --nnodes 9",
        "python3 -u -m torch.distributed.run --nnodes 2 -m pkg.train --nnodes 9",
        ("--node-rank 1", "--standalone"),
    ),
    (
        "srun --mpi=pmix -N4 -n32 -w gpu-node[1-4] python train.py -n 99",
        "srun --mpi=pmix -N2 -n8 python train.py -n 99",
        ("-N4", "-n32", "-w gpu-node[1-4]"),
    ),
    (
        "mpirun -np 32 -H node1:8,node2:8 -x A=B --mca btl tcp python train.py",
        "mpirun -np 8 -x A=B --mca btl tcp python train.py",
        ("-np 32", "-H node1:8,node2:8"),
    ),
    (
        "mpiexec -n 16 --hostfile hosts ./a.out",
        "mpiexec -n 8 ./a.out",
        ("-n 16", "--hostfile hosts"),
    ),
    (
        "accelerate launch --num_machines 4 --machine_rank 0 --main_process_ip 1.2.3.4 --multi_gpu train.py",
        "accelerate launch --num_machines 2 --multi_gpu train.py",
        ("--num_machines 4", "--machine_rank 0", "--main_process_ip 1.2.3.4"),
    ),
    (
        "deepspeed --num_nodes=4 --hostfile hosts --master_addr 1.2.3.4 --no_local_rank train.py --deepspeed",
        "deepspeed --num_nodes=2 --no_local_rank train.py --deepspeed",
        ("--num_nodes=4", "--hostfile hosts", "--master_addr 1.2.3.4"),
    ),
    (
        "srun -N2 torchrun --nnodes 4 --node_rank 0 --master_addr node1 train.py",
        "srun -N2 torchrun --nnodes 2 train.py",
        ("--nnodes 4", "--node_rank 0", "--master_addr node1"),
    ),
]  # fmt: skip
KEPT = [
    "torchrun --nnodes=2 --nproc_per_node=4 train.py --node_rank=0",
    "torchrun --nnodes=1:4 --nproc_per_node=gpu --rdzv_backend=c10d --master_port=29500 train.py",
    "torchrun --nproc_per_node=1 train.py",
    "python train.py --node_rank 0 --master_addr 10.0.0.1",
    "srun -N1 -n1 hostname",
    "mpirun -np 8 ./a.out",
    "accelerate test --num_machines 9",
    "deepspeed --num_gpus 4 train.py",
    "./a.out --nnodes=9",
]


@pytest.mark.parametrize(("line", "fitted", "typed"), REWRITTEN, ids=[line for line, _, _ in REWRITTEN])
def test_what_contradicts_the_allocation_is_rewritten(line, fitted, typed):
    """Numbers become the allocation's, places go; options of the script are no options of the launcher."""
    found = rewrite(shlex.split(line), TWO)

    assert (found.line, found.contradicting) == (fitted, typed)
    assert rewrite(found.program, TWO).contradicting == ()


@pytest.mark.parametrize("line", KEPT)
def test_what_fits_is_unchanged(line):
    """Also fewer ranks than GPUs, and steps on fewer nodes."""
    assert rewrite(shlex.split(line), TWO).program == tuple(shlex.split(line))
    assert rewrite(("bash", "-c", line), TWO).program == ("bash", "-c", line)


def test_on_one_node_its_own_address_and_rank_are_right():
    """Rank 0 and this host; another host's address would hang there too."""
    own = "torchrun --standalone --node_rank=0 --master_addr=localhost --rdzv_endpoint=127.0.0.1:0 train.py"

    assert rewrite(shlex.split(own), Size(1, 4)).contradicting == ()
    assert rewrite(["torchrun", "--master_addr=192.168.1.10", "a.py"], Size(1, 4)).line == "torchrun a.py"
    assert rewrite(["torchrun", "--node_rank=1", "a.py"], Size(1, 4)).line == "torchrun a.py"


def test_a_variable_in_a_line_for_a_shell_stays():
    """Each host expands it; without a shell it is as wrong as any other text."""
    line = 'torchrun --node_rank=$SLURM_NODEID --master_addr "$MASTER_ADDR" --rdzv_endpoint=$(head -1 hosts):29500 a.py'

    assert rewrite(("bash", "-c", line), TWO).program[2] == line
    assert rewrite(["torchrun", "--node_rank=$SLURM_NODEID", "a.py"], TWO).line == "torchrun a.py"


def test_a_line_for_a_shell_keeps_the_rest_of_its_text():
    """Quotes, assignments, comments and other commands."""
    line = (
        'cd "my code" && A=1 exec torchrun --nnodes="4" --node_rank 0 \\\n  a.py --x \'y z\'  # --node_rank=1'
    )
    fitted = "cd \"my code\" && A=1 exec torchrun --nnodes=2 \\\n  a.py --x 'y z'  # --node_rank=1"

    assert rewrite(("bash", "-c", line), TWO).program[2] == fitted


def test_in_a_line_for_a_shell_accelerate_reads_our_variables():
    """Its adapter adds options to arguments only."""
    line = "accelerate launch --machine_rank 0 --main_process_ip=10.0.0.1 train.py"

    assert rewrite(("bash", "-c", line), TWO).program[2] == (
        "accelerate launch --machine_rank $NODE_RANK --main_process_ip=$MASTER_ADDR train.py"
    )


@pytest.mark.parametrize(
    ("program", "right"),
    [
        (
            ["mpirun", "-np", "2", "torchrun", "--node_rank=0", "--nproc_per_node=4", "a.py"],
            "wright train --nodes 2 --gpus 4 -- torchrun --nproc_per_node=4 a.py",
        ),
        (
            ["srun", "accelerate", "launch", "--machine_rank", "0", "--cpu", "a.py"],
            "wright train --nodes 2 --gpus 4 -- accelerate launch --cpu a.py",
        ),
        (
            ["bash", "-c", "deepspeed --hostfile=hosts a.py"],
            "wright train --nodes 2 --gpus 4 -- deepspeed a.py",
        ),
    ],
)
def test_a_place_that_no_variable_replaces_is_refused_with_the_right_line(program, right):
    """The launcher behind another one would take its default, rank 0, on every host."""
    with pytest.raises(WrightError) as error:
        rewrite(program, TWO)

    assert error.value.code == "launch-line"
    assert right in str(error.value)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("torchrun --nnodes=4 --nproc_per_node=8 train.py", {"nodes": 4, "gpus_per_node": 8}),
        ("torchrun --nnodes=1:4 --nproc_per_node=gpu train.py", {"nodes": 4}),
        ("srun --mpi=pmix_v3 -N4 -n32 python train.py", {"nodes": 4, "gpus_per_node": 8}),
        ("srun -N2 --ntasks-per-node 4 python train.py", {"nodes": 2, "gpus_per_node": 4}),
        ("mpirun -np 16 -H node1:8,node2:8 python train.py", {"nodes": 2, "gpus_per_node": 8}),
        ("accelerate launch --num_machines 2 --num_processes 8 a.py", {"nodes": 2, "gpus_per_node": 4}),
        ("deepspeed --num_nodes=2 --num_gpus=4 a.py", {"nodes": 2, "gpus_per_node": 4}),
        ("python train.py --nnodes=4", {}),
    ],
)
def test_a_line_names_the_size_of_its_job(line, size):
    """As arguments and as a line for a shell."""
    assert named_size(shlex.split(line)) == size
    assert named_size([line]) == size


def test_nodes_that_are_given_share_out_the_ranks_of_the_line():
    """`--nodes 8` before the line."""
    assert named_size(["srun", "-n32", "a.out"], nodes=8) == {"gpus_per_node": 4}
    assert named_size(["torchrun --nnodes=$SLURM_NNODES a.py"]) == {}
