# On the control host with slurmctld up: limits, accounts, users, and two reservations, one that repeats.
set -eu
sacctmgr -i modify qos scavenger set GraceTime=30 PreemptMode=requeue
sacctmgr -i modify qos urgent set Priority=1000 Preempt=normal,scavenger MaxTRESPerUser=gres/gpu=2
sacctmgr -i modify qos gpu_limit set GrpTRES=gres/gpu=4 MaxJobsPerUser=8
sacctmgr -i add account physics Fairshare=60 QOS=normal,urgent,scavenger
sacctmgr -i add account optics parent=physics GrpTRES=gres/gpu=1
sacctmgr -i add account biology Fairshare=40 QOS=normal,scavenger
sacctmgr -i add user alice account=physics
sacctmgr -i add user bob account=optics
sacctmgr -i add user carol account=biology
scontrol create reservation reservationname=course starttime=2031-03-03T09:00:00 duration=02:00:00 accounts=physics \
  nodes=gpu01 flags=weekly
scontrol create reservation reservationname=maintenance starttime=2031-04-01T08:00:00 duration=1-0 users=root nodes=ALL \
  flags=maint,ignore_jobs
