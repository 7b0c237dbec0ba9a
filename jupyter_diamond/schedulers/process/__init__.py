"""This machine as a site: a bounded first-in-first-out queue of process groups that outlive the server.

There is no daemon. A waiting job is a file; a running job is a process group under a small supervisor of its own,
which starts the next jobs when it ends. Whoever touches the queue (a submission, a query, an ending job) first takes
its lock, buries what died without a word, and starts what fits.

``scheduler`` is what the server uses; the other modules run in short-lived processes beside the jobs and import nothing
but the standard library (psutil where there is no /proc), so that one command costs tens of milliseconds.

::

    $DIAMOND_PROCESS_QUEUE/            0700
      lock                             held while tickets are taken, started or moved
      next                             the number of the next ticket
      tokens/<token>                   the id of the job with this token
      active/<id>/  ended/<id>/
        ticket.json                    what was asked
        life                           there once the job was started, with its GPUs; locked while its supervisor lives
        run.json                       who runs it
        cancel.json                    who asked for its end
        end.json                       how it ended, written last
"""
