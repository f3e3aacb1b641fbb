"""A training program that fails by itself; copied to the cluster and run there as a user's script."""

import resource
import sys
import time

LIMIT_BYTES = 2 * 2**30  # memory limit, so that the machine below the lab does not suffer
STEP_S = 0.1


def exception(step: int) -> None:
    """Raise a shape error, a common mistake in trainings, at step 20; do nothing at others."""
    batch = [[0.0] * 8 for _ in range(4)]
    if step == 20:
        raise ValueError(f"shapes do not match: batch of {len(batch)} x {len(batch[0])}, weights of 16 x 4")


def memory(step: int) -> None:
    """Limit the process's memory and leak some at every step, until the limit is reached."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    ALLOCATIONS.append(bytearray(step * 2**24))


ALLOCATIONS: list[bytearray] = []


def main() -> None:
    """Run a program in place of a training, until the fault that argument 1 names (exception, memory) ends it."""
    fault = {"exception": exception, "memory": memory}[sys.argv[1]]
    for step in range(1, 200):
        time.sleep(STEP_S)
        fault(step)


if __name__ == "__main__":
    main()
