"""Lines of a player's mail that are the game master's to write, and so no orders of his."""

import re
from collections.abc import Collection, Iterator

from pbem import commands, typography
from pbem.names import choose
from pbem.orders import Line, Problem, Reading
from pbem.store import Seat

# Verbs that are everyday words too: such a line is an order only with the verb in capitals.
_EVERYDAY = ("DROP", "END", "EXTEND", "HOLD", "RELEASE", "SAY", "SET")
_PRESS = (commands.Press, commands.AnonymousPress)
_WHOSE = "the game master's order"
_HEADING = "ORDERS FOR "
# Most mails have no such line, and need no second reading.
_LIKELY = re.compile(rf"^\W*(?:{'|'.join(commands.GAME_MASTER.verbs)})\b", re.I | re.M)


def without_blocks(text: str, reading: Reading, seat: Seat) -> str:
    """Return a player's words without his blocks of orders for another seat, each left blank.

    `Orders for turn 3` is a heading as people write it, and so is one with his own seat's name.
    """
    if not _LIKELY.search(text):
        return text
    press = _of_press(reading)
    lines = typography.lines(text)
    for line in commands.GAME_MASTER.read(text, gm=True).lines:
        if line.number in press or not line.text.upper().startswith(_HEADING):
            continue
        if isinstance(line.order, commands.OrdersFor):
            end = line.number + len(line.order.body) + 1
        elif line.problem:
            end = len(lines)
        else:
            continue
        if _is_for_another(line, seat):
            lines[line.number : end] = [""] * len(lines[line.number : end])
    return "\n".join(lines)


def _is_for_another(line: Line, seat: Seat) -> bool:
    name = line.text[len(_HEADING) :].strip()
    meant, _ = choose(name, [other.name for other in seat.match.seats], "seat")
    if meant is None:
        return line.order is not None and line.text.startswith(_HEADING)
    return meant != seat.name


def marked(reading: Reading, text: str, seat: Seat, ours: Collection[str], hint: str) -> Reading:
    """Return a player's words as read, with a problem at each line that only a game master orders.

    `text` is all of them, the blocks too; `ours` are the verbs of the game, `hint` is added to each
    problem.
    """
    if not _LIKELY.search(text):
        return reading
    found = dict(_found(reading, text, seat, ours))
    if not found:
        return reading
    said = {
        number: Line(number, line, problem=Problem(number, f"{verb} is {_WHOSE}{hint}"))
        for number, (line, verb) in found.items()
    }
    kept = [line for line in reading.lines if line.number not in said]
    return Reading(tuple(sorted((*kept, *said.values()), key=lambda line: line.number)))


def _found(
    reading: Reading, text: str, seat: Seat, ours: Collection[str]
) -> Iterator[tuple[int, tuple[str, str]]]:
    taken = {line.number for line in reading.lines if line.order} | _of_press(reading)
    for line in commands.GAME_MASTER.read(text, gm=True).lines:
        verb = line.text.partition(" ")[0]
        block = line.text.upper().startswith(_HEADING) and (line.order or line.problem)
        if line.number in taken or verb.upper() in ours:
            continue
        if block and _is_for_another(line, seat):
            yield line.number, (line.text, "ORDERS FOR")
        elif line.order and not block and (verb.upper() not in _EVERYDAY or verb.isupper()):
            yield line.number, (line.text, verb.upper())


def _of_press(reading: Reading) -> set[int]:
    """Return the numbers of the lines inside blocks of press."""
    return {
        number
        for line in reading.lines
        if isinstance(line.order, _PRESS)
        for number in range(line.number + 1, line.number + len(line.order.body) + 2)
    }
