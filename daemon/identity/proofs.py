"""What proved a session, and in which companies that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from daemon.identity.company.settings import Policies
from daemon.identity.second_factors import OTP, SecondFactors
from daemon.identity.tokens import PWD, SSO_PREFIX, Principal
from daemon.model import StoredAccount

Missing = Literal["password", "second_factor", "single_sign_on"]


class ProofMissing(Exception):
    """The session does not count in a company before something else is proven, too."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing)
        self.missing = missing


class Whose(NamedTuple):
    """A session: whose it is, in which company, and what proved it."""

    user_id: str
    email: str
    company_id: str
    role: str
    session_id: str
    amr: tuple[str, ...]


class Proofs:
    """Judges what proved sessions, by the policies of companies and the mapping of domains."""

    def __init__(self, policies: Policies, second_factors: SecondFactors) -> None:
        self._policies = policies
        self._second_factors = second_factors
        self.mapped: Callable[[str], str | None] = lambda _: None
        """The company to which the domain of an address is mapped."""

    def amr(self, principal: Principal) -> tuple[str, ...]:
        """What proved a session; who enrolled a second factor in it has proven that, too."""
        if OTP not in principal.amr and self._second_factors.confirmed_in(principal.user_id, principal.session_id):
            return (*principal.amr, OTP)
        return principal.amr

    def missing(self, principal: Principal) -> Missing | None:
        """What the session has to prove before it counts in its company; machines prove nothing."""
        if principal.kind != "person" or (PWD in principal.amr and not self._policies.asks_more(principal.company_id)):
            return None
        who = (principal.user_id, principal.email, principal.company_id, principal.role, principal.session_id)
        return self.missing_of(Whose(*who, principal.amr))

    def missing_in(self, account: StoredAccount, session_id: str, amr: tuple[str, ...]) -> Missing | None:
        """As `missing`, for a session that is to be carried over into the company of an account."""
        who = (account.user.id, account.user.email, account.company.id, account.member.role, session_id)
        return self.missing_of(Whose(*who, amr))

    def missing_of(self, whose: Whose) -> Missing | None:
        by_password, takes = PWD in whose.amr, self._policies.takes_passwords(whose.company_id)
        asks = self._policies.asks_for_second_factor(whose.company_id, whose.role)
        if self.mapped(whose.email) == whose.company_id:
            if by_provider(whose.amr):
                return None  # the provider asks for what it wants to see
            if not takes:
                return "single_sign_on"
        if not by_password:
            return "password"
        proven = not asks or self._second_factors.proven(whose.user_id, whose.session_id, whose.amr)
        return None if proven else "second_factor"


def by_provider(amr: Iterable[str]) -> bool:
    """Whether an OpenID provider vouches for a session."""
    return any(one.startswith(SSO_PREFIX) for one in amr)


def merged(*each: tuple[str, ...]) -> tuple[str, ...]:
    """What several proofs prove together."""
    return tuple(dict.fromkeys(one for amr in each for one in amr))
