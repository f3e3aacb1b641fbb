"""TensorFlow on CPUs: fits a line on all workers, which TF_CONFIG lists."""

import json
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, world = json.loads(os.environ["TF_CONFIG"])["task"]["index"], strategy.num_replicas_in_sync
with strategy.scope():
    weight = tf.Variable(0.0)
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build([weight])
x = tf.linspace(-1.0, 1.0, 8) * (rank + 1)


@tf.function
def step():
    """Run one step of gradient descent, with gradients summed over the workers."""

    def of_one():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((weight * x - 2 * x) ** 2) / world
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

    strategy.run(of_one)


for _ in range(20):
    step()
print(f"rank {rank} of {world} weight {weight.numpy():.6f}", flush=True)
