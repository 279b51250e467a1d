"""Players come and go: joining, waiting lists, leaving, taking over; each person has his tenure."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from pbem import brakes, making, matches, outbox, players, store
from pbem.config import Config
from pbem.store import Applicant, Tenure
from tests.conftest import BOARD, NOW, Post, begin, idle, mail
from tests.flow.rig import (
    DAY,
    DEADLINE,
    HOUR,
    MINUTE,
    WEEK,
    Office,
    do,
    history,
    letters,
    newest,
    opened,
    refused,
    run,
    said,
    seat_of,
    sheet,
    the_match,
    told_gm,
    turn,
)

AFTER = DEADLINE + MINUTE


def _open(engine: Engine, seats: int = 2, named: tuple[str, ...] = ()) -> None:
    plan = making.Plan(
        game="hexem",
        match="hexem1",
        players=tuple(making.Player(one, (f"{one.lower()}@example.org",)) for one in named),
        options={"trust": "address", "board": BOARD, "seed": "secret"},
        schedules=("weekly Sun 20:00",),
        zone="Europe/Berlin",
        open_seats=seats,
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)


def _apply(engine: Engine, person: str, at: datetime = NOW) -> int | None:
    with opened(engine) as (session, row):
        applicant = players.apply(session, row, person, f"{person.lower()}@example.org", at)
        return applicant.id if applicant else None


def _join(engine: Engine, person: str, at: datetime = NOW) -> str:
    number = _apply(engine, person, at)
    assert number is not None
    with store.writing(engine) as session:
        return players.join(session, session.get_one(Applicant, number), at)


def test_an_open_match_begins_when_its_last_seat_is_joined(engine: Engine) -> None:
    _open(engine, 1, ("Ann",))
    row = the_match(engine)
    assert (row.status, row.phase, row.open_seats, row.deadline) == ("open", "open", 1, None)
    assert [one.kind for one in letters(engine)] == ["notice"]
    told = _join(engine, "Bob", NOW + DAY)
    assert told == "You play Bob in hexem1, and the match begins."
    row = the_match(engine)
    assert (row.status, row.phase, row.open_seats, row.deadline) == (
        "running",
        "countries",
        0,
        DEADLINE,
    )
    assert [(one.kind, one.person) for one in letters(engine, "welcome")] == [
        ("welcome", "Ann"),
        ("welcome", "Bob"),
    ]
    assert sorted(turn(engine, 0).state) == sorted({"phase", "turn", "hexes"})


def test_who_joins_is_asked_by_one_letter_first_and_has_no_seat_before(engine: Engine) -> None:
    _open(engine)
    _apply(engine, "Ann")
    assert the_match(engine).open_seats == 2
    (asked,) = letters(engine, "join")
    assert (asked.recipient, asked.facts) == ("ann@example.org", {})
    # Once a day at the most.
    assert _apply(engine, "Ann", NOW + HOUR) is None
    assert _apply(engine, "Ann", NOW + DAY + HOUR) is not None
    assert len(letters(engine, "join")) == 2


def test_a_match_asks_at_most_twenty_addresses_a_day(engine: Engine) -> None:
    _open(engine)
    asked = [_apply(engine, f"Guest{number}") for number in range(25)]
    assert sum(one is not None for one in asked) == players.MOST_JOINING == 20
    assert _apply(engine, "Guest24", NOW + DAY + HOUR) is not None


def test_who_has_a_seat_or_waits_is_not_asked_again(engine: Engine) -> None:
    begin(engine)
    assert _apply(engine, "Ann") is None
    _join(engine, "Cleo")
    assert _apply(engine, "Cleo", NOW + 2 * DAY) is None


def test_two_of_the_same_name_and_odd_names_get_seats_of_their_own(engine: Engine) -> None:
    begin(engine)
    with opened(engine) as (_, row):
        assert players.free_name(row, "Ann") == "Ann 2"
        assert players.free_name(row, "GM") == "GM 2"
        assert players.free_name(row, "  <x>;\x1b[1m  ") == "x [1m"
        assert players.free_name(row, "") == "Player"
        assert len(players.free_name(row, "A" * 200)) <= players.LONGEST_NAME


def test_in_a_match_that_has_begun_who_joins_stands_by_and_the_game_master_is_told(
    match: str, engine: Engine
) -> None:
    assert "on the list of hexem1" in _join(engine, "Cleo")
    assert told_gm(engine) == ["Cleo stands by"]
    said(engine, "DROP Bob", NOW)
    (notice,) = [one for one in letters(engine, "notice", to="") if "vacant" in one.facts["about"]]
    assert notice.facts["remedies"][0] == "REPLACE Bob WITH Cleo cleo@example.org"


def test_a_confirmation_counts_once(engine: Engine) -> None:
    _open(engine)
    number = _apply(engine, "Ann")
    with store.writing(engine) as session:
        players.join(session, session.get_one(Applicant, number), NOW)
    with store.writing(engine) as session, pytest.raises(ValueError, match="nothing to confirm"):
        players.join(session, session.get_one(Applicant, number), NOW)
    assert the_match(engine).open_seats == 1


def test_who_leaves_before_the_match_begins_opens_his_seat_again(engine: Engine) -> None:
    _open(engine)
    _join(engine, "Ann", NOW)
    do(engine, "Ann", players.drop, NOW + HOUR, "Ann")
    row = the_match(engine)
    assert (row.seats, row.open_seats, row.status) == ([], 2, "open")
    _join(engine, "Bob", NOW + HOUR)
    _join(engine, "Ann", NOW + 2 * DAY)
    assert [(seat.name, seat.position) for seat in the_match(engine).seats] == [
        ("Bob", 0),
        ("Ann", 1),
    ]
    assert the_match(engine).status == "running"


def test_resign_leaves_the_seat_vacant_and_the_match_goes_on(match: str, engine: Engine) -> None:
    idle(engine)
    do(engine, "Bob", players.drop, NOW, "Bob")
    row = the_match(engine)
    assert [len(seat.addresses) for seat in row.seats] == [1, 0]
    assert told_gm(engine) == ["The seat Bob is vacant"]
    assert letters(engine, "notice", to="Ann")[0].facts["about"] == "Bob has left the match"
    assert [one.who for one in history(engine, "resigned")] == ["Bob"]
    assert run(engine, AFTER) == ["ran"]
    # Nobody waits for a vacant seat, and nobody writes to it.
    sheet(engine, "Ann", "", AFTER)
    assert brakes_remind(engine, DEADLINE + WEEK - HOUR) == 0
    assert run(engine, AFTER + WEEK) == ["ran"]
    assert [one.person for one in letters(engine, "report")] == ["Ann", "Ann"]


def brakes_remind(engine: Engine, at: datetime) -> int:
    with store.writing(engine) as session:
        return brakes.remind(session, at)


def test_a_vacant_seat_cannot_be_dropped_again(match: str, engine: Engine) -> None:
    do(engine, "Bob", players.drop, NOW, "gm")
    with pytest.raises(ValueError, match="Bob is vacant already"):
        do(engine, "Bob", players.drop, NOW, "gm")


def test_replace_the_seat_keeps_its_name_and_its_new_player_gets_all_he_needs_and_a_full_phase(
    match: str, engine: Engine
) -> None:
    old = matches.token(the_match(engine), seat_of(the_match(engine), "Bob"))
    saturday = DEADLINE - DAY
    said(engine, "REPLACE Bob WITH Cleo Clarke cleo@example.org", saturday)
    row = the_match(engine)
    bob = seat_of(row, "Bob")
    assert (bob.name, bob.person) == ("Bob", "Cleo Clarke")
    assert [one.address for one in bob.addresses] == ["cleo@example.org"]
    welcome = letters(engine, "welcome")[-1]
    assert (welcome.recipient, welcome.facts) == ("cleo@example.org", {"takes_over": True})
    # The old player's letters prove nothing any more.
    assert matches.token(row, bob) != old
    assert row.deadline == DEADLINE + WEEK
    assert "gets a full phase" in letters(engine, "deadline", to="Ann")[0].facts["why"]
    about = letters(engine, "notice", to="Ann")[0].facts["about"]
    assert about == "Cleo Clarke plays Bob from now on"


def test_replace_leaves_the_deadline_where_a_full_phase_is_left(match: str, engine: Engine) -> None:
    said(engine, "REPLACE Bob WITH Cleo cleo@example.org", NOW)
    assert the_match(engine).deadline == DEADLINE
    assert letters(engine, "deadline") == []


def test_who_left_cannot_order_any_more_though_he_has_his_old_letters(
    match: str, engine: Engine, post: Post
) -> None:
    row = the_match(engine)
    to = f"game+hexem1.{matches.token(row, seat_of(row, 'Bob'))}@example.org"
    bob = "bob@example.org"
    assert post(mail("BID x 1", sender=bob, to=to)).status == "filed"
    said(engine, "DROP Bob", NOW)
    assert post(mail("BID x 2", sender=bob, to=to, number=2)).status == "rejected"


def test_who_retakes_his_own_seat_moves_no_deadline(match: str, engine: Engine) -> None:
    said(engine, "DROP Bob", NOW)
    said(engine, "REPLACE Bob WITH Bob bob@work.example.org", DEADLINE - DAY)
    assert the_match(engine).deadline == DEADLINE


@pytest.mark.parametrize("leaves", [("RESIGN",), ()])
def test_who_retakes_the_seat_he_had_last_is_welcomed_back_and_told_of_his_own_turn(
    match: str, engine: Engine, house: Config, post: Post, leaves: tuple[str, ...]
) -> None:
    idle(engine)
    sheet(engine, "Bob", "MUSTER Z8", NOW)
    run(engine, AFTER)
    for number, text in enumerate(leaves):
        post(mail(text, sender="bob@example.org", number=number), AFTER)
    said(engine, "REPLACE Bob WITH Bob <BOB@example.org>", AFTER)
    letter, told = newest(engine, house, "welcome", AFTER, "Bob")
    assert letter["Subject"] == "[hexem1] You play Bob again in Hexem"
    assert "Welcome back, Bob. You play Bob again." in told
    assert "Your line 1 was not carried out" in told
    assert "If you sent orders for this turn before you left, they count until" in told
    assert "Somebody else" not in told
    assert "take over" not in told


def test_who_comes_back_after_somebody_else_had_his_seat_takes_it_over(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    said(engine, "REPLACE Bob WITH Cleo cleo@example.org", NOW)
    assert run(engine, AFTER) == ["ran"]
    said(engine, "REPLACE Bob WITH Bob bob@example.org", AFTER)
    letter, told = newest(engine, house, "welcome", AFTER, "Bob")
    assert letter["Subject"] == "[hexem1] You take over Bob in Hexem"
    assert "Somebody else has played Bob so far" in told


def test_orders_of_the_old_player_count_for_his_last_phase_and_his_standing_ones_do_not(
    match: str, engine: Engine
) -> None:
    idle(engine)
    sheet(engine, "Bob", "MUSTER C1", NOW, standing=True)
    run(engine, AFTER)
    said(engine, "REPLACE Bob WITH Cleo cleo@example.org", AFTER)
    sheet(engine, "Ann", "", AFTER)
    run(engine, AFTER + WEEK)
    assert set(turn(engine, 2).orders) == {"Ann"}


def test_a_new_player_inherits_no_missed_turns(match: str, engine: Engine) -> None:
    idle(engine)
    run(engine, AFTER)
    sheet(engine, "Ann", "", AFTER)
    run(engine, AFTER + WEEK)
    said(engine, "REPLACE Bob WITH Cleo cleo@example.org", AFTER + WEEK)
    due = the_match(engine).deadline
    assert due is not None
    sheet(engine, "Ann", "", AFTER + WEEK)
    run(engine, due)
    assert told_gm(engine) == []
    sheet(engine, "Ann", "", due)
    run(engine, due + WEEK)
    assert told_gm(engine) == ["Bob has sent no orders 2 times"]
    with store.reading(engine) as session:
        kept = session.scalars(select(Tenure).order_by(Tenure.id)).all()
        assert [(one.person, one.from_turn, one.ended) for one in kept] == [
            ("Ann", 0, None),
            ("Bob", 0, AFTER + WEEK),
            ("Cleo", 2, None),
        ]


def test_address_changes_where_mail_goes_and_comes_from(
    match: str, engine: Engine, post: Post
) -> None:
    said(engine, "ADDRESS bob bob@new.example.org", NOW)
    notice = letters(engine, "notice", to="Bob")[-1]
    assert notice.recipient == "bob@new.example.org"
    assert post(mail("BID x 1", sender="bob@example.org")).status == "rejected"
    assert post(mail("BID x 1", sender="bob@new.example.org", number=2)).status == "filed"


def test_letters_queued_for_the_old_player_are_dropped_and_never_bear_the_new_token(
    match: str, engine: Engine, house: Config
) -> None:
    said(engine, "DROP Bob", NOW)
    said(engine, "REPLACE Bob WITH Cleo cleo@example.org", NOW)
    office = Office()
    outbox.flush(engine, house, office, NOW + timedelta(minutes=1))
    token = matches.token(the_match(engine), seat_of(the_match(engine), "Bob"))
    to_bob = [raw for recipient, raw in office.sent if recipient == "bob@example.org"]
    assert [b"You have left hexem1" in raw for raw in to_bob] == [True]
    assert all((token.encode() in raw) == (to == "cleo@example.org") for to, raw in office.sent)


def test_a_person_who_left_before_an_open_match_began_may_be_told_so(engine: Engine) -> None:
    _open(engine, 2)
    _join(engine, "Ann")
    do(engine, "Ann", players.drop, NOW + HOUR, "Ann")
    farewell = letters(engine, "notice")[-1]
    assert (farewell.recipient, farewell.seat_id) == ("ann@example.org", None)
    assert farewell.facts["about"] == "You have left hexem1"


def test_replace_before_the_match_begins_and_after_it_is_over(engine: Engine) -> None:
    _open(engine, 1, ("Ann",))
    said(engine, "REPLACE Ann WITH Anna anna@example.org", NOW)
    letter = letters(engine, "notice")[-1]
    assert (letter.recipient, letter.facts["sentences"]) == ("anna@example.org", ["You play Ann."])
    said(engine, "END", NOW)
    why = "hexem1 is over; nobody takes a seat any more"
    assert refused(engine, "REPLACE Ann WITH Ann ann@example.org", NOW) == why


def test_end_calls_an_open_match_off(engine: Engine) -> None:
    _open(engine, 1, ("Ann",))
    said(engine, "END", NOW)
    assert the_match(engine).status == "over"
    assert letters(engine, "notice", to="Ann")[-1].facts["about"] == "hexem1 does not begin"


@pytest.mark.parametrize(
    ("person", "seat"),
    [
        ("Ready", "Ready 2"),
        ("12", "Player"),
        ("Eve; <Bob>", "Eve Bob"),
        # It looks like Ann, who is there.
        ("\N{CYRILLIC CAPITAL LETTER A}nn", "\N{CYRILLIC CAPITAL LETTER A}nn 2"),
    ],
)
def test_who_joins_has_a_seat_by_a_name_that_orders_can_say(
    engine: Engine, person: str, seat: str
) -> None:
    begin(engine)
    with opened(engine) as (_, row):
        assert players.free_name(row, person) == seat
