"""Shell that measures a host now: its disks for a second, and the states of its RDMA ports."""

# Of two reports of iostat the first is the mean since boot; -y omits it.
DISKS = "part 'disks now' env LC_ALL=C iostat -dxy 1 1\n"
# In the form of ibstatus, from the kernel's files. A port that is down where another one is active may be unused, so
# it is left out.
PORTS = r"""part 'ports now' sh -c '
active=$(grep -ls ACTIVE /sys/class/infiniband/*/ports/*/state)
for port in /sys/class/infiniband/*/ports/*; do
    [ -e "$port/state" ] || continue
    [ -n "$active" ] && grep -q DOWN "$port/state" && continue
    name=${port#*/infiniband/}
    printf "Infiniband device \047%s\047 port %s status:\n" "${name%%/*}" "${name##*/}"
    for field in state phys_state rate link_layer; do echo "  $field: $(cat "$port/$field")"; done
done'
"""
# Events of today and yesterday in the log of the BMC, where there is one; reading a hundred takes a BMC ten seconds.
HEAT = r"""part 'bmc log' sh -c '
ls /dev/ipmi0 /dev/ipmi/0 /dev/ipmidev/0 2>/dev/null | grep -q . && command -v ipmitool >/dev/null || exit 0
days=$(for day in today yesterday; do date -d $day "+%m/%d/%Y|%m/%d/%y"; done | paste -sd "|")
timeout 20 ipmitool sel elist last 100 2>/dev/null | grep -E "\| *($days) *\|"
true'
"""
HOST = DISKS + PORTS + HEAT
KINDS = {"disks now": "output", "ports now": "output", "bmc log": "output"}  # of the parts of the script
