# made by clusterwright; edit the cluster file instead
# Lines without a matching device do nothing: a virtual machine, a container.

set_all() { # VALUE FILES...
  value=$1
  shift
  for file; do
    if [ -w "$file" ]; then echo "$value" >"$file"; fi
  done
}

# Transparent huge pages only on request: `always` lets a fork of a data loader hold more memory than it touches
# (kernel: admin-guide/mm/transhuge), and AMD's guide for language models uses madvise (ZenDNN user guide).
set_all madvise /sys/kernel/mm/transparent_hugepage/enabled

# Governors that raise clocks only under load delay the CPU's part of every step.
set_all performance /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor

# A rank that is swapped out delays all others. swap.target is masked for the next boot.
if [ "$(wc -l </proc/swaps)" -gt 1 ]; then swapoff -a; fi

exit 0
