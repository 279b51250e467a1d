"""Whose a mail is: tokens, trust, lists, spam, several tags, what a mail server vouches for."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from pbem import identity, intake, matches, store
from pbem.config import Config
from pbem.store import Message, Sheet
from tests.conftest import NOW, Post, begin, mail
from tests.flow.rig import letters, opened, seat_of, the_match, told_gm

AT = NOW + timedelta(hours=1)


def token(engine: Engine, seat: str | None = "Ann", match: str = "hexem1") -> str:
    """The token of a seat, or (`None`) of the game master."""
    row = the_match(engine, match)
    return matches.token(row, seat_of(row, seat) if seat else None)


def reply_to(engine: Engine, seat: str | None = "Ann", match: str = "hexem1") -> str:
    """The address that a reply of a seat's player, or of the game master, goes to."""
    return identity.address("game@example.org", match, token(engine, seat, match), True)


def sheets(engine: Engine) -> list[str]:
    """The texts of all sheets."""
    with store.reading(engine) as session:
        return [one.text.strip() for one in session.scalars(select(Sheet).order_by(Sheet.id))]


def nobody_was_written_to(engine: Engine) -> bool:
    """Whether no letter but the welcomes is queued."""
    return {one.kind for one in letters(engine)} <= {"welcome"}


def test_a_list_s_copy_counts_with_a_token_only_and_is_never_answered(
    engine: Engine, post: Post
) -> None:
    begin(engine)
    raw = mail("BID x 2", List_Id="<players.example.org>")
    assert post(raw).status == "rejected"
    assert nobody_was_written_to(engine)
    to = reply_to(engine)
    assert post(mail("BID x 3", to=to, List_Id="<players.example.org>")).status == "filed"
    assert sheets(engine) == ["BID x 3"]
    assert nobody_was_written_to(engine)


def test_a_list_s_copy_from_another_address_asks_nobody_to_confirm(
    engine: Engine, post: Post
) -> None:
    begin(engine)
    raw = mail(
        "BID x 2", sender="else@example.com", to=reply_to(engine), List_Id="<players.example.org>"
    )
    assert post(raw).status == "rejected"
    assert nobody_was_written_to(engine)


def test_88_what_is_marked_as_spam_is_rejected_and_not_answered(
    match: str, engine: Engine, post: Post
) -> None:
    assert post(mail("BID x 2", X_Spam_Flag="YES")).status == "rejected"
    assert sheets(engine) == []
    assert nobody_was_written_to(engine)


def test_several_tags_are_asked_which(engine: Engine, post: Post) -> None:
    begin(engine)
    begin(engine, "hexem2")
    to = "game+hexem1@example.org, game+hexem2@example.org"
    taken = post(mail("BID x 2", to=to))
    assert taken.status == "answered"
    assert "hexem1, hexem2" in taken.why
    assert sheets(engine) == []
    assert letters(engine, "receipt")[0].facts["why"] == taken.why


def test_the_tag_of_a_match_one_has_no_seat_in_is_not_taken_for_another(
    match: str, engine: Engine, post: Post
) -> None:
    from pbem import making

    plan = making.Plan(
        game="hexem",
        match="hexem2",
        players=(
            making.Player("Cleo", ("c@example.org",)),
            making.Player("Dan", ("d@example.org",)),
        ),
        options={"board": "x3 x3 x3\n . . .\ny3 y3 y3\n"},
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)
    taken = post(mail("BID x 2", subject="[hexem2] orders"))
    assert taken == intake.Taken("answered", "you have no seat in hexem2")
    assert sheets(engine) == []


def test_81_our_own_addresses_are_never_players_with_any_plus_part(
    match: str, engine: Engine, post: Post
) -> None:
    with opened(engine) as (session, row):
        seat = seat_of(row, "Ann")
        own = "game+hexem1@example.org"
        seat.addresses.append(store.Address(address=own, folded=identity.folded(own)))
        session.flush()
    assert post(mail("BID x 2", sender="game+hexem1@example.org")).status == "ignored"
    assert sheets(engine) == []


@pytest.mark.parametrize("sender", ["A.N.N+games@GoogleMail.com", "ann@gmail.com"])
def test_74_gmail_s_dots_and_plus_parts_make_no_other_address(
    engine: Engine, post: Post, sender: str
) -> None:
    begin(engine)
    with opened(engine) as (_, row):
        seat_of(row, "Ann").addresses[0].folded = identity.folded("ann@gmail.com")
    assert post(mail("BID x 2", sender=sender)).status == "filed"


VOUCHED = {
    "pass": "mx.example.org; dkim=pass header.d=example.org; dmarc=pass header.from=example.org",
    "fail": "mx.example.org; dkim=fail header.d=example.org; dmarc=fail header.from=example.org",
    "unaligned": "mx.example.org; dkim=pass header.d=attacker.example; spf=none",
    "comment": "mx.example.org (dkim=pass header.d=example.org); dkim=fail header.d=example.org",
    "foreign": "mx.attacker.example; dkim=pass header.d=example.org",
    "nothing": "mx.example.org; none",
}


@pytest.fixture
def strict(house: Config) -> Config:
    """A house whose mail server writes down what it finds of a sender."""
    return replace(house, mail=replace(house.mail, authserv_id="mx.example.org"))


def take(engine: Engine, config: Config, raw: bytes) -> intake.Taken:
    """Take in one mail with a config of one's own."""
    return intake.take_in(engine, config, [intake.Parcel(raw, AT, "pipe")], AT)[0]


@pytest.mark.parametrize("trust", ["address", "token", "dkim"])
@pytest.mark.parametrize("found", ["fail", "unaligned", "comment", "foreign"])
def test_66_to_68_a_failed_authentication_is_rejected_in_every_level_of_trust(
    engine: Engine, strict: Config, trust: str, found: str
) -> None:
    begin(engine, trust=trust)
    raw = mail("BID x 2", to=reply_to(engine), Authentication_Results=VOUCHED[found])
    assert take(engine, strict, raw).status == "rejected"
    assert sheets(engine) == []
    assert nobody_was_written_to(engine)


def test_67_only_the_topmost_field_of_our_server_counts(engine: Engine, strict: Config) -> None:
    begin(engine)
    raw = mail("BID x 2", to=reply_to(engine), Authentication_Results=VOUCHED["fail"])
    forged = raw.replace(
        b"Authentication-Results:",
        b"Authentication-Results: " + VOUCHED["fail"].encode() + b"\nAuthentication-Results:",
        1,
    ).replace(VOUCHED["fail"].encode() + b"\n\n", VOUCHED["pass"].encode() + b"\n\n", 1)
    assert forged.count(b"Authentication-Results") == 2
    assert take(engine, strict, forged).status == "rejected"


def test_trust_dkim_takes_an_aligned_pass_with_a_token(engine: Engine, strict: Config) -> None:
    begin(engine, trust="dkim")
    raw = mail("BID x 2", to=reply_to(engine), Authentication_Results=VOUCHED["pass"])
    assert take(engine, strict, raw).status == "filed"


def test_trust_dkim_wants_the_token_too(engine: Engine, strict: Config) -> None:
    begin(engine, trust="dkim")
    raw = mail("BID x 2", Authentication_Results=VOUCHED["pass"])
    assert take(engine, strict, raw).status == "answered"
    assert sheets(engine) == []


@pytest.mark.parametrize("found", ["nothing", None])
def test_trust_dkim_says_what_is_missing_to_the_registered_address(
    engine: Engine, strict: Config, found: str | None
) -> None:
    begin(engine, trust="dkim")
    fields = {"Authentication_Results": VOUCHED[found]} if found else {}
    taken = take(engine, strict, mail("BID x 2", to=reply_to(engine), **fields))
    assert taken.status == "answered"
    assert "DKIM" in taken.why
    assert sheets(engine) == []
    assert letters(engine, "receipt")[0].recipient == "ann@example.org"


def test_without_an_authserv_id_no_such_field_is_believed(engine: Engine, house: Config) -> None:
    begin(engine, trust="dkim")
    raw = mail("BID x 2", to=reply_to(engine), Authentication_Results=VOUCHED["pass"])
    assert take(engine, house, raw).status == "answered"
    assert sheets(engine) == []


def test_a_game_master_s_mail_with_his_token_is_laid_aside_for_him(
    match: str, engine: Engine, post: Post
) -> None:
    raw = mail("EXTEND 24h", sender="Gia <gia@example.org>", to=reply_to(engine, None))
    assert post(raw).status == "gm"
    with store.reading(engine) as session:
        assert session.scalars(select(Message.match_id)).one() == the_match(engine).id


def test_a_game_master_s_mail_without_his_token_does_nothing_and_he_is_told_once_a_day(
    match: str, engine: Engine, post: Post
) -> None:
    for number in range(3):
        raw = mail("HOLD", sender="gia@example.org", number=number)
        assert post(raw).status == "rejected"
    assert told_gm(engine) == ["A mail in your name was not carried out"]
    (notice,) = letters(engine, "notice")
    # It is about the match that was tagged, so that an answer to it bears the token.
    assert notice.match_id == the_match(engine).id


def test_a_game_master_s_token_from_another_address_does_nothing(
    match: str, engine: Engine, post: Post
) -> None:
    for sender in ("thief@example.com", "ann@example.org"):
        raw = mail("HOLD", sender=sender, to=reply_to(engine, None))
        assert post(raw).status == "rejected"
    assert nobody_was_written_to(engine)


def test_a_seat_s_token_does_not_make_a_game_master(match: str, engine: Engine, post: Post) -> None:
    raw = mail("HOLD", sender="gia@example.org", to=reply_to(engine, "Ann"))
    assert post(raw).status in ("held", "rejected")
    assert the_match(engine).status == "running"


def test_a_game_master_s_words_that_are_no_order_are_not_carried_on(
    match: str, engine: Engine, post: Post
) -> None:
    raw = mail("Thanks, I will look.", sender="gia@example.org", to=reply_to(engine, None))
    assert post(raw).status == "answered"
    assert nobody_was_written_to(engine)


def test_a_game_master_who_plays_orders_by_his_seat_s_token(engine: Engine, post: Post) -> None:
    begin(engine)
    with opened(engine) as (session, row):
        seat = seat_of(row, "Ann")
        gia = "gia@example.org"
        seat.addresses.append(store.Address(address=gia, folded=gia))
        session.flush()
    raw = mail("BID x 2", sender="gia@example.org", to=reply_to(engine, "Ann"))
    assert post(raw).status == "filed"


def test_two_seats_at_one_address_are_told_apart_by_the_token(engine: Engine, post: Post) -> None:
    begin(engine)
    with opened(engine) as (session, row):
        bob = seat_of(row, "Bob")
        bob.addresses.append(store.Address(address="ann@example.org", folded="ann@example.org"))
        session.flush()
    assert post(mail("BID y 1", number=1)).status == "answered"
    assert post(mail("BID y 1", number=2, to=reply_to(engine, "Bob"))).status == "filed"
    with store.reading(engine) as session:
        assert session.scalars(select(Sheet.seat_id)).one() == seat_of(the_match(engine), "Bob").id


def test_the_answer_no_and_any_other_confirm_nothing(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    to = reply_to(engine)
    assert post(mail("BID x 2", sender="ann@phone.example.org", to=to)).status == "held"
    (asked,) = letters(engine, "confirm")
    question = identity.message_id("hexem1", token(engine), asked.id, "example.org")
    others = (
        *("No!", "I am away until Monday.", "Who is this?", "Yesterday I was away."),
        *("Tak for din mail.", "Da ich verreist bin, lese ich nichts.", "Si possible, rappelez."),
    )
    for number, words in enumerate(others, 12):
        post(mail(words, number=number, to=to, In_Reply_To=question))
    assert sheets(engine) == []
    assert post(mail("YES", number=9, to=to, In_Reply_To=question)).status == "filed"
    assert sheets(engine) == ["BID x 2"]


@pytest.mark.parametrize("words", ["yes", "Yes, that was me", "> \n*YES*", "Oui!", "да", "はい"])
def test_yes_is_understood_as_people_write_it(engine: Engine, post: Post, words: str) -> None:
    begin(engine, trust="token")
    to = reply_to(engine)
    post(mail("BID x 2", sender="ann@phone.example.org", to=to))
    (asked,) = letters(engine, "confirm")
    question = identity.message_id("hexem1", token(engine), asked.id, "example.org")
    assert post(mail(words, number=9, to=to, In_Reply_To=question)).status == "filed"


def test_a_question_from_a_known_address_without_a_token_is_answered_there(
    engine: Engine, post: Post
) -> None:
    begin(engine, trust="token")
    assert post(mail("STATUS")).status == "answered"
    (receipt,) = letters(engine, "receipt")
    assert receipt.recipient == "ann@example.org"
    assert receipt.facts["asked"] == ["STATUS"]


def test_a_command_from_a_known_address_without_a_token_is_held(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    assert post(mail("RESIGN")).status == "held"
    assert letters(engine, "confirm")[0].facts["sheet"] == ["RESIGN"]
    assert seat_of(the_match(engine), "Ann").addresses


@pytest.mark.parametrize(
    "name", ["Smith, Ann", "Smith; Ann", "=?utf-8?Q?Smith,_Ann?=", "=?utf-8?Q?Smith=2C_Ann?="]
)
def test_75_a_comma_in_a_name_parts_no_sender(match: str, post: Post, name: str) -> None:
    assert post(mail("BID x 2", sender=f"{name} <ann@example.org>")).status == "filed"


def test_several_senders_with_a_token_are_held_and_its_player_is_asked(
    engine: Engine, post: Post
) -> None:
    begin(engine, trust="token")
    both = "Ann <ann@example.org>, Joe <joe@example.com>"
    assert post(mail("BID x 2", sender=both, to=reply_to(engine))).status == "held"
    (asked,) = letters(engine, "confirm")
    assert asked.recipient == "ann@example.org"
    question = identity.message_id("hexem1", token(engine), asked.id, "example.org")
    answer = mail("YES", number=9, to=reply_to(engine), In_Reply_To=question)
    assert post(answer).status == "filed"
    assert sheets(engine) == ["BID x 2"]
    known = [one.address for one in seat_of(the_match(engine), "Ann").addresses]
    assert known == ["ann@example.org"]


def test_several_senders_without_a_token_are_nobody(match: str, engine: Engine, post: Post) -> None:
    both = "Ann <ann@example.org>, Joe <joe@example.com>"
    wrong = f"game+hexem1.{'a' * 16}@example.org"
    assert post(mail("BID x 2", sender=both)).status == "rejected"
    assert post(mail("BID x 2", sender=both, to=wrong, number=2)).status == "rejected"
    assert nobody_was_written_to(engine)


def test_held_press_is_shown_whole_to_whom_it_is_asked(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    long = "\n".join(["Dear Bob,", "", "y" * 300, *map(str, range(50))])
    post(mail(f"BID x 2\nPRESS TO Bob\n{long}\nEND PRESS"))
    shown = letters(engine, "confirm")[0].facts["sheet"]
    assert shown[:5] == ["BID x 2", "PRESS TO Bob", "Dear Bob,", "", "y" * 199 + "…"]
    assert shown[-2:] == ["… (13 more lines)", "END PRESS"]
