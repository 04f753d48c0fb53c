"""The processes of the scenarios."""

from __future__ import annotations

import dataclasses

from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.template import ClockExtension, ClockRule, DryRun
from tests.processes import (
    MATCHED,
    above,
    acting,
    asking,
    choice,
    end,
    gate,
    parallel,
    process,
    ruling,
    seated,
    task,
    wait,
)
from tests.shelf import shipped

HIT = DryRun({"match": "exact"}, when=above("score", 90))
ESCALATION = Escalation("admin", "PT24H", "denied")
CLEAN = DryRun({"match": "none"})

NOTICE = ClockRule(
    id="notice",
    label="Decision and notice",
    within="P5BD",
    stops=("send",),
    pauses=("records",),
    extend=ClockExtension("extension", "extended", "P14D", "tell"),
    warn=("P1BD",),
    escalate="admin",
)

PROCESSES = {
    "notice": dataclasses.replace(
        process(
            wait("records", message="records-came"),
            choice("extension", "high"),
            task("tell"),
            gate("signoff", deadline=AnchoredDeadline("notice", "P2D"), on_deadline=Escalation("admin")),
            task("send"),
            end(outcome="sent"),
            ways="""records -> extension -[extended]-> tell -> signoff -> send -> end
                    extension -[in time]-> signoff
                    signoff -[denied]-> records""",
        ),
        clocks=(NOTICE,),
    ),
    "refund-by-agent": process(
        acting("unruled", "high", handed=True),
        end("made", "made"),
        end("denied", "denied"),
        ways="unruled -> made\nunruled -[denied]-> denied",
    ),
    "reversal": process(
        acting("unruled", "low"),
        end("made", "made"),
        end("denied", "denied"),
        ways="unruled -> made\nunruled -[denied]-> denied",
    ),
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
    "invoice": process(
        gate(
            "signatures",
            quorum=2,
            groups=("finance",),
            four_eyes=("starter",),
            comment="on-denial",
            denial_codes=("duplicate", "wrong-amount"),
            code="required",
        ),
        task("pay", "medium", "irreversible"),
        end(outcome="paid"),
        ways="signatures -> pay -> end",
    ),
    "appeal": process(
        gate("first", deadline="PT72H", remind=("PT24H", "PT48H"), on_deadline=ESCALATION),
        task("letter"),
        end(outcome="covered"),
        gate("second", four_eyes=("gate:first",), deadline="P3BD", on_deadline="denied"),
        end("refused", "refused"),
        ways="first -> letter -> end\nfirst -[denied]-> second -> end\nsecond -[denied]-> refused",
    ),
    "claim": process(
        wait("documents", message="documents-received", within="P30D"),
        wait("pause", duration="P3BD"),
        task("reserve", "low", "reversible", compensate="release"),
        task("charge", "low", "reversible", compensate="refund"),
        gate("close"),
        end(outcome="settled"),
        end("undone", "undone", compensates=True),
        end("late", "no documents"),
        end("broken", "charged nothing"),
        ways="""documents -[message]-> pause -> reserve -> charge -> close -> end
                documents -[timeout]-> late
                charge -[error]-> broken
                close -[denied]-> undone""",
    ),
    "payout-2": dataclasses.replace(
        process(
            task("check"),
            gate("signoff", role="admin"),
            task("pay", "medium", "irreversible"),
            task("letter"),
            end(outcome="paid"),
            ways="check -> signoff -> pay -> letter -> end",
        ),
        version=2,
        digest="sha256:payout-2",
    ),
    "credit": process(
        task("look"),
        seated(
            task("credit", "medium", "reversible"),
            ruling("small", lambda inputs, *_: inputs["amount"] <= 100, 0.9),
            asking("fraud-model"),
            quorum=2,
        ),
        end(outcome="credited"),
        ways="look -> credit -> end",
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

SHIPPED = {entry.template.vertical: entry.template for entry in shipped()}
