#!/bin/bash
# Made by clusterwright from job `gpt`. By hand: mkdir -p /shared/runs/gpt-20261121-131500 && sbatch THIS_FILE
#SBATCH --job-name=gpt-20261121-131500       # unique: `squeue --name` shows all jobs of the run, successors too
#SBATCH --partition=train
#SBATCH --account=vision
#SBATCH --nodes=1                            # 1 to train, 0 held ready
#SBATCH --ntasks-per-node=1                  # one agent on each host; it starts the ranks
#SBATCH --gres=gpu:a100:1                    # on each host
#SBATCH --cpus-per-task=4                    # the share of a host that goes with its GPUs
#SBATCH --mem=3712M                          # likewise
#SBATCH --time=1-00:00:00                    # 1d
#SBATCH --signal=B:USR1@300                  # seconds before the limit: save, leave, let a successor go on
#SBATCH --chdir=/shared/alice/code
#SBATCH --output=/shared/runs/gpt-20261121-131500/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --export=NONE                        # nothing of the shell that submits; what is needed is said below
#SBATCH --no-kill                            # a lost host does not end the job: the supervisor goes on without it
#SBATCH --no-requeue                         # a requeued job waits two minutes; a successor starts at once

# With export=NONE srun would start its steps with an empty environment (sbatch(1)).
export SLURM_EXPORT_ENV=ALL
command -v module >/dev/null || . /etc/profile
module load cuda
export PYTHONPATH=/opt/clusterwright/lib${PYTHONPATH:+:$PYTHONPATH}
# Everyone who may read the run's folder can read these. Secrets go to
# ~/.config/clusterwright/secrets.env (mode 0600) of the job's user.
export GREETING='it'"'"'s "$HOME"; reboot'

# Keeps the training alive: restarts, spares, successors; job.json says how. `exec`, so that Slurm's signals reach it.
exec /opt/other/bin/python -m clusterwright.onhost.supervisor.supervisor /shared/runs/gpt-20261121-131500
