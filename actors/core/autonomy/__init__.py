"""What may be cleared without a human: a company's settings, and what people's decisions tell.

`settings` is what a company allows, `records` what is known of a step, `calibration` how it is
counted, `weighing` whether a step may be cleared on it, `seats` who judges it. Pure, as all of
the core.
"""

from actors.core.autonomy.records import CASES_MIN, NO_RECORD, UNRECORDED, Breakpoint, Record
from actors.core.autonomy.settings import Autonomy, Learnable
from actors.core.autonomy.weighing import ClearanceDecision, PanelVerdict, decide_clearance

__all__ = [
    "CASES_MIN",
    "NO_RECORD",
    "UNRECORDED",
    "Autonomy",
    "Breakpoint",
    "ClearanceDecision",
    "Learnable",
    "PanelVerdict",
    "Record",
    "decide_clearance",
]
