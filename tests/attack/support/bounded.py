"""Runs a program with a bound on its time and on what it computes, and says how it ended."""

import dataclasses
import os
import resource
import signal
import subprocess
import tempfile

SECONDS = 30            # a run takes a fraction of one; on a loaded machine some
CPU_SECONDS = 0.5       # as well: it computes for some hundredths, and what waits for what never comes computes nothing


@dataclasses.dataclass
class ending:
    code: int           # negative: the signal
    said: str
    cpu: float
    hung: bool

    @property
    def spun(self):
        return self.cpu > CPU_SECONDS

    def says_a_line(self):
        """Whether it ended by a line of weft's own, or of a part that failed."""
        return self.code == 1 and ": " in self.said or self.code == -signal.SIGABRT and "weft: " in self.said

    def verdict(self, well):
        """`well` if it has ended with 0."""
        if self.hung:
            return "hung"
        if self.spun:
            return "spun"
        if self.code == 0:
            return well
        return "named" if self.says_a_line() else "crashed or wrong"


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, seconds=SECONDS, **options):
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, preexec_fn=no_core,
                                 **options)
        hung = False
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            hung = True
        try:
            os.killpg(child.pid, signal.SIGKILL)  # and what it has started
        except ProcessLookupError:
            pass
        child.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    return ending(child.returncode, said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, hung)


def best(command, good, tries=3):
    """The first run that is good, or the last: a machine that stands still for long is no fault of the program's."""
    for _ in range(tries):
        ended = run(command)
        if good(ended):
            break
    return ended
