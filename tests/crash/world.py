"""What the rig's runs consist of: their templates, their tools, and the verdict that each
irreversible step needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TEMPLATES = {
    # A human goes round as often as they like; nothing leaves the house.
    "shadowed": """
  - {id: look, kind: task, label: Look it up, tool: look, effect: read, next: round}
  - {id: round, kind: gateway, flow: exclusive, tier: high, label: Again, branches: [
      {branch: again, when: "false", to: look}, {branch: enough, to: signoff}]}
  - {id: signoff, kind: gate, label: Sign, next: {approved: file, denied: refused}}
  - {id: file, kind: task, label: File it, tool: file, effect: irreversible, next: closed}
  - {id: closed, kind: end, label: Closed, outcome: closed}
  - {id: refused, kind: end, label: Refused, outcome: refused}
""",
    # Executes from the start with a call that may be repeated, then between the rounds.
    "repeatable": """
  - {id: fetch, kind: task, label: Fetch, tool: fetch, effect: reversible, next: round}
  - {id: round, kind: gateway, flow: exclusive, tier: high, label: Again, branches: [
      {branch: again, when: "false", to: fetch}, {branch: enough, to: mail-gate}]}
  - {id: mail-gate, kind: gate, label: Mail, next: mail}
  - {id: mail, kind: task, label: Mail, tool: mail, effect: irreversible, next: mailed}
  - {id: mailed, kind: end, label: Mailed, outcome: mailed}
""",
    # One gate, and behind it what must not happen twice.
    "pay": """
  - {id: signoff, kind: gate, label: Sign, next: {approved: pay, denied: refused}}
  - {id: pay, kind: task, label: Pay, tool: pay, effect: irreversible, next: paid}
  - {id: paid, kind: end, label: Paid, outcome: paid}
  - {id: refused, kind: end, label: Refused, outcome: refused}
""",
    # Two gates; the second is the irreversible step's own.
    "two-gates": """
  - {id: first, kind: gate, label: First, next: charge}
  - {id: charge, kind: task, label: Charge, tool: charge, effect: irreversible, next: second}
  - {id: second, kind: gate, label: Second, next: transfer}
  - {id: transfer, kind: task, tier: high, label: Transfer, tool: transfer, effect: irreversible, next: moved}
  - {id: moved, kind: end, label: Moved, outcome: moved}
""",
    # Gates side by side.
    "parallel": """
  - {id: fork, kind: gateway, flow: parallel, label: Both, next: [left, right]}
  - {id: left, kind: gate, label: Left, next: note}
  - {id: note, kind: task, label: Note, tool: note, effect: reversible, next: join}
  - {id: right, kind: gate, label: Right, next: send}
  - {id: send, kind: task, label: Send, tool: send, effect: irreversible, next: join}
  - {id: join, kind: gateway, flow: parallel, label: Joined, next: last}
  - {id: last, kind: gate, label: Last, next: {approved: done, denied: refused}}
  - {id: done, kind: end, label: Done, outcome: done}
  - {id: refused, kind: end, label: Refused, outcome: refused}
""",
    # A loop round an irreversible step: each time needs its own verdict.
    "instalments": """
  - {id: more, kind: gateway, flow: exclusive, tier: high, label: More, branches: [
      {branch: again, when: "false", to: instalment}, {branch: enough, to: closed}]}
  - {id: instalment, kind: task, label: Pay in, tool: pay-in, effect: irreversible, next: more}
  - {id: closed, kind: end, label: Closed, outcome: closed}
""",
}
LONG = 210
# More steps than one turn takes, so that a wake-up brings the rest.
TEMPLATES["long"] = "\n".join(
    [
        "",
        *(f"  - {{id: s{n}, kind: task, label: One, tool: look, effect: read, next: s{n + 1}}}" for n in range(LONG)),
        f"  - {{id: s{LONG}, kind: gate, label: Sign, next: closed}}",
        "  - {id: closed, kind: end, label: Closed, outcome: closed}",
    ]
)
WEIGHTS = {"shadowed": 60, "repeatable": 30, "pay": 10, "two-gates": 20, "parallel": 20, "instalments": 20, "long": 1}


@dataclass(frozen=True)
class Irreversible:
    """An irreversible step, and the verdict that a way to it leads past; `keyed` when the far side
    honours keys.
    """

    tool: str
    gate: str
    decision: str = "approved"
    keyed: bool = False


GUARDED = {
    ("shadowed", "file"): Irreversible("file", "signoff"),
    ("repeatable", "mail"): Irreversible("mail", "mail-gate", keyed=True),
    ("pay", "pay"): Irreversible("pay", "signoff"),
    ("two-gates", "charge"): Irreversible("charge", "first"),
    ("two-gates", "transfer"): Irreversible("transfer", "transfer"),
    ("parallel", "send"): Irreversible("send", "right"),
    ("instalments", "instalment"): Irreversible("pay-in", "more", "again"),
}
SHADOWED = frozenset({"look", "file"})
LIVE = frozenset({"fetch", "mail", "pay", "charge", "transfer", "note", "send", "pay-in"})
KEYED = frozenset({"fetch", "note", "mail"})


def connectors(port: int) -> dict[str, dict[str, Any]]:
    """How each live tool is bound to the ledger at that port."""
    return {
        tool: {
            "base_url": f"http://127.0.0.1:{port}",
            "method": "POST",
            "path": f"/{tool}",
            "reversible": True,
            "idempotent": tool in KEYED,
            "timeout_s": 5,
        }
        for tool in sorted(LIVE)
    }
