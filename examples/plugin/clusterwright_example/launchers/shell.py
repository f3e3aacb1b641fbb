"""A shell on each host starts its ranks."""

from clusterwright.onhost.adapters.launcher import Launcher

START = """first=$1 count=$2
shift 2
for local in $(seq 0 $((count - 1))); do
  RANK=$((first + local)) LOCAL_RANK=$local "$@" &
done
wait
"""


def arguments(generation, command):
    """Return the command line on a host; its ranks are numbered from the host's place in the job."""
    first = generation.hosts.index(generation.host) * generation.ranks
    return ["sh", "-c", START, "sh", str(first), str(generation.ranks), "python3", *command]


LAUNCHER = Launcher(on_host=arguments, programs=("ranks",))
