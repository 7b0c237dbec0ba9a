"""Faults at the seams: a transport and a scheduler that misbehave on demand around real ones."""

from dataclasses import dataclass, field

from jupyter_diamond.errors import TransportError


@dataclass
class FaultyTransport:
    """Passes everything on, except where a rule says otherwise.

    ``before`` and ``after`` map a text to the error that is raised before (after) a script with that text runs;
    each rule is used ``times`` times.
    """

    inner: object
    before: dict[str, TransportError] = field(default_factory=dict)
    after: dict[str, TransportError] = field(default_factory=dict)
    times: int = 1
    raised: int = 0
    scripts: list[str] = field(default_factory=list)

    @property
    def shares_files(self):
        return self.inner.shares_files

    @property
    def longest_wait_s(self):
        return self.inner.longest_wait_s

    async def run(self, script, **options):
        self.scripts.append(script)
        self._maybe(self.before, script)
        done = await self.inner.run(script, **options)
        self._maybe(self.after, script)
        return done

    def _maybe(self, rules, script):
        for text, error in rules.items():
            if text in script and self.raised < self.times:
                self.raised += 1
                raise error

    def __getattr__(self, name):
        return getattr(self.inner, name)


@dataclass
class FaultyScheduler:
    """A scheduler whose submit command is wrapped: ``{}`` stands for the real one. Used ``times`` times."""

    inner: object
    submit: str = "{}"
    times: int = 1

    def submit_command(self, job):
        real = self.inner.submit_command(job)
        if self.times <= 0:
            return real
        self.times -= 1
        return self.submit.format(real)

    def member(self, job, at):
        return self.inner.member(job, at)

    def array_of(self, job):
        return self.inner.array_of(job)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def timed_out(outcome="unknown"):
    return TransportError("The site did not answer within 60 s.", outcome=outcome)
