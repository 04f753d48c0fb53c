"""The processes of the scenarios."""

from __future__ import annotations

from actors.core.template import DryRun
from tests.processes import MATCHED, above, choice, end, gate, parallel, process, task

HIT = DryRun({"match": "exact"}, when=above("score", 90))
CLEAN = DryRun({"match": "none"})

PROCESSES = {
    "payout": process(
        task("check"),
        gate("signoff", role="manager"),
        task("pay", "medium", "irreversible"),
        end(outcome="paid"),
        ways="check -> signoff -> pay -> end",
    ),
    "transfer": process(
        task("transfer", "critical", "irreversible"),
        end(outcome="transferred"),
        end("stopped", "stopped"),
        ways="transfer -> end\ntransfer -[denied]-> stopped",
    ),
    "letter": process(
        task("draft"), gate("review"), end(outcome="sent"), ways="draft -> review -> end\nreview -[denied]-> draft"
    ),
    "screening": process(
        task("screen", dry_run=(HIT, CLEAN), signal_when=MATCHED),
        choice("size"),
        choice("bsa-gate", "critical"),
        end("opened", "account opened"),
        end("reported", "report filed"),
        ways="""screen -> size -[large]-> bsa-gate -[onboarding approved]-> opened
                size -[small]-> opened
                bsa-gate -[SAR signed]-> reported""",
        when={"large": above("amount", 10_000)},
    ),
    "contract": process(
        parallel("fork"),
        gate("legal"),
        gate("finance"),
        parallel("join"),
        task("sign"),
        end(outcome="signed"),
        ways="fork -> legal -> join -> sign -> end\nfork -> finance -> join",
    ),
}
