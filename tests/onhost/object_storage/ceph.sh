#!/bin/bash
# One monitor, one OSD on a file and one gateway of Ceph, on loopback, in a root folder with Debian's packages.
# Arguments: port of the monitor, port of the gateway, access key, secret key.
set -eu
monitor=$1 gateway=$2 cluster=$(cat /proc/sys/kernel/random/uuid) osd=$(cat /proc/sys/kernel/random/uuid)
mkdir -p /var/lib/ceph/mon/ceph-a /var/lib/ceph/osd/ceph-0 /var/lib/ceph/radosgw/ceph-rgw.a /run/ceph
cat >/etc/ceph/ceph.conf <<END
[global]
fsid = $cluster
mon host = v1:127.0.0.1:$monitor
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
mon allow pool size one = true
mon data avail crit = 1
mon data avail warn = 2
osd class update on start = false
osd crush update on start = false
bluestore block size = 2147483648
bluestore block create = true
osd memory target = 939524096
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:$gateway
END
monmaptool --create --fsid "$cluster" --addv a "v1:127.0.0.1:$monitor" /tmp/monmap
ceph-mon --mkfs -i a --monmap /tmp/monmap
ceph-mon -i a
timeout 60 ceph osd new "$osd"
ceph-osd --mkfs -i 0 --osd-uuid "$osd"
timeout 60 ceph osd crush add osd.0 1.0 root=default host=here
# A command of an OSD that has not received the monitors' map yet is refused (wrong fsid) and ends it.
for _ in 1 2 3 4 5; do ceph-osd -i 0 && break; sleep 2; done
radosgw -n client.rgw.a
timeout 120 radosgw-admin -n client.rgw.a user create --uid test --display-name test --access-key "$3" --secret "$4"
echo ready
exec sleep infinity
