"""What the guide says in words; the figures come from the measurement."""

from __future__ import annotations

LAYERS = {
    "HTTP": "aiohttp: reads and parses the request, finds the route, writes the answer's head and sends it",
    "gateway": "names the request, lets it take its turn, and turns what is raised into an answer",
    "log and figures": "counts the request and the turn, and writes a line where one is wanted",
    "token": "finds the verified token again; it is verified once and remembered",
    "request and answer": "reads the body and checks it against its model, and makes the run into JSON",
    "actor": "finds or wakes the actor, its mailbox and its turn",
    "decision": "the pure core: what follows from the verdict, up to the next rest, and the run as it then is",
    "encoding": "the events as canonical JSON, the run as its snapshot",
    "hash chain": "links each event to all before it",
    "SQLite": "rows and the commit, in the writer's thread; to wait for the disk takes no processor and does not count",
    "group commit": "gathers turns for a transaction, hops to the thread and back, wakes who waits",
    "publishing": "tells those who follow the run or the company",
    "event loop": "asyncio's own: callbacks, futures, timers, and the look at what is ready",
    "other": "in none of our files and none of the libraries above",
}
WAYS = {
    "neither": "no access log, no figures",
    "again": "the same in a second service: the size of chance",
    "figures": "figures alone",
    "usual": "figures, and the log as it is by default (faults and slow requests)",
    "all": "figures, and a line for every request",
}
INTRO = """# Performance

Throughput, cost per request, and where the time goes.
`make bench WRITE=docs/explanation/performance.md` measures all of it and writes this page;
`var/bench/figures.json` then has every round.
"""
TRANSACTIONS = """
In brackets stand the least and the most of all rounds; `client` is how much of a processor the
client took.

### Transactions

The sync in progress is the window in which the next transaction gathers, so that many turns share
one. A start that parks writes four rows: where the run stands, its events, its snapshot, and its
gate in the inbox. A verdict that ends the run takes the gate out, and leaves the snapshot as it was.

"""
GROWTH = """
What grows is what the pages of the file cost. A read looks at three trees: among a million runs it
takes five or six pages of them from the system, among 1,000 two, since the rest is in SQLite's own
cache; a verdict takes fourteen and two. A page that the system has in memory takes {memory:.1f} µs
of a processor, one that has to come from the disk {disk:.0f} µs. And a verdict among many writes
about three pages more, which no other verdict in its transaction needs. So while the file is in
memory a read among a million runs takes what it takes among 1,000, and a verdict about a tenth
more; where it is not, both take as much more as comes from the disk: see [what a million runs
cost](../decisions/0025-what-a-million-runs-cost.md).

"""
METHOD = """## How it is measured

- The service and a bare aiohttp server that answers the JSON it gets, both on uvloop and with
  orjson, each in a process of its own, on one machine with the client. They take turns, and which
  of them begins a round changes. Figures are medians over the rounds, ratios are to the echo of the
  same round.
- The service has the settings that it has by default, and its figures for Prometheus switched on.
  SQLite is set to `synchronous=FULL`: no answer leaves before what it says is on the disk.
- Each connection is kept, and sends its next request when the last is answered. The run is one of
  `prior-auth`: five steps and a branch, a gate, two steps. A start takes it to the gate and a
  verdict to its end; a read says how it stands, with its whole trace, and is of a run that is in
  memory.
- The client is one process on plain sockets. {ceiling}
- Processor time is what the kernel says all threads of the server have used, whatever else the
  machine did meanwhile. Instructions cannot be counted on most virtual machines.
- Beside stored runs, each size has a data folder of its own, and the sizes take turns, each time
  with a service begun for it. No run stays in memory there, and none was answered by that service
  before, so that every read and every verdict finds its run in the store, at random among all. The
  file is read whole before each turn, so that the system has it in memory.
- The folders hold what the service would have left: 5,000 runs a day, half of them ended by a
  verdict, 4,000 open gates whatever the size, some of them reminded or escalated, the rest refunds
  that nobody decided on; each with its commits, snapshot, words, leaves, report rows, and the
  receipts of two days. A service that opens one has nothing to catch up with, and `penstock verify`
  finds it sound. They are removed afterwards.
- The other engines run the same steps around the same gate in process, without HTTP, log-in, or a
  history for an auditor; each as it comes, and in the fastest way that keeps what it has
  acknowledged. Ours is compared to both.
- Observing costs little beside the variation between one process, or one second, and the next. All
  ways take turns at each kind of request in rounds of a fifth of a second, in several passes with
  services of their own; what a way adds is the median of its ratios to the service that is not
  observed. One such is there twice.
- py-spy looks at the stacks {samples} times a second while nothing but verdicts come in. A sample
  counts for the innermost layer on its stack, and a thread that waits does not count.
"""
SHARES = """HTTP itself (HTTP, event loop) takes {http} of it; reading the request and writing the answer
(gateway, token, request, answer, log and figures) {asked}; deciding (actor, decision, publishing)
{deciding}; and making it durable (encoding, hash chain, group commit, SQLite) {durable}.

"""
