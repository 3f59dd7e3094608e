"""Three machines of the chaos: namespaces of the network, each with a cable to a router, which is the namespace of the driver.

Nothing of the host changes, and nothing outlives the driver: it runs in namespaces of its own for network and processes.
The router drops without a word what goes from one machine to another, in one direction or both. A bridge could not: it needs a filter of the kernel's
(nftables, u32) that many kernels do not have, and routes on the machines themselves would refuse their own programs at once instead of losing packets.
"""
import os
import signal
import subprocess
import sys
import time

INSIDE = "WEFT_CHAOS_INSIDE"


class NoMachines(Exception):
    """Namespaces cannot be made here."""


def enter_namespaces():
    """Runs this program again in namespaces of its own; returns there."""
    if os.environ.get(INSIDE):
        os.environ.pop(INSIDE)
        return
    own = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    refused = ""
    for how in own, own[:1] + ["--user", "--map-root-user"] + own[1:]:
        try:
            tried = subprocess.run(how + ["ip", "link", "add", "name", "tried", "type", "veth"], capture_output=True, text=True)
        except FileNotFoundError as missing:
            raise NoMachines(f"no program {missing.filename} (Debian's packages util-linux and iproute2)") from None
        if tried.returncode == 0:
            os.environ[INSIDE] = "1"
            os.execvp(how[0], how + [sys.executable, "-B"] + sys.argv)
        refused = tried.stderr.strip()
    raise NoMachines(f"a namespace with a pair of veth is refused: {refused}")


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise NoMachines(f"{' '.join(words)}: {done.stderr.strip()}")


def is_possible(*words):
    return subprocess.run(words, capture_output=True).returncode == 0


class Machine:
    def __init__(self, number):
        self.number, self.address, self.cable = number, f"10.77.{number}.2", f"cable{number}"
        router = f"10.77.{number}.1"
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        until = time.monotonic() + 10
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            if time.monotonic() > until:
                raise NoMachines("unshare --net makes no namespace")
            time.sleep(0.01)
        command("ip", "link", "add", "name", self.cable, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
        command("ip", "address", "add", f"{router}/24", "dev", self.cable)
        command("ip", "link", "set", self.cable, "up")
        for words in (["link", "set", "lo", "up"], ["address", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                      ["route", "add", "default", "via", router]):
            command(*self.inside("ip", *words))

    def inside(self, *words):
        """The words of a command that runs on this machine."""
        return ["nsenter", "--target", str(self.holder.pid), "--net", *words]

    def plug(self, is_in):
        command("ip", "link", "set", self.cable, "up" if is_in else "down")


def start_machines(count):
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as forward:
        forward.write("1")
    command("ip", "link", "set", "lo", "up")
    return [Machine(n) for n in range(1, count + 1)]


def way(act, one, other):
    """Cuts ("add") or heals ("del") the way from one machine to another."""
    command("ip", "rule", act, "from", one.address, "to", other.address, "blackhole")


class Link:
    """What slows a cable down, in the direction to its machine."""
    def __init__(self, machine):
        self.machine = machine

    def slow(self, kilobits, milliseconds):
        """By delay and loss where the kernel has netem, else by a rate alone."""
        on = ["tc", "qdisc", "add", "dev", self.machine.cable, "root"]
        if is_possible(*on, "netem", "delay", f"{milliseconds}ms", f"{milliseconds // 4}ms", "loss", "2%", "rate", f"{kilobits}kbit"):
            return f"{milliseconds} ms, 2 % lost, {kilobits} kbit/s"
        if is_possible(*on, "tbf", "rate", f"{kilobits}kbit", "burst", "8kb", "limit", "32kb"):
            return f"{kilobits} kbit/s"
        return None

    def restore(self):
        is_possible("tc", "qdisc", "del", "dev", self.machine.cable, "root")


class Process:
    """A program on a machine, which is started again after it was killed. Each process of it is a life."""
    def __init__(self, name, machine, words_of, log):
        self.name, self.machine, self.words_of, self.log = name, machine, words_of, log
        self.life, self.child, self.began, self.is_down = 0, None, 0.0, False

    def start(self):
        self.life += 1
        with open(self.log, "ab") as out:
            out.write(f"--- life {self.life}, {time.clock_gettime(time.CLOCK_BOOTTIME):.3f} s\n".encode())
            out.flush()
            self.child = subprocess.Popen(self.machine.inside(*self.words_of(self.life)), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.began, self.is_down = time.monotonic(), False

    def kill(self):
        self.is_down = True
        self.child.kill()
        self.child.wait()

    def freeze(self):
        self.child.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.child.send_signal(signal.SIGCONT)

    def end_in_order(self, limit):
        """The exit code; None if it does not end."""
        self.is_down = True
        self.child.terminate()
        try:
            return self.child.wait(limit)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            return None

    def end_by_itself(self):
        """The exit code, if nobody has asked for its end."""
        return None if self.is_down else self.child.poll()

    def resident(self):
        """Bytes of memory; None if there is no such process now."""
        if self.is_down:
            return None
        try:
            with open(f"/proc/{self.child.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return None
