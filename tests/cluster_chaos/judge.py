"""Judges what the nodes have written down, the accounts in etcd, and the memory of the nodes."""
import base64
import collections
import json
import statistics
import time
import urllib.error
import urllib.request

CENTS_AT_FIRST = 1000
GRACE = 20.0         # seconds from the end of an actor to the word of it, at the end of the run
FLAT_SHARE, FLAT_BYTES = 0.15, 2 << 20
LONG_LIFE = 100.0    # seconds from which on the memory of a life is judged


def post(address, path, body, limit=1.5):
    """The answer of a server's JSON; None without one."""
    try:
        asked = urllib.request.Request(f"http://{address}{path}", json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(asked, timeout=limit) as answer:
            return json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return None


def clock():
    """That of the nodes' records."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Books:
    """Of one moment; the same sum as books_of() of examples/bank/cluster/record.hpp."""
    def __init__(self, entries):
        accounts = {base64.b64decode(e["key"]).decode().rsplit("/", 1)[1]: json.loads(base64.b64decode(e["value"])) for e in entries}
        self.accounts, self.transfers = len(accounts), sum(r["last_number"] for r in accounts.values())
        self.owners = {name: r["owner"] for name, r in accounts.items()}
        self.cents = sum(r["cents"] for r in accounts.values())
        for name, r in accounts.items():
            for t in r["on_their_way"]:
                if t["number"] > accounts.get(t["to"], {"taken": {}})["taken"].get(name, 0):
                    self.cents += t["cents"]

    def balance(self):
        return self.cents == self.accounts * CENTS_AT_FIRST


def read_books(addresses):
    """Asks one member after another for a linearizable read; None if no one answers."""
    begin, end = (base64.b64encode(k).decode() for k in (b"/bank/bank/account/", b"/bank/bank/account0"))
    for address in addresses:
        got = post(address, "/v3/kv/range", {"key": begin, "range_end": end})
        if got is not None and "header" in got:
            return Books(got.get("kvs", []))
    return None


class Watch:
    def __init__(self, how, actor, incarnation, at):
        self.how, self.actor, self.incarnation, self.at = how, actor, incarnation, at
        self.told, self.closed, self.unlinked = [], False, False


class Life:
    """What one process has written down."""
    def __init__(self, path):
        self.path, self.read, self.watches, self.incarnation, self.incarnation_at = path, 0, {}, None, 0.0


class Judge:
    def __init__(self, etcd_addresses):
        self.etcd = etcd_addresses
        self.lives, self.wrong = {}, []
        self.accepted, self.buried = {}, {}                 # id: when
        self.handled, self.handled_at = collections.Counter(), {}
        self.unsure, self.troubles = 0, collections.Counter()
        self.died, self.spontaneous = {}, 0                 # actor: when
        self.books_seen, self.last_books, self.progress_at, self.longest_gap = 0, None, None, 0.0
        self.memory = collections.defaultdict(list)         # (node, life): [(when, bytes)]

    def fault(self, text):
        self.wrong.append(text)

    # --- records

    def add_life(self, name, life, path):
        self.lives[name, life] = Life(path)

    def read_records(self):
        for (name, life), of in self.lives.items():
            try:
                with open(of.path, "rb") as file:
                    file.seek(of.read)
                    got = file.read()
            except FileNotFoundError:
                continue
            whole = got.rfind(b"\n") + 1
            of.read += whole
            for line in got[:whole].decode().splitlines():
                at, word, *rest = line.split(" ", 2)
                getattr(self, f"on_{word}")(f"{name}.{life}", of, float(at), rest[0] if rest else "")

    def on_accepted(self, _who, _of, at, text):
        self.accepted[text] = at

    def on_unsure(self, _who, _of, _at, _text):
        self.unsure += 1

    def on_handled(self, who, _of, at, text):
        job = text.split()[0]
        self.handled[job] += 1
        self.handled_at[job] = min(at, self.handled_at.get(job, at))
        if job.endswith("!"):
            self.fault(f"{who} has handled {job}, which nobody can handle")

    def on_buried(self, _who, _of, at, text):
        self.buried[text.split()[0]] = at

    def on_trouble(self, _who, _of, _at, text):
        self.troubles[text.split()[0]] += 1

    def on_incarnation(self, _who, of, at, text):
        of.incarnation, of.incarnation_at = int(text), at

    def on_born(self, _who, _of, _at, _text):
        pass

    def on_died(self, _who, _of, at, text):
        self.died[text] = at

    def on_watch(self, _who, of, at, text):
        number, how, actor, incarnation = text.split()
        of.watches[number] = Watch(how, actor, int(incarnation), at)

    def on_told(self, who, of, at, text):
        number, _, why = text.partition(" ")
        watch = of.watches[number]
        watch.told.append((at, why))
        if len(watch.told) > 1:
            self.fault(f"{who}: its {watch.how} {number} of {watch.actor} was told {len(watch.told)} times: {watch.told}")
        if watch.closed:
            self.fault(f"{who}: its {watch.how} {number} was told after its end")

    def on_closed(self, who, of, _at, text):
        watch = of.watches[text]
        watch.closed = True
        if not watch.told:
            self.fault(f"{who}: its monitor {text} of {watch.actor} has ended, and nothing was told")

    def on_unlinked(self, _who, of, _at, text):
        of.watches[text.split()[0]].unlinked = True

    # --- accounts

    def look_at_books(self):
        books = read_books(self.etcd)
        if books is None:
            return
        self.books_seen += 1
        now = time.monotonic()
        if not books.balance():
            self.fault(f"the books do not balance: {books.cents} cents of {books.accounts} accounts, after {books.transfers} transfers")
        if self.last_books is None or books.transfers > self.last_books.transfers:
            if self.progress_at is not None:
                self.longest_gap = max(self.longest_gap, now - self.progress_at)
            self.progress_at = now
        self.last_books = books

    def transfers(self):
        return self.last_books.transfers if self.last_books else 0

    # --- the end

    def missing_jobs(self):
        return sorted(j for j in self.accepted if j not in self.buried and j not in self.handled)

    def untold(self, processes):
        """Watches of processes that live which were not told of an end. `processes`: name -> life of now."""
        now, missing = clock(), []
        for (name, life), of in self.lives.items():
            if processes.get(name) != life:
                continue
            for number, w in of.watches.items():
                if w.told or w.unlinked:
                    continue
                peer, peer_life, _ = w.actor.split(".")
                there = self.lives[peer, processes[peer]]
                if int(peer_life) != processes[peer]:
                    why = "its process was killed"
                elif now - self.died.get(w.actor, now) > GRACE:
                    why = "it has died"
                elif there.incarnation != w.incarnation and now - there.incarnation_at > GRACE:
                    why = f"its node is another incarnation, {there.incarnation}, and not {w.incarnation}"
                else:
                    continue
                if now - w.at > GRACE:
                    missing.append(f"{name}.{life}: its {w.how} {number} of {w.actor} was not told that {why}")
        return missing

    def unwatched(self, processes):
        """What the nodes of now do not watch of each other."""
        missing = []
        for name, life in processes.items():
            of = self.lives[name, life]
            open_ones = collections.Counter((w.how, w.actor.rsplit(".", 1)[0]) for w in of.watches.values() if not w.told and not w.unlinked)
            for peer, peer_life in processes.items():
                for how in ("monitor", "link"):
                    if peer != name and not open_ones[how, f"{peer}.{peer_life}"]:
                        missing.append(f"{name}.{life} has no {how} of an actor of {peer}.{peer_life}")
        return missing

    # --- memory

    def weigh(self, nodes):
        for p in nodes:
            if (bytes_now := p.resident()) is not None:
                self.memory[p.name, p.life].append((time.monotonic(), bytes_now))

    def grown(self):
        """(node, life, seconds, bytes after the first quarter, bytes at the end, whether that is flat), of long lives."""
        for (name, life), seen in self.memory.items():
            lasted = seen[-1][0] - seen[0][0]
            if lasted < LONG_LIFE:
                continue
            begin = statistics.median(b for at, b in seen if 0.25 <= (at - seen[0][0]) / lasted <= 0.4)
            end = statistics.median(b for at, b in seen if (at - seen[0][0]) / lasted >= 0.9)
            yield name, life, lasted, begin, end, end <= begin * (1 + FLAT_SHARE) + FLAT_BYTES

    def counts(self):
        watches = [w for of in self.lives.values() for w in of.watches.values()]
        told = [w for w in watches if w.told]
        longest = max((at - self.accepted[job] for job, at in self.handled_at.items() if job in self.accepted), default=0)
        dead = sum(1 for w in told if w.actor in self.died or self.is_past(w.actor))
        return (f"{self.transfers()} transfers, books read {self.books_seen} times, longest time without a transfer seen {self.longest_gap:.0f} s\n"
                f"{len(self.accepted)} jobs accepted, {self.unsure} unsure, {len(self.handled)} handled in {sum(self.handled.values())} times, "
                f"{len(self.buried)} dead letters; the longest wait of a job {longest:.0f} s\n"
                f"{len(watches)} monitors and links, {len(told)} were told, {dead} of these of actors that have died")

    def is_past(self, actor):
        name, life, _ = actor.split(".")
        return (name, int(life) + 1) in self.lives
