"""Chaos: the real service, engine and store over a toy world in which everything fails, and what must hold afterwards.

``make chaos SEED=1 RUNS=500`` makes 500 runs, each from a seed of its own: some tasks, and groups with rounds, which go
as job arrays; their user's acts (cancel, hold, release, replan); caps on what may be spent; and faults at moments drawn
from the seed. Time is virtual (``clock.py``): minutes pass in milliseconds and nothing ever sleeps. A violation names
its seed; ``make chaos SEED=x RUNS=1 TRACE=1`` tells that run again, line by line.

What is real: the service, engine, planner, store (SQLite on disk), spool, and the shell scripts of a submission (run by
a real shell in one run of ten, in the others by ``shell.py``, which a test holds against the real one). What is a toy:
the way to the site (``transport.py``), its scheduler (``cluster.py``, asked through ``scheduler.py``), its jobs.

Faults on the way (``transport.py``), drawn for each script:

=============  ========================================================================================
not_sent       it surely did not reach the site
lost_before    no answer, and it never ran
lost_after     it ran, and its answer was lost
late_run       no answer in time; it runs minutes later, when nobody waits for it any more
slow           it is answered, but late
twice          it is delivered once more, seconds or minutes later
cut            the answer is truncated
garbled        the answer is something else
stale          it is the answer to the same question that was given before
doubled        rows of what was true before stand beside those of now, each twice
=============  ========================================================================================

Faults of a while (``plan.py``): the way down (``sshd`` killed: open calls die, new ones are refused), calls that hang,
the controller down, accounting down, accounting late by five minutes, the site's disk full, the store locked, the
store's disk full. Faults of a moment: the server's clock set forwards or back, the controller's ids beginning anew, the
server killed. Faults of a submission: its shell dies before or after the scheduler took the job, the scheduler takes it
twice. Commits that the store refuses when they are first tried, drawn from those of heals, charges, holds, new plans
and groups. Fates of jobs (``cluster.py``): they end well, badly, out of memory or time, with their node, by preemption,
by an operator; they are sent back to the queue; they leave the queue at once.

Kills fall on step boundaries: before a script is sent, when it has run and nothing was heard, when its answer is there
and nothing was done with it, and before and after each commit of the store. A killed server runs no clean-up that
reaches store or site; another one starts on the same file after a while.

What must hold (``invariants.py``): every task ends, and says why when not well; what is said is what happened; no cell
ran twice, no job is unknown to the store, none lives on after its task; no task has two live attempts or leaves its
end; a scheduler is asked only after the store has noted the intent, and not again while a job may be there; every
reader of events sees each once, in order; nothing is sent while it is held; each attempt is reserved once and settled
once, and no cap is passed; a group's rounds follow each other, and it ends once, as the last thing that is told of it.
"""
