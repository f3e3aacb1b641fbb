"""The entrypoint script of a container: its parts before and after the folders of roles."""

from __future__ import annotations

_SCRIPT_START = """
# Files as on the host, except three lines: a container that simulates a host is smaller, and has no systemd.
set -eu
put() { # a folder of this export, where the host has one
  for place in all "roles/$NODE_ROLE" "groups/$NODE_GROUP" "hosts/$(hostname)"; do
    for top in files secrets; do
      from="/export/$top/$place/$1"
      [ ! -d "$from" ] || { mkdir -p "/$1"; cp -R "$from/." "/$1/"; }
    done
  done
}
change() { # FILE KEY VALUE: the key has this value, once
  grep -v "^$2=" "$1" >"$1.new" || true
  echo "$2=$3" >>"$1.new"
  cat "$1.new" >"$1"
  rm "$1.new"
}
waited() { # SECONDS COMMAND...: until it ends well
  left=$1
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "no answer: $*" >&2; return 1; }
    sleep 1
  done
}
own() { # OWNER MODE FILE: where it is there
  [ ! -e "$3" ] || { chown "$1" "$3"; chmod "$2" "$3"; }
}
"""

_SCRIPT_END = """
for folder in etc/slurm etc/munge etc/clusterwright etc/mysql etc/my.cnf.d; do put "$folder"; done
if [ ! -s /etc/munge/munge.key ]; then
  echo 'no munge key: put one at secrets/all/etc/munge/munge.key, or export with --with-secrets' >&2
  exit 1
fi
own munge:munge 0400 /etc/munge/munge.key
own slurm:slurm 0600 /etc/slurm/slurmdbd.conf
change /etc/slurm/slurm.conf SlurmdParameters config_overrides
change /etc/slurm/slurm.conf TaskPlugin task/cgroup
change /etc/slurm/cgroup.conf IgnoreSystemd yes

number=0
for file in $GPU_FILES; do # Slurm counts and constrains device files, also where there is no GPU
  [ -e "$file" ] || mknod -m 666 "$file" c 195 "$number"
  number=$((number + 1))
done

for daemon in $DAEMONS; do
  case $daemon in
    munged)
      install -d -o munge -g munge -m 0755 /run/munge
      install -d -o munge -g munge -m 0700 /var/log/munge /var/lib/munge
      runuser -u munge -- munged
      ;;
    mariadbd)
      install -d -o mysql -g mysql -m 0755 /run/mysqld
      [ -d /var/lib/mysql/mysql ] || mariadb-install-db --user=mysql >/dev/null
      mariadbd --user=mysql &
      waited 60 mariadb-admin ping
      ;;
    slurmdbd)
      slurmdbd
      sh /export/accounts.sh names
      ;;
    slurmctld)
      slurmctld
      case $DAEMONS in *slurmdbd*) sh /export/accounts.sh ;; esac
      ;;
    slurmd)
      waited 120 scontrol ping
      slurmd
      ;;
  esac
done
exec sleep infinity
"""

ENTRYPOINT = (_SCRIPT_START, _SCRIPT_END)
