"""JAX on CPUs: fits a line on all ranks; JAX sets up the process group."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

jax.distributed.initialize()
rank, world = jax.process_index(), jax.process_count()
ranks = jax.make_mesh((world,), ("ranks",))
x = jnp.linspace(-1, 1, 8) * (rank + 1)
batch = jax.make_array_from_process_local_data(NamedSharding(ranks, PartitionSpec("ranks")), x)


@jax.jit
def step(weight, batch):
    """Return the weight after one step of gradient descent, on the data of all ranks."""
    slope = jax.grad(lambda weight: jnp.mean((weight * batch - 2 * batch) ** 2))
    return weight - 0.1 * slope(weight)


weight = jnp.zeros(())
for _ in range(20):
    weight = step(weight, batch)
print(f"rank {rank} of {world} weight {float(weight):.6f}", flush=True)
