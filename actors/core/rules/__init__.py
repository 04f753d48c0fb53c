"""The rules that make a template governable, and what a graph says of its gates."""

from actors.core.rules.graph import violations
from actors.core.rules.guards import guards
from actors.core.rules.policies import policy_warnings
from actors.core.rules.violation import RULES, EdgeName, Violation

__all__ = ["RULES", "EdgeName", "Violation", "guards", "policy_warnings", "violations"]
