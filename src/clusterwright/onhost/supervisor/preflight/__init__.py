"""Look at the hosts of a hostfile before a training starts on them."""
