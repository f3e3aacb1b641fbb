"""From a workload and a deadline to GPUs, nodes and a bill of materials."""
