"""Players' own commands by mail: what each does and says; questions change nothing."""

import email
from collections.abc import Callable
from datetime import date, datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from pbem import identity, matches, outbox, rounds, store
from pbem.config import Config
from pbem.marker import MARKER
from pbem.store import Applicant, Sheet
from tests.conftest import NOW, Post, begin, idle, mail
from tests.flow.rig import DAY, DEADLINE, HOUR, Office, letters, opened, run, seat_of, the_match

AT = NOW + HOUR

Ask = Callable[..., dict[str, object]]


@pytest.fixture
def ask(match: str, engine: Engine, post: Post) -> Ask:
    """Send a mail of Ann's and return the facts of its receipt."""
    numbers = iter(range(100, 200))

    def send(text: str, now: datetime = AT, **fields: str) -> dict[str, object]:
        post(mail(text, number=next(numbers), **fields), now)
        return letters(engine, "receipt")[-1].facts

    return send


def sent_texts(engine: Engine, config: Config, now: datetime = AT) -> dict[str, str]:
    """Send what is queued; return the text of the last letter of each kind, by kind."""
    office = Office()
    outbox.flush(engine, config, office, now)
    found = {}
    kinds = [one.kind for one in letters(engine) if one.status == "sent"]
    for kind, (_, raw) in zip(kinds[-len(office.sent) :], office.sent, strict=True):
        part = next(
            part
            for part in email.message_from_bytes(raw).walk()
            if part.get_content_type() == "text/plain"
        )
        text: str = part.get_payload(decode=True).decode()  # type: ignore[union-attr]
        found[kind] = text.replace("\r\n", "\n")
    return found


def note(receipt: dict[str, object]) -> str:
    """The one sentence that a receipt says of a command."""
    notes = receipt["notes"]
    assert isinstance(notes, list)
    (said,) = notes
    return str(said)


def problem(receipt: dict[str, object]) -> str:
    """The one problem that a receipt tells."""
    lines = receipt["lines"]
    assert isinstance(lines, list)
    (said,) = [one["problem"] for one in lines if one["problem"]]
    return str(said)


def test_help_tells_the_orders_of_the_game_and_the_general_ones(
    ask: Ask, engine: Engine, house: Config
) -> None:
    assert ask("HELP")["outcome"] == "accepted"
    text = sent_texts(engine, house)["receipt"]
    assert "What you may order" in text
    assert "BID <country> <armies>: " in text
    assert "ABSENT FROM <start> TO <end>: " in text
    assert "EXTEND" not in text


def test_rules_brings_the_rules_of_the_game(ask: Ask, engine: Engine, house: Config) -> None:
    ask("RULES")
    assert "muster" in sent_texts(engine, house)["receipt"].lower()


def test_status_tells_where_the_match_stands_and_nothing_of_others_orders(
    ask: Ask, engine: Engine, house: Config, post: Post
) -> None:
    post(mail("BID y 2", sender="bob@example.org"))
    ask("STATUS")
    text = sent_texts(engine, house)["receipt"]
    assert text.count("Sunday 6 December 2026, 20:00") == 1
    assert "Your orders are awaited." in text
    assert "Who plays: Ann, Bob." in text
    assert "BID" not in text.partition("Who plays")[0]


def test_orders_asked_for_show_the_sheet_as_the_turn_would_take_it(
    ask: Ask, engine: Engine, house: Config
) -> None:
    ask("BID x 2\nBID y lots")
    ask("ORDERS?")
    assert "BID x 2" in sent_texts(engine, house)["receipt"]


def test_a_report_is_sent_again(ask: Ask, engine: Engine, house: Config) -> None:
    assert "turn 0" in note(ask("REPORT 0"))
    assert len(letters(engine, "welcome", to="Ann")) == 2
    assert "no report of turn 7" in problem(ask("REPORT 7"))
    idle(engine)
    run(engine, DEADLINE)
    ask("REPORT", DEADLINE + HOUR)
    assert [one.turn for one in letters(engine, "report", to="Ann")] == [1, 1]
    assert "report" in sent_texts(engine, house, DEADLINE + HOUR)


@pytest.mark.parametrize("question", ["HELP", "STATUS", "RULES", "ORDERS?", "REPORT", "REPORT 0"])
def test_a_question_never_changes_anything(ask: Ask, engine: Engine, question: str) -> None:
    def kept() -> list[object]:
        with store.reading(engine) as session:
            rows: list[object] = []
            for table in ("matches", "seats", "sheets", "turns", "addresses", "history"):
                found = session.connection().exec_driver_sql(f"SELECT * FROM {table}")
                rows += map(tuple, found)
            return rows

    ask("BID x 2")
    before = kept()
    assert ask(question)["sheet"] is None
    assert kept() == before


def test_orders_and_commands_may_stand_in_one_mail(ask: Ask, engine: Engine) -> None:
    receipt = ask("STATUS\nBID x 2\nREADY\nMAIL REPORTS")
    assert receipt["outcome"] == "accepted"
    assert receipt["sheet"] == ["BID x 2"]
    assert receipt["asked"] == ["STATUS"]
    assert seat_of(the_match(engine), "Ann").ready
    assert seat_of(the_match(engine), "Ann").mail == "REPORTS"


def test_no_orders_is_a_sheet(ask: Ask, engine: Engine, post: Post) -> None:
    assert "nothing this turn" in note(ask("NO ORDERS"))
    with store.reading(engine) as session:
        assert session.scalars(select(Sheet.text)).all() == [""]


def test_no_orders_beside_orders_is_asked_about_and_the_orders_count(
    ask: Ask, engine: Engine
) -> None:
    receipt = ask("NO ORDERS\nBID x 2")
    assert receipt["outcome"] == "accepted, with questions"
    assert receipt["sheet"] == ["BID x 2"]
    with store.reading(engine) as session:
        assert [one.strip() for one in session.scalars(select(Sheet.text))] == ["BID x 2"]


def test_cancel_withdraws_the_sheet(ask: Ask, engine: Engine) -> None:
    ask("BID x 2")
    assert "withdrawn" in note(ask("CANCEL"))
    with store.reading(engine) as session:
        row = store.match_named(session, "hexem1")
        assert row is not None
        assert store.newest_sheets(session, row) == {}


@pytest.mark.parametrize(
    ("text", "stands", "says"),
    [
        ("CANCEL", [], "  (empty)\n"),
        ("CANCEL\nBID y 99", [], "  (empty)\n"),
        ("NO ORDERS", [], "  (empty)\n"),
        ("STANDING", ["BID x 2"], "  BID x 2\n"),
    ],
)
def test_a_command_about_the_sheet_is_answered_by_the_sheet_as_it_now_stands(
    ask: Ask, engine: Engine, house: Config, text: str, stands: list[str], says: str
) -> None:
    ask("BID x 2")
    assert ask(text)["sheet"] == stands
    told = sent_texts(engine, house)["receipt"]
    assert f"Your sheet as it now stands\n---------------------------\n{says}" in told
    assert "as it was" not in told


def test_no_orders_older_than_the_sheet_that_counts_is_answered_by_that_sheet(ask: Ask) -> None:
    ask("BID x 2", AT + HOUR)
    assert ask("NO ORDERS", AT)["sheet"] == ["BID x 2"]


@pytest.mark.parametrize(
    "text",
    ["READY", "ABSENT FROM 2026-12-20 TO 2026-12-27", "MAIL ALL", "LANGUAGE Latin", "STATUS"],
)
def test_a_command_that_was_done_is_never_said_to_have_changed_nothing(
    ask: Ask, engine: Engine, house: Config, text: str
) -> None:
    assert ask(text)["outcome"] == "accepted"
    told = sent_texts(engine, house)["receipt"]
    assert "\nYour sheet is as it was.\n" in told
    assert "Nothing was changed" not in told


def test_a_withdrawal_that_came_too_late_changes_nothing(
    ask: Ask, engine: Engine, house: Config
) -> None:
    ask("CANCEL", DEADLINE + HOUR)
    told = sent_texts(engine, house, DEADLINE + HOUR)["receipt"]
    assert "Nothing was changed: your sheet is as it was." in told


@pytest.mark.parametrize(
    ("text", "told", "why"),
    [
        ("CANCEL\nBID y 1", "those of this mail count", ""),
        ("BID y 1\nCANCEL", "", "there are orders above it; these count"),
        ("BID y 99\nBID y 1\n\nCANCEL", "", "there are orders above it; these count"),
    ],
)
def test_cancel_beside_orders_says_that_these_count(
    ask: Ask, engine: Engine, text: str, told: str, why: str
) -> None:
    ask("BID x 2")
    receipt = ask(text)
    assert receipt["sheet"] == ["BID y 1"]
    assert told in " ".join(receipt["notes"])  # type: ignore[call-overload]
    lines = receipt["lines"]
    assert isinstance(lines, list)
    (line,) = (one for one in lines if "CANCEL" in one["text"])
    assert (line["problem"] or "").startswith(why)
    assert bool(line["problem"]) == bool(why)
    with store.reading(engine) as session:
        row = store.match_named(session, "hexem1")
        assert row is not None
        found = store.newest_sheets(session, row).values()
        assert [one.text.strip().split("\n")[-1] for one in found] == ["BID y 1"]


def test_standing_keeps_the_sheet_of_its_mail_or_the_one_that_stands(
    ask: Ask, engine: Engine
) -> None:
    assert "could stand" in problem(ask("STANDING"))
    ask("STANDING\nBID x 2")
    ask("BID x 1")
    ask("STANDING")
    with store.reading(engine) as session:
        kept = session.execute(select(Sheet.text, Sheet.standing).order_by(Sheet.id)).all()
        assert [(text.strip(), standing) for text, standing in kept] == [
            ("BID x 2", True),
            ("BID x 1", True),
        ]


def test_not_ready_takes_ready_back(ask: Ask, engine: Engine) -> None:
    ask("READY")
    assert seat_of(the_match(engine), "Ann").ready
    ask("NOT READY")
    assert not seat_of(the_match(engine), "Ann").ready


def test_ready_of_all_runs_the_turn_at_the_next_tick(
    engine: Engine, house: Config, post: Post
) -> None:
    begin(engine, early="ready")
    post(mail("BID x 2\nREADY"))
    post(mail("BID y 1\nREADY", sender="bob@example.org", number=2))
    rounds.tick(engine, house, AT + timedelta(minutes=1))
    assert the_match(engine).turn == 1


def test_all_in_runs_the_turn_at_the_next_tick(engine: Engine, house: Config, post: Post) -> None:
    begin(engine, early="all-in")
    post(mail("BID x 2"))
    assert not the_match(engine).early
    post(mail("BID y 1", sender="bob@example.org", number=2))
    assert the_match(engine).early


def test_absent_is_noted(ask: Ask, engine: Engine) -> None:
    assert "Noted" in note(ask("ABSENT FROM 2026-12-20 TO 2026-12-27"))
    with store.reading(engine) as session:
        assert len(session.scalars(select(store.Absence)).all()) == 1


def test_more_absences_than_a_seat_may_have_are_not_kept_and_each_is_answered(
    ask: Ask, engine: Engine
) -> None:
    days = [date(2027, 1, 1) + timedelta(days=2 * number) for number in range(30)]
    receipt = ask("\n".join(f"ABSENT FROM {day} TO {day}" for day in days))
    lines = receipt["lines"]
    assert isinstance(lines, list)
    refused = [one["problem"] for one in lines if one["problem"]]
    assert len(refused) == 10
    assert "20 absences to come, the most a seat may have" in refused[0]
    with store.reading(engine) as session:
        assert len(session.scalars(select(store.Absence)).all()) == 20


def test_dates_that_are_none_are_asked_about(ask: Ask, engine: Engine) -> None:
    assert problem(ask("ABSENT FROM Monday TO Tuesday"))


def test_language_is_kept_and_said(ask: Ask, engine: Engine) -> None:
    assert "English" in note(ask("LANGUAGE Deutsch"))
    assert seat_of(the_match(engine), "Ann").language == "Deutsch"


def test_resign_leaves_the_seat_vacant(ask: Ask, engine: Engine, post: Post) -> None:
    post(mail("RESIGN"))
    assert seat_of(the_match(engine), "Ann").addresses == []
    assert letters(engine, "receipt") == []
    assert post(mail("BID x 2", number=2)).status == "rejected"


def test_resign_before_the_match_begins_opens_the_seat_again(engine: Engine, post: Post) -> None:
    from pbem import making

    players = (making.Player("Ann", ("ann@example.org",)), making.Player("Bob", ("b@example.org",)))
    plan = making.Plan("hexem", "hexem1", players, {"trust": "address"}, open_seats=1)
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)
    assert post(mail("RESIGN")).status == "answered"
    row = the_match(engine)
    assert ([seat.name for seat in row.seats], row.open_seats) == (["Bob"], 2)


def test_a_new_address_is_asked_once_and_counts_once_it_has_said_yes(
    ask: Ask, engine: Engine, house: Config, post: Post
) -> None:
    before = matches.token(the_match(engine), seat_of(the_match(engine), "Ann"))
    assert "is asked" in note(ask("ADDRESS ann@new.example.org"))
    assert "within a day" in problem(ask("ADDRESS ann@new.example.org"))
    (asked,) = letters(engine, "address")
    assert asked.recipient == "ann@new.example.org"
    office = Office()
    outbox.flush(engine, house, office, AT)
    raw = next(raw for to, raw in office.sent if to == "ann@new.example.org")
    # It doesn't bear the seat's token, for who gets it may be somebody else.
    assert before.encode() not in raw
    to = email.message_from_bytes(raw)["Reply-To"]
    sender = "ann@new.example.org"
    assert post(mail("What is this?", number=1, to=to, sender=sender)).status == "answered"
    assert post(mail("YES", number=2, to=to, sender="thief@example.com")).status == "rejected"
    assert [one.address for one in seat_of(the_match(engine), "Ann").addresses] == [
        "ann@example.org"
    ]
    assert post(mail("YES\n\n> Is this address yours?", number=3, to=to, sender=sender)).status
    seat = seat_of(the_match(engine), "Ann")
    assert [one.address for one in seat.addresses] == ["ann@new.example.org"]
    # The key has changed, so the old tokens are dead, this one too.
    assert matches.token(the_match(engine), seat) != before
    assert post(mail("YES", number=4, to=to, sender=sender)).status == "answered"


def test_our_own_address_is_nobody_s_new_one(ask: Ask, engine: Engine) -> None:
    assert "the program's own" in problem(ask("ADDRESS game+x@example.org"))
    assert letters(engine, "address") == []


def test_join_from_a_stranger_is_asked_once_and_quotes_nothing(
    engine: Engine, house: Config, post: Post
) -> None:
    from pbem import making

    plan = making.Plan(
        game="hexem",
        match="hexem2",
        players=(making.Player("Ann", ("ann@example.org",)),),
        options={"board": "x3 x3 x3\n . . .\ny3 y3 y3\n"},
        open_seats=1,
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)
    sender = "Zoe <zoe@example.com>"
    words = "JOIN hexem2\nBuy cheap watches at http://spam.example"
    assert post(mail(words, sender=sender, subject="watches")).status == "answered"
    assert post(mail("JOIN hexem2", sender=sender, number=2)).status == "rejected"
    assert len(letters(engine, "join")) == 1
    office = Office()
    outbox.flush(engine, house, office, AT)
    raw = next(raw for to, raw in office.sent if to == "zoe@example.com")
    assert b"watches" not in raw
    to = email.message_from_bytes(raw)["Reply-To"]
    assert post(mail("Yes, please", sender=sender, to=to, number=3)).status == "answered"
    assert the_match(engine, "hexem2").status == "running"
    with store.reading(engine) as session:
        assert session.scalars(select(Applicant.status)).all() == ["seated"]


@pytest.mark.parametrize("sender", ["zoe.x@example.com", '"zoe.x@example.com" <zoe.x@example.com>'])
def test_who_joins_under_no_name_but_an_address_is_no_more_than_a_player(
    sender: str, engine: Engine, post: Post
) -> None:
    begin(engine)
    assert post(mail("JOIN hexem1", sender=sender)).status == "answered"
    with store.reading(engine) as session:
        assert session.scalars(select(Applicant.person)).all() == ["Player"]


def test_join_of_no_match_gets_no_letter(match: str, engine: Engine, post: Post) -> None:
    assert post(mail("JOIN nowhere", sender="zoe@example.com")).status == "rejected"
    assert letters(engine, "join") == []


def test_join_of_automatic_mail_gets_no_letter(engine: Engine, post: Post) -> None:
    begin(engine)
    raw = mail("JOIN hexem1", sender="zoe@example.com", Auto_Submitted="auto-replied")
    assert post(raw).status == "ignored"
    assert letters(engine, "join") == []


def _one_of_each(engine: Engine, house: Config, choice: str) -> list[str]:
    """Choose letters, let one of each kind be queued, and name those that Ann was sent."""
    begin(engine)
    outbox.flush(engine, house, Office(), NOW)
    with opened(engine) as (session, row):
        ann = seat_of(row, "Ann")
        ann.mail = choice
        said = {"subject": "s", "date": None, "message_id": "", "received": NOW.isoformat()}
        receipt = {"outcome": "accepted", "number": 1, "lines": [], "sheet": [], "answers": said}
        store.queue(session, "receipt", receipt, NOW, seat=ann, turn=0)
        press = {"press": [{"by": "Bob", "to": "all", "text": "Hello"}]}
        store.queue(session, "press", press, NOW, seat=ann)
        notice = {"about": "News", "sentences": ["There is some."]}
        store.queue(session, "notice", notice, NOW, seat=ann)
        store.queue(session, "report", {"missing": []}, NOW, seat=ann, turn=0)
    outbox.flush(engine, house, Office(), AT)
    return [one.kind for one in letters(engine, to="Ann")[1:] if one.status == "sent"]


def test_mail_all_sends_everything(engine: Engine, house: Config) -> None:
    assert _one_of_each(engine, house, "ALL") == ["receipt", "press", "notice", "report"]


def test_mail_reports_sends_reports(engine: Engine, house: Config) -> None:
    assert _one_of_each(engine, house, "REPORTS") == ["report"]


def test_mail_none_sends_nothing_but_what_was_asked_for(
    engine: Engine, house: Config, post: Post
) -> None:
    assert _one_of_each(engine, house, "NONE") == []
    post(mail("STATUS"))
    outbox.flush(engine, house, Office(), AT)
    assert letters(engine, "receipt", to="Ann")[-1].status == "sent"


def test_mail_digest_sends_reports_at_once_and_the_rest_in_one_letter_a_day(
    engine: Engine, house: Config
) -> None:
    assert _one_of_each(engine, house, "DIGEST") == ["report"]
    office = Office()
    outbox.flush(engine, house, office, NOW + DAY)
    ((to, raw),) = office.sent
    assert to == "ann@example.org"
    text = email.message_from_bytes(raw).get_payload(0).get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert "Press from Bob" in text
    assert "There is some." in text
    # What is round each letter the digest has itself, once.
    for once in (MARKER, "Orders are due", "Answer this letter with your orders", "match hexem1"):
        assert text.count(once) == 1, once
    assert [one.kind for one in letters(engine, "digest")] == ["digest"]
    outbox.flush(engine, house, office, NOW + DAY + HOUR)
    assert len(office.sent) == 1


def test_identity_of_the_confirming_letter_is_enough(
    engine: Engine, house: Config, post: Post
) -> None:
    begin(engine, trust="token")
    post(mail("BID x 2"))
    office = Office()
    outbox.flush(engine, house, office, AT)
    raw = next(raw for to, raw in office.sent if b"Please confirm" in raw)
    asked = email.message_from_bytes(raw)
    answer = mail("YES", number=2, to=asked["Reply-To"], In_Reply_To=asked["Message-ID"])
    assert post(answer).status == "filed"
    assert identity.letter_number(asked["Message-ID"]) == letters(engine, "confirm")[0].id
