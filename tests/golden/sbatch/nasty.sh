#!/bin/bash
# Made by clusterwright from job `gpt`. By hand: install -d -m 2750 -g vision /shared/runs/gpt-20261121-131500 && sbatch THIS_FILE
#SBATCH --job-name=gpt-20261121-131500       # unique: `squeue --name` shows all jobs of the run, with successors
#SBATCH --partition=train
#SBATCH --account=vision
#SBATCH --nodes=1                            # training: 1, standby: 0
#SBATCH --ntasks-per-node=1                  # one agent on each host, which starts the ranks
#SBATCH --gres=gpu:a100:1                    # on each host
#SBATCH --cpus-per-task=4                    # the GPUs' share of the host
#SBATCH --mem=3712M                          # the GPUs' share of the host
#SBATCH --time=1-00:00:00                    # 1d
#SBATCH --signal=B:USR1@300                  # seconds before the limit: save and exit; a successor continues
#SBATCH --chdir=/shared/alice/code
#SBATCH --output=/shared/runs/gpt-20261121-131500/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --export=NONE                        # no variables of the submitting shell; all variables are set below
#SBATCH --no-kill                            # a lost host does not end the job: the supervisor continues without it
#SBATCH --no-requeue                         # a requeued job waits two minutes; a successor starts at once

# With export=NONE srun would start its steps with an empty environment (sbatch(1)).
export SLURM_EXPORT_ENV=ALL
command -v module >/dev/null || . /etc/profile
module load cuda
export PYTHONPATH=/opt/clusterwright/lib${PYTHONPATH:+:$PYTHONPATH}
export OMP_WAIT_POLICY=passive
# Everyone with access to the run's folder can read these variables. Write secrets to
# ~/.config/clusterwright/secrets.env (mode 0600) of the job's user.
export GREETING='it'"'"'s "$HOME"; reboot'

# Supervises the training: restarts, standby hosts, successors, as set in job.json. `exec`, so that Slurm's signals reach it.
exec /opt/other/bin/python /opt/clusterwright/lib/clusterwright/onhost/lib/run_module.py clusterwright.onhost.supervisor.supervisor /shared/runs/gpt-20261121-131500
