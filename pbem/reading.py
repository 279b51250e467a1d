"""What the program would make of raw mail, without a database: the core of `pbem read`."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path

from pbem import commands, game, identity, message
from pbem.game import Json
from pbem.message import Letter
from pbem.orders import MOST_LINES, Grammar, Line


@dataclass(frozen=True, slots=True)
class Roster:
    """Who may write to us: addresses as they are compared, by the player they belong to.

    `own` are our addresses (`*` for any part), `authserv_id` the server whose
    Authentication-Results count.
    """

    players: Mapping[str, str]
    own: Collection[str]
    authserv_id: str


def read_mails(
    mails: Iterable[tuple[str | None, bytes]],
    game_key: str | None = None,
    roster: Path | None = None,
) -> list[Json]:
    """Say of each raw mail what would become of it, as `pbem read --json` prints it.

    They come one after the other into one mailbox, so a later copy of an earlier one is ignored.
    A mail with a name bears it as `file`. Raise `ValueError` for an unknown game or a file that
    is no roster.
    """
    grammar = grammar_of(game_key)
    known = read_roster(roster.read_text(encoding="utf-8")) if roster else None
    seen: set[str] = set()
    found: list[Json] = []
    for name, raw in mails:
        said = read_mail(raw, grammar, known, seen)
        found.append(said if name is None else {"file": name, **said})
    return found


def grammar_of(key: str | None) -> Grammar:
    """Return the orders of a game, of all installed ones for `None`, with the general commands."""
    games = [game.named(key)] if key else list(game.installed().values())
    return reduce(or_, (one.GRAMMAR for one in games)) | commands.PLAYER


def read_roster(text: str) -> Roster:
    """Read a roster (JSON: `players`, `own_addresses`, `authserv_id`); `ValueError` for another."""
    try:
        given = json.loads(text)
        players = {
            identity.folded(address): player
            for player, addresses in given["players"].items()
            for address in addresses
        }
        own = tuple(map(str, given.get("own_addresses", ())))
        return Roster(players, own, str(given.get("authserv_id", "")))
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"no roster: {error!r}; it needs players, each a list") from None


def read_mail(raw: bytes, grammar: Grammar, roster: Roster | None, seen: set[str]) -> Json:
    """Say of one raw mail what would become of it; `seen` remembers it for those that follow.

    With a roster the sender is judged too, by his address alone (trust `address`).
    """

    def lines_of(text: str) -> list[str]:
        return [line.text for line in _orders(grammar, text)]

    letter = message.read(
        raw, own=roster.own if roster else (), takes=lambda text: bool(lines_of(text))
    )
    lines = lines_of(letter.text) if letter.kind in ("mail", "list") else []
    action, why, answered = _judged(letter, roster, lines, seen)
    return {
        "from": letter.sender,
        "to": list(letter.to),
        "message_id": letter.message_id,
        "subject": letter.subject,
        "tag": letter.tag,
        "action": action,
        "why": why,
        "auto_reply": answered,
        "text": letter.text,
        "lines": lines if action == "accept" else [],
    }


def _orders(grammar: Grammar, text: str) -> list[Line]:
    general = {rule.make for rule in commands.PLAYER.rules}
    read = grammar.read(text, packaged=True).lines
    return [line for line in read if line.order and type(line.order) not in general]


def _judged(
    letter: Letter, roster: Roster | None, lines: Collection[str], seen: set[str]
) -> tuple[str, str, bool]:
    """Return the action, why, and whether an automatic answer goes out."""
    if letter.kind == "bounce":
        return "bounce", letter.why, False
    if letter.kind in ("auto", "own", "report", "bulk"):
        return "ignore", letter.why, False
    known = roster is None or identity.folded(letter.sender) in roster.players
    if letter.kind == "list" and not (known and lines):
        return "ignore", letter.why, False
    copy = f"{letter.digest} {letter.tag}"
    if copy in seen:
        return "ignore", "it is a copy of an earlier mail", False
    seen.add(copy)
    answered = letter.auto_reply and known
    if not letter.sender:
        senders = [identity.folded(sender) for sender in letter.senders]
        both = roster is not None and len(senders) > 1 and all(s in roster.players for s in senders)
        why = "its From holds no address, or more than one: whose mail is it?"
        return "reject", why, both and letter.auto_reply
    if not known:
        return "reject", f"{letter.sender} is no registered address", False
    if letter.kind in ("spam", "refused"):
        return "reject", letter.why, answered and letter.kind == "refused"
    server = roster.authserv_id if roster else ""
    fault = identity.vouched(letter.results, letter.sender, server).fault if server else ""
    if fault:
        return "reject", fault, False
    if len(letter.tags) > 1:
        return "reject", f"it is addressed to {' and '.join(letter.tags)}: which?", answered
    if len(lines) > MOST_LINES:
        return "reject", f"it has more than {MOST_LINES} order lines", answered
    if not lines:
        return "reject", letter.why or _nothing(letter), answered
    return "accept", "it is a player's mail with orders", answered


def _nothing(letter: Letter) -> str:
    cut = "; what it quotes was not taken" if letter.quoted else ""
    return f"there is no order line in it{cut}"
