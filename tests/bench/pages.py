"""The page docs/explanation/performance.md, written whole from the figures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.bench.bars import CLIENT_SHARE_MOST, bars, grown, unsound
from tests.bench.chart import ENGINES, LINES
from tests.bench.growth import GROWN_FROM
from tests.bench.layers import SAMPLES_A_SECOND
from tests.bench.loops import versions
from tests.bench.words import GROWTH, INTRO, LAYERS, METHOD, SHARES, TRANSACTIONS, WAYS

CHART = "performance.svg"
COLUMNS = 100
KINDS = ("reads", "resumes", "starts")
BATCHES = {
    "transactions a second": "{transactions_a_second:,.0f}",
    "turns in each": "{writes_a_transaction:.1f}",
    "rows in each": "{rows_a_transaction:.0f}",
    "ms each": "{transaction_ms:.2f}",
    "KiB written a request": "{written_kib:.1f}",
}
COSTS = {
    "processor µs": "{cpu_us:.0f}",
    "in that of the fewest": "{cpu_times:.2f}",
    "a second": "{rate:,.0f}",
    "p50 ms": "{p50_ms:.1f}",
    "KiB written": "{written_kib:.1f}",
    "KiB from the disk": "{read_kib:.1f}",
}
LOOPS = {"p50 ms": "{p50_ms:.1f}", "p99 ms": "{p99_ms:.1f}", "processor µs": "{cpu_us:,.0f}"}
GROUPS = {
    "http": ("HTTP", "event loop"),
    "asked": ("gateway", "token", "request", "answer", "log and figures"),
    "deciding": ("actor", "decision", "publishing"),
    "durable": ("encoding", "hash chain", "group commit", "SQLite"),
}


def written(figures: dict[str, Any]) -> str:
    """The whole page."""
    parts = [INTRO, _verdicts(figures), f"![The figures below as a chart]({CHART})\n"]
    parts += [section(figures[name]) for name, section in SECTIONS.items() if name in figures]
    return "\n".join((*parts, _method(figures)))


def prose(text: str) -> str:
    """A paragraph, wrapped."""
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first stand to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _verdicts(figures: dict[str, Any]) -> str:
    rows = [(bar.what, f"{bar.found:.2f}", bar.asked, bar.verdict) for bar in bars(figures)]
    said = "".join(f"- {one}\n" for one in unsound(figures))
    return "## Goals\n\n" + table(("", "found", "goal", ""), rows) + (f"\nNote:\n\n{said}" if said else "")


def _machine(machine: dict[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    sync = machine["sync_ms"]
    rows = [
        ("processor", f"{machine['processor']}, {machine['processors']} of them"),
        ("memory", f"{machine['memory_gib']:.0f} GiB"),
        ("disk", f"{machine['file_system']}; a page is on it after {sync['p50']:.2f} ms (p99 {sync['p99']:.2f} ms)"),
        ("system", f"Linux {machine['kernel']}"),
        ("Python", f"{machine['python']}, SQLite {machine['sqlite']}, {libraries}"),
        ("measured", f"{machine['at']}, at {machine['revision']}; others used {machine.get('busy_before', 0):.0%}"),
    ]
    return "## The machine\n\n" + "\n".join(("| | |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows))) + "\n"


def _rounds(rounds: dict[str, Any]) -> str:
    rows, batches = [], []
    for connections, kinds in rounds["connections"].items():
        rows.append((connections, "echo", *cells(kinds["echo"], "1", "1")))
        for kind in KINDS:
            one = kinds[kind]
            ratio = f"{one['ratio']:.2f} ({one['ratio_least']:.2f} to {one['ratio_most']:.2f})"
            rows.append(("", kind, *cells(one, ratio, f"{one['p99_times']:.1f}")))
            if "writes" in one:
                batches.append((connections, kind, *(form.format(**one) for form in BATCHES.values())))
    head = (
        "connections",
        "",
        "a second",
        "of the echo",
        "p50 ms",
        "p99 ms",
        "p99 in the echo's",
        "processor µs",
        "client",
    )
    return (
        "## Requests compared with a bare server\n\n"
        + table(head, rows)
        + TRANSACTIONS
        + table(("connections", "", *BATCHES), batches)
    )


def cells(cost: dict[str, Any], ratio: str, times: str) -> tuple[str, ...]:
    """What a kind of request cost, beside the echo."""
    rate, cpu, client = (form.format(**cost) for form in ("{rate:,.0f}", "{cpu_us:.0f}", "{client_share:.0%}"))
    return rate, ratio, f"{cost['p50_ms']:.2f}", f"{cost['p99_ms']:.2f}", times, cpu, client


def _growth(growth: dict[str, Any]) -> str:
    sizes, found, rows = growth["sizes"], growth["kinds"], []
    for kind, (name, _) in LINES.items():
        for runs in sizes:
            cost = found[kind][str(runs)]
            rows.append(
                (name if runs == sizes[0] else "", f"{runs:,}", *(form.format(**cost) for form in COSTS.values()))
            )
    size = growth["largest_bytes"]
    return (
        "## With many stored runs\n\n"
        + prose(
            f"Over 64 connections; {sizes[-1]:,} stored runs take {size / 2**30:.2f} GiB on the disk, "
            f"{size / sizes[-1] / 1024:.1f} KiB each. Every read and every verdict finds its run in the store."
        )
        + table(("", "stored runs", *COSTS), rows)
        + GROWTH.format(**growth["page_us"])
        + _grown(growth)
        + "### Start-up, memory, activation\n\n"
        + _standing(growth["startup"], growth["memory"], found["resumes"])
    )


def _grown(growth: dict[str, Any]) -> str:
    """All that must not grow, in a table."""
    sizes = [runs for runs in growth["sizes"] if runs >= GROWN_FROM] or growth["sizes"]
    rows = [
        (name, *(f"{by_size[str(runs)]['cpu_us']:,.0f}" for runs in sizes), f"{by_size[str(sizes[-1])]['grown']:.2f}")
        for name, by_size in grown(growth).items()
    ]
    head = ("processor time", *(f"of {runs:,}" for runs in sizes), "the last in the first")
    return f"### From {sizes[0]:,} runs on\n\n{table(head, rows)}\n"


def _standing(startup: dict[str, Any], memory: dict[str, Any], activated: dict[str, Any]) -> str:
    many, none = startup["many"], startup["none"]
    live, let_go = memory["bytes_live"] / 1024, memory["bytes_let_go"] / 1024
    took = "{seconds:.2f} s, {cpu_s:.2f} s of a processor"
    rows = [
        (f"start-up to the first answer, {startup['runs']:,} stored runs", took.format(**many)),
        ("the same without any", took.format(**none)),
        ("memory after that, with and without", f"{many['rss_kib'] / 1024:.0f} and {none['rss_kib'] / 1024:.0f} MiB"),
        ("memory of a stored run that is not read", f"{max(0.0, startup['bytes_a_stored_run']):.0f} bytes"),
        (f"memory added by each of {memory['runs']:,} runs with a live actor", f"{live:.1f} KiB"),
        ("the same after they are unloaded, for caches", f"{let_go:.1f} KiB"),
        ("memory of a live actor", f"{live - let_go:.1f} KiB"),
    ]
    rows += [
        (f"activations a second by verdicts, {int(runs):,} stored runs", f"{cost['rate']:,.0f}")
        for runs, cost in activated.items()
    ]
    return table(("", ""), rows)


def _loops(loops: dict[str, Any]) -> str:
    rows = []
    for name, title in ENGINES.items():
        if name in loops["loops"]:
            one = loops["loops"][name]
            times = "" if name == "penstock" else f"{one['times']:.1f}"
            rows.append((title, f"{one['rate']:,.0f}", times, *(form.format(**one) for form in LOOPS.values())))
    named = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        "## Compared with other engines\n\n"
        + prose(
            "A loop is a start, the way to a gate, a verdict and the way to the end; "
            f"{loops['callers']} callers. {named}. LangGraph is fastest when it keeps a run only where it stops "
            "(durability `exit`), DBOS with a write-ahead log and a look for messages every millisecond."
        )
        + table(("", "loops a second", "ours in these", *LOOPS), rows)
        + "".join(f"\n{name} was skipped: {why}\n" for name, why in loops["skipped"].items())
    )


def _watching(watching: dict[str, Any]) -> str:
    rows = [
        (WAYS[way], *(f"{one['cpu_us']:.0f} ({one['more']:+.1%})" for one in kinds.values()))
        for way, kinds in watching.items()
    ]
    kinds = [f"{kind}, processor µs" for kind in next(iter(watching.values()))]
    return "## Cost of observability\n\n" + table(("", *kinds), rows)


def _layers(layers: dict[str, Any]) -> str:
    if "skipped" in layers:
        return f"## Where the time goes\n\nThere is no profile here: {layers['skipped']}\n"
    found = layers["layers"]
    rows = [(f"**{name}**: {LAYERS[name]}", f"{one['share']:.1%}", f"{one['us']:.0f}") for name, one in found.items()]
    functions = [(f"`{one['function']}`", one["layer"], f"{one['share']:.1%}") for one in layers["functions"]]
    shares = {
        group: f"{sum(found[name]['share'] for name in names if name in found):.0%}" for group, names in GROUPS.items()
    }
    return (
        f"## Where the time goes\n\nA resume takes {layers['resume']['cpu_us']:.0f} µs of processor time; "
        f"{layers['samples']:,} samples.\n"
        + SHARES.format(**shares)
        + table(("layer", "share", "µs"), rows)
        + "\nThe functions that were innermost most often:\n\n"
        + table(("function", "layer", "share"), functions)
    )


def _method(figures: dict[str, Any]) -> str:
    return METHOD.format(ceiling=_ceiling(figures["rounds"]) if "rounds" in figures else "", samples=SAMPLES_A_SECOND)


def _ceiling(rounds: dict[str, Any]) -> str:
    """Whether the client is fast enough."""
    most, echo = rounds["client_ceiling"], rounds["connections"][rounds["held_at"]]["echo"]
    alone = echo["client_share"] <= CLIENT_SHARE_MOST
    so = "not what is measured" if alone else "part of what is measured, and every ratio is better than it should be"
    return (
        f"Where bytes are answered with bytes and\n  nothing is parsed, it reaches {most['rate']:,.0f} requests a "
        f"second over {rounds['held_at']} connections.\n  Beside the echo's {echo['rate']:,.0f} it takes "
        f"{echo['client_share']:.0%} of a processor, so that it is {so}."
    )


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "machine": _machine,
    "rounds": _rounds,
    "growth": _growth,
    "loops": _loops,
    "watching": _watching,
    "layers": _layers,
}
