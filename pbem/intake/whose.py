"""Whose a mail is: its player's, the game master's, an applicant's, or nobody's (`mail.md`)."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlalchemy import select

from pbem import identity, matches
from pbem.identity import Claim
from pbem.intake.lookup import Lookup
from pbem.store import Applicant, Match, Seat

if TYPE_CHECKING:
    from pbem.message import Letter


class Whose(NamedTuple):
    """Whose a mail is.

    `sure`: its seat's, beyond doubt; `ask`: the seat's registered address is asked to confirm;
    `which`: several seats may be meant; `unproven`: its seat's player is told that it lacks what
    the match asks for; `gm`, `applicant`, `new address`: theirs; `nobody`.
    """

    verdict: Literal["sure", "ask", "which", "unproven", "gm", "applicant", "new address", "nobody"]
    why: str = ""
    seat: Seat | None = None
    match: Match | None = None
    applicant: Applicant | None = None


# Mail that goes to many: it counts with a token only, and is never answered.
_MANY = ("list", "bulk")

NOBODY = Whose("nobody", "the sender is nobody's registered address")


def whose(lookup: Lookup, letter: "Letter", raw: bytes) -> Whose:
    """Find whose a mail is by the tokens it shows, then by its sender and the match it names."""
    if not letter.sender:
        return _of_several(lookup, letter)
    config = lookup.config
    vouched = identity.vouched(letter.results, letter.sender, config.mail.authserv_id)
    if config.mail.authserv_id and vouched.fault:
        return Whose("nobody", vouched.fault)
    known = lookup.seats_at(letter.sender)
    if len(letter.tags) > 1 and known:
        return _which(known, letter.tags)
    claims = identity.claims(letter.to, letter.references, letter.text)
    is_gm = identity.folded(letter.sender) == identity.folded(config.game_master.address)
    for claim in claims:
        found = _proven(lookup, claim, letter, known, is_gm)
        if found is None:
            continue
        seat = found.seat
        if found.verdict == "sure" and seat and _wants_dkim(seat) and not vouched.passed:
            return found if identity.signed(raw, letter.sender) else _unsigned(seat)
        return found
    if is_gm and not known and letter.kind == "mail":
        match = lookup.match(letter.tag) if letter.tag else None
        return Whose("unproven", "a game master's mail without his token", match=match)
    return _by_address(lookup, letter, known)


def _of_several(lookup: Lookup, letter: "Letter") -> Whose:
    """Judge a mail that nobody signs alone: with a seat's token its player is asked."""
    why = "no sender, or several"
    if len(letter.senders) < 2 or letter.kind in _MANY:
        return Whose("nobody", why)
    for claim in identity.claims(letter.to, letter.references, letter.text):
        match = lookup.match(claim.match) if claim.match else None
        for seat in match.seats if match else ():
            if match is not None and _bears(claim, match, seat):
                return Whose("ask", "a valid token, but several senders", seat)
    return Whose("nobody", why)


def _wants_dkim(seat: Seat) -> bool:
    return seat.match.settings.get("trust") == "dkim"


def _unsigned(seat: Seat) -> Whose:
    why = "this match takes signed mail only, and yours bears no signature (DKIM) that holds"
    return Whose("unproven", why, seat)


def _proven(
    lookup: Lookup, claim: Claim, letter: "Letter", known: Sequence[Seat], is_gm: bool
) -> Whose | None:
    """Tell whose the token is that a claim bears, compared in constant time; `None` if nobody's."""
    for seat in known:
        if claim.match in (None, seat.match.name) and _bears(claim, seat.match, seat):
            return Whose("sure", seat=seat)
    match = lookup.match(claim.match) if claim.match else None
    if match is None:
        return None
    if identity.is_token(claim.token, matches.token(match, None)):
        why = "a game master's token from an address that is not his"
        return Whose("gm", match=match) if is_gm else Whose("nobody", why)
    for seat in match.seats:
        if _bears(claim, match, seat):
            if letter.kind in _MANY:
                return Whose("nobody", "a valid token from an address that is not the player's")
            why = "a valid token from an address that is not the player's"
            return Whose("ask", why, seat)
        asked = identity.address_token(match.name, seat.name, seat.key, letter.sender)
        if identity.is_token(claim.token, asked):
            return Whose("new address", seat=seat)
    for applicant in _applicants(lookup, match, letter.sender):
        if identity.is_token(claim.token, matches.token(match, applicant)):
            return Whose("applicant", match=match, applicant=applicant)
    return None


def _bears(claim: Claim, match: Match, seat: Seat) -> bool:
    return identity.is_token(claim.token, matches.token(match, seat))


def _applicants(lookup: Lookup, match: Match, sender: str) -> Iterable[Applicant]:
    query = select(Applicant).where(
        Applicant.match_id == match.id, Applicant.folded == identity.folded(sender)
    )
    return lookup.session.scalars(query).all()


def _by_address(lookup: Lookup, letter: "Letter", known: Sequence[Seat]) -> Whose:
    """Judge a mail that shows no token by its sender's address and the match it names."""
    if not known:
        return NOBODY
    if letter.kind in _MANY:
        return Whose("nobody", "a list's mail without the token of a letter of ours")
    named = [seat for seat in known if seat.match.name == letter.tag]
    if letter.tag and not named and lookup.match(letter.tag):
        return Whose("unproven", f"you have no seat in {letter.tag}", known[0])
    alive = [seat for seat in known if seat.match.status in ("running", "held", "open")]
    meant = named or alive or list(known)
    if len(meant) > 1:
        return _which(meant, dict.fromkeys(seat.match.name for seat in meant))
    seat = meant[0]
    match seat.match.settings.get("trust"):
        case "address":
            return Whose("sure", seat=seat)
        case "dkim":
            return Whose("unproven", "this match takes answers to its letters only", seat)
    return Whose("ask", "a known address without the token of a letter of ours", seat)


def _which(seats: Sequence[Seat], names: Iterable[str]) -> Whose:
    there_are = ", ".join(names)
    why = f"it does not say which seat it is for ({there_are}); answer that match's last letter"
    return Whose("which", why, seats[0])
