"""What is done to the machines: a plan that is drawn from a seed, and its execution.

At most two troubles are there at a time, each ends after 25 s at most, and all of them end with the plan. One node, the elder, is never killed, so that
its memory is seen over the whole run; it is frozen and cut off as the others are.
"""
import dataclasses
import random

from machines import Link, way

SHARES = {"kill a node": 4, "kill a nats-server": 4, "kill an etcd": 4, "kill a machine": 1, "freeze a node": 3, "freeze a nats-server": 2,
          "freeze an etcd": 2, "freeze a machine": 1, "cut two machines": 3, "cut one way": 2, "pull a cable": 3, "slow a cable": 2}
ENDS_A_NODE = {"kill a node", "kill a machine"}
AT_A_TIME, FIRST = 2, 5.0
LEADER_IN = 0.6     # of the troubles of servers go to their leader


@dataclasses.dataclass
class Trouble:
    begin: float
    end: float
    kind: str
    machine: int       # 0, 1, 2
    other: int
    wants_leader: bool
    detail: tuple = ()
    said: str = ""
    touched: tuple = ()
    state: str = "planned"


def length(kind, rnd):
    if kind.startswith("kill"):
        return rnd.uniform(0.3, 12)
    return rnd.uniform(1, 20) if kind.startswith("freeze") else rnd.uniform(2, 25)


def plan(seed, seconds, elder):
    """A list of troubles in the order of their beginnings. Two at one time are on different machines."""
    rnd, now, troubles = random.Random(seed), FIRST, []
    while True:
        kind = rnd.choices(list(SHARES), SHARES.values())[0]
        lasts, wants_leader, detail = length(kind, rnd), rnd.random() < LEADER_IN, (rnd.randrange(400, 3000), rnd.randrange(10, 200))
        under_way = [t for t in troubles if t.end > now]
        if len(under_way) == AT_A_TIME:
            now = min(t.end for t in under_way) + 0.1
            under_way = [t for t in troubles if t.end > now]
        taken = {t.machine for t in under_way} | ({elder} if kind in ENDS_A_NODE else set())
        free = [m for m in range(3) if m not in taken]
        machine = rnd.choice(free)
        other = (machine + rnd.choice((1, 2))) % 3
        if now + lasts > seconds:
            return troubles
        troubles.append(Trouble(now, now + lasts, kind, machine, other, wants_leader, detail))
        now += rnd.uniform(1, 8)


class Troublemaker:
    def __init__(self, troubles, cluster, say):
        self.troubles, self.cluster, self.say = troubles, cluster, say
        self.counts = {}

    def step(self, now):
        """Begins and ends what is due."""
        for t in self.troubles:
            if t.state == "there" and now >= t.end:
                self.undo(t)
        for t in self.troubles:
            if t.state == "planned" and now >= t.begin:
                self.do(t)

    def is_over(self):
        return all(t.state == "over" for t in self.troubles)

    def touched(self):
        return {p.name for t in self.troubles if t.state == "there" for p in t.touched}

    def processes_of(self, t):
        """The processes that a trouble is about: of servers the leader, if it is wanted; one that is not killed or frozen already."""
        c, what = self.cluster, t.kind.split()[-1]
        if what == "machine":
            return [c.nodes[t.machine], c.nats[t.machine], c.etcd[t.machine]]
        all_of_kind = {"node": c.nodes, "nats-server": c.nats, "etcd": c.etcd}[what]
        leader = self.cluster.leader(what) if t.wants_leader and what != "node" else None
        wanted = [m for m in (leader, t.machine) if m is not None] + ([] if what == "node" else [0, 1, 2])
        t.machine = next((m for m in wanted if all_of_kind[m].name not in self.touched()), t.machine)
        return [all_of_kind[t.machine]]

    def do(self, t):
        machines = self.cluster.machines
        one, other = machines[t.machine], machines[t.other]
        verb = t.kind.split()[0]
        if verb in ("kill", "freeze"):
            t.touched = tuple(p for p in self.processes_of(t) if p.name not in self.touched())
            for p in t.touched:
                p.kill() if verb == "kill" else p.freeze()
            t.said = f"{verb} {' '.join(p.name for p in t.touched)}"
        elif t.kind == "cut two machines":
            way("add", one, other)
            way("add", other, one)
            t.said = f"cut m{one.number} | m{other.number}"
        elif t.kind == "cut one way":
            way("add", one, other)
            t.said = f"cut m{one.number} -> m{other.number}"
        elif t.kind == "pull a cable":
            one.plug(False)
            t.said = f"pull the cable of m{one.number}"
        else:
            t.said = f"slow the cable of m{one.number}: {Link(one).slow(*t.detail) or 'the kernel cannot'}"
        t.state = "there"
        self.counts[t.kind] = self.counts.get(t.kind, 0) + 1
        self.say(f"{t.said}, for {t.end - t.begin:.1f} s")

    def undo(self, t):
        machines = self.cluster.machines
        one, other = machines[t.machine], machines[t.other]
        for p in t.touched:
            p.start() if t.kind.startswith("kill") else p.thaw()
        if t.kind.startswith("cut"):
            way("del", one, other)
        if t.kind == "cut two machines":
            way("del", other, one)
        if t.kind == "pull a cable":
            one.plug(True)
        if t.kind == "slow a cable":
            Link(one).restore()
        t.state = "over"
