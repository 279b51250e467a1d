"""Charsets and transfer encodings: an ASCII order line comes through whatever was declared."""

import base64
import quopri

import pytest

from pbem.message import charsets
from tests.message.letters import entity, letter, lines, mail, parts

WANTED = ["MUSTER C4", "BID Romans 30"]


def said(text: str, codec: str, label: str | None = None) -> bytes:
    body = f"{text}\n\nMUSTER C4\nBID Romans 30\n".encode(codec)
    return mail(body, f"text/plain; charset={label or codec}")


def test_001_bytes_are_decoded_once_by_their_label() -> None:
    raw = said("Добрый вечер, вот мой ход", "cp1251", "windows-1251")
    assert letter(raw).text.startswith("Добрый вечер, вот мой ход\n")
    assert lines(raw) == WANTED


def test_002_a_text_is_not_decoded_twice() -> None:
    assert letter(said("Ã© stays as it was typed", "utf-8")).text.startswith("Ã© stays")


def test_003_a_plain_part_that_holds_html_is_read_as_html() -> None:
    raw = mail("<html><body><p>MUSTER C4</p><p>BID Romans&nbsp;30</p></body></html>")
    assert lines(raw) == WANTED


@pytest.mark.parametrize("label", ["koi8-r", "iso-8859-5", "cp866", "shift_jis", "euc-kr", "big5"])
def test_004_a_right_label_is_never_overruled_by_guessing(label: str) -> None:
    text = {"shift_jis": "命令です", "euc-kr": "명령", "big5": "命令"}.get(label, "Привет")
    assert letter(said(text, label)).text.startswith(text)


def test_005_latin_1_means_windows_1252() -> None:
    raw = said("“quoted” – 5 €", "cp1252", "iso-8859-1")
    assert letter(raw).text.startswith("“quoted” – 5 €")


def test_005_latin_1_gives_way_to_valid_utf_8() -> None:
    assert letter(said("Grüße, Ćwirek", "utf-8", "iso-8859-1")).text.startswith("Grüße, Ćwirek")


def test_006_gb2312_means_gb18030() -> None:
    raw = said("陶喆的命令 镕", "gb18030", "gb2312")
    assert letter(raw).text.startswith("陶喆的命令 镕")
    assert lines(raw) == WANTED


def test_007_a_japanese_label_on_utf_8_bytes() -> None:
    raw = said("命令です", "utf-8", "iso-2022-jp")
    assert letter(raw).text.startswith("命令です")
    assert lines(raw) == WANTED


def test_007_japanese_shifts_are_undone_before_control_characters_go() -> None:
    raw = said("こんにちは", "iso2022_jp", "ISO-2022-JP")
    assert letter(raw).text.startswith("こんにちは")
    assert letter(said("こんにちは", "iso2022_jp", "us-ascii")).text.startswith("こんにちは")


def test_008_eight_bit_bytes_under_an_ascii_label() -> None:
    raw = said("Grüße\xa0aus Köln", "utf-8", "us-ascii")
    assert letter(raw).text.startswith("Grüße\xa0aus Köln")
    assert lines(mail(b"MUSTER\xa0C4\r\n", "text/plain; charset=us-ascii")) == ["MUSTER C4"]


@pytest.mark.parametrize(
    "label", ["uft-8", "1", "x-unknown", "unknown-8bit", '"', "a\0b", "hex", "rot13", "idna", "=?"]
)
def test_009_an_unknown_charset_loses_nothing(label: str) -> None:
    raw = said("Bonne soirée à tous", "utf-8", label)
    assert letter(raw).text.startswith("Bonne soirée à tous")
    assert lines(raw) == WANTED


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("windows-874", "cp874", "สวัสดี"),
        ("iso-8859-8-i", "iso8859_8", "שלום"),
        ("ks_c_5601-1987", "cp949", "안녕하세요"),
        ("x-sjis", "cp932", "①命令"),
        ("gb_2312-80", "gb18030", "命令"),
        ("x-mac-roman", "mac_roman", "Grüße"),
        ("win-1251", "cp1251", "Привет"),
        ("utf8mb4", "utf-8", "Grüße"),
        ("hz-gb-2312", "hz", "命令"),
    ],
)
def test_010_names_that_python_lacks_have_an_alias(label: str, codec: str, text: str) -> None:
    raw = said(text, codec, label)
    assert letter(raw).text.startswith(text)
    assert lines(raw) == WANTED


@pytest.mark.parametrize("codec", ["cp1251", "koi8-r"])
def test_011_unlabelled_cyrillic_is_detected_and_orders_stand(codec: str) -> None:
    body = "Добрый вечер всем, это мой ход на сегодня.\nMUSTER C4\nBID Romans 30\n".encode(codec)
    for kind in ("text/plain", "text/plain; charset=utf-8", "text/plain; charset=us-ascii"):
        raw = mail(body, kind)
        assert lines(raw) == WANTED
        assert letter(raw).text.startswith("Добрый вечер")


def test_012_utf_7_is_read_where_it_is_declared_and_never_guessed() -> None:
    assert letter(said("Добрый", "utf-7")).text.startswith("Добрый")
    assert "+BBQ" in letter(said("Д", "utf-7", "us-ascii")).text


@pytest.mark.parametrize("codec", ["utf-8", "koi8-r", "cp1251"])
def test_013_raw_eight_bit_in_fields(codec: str) -> None:
    head = "X-A: b\r\n"
    raw = mail("x\n", f"text/plain; charset={codec}", head, From=None, Subject=None)
    raw = "From: Людмила <l@example.net>\r\nSubject: Ход 5 [hexem1]\r\n".encode(codec) + raw
    read = letter(raw)
    assert (read.name, read.subject, read.tag) == ("Людмила", "Ход 5 [hexem1]", "hexem1")
    read.subject.encode("utf-8")


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("=?utf-8?X?abc?= [hexem1]", "=?utf-8?X?abc?= [hexem1]"),
        ("=?utf-8?B?w4l0aWVubmU?= =?utf-8?q?_R=6Fche?=", "Étienne Roche"),
        ("=?utf-8?B?w4l0a!W?= x", "Éti x"),
        ("=?utf-8?Q?=C3?= =?utf-8?Q?=89tienne?=", "Étienne"),
        ("=?no-such?Q?=C3=89?=", "É"),
        ("=?utf-8*fr?Q?=C3=89?= b", "É b"),
        ("=?iso-8859-1?Q?a=", "=?iso-8859-1?Q?a="),
        ("=?utf-8?Q?a b?=", "a b"),
        ("a =?utf-8?Q?b?= c", "a b c"),
    ],
)
def test_014_encoded_words_good_and_bad(written: str, wanted: str) -> None:
    assert letter(mail(Subject=written)).subject == wanted


def test_015_the_bytes_are_not_changed_by_reading() -> None:
    raw = mail(b"\xff\xfe\x80 MUSTER C4", head=b"X-\xff: \x80\r\n")
    before = bytes(raw)
    letter(raw)
    assert raw == before


def test_016_soft_breaks_of_quoted_printable_are_undone_before_lines_are_parted() -> None:
    for broken in ("MUSTER =\r\nC4\r\n", "MUST=\r\nER C4\r\n", "MUSTER C=  \r\n4\r\n"):
        raw = mail(broken, Content_Transfer_Encoding="quoted-printable")
        assert lines(raw) == ["MUSTER C4"]


def test_016_quoted_printable_in_small_letters_and_broken() -> None:
    raw = mail("MUSTER=20C4 =zz\nMUSTER=20=43=34\n=", Content_Transfer_Encoding="Quoted-Printable")
    assert lines(raw) == ["MUSTER C4"]


def test_017_doubled_line_ends_only_add_blank_lines() -> None:
    raw = mail("MUSTER C4=0D=0A\r\nPOT Q=0D=0A\r\n", Content_Transfer_Encoding="quoted-printable")
    assert lines(raw) == ["MUSTER C4", "POT Q"]


def test_018_a_broken_order_is_not_carried_out_by_half() -> None:
    assert lines("TRADE WITH Freya GIVE A, E\nGET K\n") == []
    assert lines("BID\nRomans 30\n") == []


def test_019_quoted_printable_then_flowed() -> None:
    raw = mail(
        "TRADE WITH Oswin =\r\nGIVE A,E=20\r\nGET K\r\nPOT Q\r\n",
        "text/plain; charset=utf-8; format=flowed",
        Content_Transfer_Encoding="quoted-printable",
    )
    assert lines(raw) == ["TRADE WITH Oswin GIVE A,E GET K", "POT Q"]


def test_020_delsp_deletes_exactly_one_blank() -> None:
    kind = "text/plain; charset=utf-8; format=flowed; delsp=yes"
    assert lines(mail("CLAIM BA \r\nTH\r\nMUSTER  \r\nC4\r\n", kind)) == ["CLAIM BATH", "MUSTER C4"]
    kind = "text/plain; charset=utf-8; format=flowed"
    assert lines(mail("MUSTER \r\nC4\r\n", kind)) == ["MUSTER C4"]


def test_021_the_signature_line_never_joins_in_a_flowed_text() -> None:
    kind = "text/plain; charset=utf-8; format=flowed"
    raw = mail("MUSTER C4\r\n-- \r\nCLAIM YORK\r\n", kind)
    assert lines(raw) == ["MUSTER C4"]
    assert letter(raw).text == "MUSTER C4"
    raw = mail("> CLAIM \r\n> YORK\r\n> or \r\nMUSTER C4\r\n \r\n", kind)
    assert lines(raw) == ["MUSTER C4"]


def test_022_every_unicode_blank_is_a_blank() -> None:
    blanks = "\xa0\u1680\u2000\u2003\u2009\u202f\u205f\u3000"
    for blank in blanks:
        assert lines(f"MUSTER{blank}C4{blank}\n{blank}POT{blank}Q") == ["MUSTER C4", "POT Q"]


def test_023_format_characters_go_in_orders_and_addresses() -> None:
    assert lines("\u200bMUS\u200bTER C4\u200e\n\u2068POT Q\u2069\n\xadPO\xadT K") == [
        "MUSTER C4",
        "POT Q",
        "POT K",
    ]
    assert lines(mail(From="Freya <freya\u200b@example.net>")) == ["MUSTER C4"]


def test_024_smart_typography_has_a_twin_in_ascii() -> None:
    assert lines("BID Romans – 30\n“MUSTER C4”\nBID Romans — 31") == [
        "BID Romans - 30",
        "MUSTER C4",
        "BID Romans - 31",
    ]


def test_025_what_auto_correct_made_is_not_guessed() -> None:
    assert lines("Mustard C4\nPit q\nClaim Bath\nbid Romans 30") == ["Claim Bath", "bid Romans 30"]


def test_026_full_width_letters_and_look_alikes() -> None:
    assert lines("ＭＵＳＴＥＲ　Ｃ４\nМUSTЕR С4") == ["MUSTER C4", "MUSTER C4"]


def test_027_nul_goes_after_decoding() -> None:
    assert lines("MUS\0TER C4\0\n") == ["MUSTER C4"]
    wide = base64.encodebytes("MUSTER C4\r\nPOT Q\r\n".encode("utf-16"))
    for label in ("utf-16", "utf-16le"):
        raw = mail(wide, f"text/plain; charset={label}", Content_Transfer_Encoding="base64")
        assert lines(raw) == ["MUSTER C4", "POT Q"]
    read = letter(mail("a\0b", Subject="[hexem1] or\0ders"))
    assert "\0" not in read.subject + read.text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-8"])
def test_027_utf_16_without_a_mark_and_what_only_says_it_is(codec: str) -> None:
    body = base64.encodebytes("MUSTER C4\n".encode(codec))
    raw = mail(body, "text/plain; charset=utf-16", Content_Transfer_Encoding="base64")
    assert lines(raw) == ["MUSTER C4"]


@pytest.mark.parametrize(
    "coded",
    [
        b"TVVTVEVS!\r\n IEM0\r\nCg",
        b"TVVTVEVSIEM0Cg==",
        b"TVVTVEVSIEM0Cg==\r\nUE9UIFEK",
        b"TVVTVEVSIEM0Cg==\r\n____________\r\nTribes mailing list\r\n",
        b"TVVTVEVSIEM0Cg===",
        b"MUSTER C4\r\nHello, it was never coded at all\r\n",
    ],
)
def test_base64_is_read_as_leniently_as_mail_clients_do(coded: bytes) -> None:
    assert lines(mail(coded, Content_Transfer_Encoding="base64"))[0] == "MUSTER C4"


@pytest.mark.parametrize("label", ["8BIT", "binary", "7bit; x", "none", '"base64"', "BASE64 (x)"])
def test_transfer_encodings_in_odd_writing(label: str) -> None:
    body = b"TVVTVEVSIEM0Cg==" if "ase64" in label.lower() else b"MUSTER C4\n"
    assert lines(mail(body, Content_Transfer_Encoding=label)) == ["MUSTER C4"]


def test_a_uuencoded_body_is_decoded() -> None:
    body = 'begin 644 orders.txt\n*3553555)($,T"@``\n`\nend\n'
    raw = mail(body, Content_Transfer_Encoding="x-uuencode")
    assert letter(raw).kind == "mail"


def test_a_byte_order_mark_is_no_part_of_the_first_order() -> None:
    assert lines(mail(b"\xef\xbb\xbfMUSTER C4\n")) == ["MUSTER C4"]


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\f"])
def test_every_line_end_ends_a_line(end: str) -> None:
    assert lines(end.join(["Evening.", "MUSTER C4", "BID Romans 30"])) == WANTED


def test_a_whole_message_with_other_line_ends() -> None:
    raw = mail("MUSTER C4\r\nPOT Q\r\n")
    assert lines(raw.replace(b"\r\n", b"\n")) == ["MUSTER C4", "POT Q"]
    assert lines(raw.replace(b"\r\n", b"\r")) == ["MUSTER C4", "POT Q"]


def test_what_steers_a_terminal_goes() -> None:
    raw = mail("\x1b[1mMUSTER C4\x1b[0m\n\x07POT Q\x08\n\x9bX\n")
    assert lines(raw) == ["MUSTER C4", "POT Q"]
    assert letter(raw).text == "MUSTER C4\nPOT Q\nX"


def test_decoding_never_fails() -> None:
    every = bytes(range(256))
    for label in ("utf-8", "utf-16", "utf-7", "iso-2022-jp", "gb2312", "hz", "big5", "x", "cp037"):
        assert charsets.decode(every, label)
        assert charsets.decode(every[::-1], label)


def test_parts_may_have_charsets_of_their_own() -> None:
    one = entity("Grüße", "text/plain; charset=iso-8859-1").encode("latin-1")
    two = entity("MUSTER C4\nпривет", "text/plain; charset=koi8-r").encode("koi8-r")
    read = letter(parts(one, two))
    assert "Grüße" in read.text
    assert "привет" in read.text


def test_quoted_printable_of_any_text_comes_back() -> None:
    text = "MUSTER C4\nKönig = 3\n" + "x" * 200
    raw = mail(quopri.encodestring(text.encode()), Content_Transfer_Encoding="quoted-printable")
    assert letter(raw).text == text
