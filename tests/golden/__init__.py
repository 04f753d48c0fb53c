"""Conversations to read: what was said to a run, what became fact, and how the run then stood.

Each `*.txt` beside this is a scenario. Only the lines that begin with `#`, `process`, `*` or `>`
are written by hand; the rest is what the core answers. `PENSTOCK_UPDATE_GOLDEN=1 pytest
tests/golden` writes it anew.

    > start amount=12                        auto_resolve=false makes every step wait for a human
    > resume signoff approved     by=bob role=owner comment="…" seen=1 (the gate as it opened first)
    > returned pay:1 receipt=7               what the tool answered; signal=true makes it a hit
    > failed pay:1                           the call failed for good
    > lost pay:1                             nobody can know whether the call took effect
    > retry, cancel, elapsed pay:1
    * connector pay path=/v2                 from now on the tool is called for real, there
"""
