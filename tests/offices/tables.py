"""Tables to play at: positions in a word a seat, plans as text, and the auction played slowly."""

from collections.abc import Mapping
from random import Random
from typing import Any

from pbem import game as games
from pbem.game import Json, Played
from pbem.games import offices
from pbem.games.offices.position import State

NAMES = (
    "Magister Officiorum",
    "Praefectus Pretorio",
    "Comes Thesaurorum",
    "Praefectus Urbi",
    "Consul",
)


def table(
    holders: str = "Irene Basil - - -",
    gold: int | Mapping[str, int] = 10,
    lying: Mapping[int, int] | None = None,
    state: Mapping[str, Any] | None = None,
    **options: Any,
) -> State:
    """Make a position: who holds office 1, 2, …, `-` for a free one; a seat after `/` has none."""
    sitting, _, standing = holders.partition("/")
    who = sitting.split()
    seats = tuple(sorted([seat for seat in who if seat != "-"] + standing.split()))
    lying = lying or {}
    data = {
        "offices": [
            {
                "name": NAMES[at],
                "number": at + 1,
                "holder": None if seat == "-" else seat,
                "gold": lying.get(at + 1, 0),
            }
            for at, seat in enumerate(who)
        ],
        "gold": dict.fromkeys(seats, gold) if isinstance(gold, int) else dict(gold),
        **(state or {}),
    }
    return offices.load(data, seats, games.read_options(offices.OPTIONS, options, "offices"))


def play(state: State, gm: str = "", **plans: str) -> Played:
    """Run the phase with plans as text, lines parted by `/`."""
    texts: dict[str | None, str] = dict.fromkeys(state.seats, "")
    texts |= {seat: "\n".join(plan.split("/")) for seat, plan in plans.items()}
    return games.play(offices, state, {**texts, None: gm.replace("/", "\n")}, "a seed", 1)


def sits(state: State) -> str:
    """Return who holds office 1, 2, … as `table` takes it."""
    return " ".join(office.holder or "-" for office in state.offices)


def refused(played: Played, seat: str | None) -> list[int]:
    """Return the lines of a seat that were refused."""
    return sorted({problem.line for problem in played.problems.get(seat, ())})


def kinds(played: Played) -> list[str]:
    """Return the kinds of what happened, reasons left out."""
    return [event.kind for event in played.events if event.kind != "why"]


def random_plan(rng: Random, names: tuple[str, ...] = NAMES, most: int = 9) -> str:
    """Return a plan of random lines."""
    lines = []
    for _ in range(rng.randint(0, 7)):
        name = rng.choice(names)
        kind = rng.randrange(7)
        if kind <= 3:
            limit = f" UP TO {rng.randint(0, most)}" if rng.random() < 0.7 else ""
            lines.append(f"TAKE {name}{limit}")
        elif kind == 4:
            lines.append("STAY")
        elif kind == 5:
            general = rng.random() < 0.4
            lines.append(f"DEFEND {'' if general else name + ' '}UP TO {rng.randint(0, most)}")
        else:
            lines.append(f"GOOD {rng.choice(('green', 'blue', 'red', 'yellow'))}")
    return "\n".join(lines)


def slowly(state: State, plans: Mapping[Any, str]) -> Json:
    """Play a round of sealed plans as people at a table would, one raise after the other.

    Written apart from the game, from the rules alone, to be compared with it: `holders`, `gold`,
    `discarded`.
    """
    offices_, gold = [o.name for o in state.offices], dict(state.gold)
    holder = {o.name: o.holder for o in state.offices}
    area = {o.name: o.gold for o in state.offices}
    wishes: dict[str, list[tuple[str, int | None]]] = {}
    defend: dict[str, dict[str, int]] = {}
    for seat in state.seats:
        wishes[seat], defend[seat] = [], {}
        for line in plans.get(seat, "").splitlines():
            verb, _, rest = line.partition(" ")
            what, _, limit = f" {rest}".partition(" UP TO ")
            if verb in ("TAKE", "STAY"):
                wishes[seat].append((what.strip(), int(limit) if limit else None))
            elif verb == "DEFEND":
                defend[seat][what.strip()] = int(limit)

    def seat_of(seat: str) -> str | None:
        return next((name for name in offices_ if holder[name] == seat), None)

    def sit(seat: str, name: str, price: int) -> None:
        old = seat_of(seat)
        if old:
            holder[old] = None
        holder[name] = seat
        gold[seat] -= price
        area[name] += price

    def contest(challenger: str, name: str, limit: int | None) -> bool:
        """Let both raise by 1 until one passes; tell whether the challenger won."""
        defender = holder[name] or ""
        stop = defend[defender].get(name, defend[defender].get("", -1))
        bid = area[name] + 1
        while True:
            if bid + 1 > stop or bid + 1 > gold[defender]:
                sit_first = seat_of(challenger)
                if sit_first:
                    holder[sit_first] = None
                holder[name] = challenger
                gold[challenger] -= bid
                area[name] += bid
                return True
            bid += 1
            if limit is None or bid + 1 > limit or bid + 1 > gold[challenger]:
                gold[defender] -= bid
                area[name] += bid
                return False
            bid += 1

    def activate(seat: str, offered: str | None) -> None:
        while True:
            for at, (name, limit) in enumerate(wishes[seat]):
                mine = seat_of(seat)
                if not name or name == mine:
                    if mine:
                        return
                    continue
                if holder[name] is None:
                    if name == offered:
                        holder[name] = seat
                        return
                    if gold[seat] >= 2 and (limit is None or limit >= 2):
                        sit(seat, name, 2)
                        return
                    continue
                if gold[seat] <= area[name] or (limit is not None and limit <= area[name]):
                    continue
                if limit is None:
                    del wishes[seat][at]
                loser, left, offered = holder[name], mine, None
                if contest(seat, name, limit):
                    acted.add(loser or "")
                    activate(loser or "", left)
                    return
                break
            else:
                break
        if seat_of(seat):
            return
        if offered:
            holder[offered] = seat
        else:
            free = next(name for name in offices_ if holder[name] is None)
            sit(seat, free, min(2, gold[seat]))

    acted: set[str] = set()
    while True:
        due = [holder[name] for name in offices_ if holder[name] and holder[name] not in acted]
        if not due:
            break
        acted.add(due[0] or "")
        activate(due[0] or "", None)
    discarded = sum(area.values())
    treasurer = holder.get("Comes Thesaurorum")
    if treasurer:
        gold[treasurer] += 4
    return {
        "holders": [holder[name] for name in offices_],
        "gold": gold,
        "discarded": discarded,
    }
