"""The running of a phase: from lawful orders to the next state and the events that led there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from pbem.game import Event, Orders, Outcome
from pbem.games.empires.auction import (
    Bids,
    Blocked,
    Claimed,
    Contested,
    Step,
    references,
    resolve,
)
from pbem.games.empires.leftovers import Deal, pick, roll_contests, roll_picks
from pbem.games.empires.orders import Bid, Pick, Prefer, Score
from pbem.games.empires.state import Claim, Contest, Past, Round, State, winners
from pbem.usage import Order

LAST_ROUND = 3
V = TypeVar("V")


def adjudicate(state: State, orders: Orders, rng: Random) -> Outcome:
    """Run the phase with all seats' lawful orders at once (`None`: the game master's)."""
    if state.phase == "bid":
        new, events = _bid(state, orders, rng)
    elif state.phase == "pick":
        new, events = _pick(state, orders)
    elif state.phase == "score":
        new, events = _score(state, orders)
    else:
        new, events = state, []
    return Outcome(new, events, {})


def waiting(state: State) -> list[str]:
    """Name the seats that may send orders now, in seat order."""
    return list(state.free) if state.phase in ("bid", "pick") else []


def asks(state: State) -> tuple[str, list[str]]:
    """Say what the game master is to enter: the VP of each seat that has none yet this epoch."""
    if state.phase != "score":
        return "", []
    missing = [seat for seat in state.seats if seat not in state.scores]
    said = f"Epoch {state.epoch} is bid for: once it is played, enter the VP each seat won in it."
    return f"{said} When every seat has some, the next epoch begins.", [
        f"SCORE {seat} __" for seat in missing
    ]


def is_entered(state: State, orders: Sequence[Order]) -> bool:
    """Tell whether every seat has its VP of the epoch, by these orders too."""
    given = {order.seat for order in orders if isinstance(order, Score)}
    return state.phase == "score" and given.union(state.scores) >= set(state.seats)


def forecast(state: State, seat: str, orders: Sequence[Order]) -> list[Event]:
    """Say what a seat's lawful orders would bring if nobody else sent any: its claim, if one."""
    if state.phase == "pick":
        _, events = _pick(state, {seat: orders})
    elif state.phase == "bid":
        bids, prefer = {seat: _bids(orders)}, {seat: _wishes(orders)}
        deals = [deal for step in resolve(bids, prefer) for deal in _deal(step)]
        events = [event for deal in deals for event in _told(state, deal, "bid")]
    else:
        events = []
    return [event for event in events if event.kind == "claim"]


def _bid(state: State, orders: Orders, rng: Random) -> tuple[State, list[Event]]:
    """Resolve a round (1 to 4a), and what is left after it (4c, 5, 5a)."""
    bids = {seat: _bids(orders.get(seat, ())) for seat in state.free}
    wishes = {seat: _wishes(orders.get(seat, ())) for seat in state.free}
    events = [e for seat in state.free for e in _sheet(state, seat, bids[seat], wishes[seat])]
    steps = resolve(bids, wishes)
    now = state
    for step in steps:
        events += _story(state, step, bids)
        for deal in _deal(step):
            now, told = _charge(now, deal, "bid")
            events += told
    contests = [step for step in steps if isinstance(step, Contested)]
    if state.round == LAST_ROUND and contests:
        order, deals = roll_contests(contests, bids, wishes, rng)
        events.append(Event("dice", {"rule": "4c", "order": order}))
        now, told = _charge_all(now, deals, "dice")
        without = [seat for seat in state.seats if seat in set(order) - set(now.claims)]
        events += [*told, *(Event("without", {"seat": seat}) for seat in without)]
    if state.round == LAST_ROUND and len(now.free) > 1:
        order, deals = roll_picks(now.free, now.open, bids, wishes, rng)
        events.append(Event("dice", {"rule": "5a", "order": order}))
        now, told = _charge_all(now, deals, "roll")
        events += told
    if len(now.free) == 1:
        [seat] = now.free
        if len(now.open) == 1 or wishes[seat]:
            now, told = _charge(now, pick(seat, now.open, wishes[seat], bids[seat]), "last")
            events += told
    seen = {seat: {e: mine[e] for e in state.empires if mine.get(e)} for seat, mine in bids.items()}
    new = {seat: claim for seat, claim in now.claims.items() if seat not in state.claims}
    now = replace(now, contested={}, rounds=(*state.rounds, Round(state.round, seen, new)))
    if len(now.free) > 1:
        ahead = {step.empire: Contest(step.seats, step.amount) for step in contests}
        facts = {"round": now.round + 1, "free": list(now.free)}
        events.append(Event("next_round", facts))
        return replace(now, round=now.round + 1, contested=_in_order(ahead, state.empires)), events
    if now.free:
        events.append(Event("asked", {"seat": now.free[0], "open": dict(now.open)}))
        return replace(now, phase="pick"), events
    return _to_score(now, events)


def _pick(state: State, orders: Orders) -> tuple[State, list[Event]]:
    """Give the last player what he picks, else the cheapest (5)."""
    now, events = state, list[Event]()
    for seat in state.free:
        mine = orders.get(seat, ())
        asked = [order.empire for order in mine if isinstance(order, Pick)]
        deal = pick(seat, state.open, asked[-1:] or _wishes(mine), {})
        if asked and deal.how == "prefer":
            deal = deal._replace(how="answer")
        now, events = _charge(state, deal, "pick")
    if state.rounds:
        last = state.rounds[-1]
        new = {seat: claim for seat, claim in now.claims.items() if seat not in state.claims}
        merged = _in_order({**last.claims, **new}, state.seats)
        now = replace(now, rounds=(*state.rounds[:-1], last._replace(claims=merged)))
    return _to_score(now, events)


def _score(state: State, orders: Orders) -> tuple[State, list[Event]]:
    """Take the game master's VP; once every seat has them the epoch is over."""
    given = {order.seat: order.points for order in orders.get(None, ()) if isinstance(order, Score)}
    events = [
        Event("score", {"seat": seat, "points": given[seat]}, _ledger(state, seat))
        for seat in state.seats
        if seat in given
    ]
    scores = _in_order({**state.scores, **given}, state.seats)
    if len(scores) < len(state.seats):
        missing = [seat for seat in state.seats if seat not in scores]
        events.append(Event("scores_due", {"epoch": state.epoch, "seats": missing}))
        return replace(state, scores=scores), events
    vp = {seat: state.vp[seat] + scores[seat] for seat in state.seats}
    last = state.epoch == len(state.sheet)
    events.append(Event("epoch_over", {"epoch": state.epoch, "name": _name(state)}))
    for seat in state.seats:
        claim = state.claims.get(seat)
        facts: dict[str, Any] = {
            "seat": seat,
            "empire": claim.empire if claim else None,
            "price": claim.price if claim else 0,
            "points": scores[seat],
            "vp": vp[seat],
        }
        hidden = state.shown == "end" and not last
        events.append(Event("balance", facts, (seat,) if hidden else None))
    done = Past(state.epoch, state.empires, state.rounds, state.claims, scores)
    now = replace(state, vp=vp, scores={}, rounds=(), contested={}, past=(*state.past, done))
    if last:
        now = replace(now, phase="over")
        events.append(Event("over", {"winners": winners(now), "vp": dict(vp)}))
        return now, events
    empires = state.sheet[state.epoch].for_seats(len(state.seats))
    now = replace(now, phase="bid", epoch=state.epoch + 1, round=1, empires=empires, claims={})
    events.append(
        Event("epoch", {"epoch": now.epoch, "name": _name(now), "empires": dict(empires)})
    )
    return now, events


def _to_score(state: State, events: list[Event]) -> tuple[State, list[Event]]:
    due = Event("scores_due", {"epoch": state.epoch, "seats": list(state.seats)})
    return replace(state, phase="score", contested={}, scores={}), [*events, due]


def _bids(orders: Sequence[Order]) -> dict[str, int]:
    """Return a seat's bids in the order of its lines; a later line has its own place."""
    bids: dict[str, int] = {}
    for order in orders:
        if isinstance(order, Bid):
            bids.pop(order.empire, None)
            bids[order.empire] = order.amount
    return bids


def _wishes(orders: Sequence[Order]) -> Sequence[str]:
    """Return what the last PREFER names; empty where none was sent."""
    return next((o.empire for o in reversed(orders) if isinstance(o, Prefer)), ())


def _deal(step: Step) -> Iterable[Deal]:
    return [Deal(step.seat, step.empire, step.amount, "bid")] if isinstance(step, Claimed) else []


def _charge(state: State, deal: Deal, by: str) -> tuple[State, list[Event]]:
    """Give a seat its empire and take the price off its VP."""
    claims = {**state.claims, deal.seat: Claim(deal.empire, deal.price)}
    vp = {**state.vp, deal.seat: state.vp[deal.seat] - deal.price}
    now = replace(state, claims=_in_order(claims, state.seats), vp=vp)
    return now, _told(now, deal, by)


def _charge_all(state: State, deals: Sequence[Deal], by: str) -> tuple[State, list[Event]]:
    events: list[Event] = []
    for deal in deals:
        state, told = _charge(state, deal, by)
        events += told
    return state, events


def _in_order(values: Mapping[str, V], names: Iterable[str]) -> dict[str, V]:
    return {name: values[name] for name in names if name in values}


def _name(state: State) -> str:
    return state.sheet[state.epoch - 1].name


def _sealed(state: State) -> tuple[str, ...] | None:
    """Return who may see what bids decided: everybody, or with `claims` nobody before the end."""
    return None if state.announce == "bids" else ()


def _ledger(state: State, seat: str) -> tuple[str, ...] | None:
    """Return who may see a seat's VP in the middle of an epoch."""
    return None if state.shown == "open" else (seat,)


def _sheet(state: State, seat: str, bids: Mapping[str, int], wishes: Sequence[str]) -> list[Event]:
    """Open a seat's sheet: its bids to those who may see them, its wishes to itself."""
    seen_by = None if state.announce == "bids" else (seat,)
    mine = {empire: bids[empire] for empire in state.empires if bids.get(empire)}
    events = [Event("bids", {"seat": seat, "round": state.round, "bids": mine}, seen_by)]
    if wishes:
        events.append(Event("wishes", {"seat": seat, "prefer": list(wishes)}, (seat,)))
    return events


def _story(state: State, step: Step, bids: Bids) -> list[Event]:
    """Tell which rule decided a step, with the numbers it went by."""
    sealed = _sealed(state)
    match step:
        case Claimed():
            rules = [("2", step.passed), ("2a", step.left), ("3", step.tied)]
            facts: dict[str, Any] = {
                "seat": step.seat,
                "empire": step.empire,
                "amount": step.amount,
                "rules": [rule for rule, reason in rules if reason] or ["1"],
                "passed": list(step.passed),
                "left": list(step.left),
                "tied": list(step.tied),
                "compared": _compared(bids, step.empire, step.seat, step.tied),
            }
            return [Event("decided", facts, sealed)]
        case Contested():
            contest = {
                "empire": step.empire,
                "seats": list(step.seats),
                "minimum": step.amount,
                "round": state.round,
            }
            alike = {
                "empire": step.empire,
                "seats": list(step.seats),
                "references": references(bids[step.seats[0]], step.empire),
                "lost": list(step.lost),
                "compared": _compared(bids, step.empire, step.seats[0], step.lost),
            }
            return [Event("contest", contest), Event("alike", alike, sealed)]
        case Blocked():
            facts = {**step._asdict(), "others": list(step.others), "round": state.round}
            return [Event("blocked", facts, sealed)]


def _compared(
    bids: Bids, empire: str, best: str, others: Sequence[str]
) -> dict[str, list[int]] | None:
    """Return the reference bids of the best and of the next, up to the one that decides (3)."""
    if not others:
        return None
    lists = [references(bids[seat], empire) for seat in (best, others[0])]
    length = max(map(len, lists))
    one, other = (numbers + [0] * (length - len(numbers)) for numbers in lists)
    place = next(at for at in range(length) if one[at] != other[at]) + 1
    return {best: one[:place], others[0]: other[:place]}


def _told(state: State, deal: Deal, by: str) -> list[Event]:
    """Tell a claim and what it cost; `by` is bid, dice (4c), roll (5a), last or pick (5)."""
    claim = {"seat": deal.seat, "empire": deal.empire, "price": deal.price, "by": by}
    events = [Event("claim", claim)]
    if by in ("roll", "last", "pick"):
        how = {"seat": deal.seat, "empire": deal.empire, "how": deal.how}
        events.append(Event("chosen", how, _sealed(state)))
    charged = {"seat": deal.seat, "price": deal.price, "vp": state.vp[deal.seat]}
    events.append(Event("charge", charged, _ledger(state, deal.seat)))
    return events
