#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py BUILD PROGRAM WORK SECONDS: fails the recorder's calls, each in turn; see faults.c.

BUILD/tests/ringback-faults records, PROGRAM asks and checks. A first pass without faults finds the places that each
activity below passes. Then each place fails once, with one of its errors (SECONDS 0: with each in turn),
while such an activity runs. After that the recorder must run, its next dump be whole, no message have been
repeated, no descriptor have leaked. Prints what failed and, last, the numbers. FAULTS_AT=REGEX in the environment:
only places such as "store.c:275 is_same_file".
"""
import collections, errno, glob, json, mmap, os, re, resource, shutil, signal, socket, struct, subprocess, sys, time

BUILD, PROGRAM, WORK = sys.argv[1:4]
SECONDS = float(sys.argv[4])
LEAK = "more descriptors than before"
AT = os.environ.get("FAULTS_AT", "")
FAULTED = BUILD + "/tests/ringback-faults"
NR_SITES, HEAD, SITE = 16384, 16, 16
CALLS = re.findall(r"^\tX\((\w+), \w+, ([A-Z ]+)\)", open(os.path.dirname(__file__) + "/faults.c").read(), re.M)
RECORD = "-C 0,1 --memory 0 --size cpu=64K --size sched=64K --size life=64K".split()
RULES = """
[trigger signal]
rule = signal:USR1
[trigger file]
rule = file:{work}/log~incident
[trigger event]
rule = event:sched:sched_process_exec[comm=="fault-event"]
[trigger crash]
rule = crash:fault-crash
[trigger rss]
rule = rss:{pid}>1G
[trigger stall]
rule = stall:60ms;cooldown=0
[trigger uprobe]
rule = uprobe:{work}/fault-probe:main
[trigger changed]
rule = mem:available<{nr}K
"""


def wait_for(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.003)
    return True


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return "/"


class Recorder:
    """A recorder with the shim, and what can be seen of it."""

    def __init__(self, options, warm):
        self.options, self.warm, self.shared = options, warm, WORK + "/sites"
        with open(self.shared, "wb") as f:
            f.truncate(HEAD + NR_SITES * SITE)
        self.map = mmap.mmap(os.open(self.shared, os.O_RDWR), 0)
        self.known = set()
        self.process = None

    def launch(self, place=0, error=0):
        """Starts the recorder, with a fault that comes before it records; returns whether it records."""
        self.stop()
        self.nr_reloads = 0
        self.write_rules()
        self.arm(place, error)
        self.err, self.out = WORK + "/err", WORK + "/out"
        self.process = subprocess.Popen(
            [FAULTED, "record", *RECORD, "--max-dumps", "3", "-o", WORK + "/dumps", *self.options],
            stdin=subprocess.DEVNULL, stdout=open(self.out, "w"), stderr=open(self.err, "w"),
            env={**os.environ, "RINGBACK_FAULTS": self.shared})
        wait_for(60, lambda: "ringback: recording" in self.said() or self.process.poll() is not None)
        return "ringback: recording" in self.said()

    def start(self):
        if not self.launch():
            sys.exit("the recorder does not start: " + self.said())
        self.warm(self)
        self.trigger()
        self.fds = self.descriptors()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def write_rules(self):
        with open(WORK + "/conf", "w") as f:
            f.write(RULES.format(work=WORK, pid=os.getpid(), nr=1 + self.nr_reloads % 2))

    def said(self):
        return open(self.err, errors="replace").read()

    def descriptors(self):
        """Without programs of others, which the ledger holds as long as the rings refer to them."""
        names = (link(name) for name in glob.glob(f"/proc/{self.process.pid}/fd/*"))
        return collections.Counter(re.sub(r"\[[0-9]+\]", "", name) for name in names if not re.match(r"/(?!proc/)", name))

    def nr_answers(self):
        return self.said().count("ringback: dump") + self.said().count("no dump was made")

    def sites(self):
        got = {}
        for i in range(NR_SITES):
            place, call, nr = struct.unpack_from("III", self.map, HEAD + i * SITE)
            if place:
                got[place] = (call, nr)
        return got

    def arm(self, place, error):
        struct.pack_into("iI", self.map, 4, error, 0)
        struct.pack_into("I", self.map, 0, place)

    def fired(self):
        return struct.unpack_from("I", self.map, 8)[0] > 0

    def disarm(self):
        struct.pack_into("I", self.map, 0, 0)

    def trigger(self):
        try:
            p = subprocess.run([PROGRAM, "trigger"], capture_output=True, text=True, timeout=30)
        except subprocess.TimeoutExpired:
            return None, "no answer in 30 s"
        return (p.stdout.strip() if p.returncode == 0 else None), p.stderr


# ---- activities: what makes the recorder call ----

def manual(r):
    r.trigger()


def answered(r, provoke):
    before = r.nr_answers()
    provoke()
    wait_for(1, lambda: r.nr_answers() > before or r.process.poll() is not None)


def signalled(r):
    answered(r, lambda: os.kill(r.process.pid, signal.SIGUSR1))


def logged(r):
    answered(r, lambda: open(WORK + "/log", "a").write("an incident\n"))


def rotated(r):
    os.rename(WORK + "/log", WORK + "/log.1")
    logged(r)


def executed(r):
    answered(r, lambda: subprocess.run([WORK + "/fault-event", "0"]))


def crashed(r):
    p = subprocess.Popen([WORK + "/fault-crash", "100"])
    wait_for(5, lambda: "fault-crash" in open(f"/proc/{p.pid}/comm").read())
    answered(r, lambda: (p.send_signal(signal.SIGSEGV), p.wait()))


def forked(r):
    subprocess.run(["sh", "-c", f"for i in $(seq 100); do {WORK}/fault-fork 0 & done; wait"])
    r.trigger()


def told(r):
    answered(r, lambda: subprocess.run([BUILD + "/tests/load_tell", "trigger", "incident"], stdout=subprocess.DEVNULL))


def stalled(r):
    answered(r, lambda: subprocess.run([BUILD + "/tests/load_tell", "beat", "10", "3", "stall", "200"], capture_output=True))


def probed(r):
    answered(r, lambda: subprocess.run([WORK + "/fault-probe", "trigger", "x"], stdout=subprocess.DEVNULL))


def slow(r):
    answered(r, lambda: signal.sigtimedwait([signal.SIGRTMIN], 0.05))


def kept(r):
    p = subprocess.Popen([PROGRAM, "keep"], stderr=subprocess.PIPE)
    p.stderr.readline()
    asked(r)
    p.terminate()
    p.wait()
    wait_for(1, lambda: "keeper has ended" in r.said())


def spilled(r):
    os.rename(WORK + "/dumps", WORK + "/away")
    r.trigger()
    os.rename(WORK + "/away", WORK + "/dumps")


def asked(r):
    try:
        subprocess.run([PROGRAM, "status"], capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        pass


def hostile(r):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(2)
        try:
            s.connect(os.environ["RINGBACK_RUNTIME_DIR"] + "/default.sock")
            s.send(b"no JSON\n")
            s.recv(1000)
        except OSError:
            pass


def reloaded(r):
    r.nr_reloads += 1
    r.write_rules()
    before = r.said().count("\n")
    r.process.send_signal(signal.SIGHUP)
    wait_for(1, lambda: r.said().count("\n") > before)


RULED = signalled, logged, rotated, executed, crashed, told, stalled, probed, slow
PASSES = (
    (["--symbols", "off", "--config", WORK + "/conf"], [manual, asked, hostile, reloaded, *RULED[:-1], forked]),
    (["--symbols", "off", "--config", "/dev/null", "--spill", WORK + "/spill"], [spilled, kept]),
    (["--symbols", "off", "--config", "/dev/null", "-T", "syscall:rt_sigtimedwait>30ms"], [slow]),
    (["--symbols", "5s", "--config", "/dev/null"], [manual]),
)


# ---- one fault ----

def usual(line):
    return re.sub(r"[0-9][0-9.,]*", "N", line)


def new_lines(r, said_before):
    """What was said that is not said without a fault."""
    lines = r.said()[said_before:].splitlines()
    return [line for line in lines if usual(line) not in r.known and "ringback: dump:" not in line]


def nr_tasks(r):
    p = subprocess.run([PROGRAM, "status", "--json"], capture_output=True, timeout=10)
    return json.loads(p.stdout)["ledger"]["tasks"] if p.returncode == 0 else 0


def info_of(path):
    return json.loads(subprocess.run([PROGRAM, "info", "--json", path], capture_output=True).stdout)


def idle_cpus(r, path):
    return [ring["cpu"] for ring in info_of(path)["rings"] if ring["channel"] == r.busy and not ring["records"]]


def problem(r, said_before, activity):
    """What is wrong with a recorder after a fault, or None."""
    if r.process.poll() is not None:
        return f"the recorder ended ({r.process.returncode}): {r.said()[-300:]}"
    path, why = r.trigger()
    if not path:  # it asked for the dump that has the fault
        path, why = r.trigger()
    if not path:
        return "no next dump: " + why
    p = subprocess.run([PROGRAM, "check", path], capture_output=True, text=True)
    if p.returncode:
        return "the next dump is not whole: " + p.stdout + p.stderr
    info = info_of(path)
    if info["cut"] or len(info["rings"]) < r.nr_rings:
        return f"the next dump has {len(info['rings'])} rings of {r.nr_rings}, cut: {info['cut']}"
    if idle_cpus(r, path) and not wait_for(30, lambda: not idle_cpus(r, r.trigger()[0])):
        return f"nothing is recorded on CPUs {idle_cpus(r, r.trigger()[0])}"
    new = [usual(line) for line in new_lines(r, said_before)]
    again = sorted({line for line in new if new.count(line) > 1})
    if again:
        return "said more than once: " + "; ".join(again)
    parts = glob.glob(WORK + "/*/*.part")
    if parts:
        for part in parts:
            os.unlink(part)
        if not new:
            return f"{len(parts)} unfinished dump left behind, and nothing was said"
    tasks = nr_tasks(r)
    running = len(glob.glob("/proc/[0-9]*"))
    if tasks < running / 2 and not new:
        return f"the ledger has {tasks} of {running} processes, and nothing was said"
    if activity in RULED and not new:
        before = r.nr_answers()
        activity(r)
        if not wait_for(30, lambda: r.nr_answers() > before):
            return "the rule has no hits any more, and nothing was said"
    if not wait_for(0.3, lambda: not r.descriptors() - r.fds):
        return f"{LEAK}: {dict(r.descriptors() - r.fds)}"
    return None


def first_pass(r, activities):
    """Runs each activity; returns which one passes each place, None: the start alone. Sets what is usual."""
    r.start()
    by = {place: (call, None) for place, (call, _) in r.sites().items()}
    for activity in activities:
        before = r.sites()
        for _ in range(2):
            activity(r)
        for place, (call, nr) in r.sites().items():
            if nr > before.get(place, (0, 0))[1] and not by.get(place, (0, None))[1]:
                by[place] = (call, activity)
    path, _ = r.trigger()
    info = info_of(path)
    r.known = {usual(line) for line in r.said().splitlines()}
    r.nr_rings = len(info["rings"])
    r.busy = max(info["rings"], key=lambda ring: ring["records"])["channel"]
    return by


def place_names(places):
    """file:line function, of each place."""
    p = subprocess.run(["addr2line", "-s", "-f", "-e", FAULTED, *(hex(place - 1) for place in places)], capture_output=True, text=True)
    lines = p.stdout.splitlines()
    return {place: f"{lines[2 * i + 1].split(' ')[0]} {lines[2 * i]}" for i, place in enumerate(places)}


def started(r, place, error):
    """A fault at the start: the recorder records, or ends with a message and leaves nothing behind."""
    if r.launch(place, error):
        r.fds = r.descriptors() + collections.Counter({"socket:": 2})  # threads' memory is read through two, from the first need on
        return problem(r, 0, None)
    if r.process.poll() is None:
        return "it neither records nor ends in 60 s"
    if r.process.returncode != 1:
        return f"the start ended with {r.process.returncode}: {r.said()}"
    if not r.said():
        return "the start failed without a word"
    left = os.listdir(os.environ["RINGBACK_RUNTIME_DIR"])
    return f"left behind: {left}" if left else None


def run(r, place, activity, error, again=False):
    """Returns whether the fault came, what is wrong then, and what was said."""
    before = 0
    if not activity:
        wrong = started(r, place, error)
    else:
        before = len(r.said())
        r.arm(place, error)
        for _ in range(2):
            activity(r)
            if wait_for(0.05, r.fired):
                break
        wrong = problem(r, before, activity) if r.fired() else None
        if wrong and LEAK in wrong and not again:  # or what was opened at its first need
            r.fds = r.descriptors()
            return run(r, place, activity, error, True)
    came = r.fired()
    r.disarm()
    new = new_lines(r, before)
    if not came and activity:
        new = []
    elif wrong or r.process.poll() is not None or r.descriptors() != r.fds or "disarmed" in "".join(new):
        r.start()
    return came, wrong, " | ".join(new)


def main():
    os.environ["RINGBACK_TELL"] = os.environ["RINGBACK_RUNTIME_DIR"] + "/default.tell"
    os.makedirs(WORK + "/dumps", 0o700, exist_ok=True)
    for name in "fault-event", "fault-crash", "fault-fork":
        shutil.copy("/bin/sleep", WORK + "/" + name)
    shutil.copy(BUILD + "/tests/load_tell", WORK + "/fault-probe")
    open(WORK + "/log", "w").close()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    tested, nr = set(), dict(places=0, faults=0, fired=0, lost=0)
    fired_calls = set()
    log = open(WORK + "/faults.log", "w")
    for options, activities in PASSES:
        r = Recorder(options, activities[-1])
        by = {place: what for place, what in first_pass(r, activities).items() if place not in tested}
        tested |= set(by)
        end = time.monotonic() + SECONDS / len(PASSES) if SECONDS else None
        nr["places"] += len(by)
        names = place_names(sorted(by))
        places = [place for place in sorted(by) if re.search(AT, names[place])]
        if SECONDS:  # some from all over, of what happens while it records
            places = [place for place in places if by[place][1]]
            places = [place for start in range(7) for place in places[start::7]]
        for i, place in enumerate(places):
            call, activity = by[place]
            name, errors = CALLS[call][0], CALLS[call][1].split()
            if SECONDS:
                errors = [errors[i % len(errors)]]
            for error in errors:
                if end and time.monotonic() > end:
                    break
                nr["faults"] += 1
                came, wrong, said = run(r, place, activity, getattr(errno, error, 0))
                nr["fired"] += came
                nr["lost"] += wrong is not None
                where = f"{name} {error} at {names[place]} ({activity.__name__ if activity else 'start'})"
                print(f"{'fired' if came else 'passed by'}: {where}: {wrong or ''} [{said}]", file=log, flush=True)
                if came:
                    fired_calls.add(name)
                if wrong:
                    print(f"{where}: {wrong}", flush=True)
        r.stop()
    print(f"{nr['places']} places of {len(fired_calls)} calls: {nr['faults']} faults, {nr['fired']} came, {nr['lost']} did harm")
    return nr["lost"] > 0


if __name__ == "__main__":
    sys.exit(main())
