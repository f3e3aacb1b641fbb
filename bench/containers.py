"""What a step in an image takes beyond a bare one: `srun --container` against `srun`, on two hosts, by turns.

    python bench/containers.py [TURNS]

Needs root. Makes a lab `bench-env` of two compute hosts, and an image of their own files. The goal is a container job
that starts within 1 s of a bare one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Remote
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "bench-env", "10.224."
IMAGE = r"""set -e
mkdir -p /shared/image/rootfs && cd / && {
  printf '%s\n' bin sbin lib lib64; find usr/bin -maxdepth 1 -size -3000k
  find usr/lib/x86_64-linux-gnu -maxdepth 1 -name '*.so*' -size -6000k
} | tar -cf - --no-recursion -T - --recursion usr/lib64 | tar -C /shared/image/rootfs -xf -
cd /shared/image/rootfs && mkdir -p etc proc sys dev tmp var/tmp home shared opt/clusterwright
touch etc/passwd etc/group etc/hosts etc/resolv.conf
cd .. && crun spec --rootless
"""
TURN = """cd /shared && for step in 'srun -N2' 'srun -N2 --container=/shared/image'; do
  began=$(date +%s%N); runuser -u bob -- $step true 2>/dev/null || exit 1; echo $(($(date +%s%N) - began))
done"""


def main() -> None:
    """Measure and print."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    if missing := lab.able():
        sys.exit("\n".join(str(finding) for finding in missing))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        write(file)
        cluster = load_cluster(file)
        try:
            lab.up(cluster)
            remote = remote_of(cluster)
            if apply(cluster, str(file), remote).failed:
                sys.exit("the lab could not be applied")
            run(remote, "gpu-node1", IMAGE)
            run(remote, "control", TURN)  # the first of each pays for what is not in memory yet
            rows = [[int(word) / 1e9 for word in run(remote, "control", TURN).split()] for _ in range(turns)]
        finally:
            lab.down(NAME)
    show(rows)


def show(rows: list[list[float]]) -> None:
    """Medians, extremes and the difference of each turn."""
    for name, times in zip(("bare", "in an image"), zip(*rows, strict=True), strict=True):
        sys.stdout.write(
            f"{name:12} {statistics.median(times):.2f} s (median), {min(times):.2f} to {max(times):.2f} s\n"
        )
    more = [inside - bare for bare, inside in rows]
    sys.stdout.write(
        f"more: {statistics.median(more):.2f} s (median of {len(rows)} turns), at most {max(more):.2f} s;"
        f" ratio of the medians {statistics.median(r[1] for r in rows) / statistics.median(r[0] for r in rows):.2f}\n"
    )


def write(file: Path) -> None:
    """The example, with two compute hosts and Slurm's own containers."""
    yaml = YAML()
    document = yaml.load(EXAMPLE.read_text().replace("10.77.", SUBNETS))
    document["name"], document["nodes"]["a100"]["hosts"] = NAME, "gpu-node[1-2]"
    document["environments"] = {"containers": ["oci"]}
    yaml.dump(document, file)


def run(remote: Remote, host: str, text: str) -> str:
    """What a command printed; it must end well."""
    done = remote.run(host, text, timeout_s=120)
    if not done.ok:
        sys.exit(f"{host}: {done.out}{done.err}")
    return done.out


if __name__ == "__main__":
    main()
