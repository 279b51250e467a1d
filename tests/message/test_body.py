"""Which parts of a mail are its text, and HTML as its reader saw it."""

import base64

import pytest

from tests.message.letters import entity, html, letter, lines, mail, parts

WANTED = ["MUSTER C4", "POT Q"]
GOOD = "MUSTER C4\r\nPOT Q\r\n"
HTML = "text/html; charset=utf-8"
STALE = "<div>MUSTER A1</div><div>CLAIM YORK</div>"


def test_028_br_inside_div_only_adds_blank_lines() -> None:
    assert lines(html("<div>MUSTER C4<br></div><div><br></div><div>POT Q<br></div>")) == WANTED


@pytest.mark.parametrize("br", ["<br>", "<br/>", "<BR>", "<br >", "<br clear=all>", "</br>"])
def test_029_br_is_a_line_end(br: str) -> None:
    assert lines(html(f"Hello,{br}MUSTER C4{br}POT Q{br}cheers")) == WANTED


@pytest.mark.parametrize(
    "opened", ["<pre>", '<div style="white-space: pre-wrap">', '<p style="white-space:pre;">']
)
def test_030_pre_keeps_its_line_ends(opened: str) -> None:
    assert lines(html(f"{opened}MUSTER C4\nPOT   Q\n</div>")) == WANTED


def test_031_an_order_that_lost_its_line_end_is_not_taken() -> None:
    assert lines(html("<p>MUSTER C4 POT Q</p>")) == []


def test_032_no_markdown_and_no_wrapping() -> None:
    long = "TRADE WITH Freya GIVE " + ", ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 2) + " GET K"
    assert lines(html(f"<p>{long}</p><p>1. MUSTER C4</p>")) == [long, "MUSTER C4"]
    assert "\\" not in letter(html("<p>1. a_b*c</p>")).text


def test_033_an_empty_or_stub_plain_part_gives_way_to_the_html() -> None:
    page = entity("<div>MUSTER C4</div><div>POT Q</div>", HTML)
    for stub in (" \r\n\r\n", "Your program can not show HTML.", ""):
        assert lines(parts(entity(stub), page, kind="alternative")) == WANTED


def test_033_html_is_not_read_where_the_plain_part_has_orders() -> None:
    page = entity("<div>MUSTER C5</div>", HTML)
    assert lines(parts(entity(GOOD), page, kind="alternative")) == WANTED


def test_033_html_is_not_asked_for_what_was_cut_from_the_plain_part() -> None:
    plain = entity("Thanks!\r\n\r\n> MUSTER A1\r\n")
    assert lines(parts(plain, entity(f"Thanks!{STALE}", HTML), kind="alternative")) == []


def test_034_where_cutting_leaves_nothing_it_is_asked_about() -> None:
    text = "On 3 March 2031 at 10:00 Ann <ann@example.org> wrote:\n\nMUSTER C4\n"
    assert lines(text) == []
    assert "MUSTER C4" in letter(mail(text)).quoted


def test_035_text_picture_text() -> None:
    picture = entity("iVBORw0KGgo=", "image/png; name=map.png", "Content-Transfer-Encoding: base64")
    assert lines(parts(entity("MUSTER C4\r\n"), picture, entity("POT Q\r\n"))) == WANTED
    pages = [entity(f"<div>{line}</div>", HTML) for line in WANTED]
    assert lines(parts(pages[0], picture, pages[1])) == WANTED


def test_036_a_list_footer_is_no_body() -> None:
    rule = "_______________________________________________\r\n"
    footer = entity(f"{rule}Tribes mailing list -- tribes@lists.example.org\r\nCLAIM YORK\r\n")
    assert lines(parts(entity(GOOD), footer)) == WANTED


def test_036_a_plain_footer_beside_an_html_body() -> None:
    footer = entity("_____\r\nTribes mailing list\r\nTo unsubscribe write to x@example.org\r\n")
    page = entity("<p>MUSTER C4</p><p>POT Q</p>", HTML)
    assert lines(parts(page, footer)) == WANTED


def test_036_a_gateway_banner_as_a_part_before_the_body() -> None:
    banner = entity("CAUTION: this mail came from outside.\r\n")
    assert lines(parts(banner, entity("<p>MUSTER C4</p><p>POT Q</p>", HTML))) == WANTED


NAMED = (
    "Content-Type: text/plain; charset=utf-8; name=old.txt",
    "Content-Disposition: attachment; filename=old.txt",
)


def test_037_a_named_text_is_no_body_where_there_is_an_unnamed_one() -> None:
    old = "\r\n".join([*NAMED, "", "MUSTER A1\r\n"])
    assert lines(parts(entity(GOOD), old)) == WANTED
    assert lines(parts(old, entity(GOOD))) == WANTED


def test_037_a_text_file_is_read_where_the_body_has_no_orders() -> None:
    file = "\r\n".join([*NAMED, "", GOOD])
    assert lines(parts(entity("They are in the file.\r\n"), file)) == WANTED
    assert lines(parts(file)) == WANTED
    image = entity("x", "application/pdf; name=a.pdf")
    assert lines(parts(entity("none\r\n"), image)) == []


def test_037_a_mail_that_is_one_named_text() -> None:
    assert lines(mail(GOOD, "text/plain; charset=utf-8; name=orders.txt")) == WANTED


def tnef(body: bytes) -> str:
    head = bytes.fromhex("789f3e22 0100")
    attribute = b"\x02" + (0x00069007).to_bytes(4, "little") + (2).to_bytes(4, "little")
    text = b"\x01" + (0x0002800C).to_bytes(4, "little") + len(body).to_bytes(4, "little")
    data = head + attribute + b"\0\0\0\0" + text + body + b"\0\0"
    coded = base64.encodebytes(data).decode()
    fields = ("Content-Transfer-Encoding: base64", "Content-Disposition: attachment")
    return entity(coded, 'application/ms-tnef; name="winmail.dat"', *fields)


def test_038_the_body_in_winmail_dat_is_read() -> None:
    assert lines(parts(entity("\r\n"), tnef(b"MUSTER C4\r\nPOT Q\r\n\0"))) == WANTED


def test_038_a_winmail_dat_that_can_not_be_read_is_explained() -> None:
    bad = entity("eJ8+", "application/ms-tnef; name=winmail.dat")
    read = letter(parts(entity("\r\n"), bad))
    assert (read.kind, read.why) == ("mail", "its text is in rich text (winmail.dat)")


def test_039_a_clear_signed_mail_is_read_through_its_signature() -> None:
    signature = entity("MIIE", "application/pkcs7-signature; name=smime.p7s")
    assert lines(parts(entity(GOOD), signature, kind="signed")) == WANTED
    inner = 'Content-Type: multipart/alternative; boundary="in"\r\n\r\n--in\r\n'
    inner += entity(GOOD) + "\r\n--in\r\n" + entity(STALE, HTML) + "\r\n--in--\r\n"
    assert lines(parts(inner, signature, kind="signed")) == WANTED


def der(tag: int, content: bytes) -> bytes:
    size = len(content).to_bytes(2, "big")
    return bytes([tag, 0x82]) + size + content


def signed(entity: bytes, indefinite: bool) -> bytes:
    oid = bytes.fromhex("06092a864886f70d010701")
    if indefinite:
        half = len(entity) // 2
        octets = b"\x24\x80" + der(0x04, entity[:half]) + der(0x04, entity[half:]) + b"\0\0"
        content = b"\x30\x80" + oid + b"\xa0\x80" + octets + b"\0\0\0\0"
    else:
        content = der(0x30, oid + der(0xA0, der(0x04, entity)))
    inner = der(0x30, b"\x02\x01\x01\x31\x00" + content)
    return der(0x30, bytes.fromhex("06092a864886f70d010702") + der(0xA0, inner))


@pytest.mark.parametrize("indefinite", [False, True])
def test_040_an_opaquely_signed_mail_is_unwrapped(indefinite: bool) -> None:
    data = signed(entity(GOOD).encode(), indefinite)
    kind = "application/pkcs7-mime; smime-type=signed-data; name=smime.p7m"
    raw = mail(base64.encodebytes(data), kind, Content_Transfer_Encoding="base64")
    assert lines(raw) == WANTED


def test_040_an_encrypted_mail_is_explained() -> None:
    kind = "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m"
    read = letter(mail("MIIE", kind, Content_Transfer_Encoding="base64"))
    assert (read.kind, read.why) == ("mail", "it is encrypted (S/MIME)")


def test_041_pgp_mime_signed_and_encrypted() -> None:
    signature = entity("-----BEGIN PGP SIGNATURE-----", "application/pgp-signature; name=s.asc")
    assert lines(parts(entity(GOOD + "\r\n-- \r\nCLAIM YORK"), signature, kind="signed")) == WANTED
    version = entity("Version: 1", "application/pgp-encrypted")
    coded = entity("-----BEGIN PGP MESSAGE-----", "application/octet-stream; name=e.asc")
    read = letter(parts(version, coded, kind="encrypted", Subject="[hexem1]"))
    assert (read.kind, read.text, read.why) == ("mail", "", "it is encrypted")
    inline = "-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n"
    assert letter(mail(inline)).why == "it is encrypted"


def test_041_an_inline_pgp_signature() -> None:
    text = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nMUSTER C4\n- - POT Q\n"
        "-----BEGIN PGP SIGNATURE-----\n\nCLAIM YORK\n-----END PGP SIGNATURE-----\n"
    )
    assert lines(text) == WANTED


def test_042_the_closing_boundary_may_miss() -> None:
    assert lines(parts(entity(GOOD)).replace(b"--cut--", b"")) == WANTED
    assert lines(parts(entity(GOOD)).removesuffix(b"--cut--\r\n")) == WANTED


def test_043_a_boundary_that_never_comes_or_is_not_named() -> None:
    raw = parts(entity(GOOD))
    assert lines(raw.replace(b'boundary="cut"', b'boundary="other"')) == WANTED
    assert lines(raw.replace(b'; boundary="cut"', b"")) == WANTED
    assert lines(mail(GOOD, "multipart/mixed")) == WANTED


@pytest.mark.parametrize("mark", ["<<001-31>>", "=_a?b'c(d)", "a b", "----=_Part", "x" * 70])
def test_043_boundaries_of_odd_letters(mark: str) -> None:
    assert lines(parts(entity(GOOD)).replace(b"cut", mark.encode())) == WANTED


def test_043_no_blank_line_before_the_text() -> None:
    raw = mail("").rstrip() + b"\r\nMUSTER C4\r\nPOT Q\r\n"
    assert lines(raw) == WANTED
    assert lines(parts("MUSTER C4\r\nPOT Q\r\n")) == WANTED


def test_043_a_stray_line_among_the_fields() -> None:
    raw = mail(GOOD, head="X-Long: a\r\nb c not folded\r\n")
    assert lines(raw) == WANTED
    assert lines(mail(GOOD, head="From freya@example.net Mon Mar  3 18:04:11 2031\r\n")) == WANTED
    assert lines(b"\r\n\r\n" + mail(GOOD)) == WANTED
    assert lines(mail(GOOD).replace(b"Subject: ", b"Subject : ")) == WANTED


def test_044_a_uuencoded_block_is_left_alone() -> None:
    assert lines(f"{GOOD}\nbegin 644 old.txt\nMUSTER A1\n`\nend\n") == WANTED


def test_045_continued_and_coded_file_names() -> None:
    fields = (
        "Content-Disposition: attachment;",
        " filename*0*=utf-8''%D0%BF%D1%80;",
        " filename*1*=%D0%B8.txt",
    )
    file = entity(GOOD, "application/octet-stream", *fields)
    assert lines(parts(entity("see file"), file)) == WANTED
    word = "=?utf-8?Q?a.txt?="
    file = entity(GOOD, f'application/octet-stream; name="{word}"')
    assert lines(parts(entity("see file"), file)) == WANTED


def test_047_an_archive_is_never_opened() -> None:
    archive = entity(GOOD, "application/zip; name=orders.zip")
    assert lines(parts(entity("see file"), archive)) == []


def test_049_a_warning_banner_in_the_text() -> None:
    banner = "CAUTION: This email came from outside the office. Do not click links.\r\n"
    assert lines(f"{banner}________________________________\r\n\r\n{GOOD}") == WANTED
    assert lines(f"[EXTERNAL] {banner}-----\r\n{GOOD}") == WANTED


def test_a_page_with_a_name_is_read_unless_it_is_attached() -> None:
    page = entity("<p>MUSTER C4</p>", "text/html; name=mail.html")
    assert lines(parts(page)) == ["MUSTER C4"]
    attached = entity("<p>MUSTER C4</p>", HTML, "Content-Disposition: attachment")
    assert lines(parts(entity("see file"), attached)) == []


def test_enriched_text_and_markdown() -> None:
    assert lines(mail("<bold>MUSTER C4</bold>\n\nPOT Q<nl>", "text/enriched")) == WANTED
    assert lines(mail("* **MUSTER C4**\n* POT Q\n", "text/markdown")) == WANTED


def test_a_forwarded_mail_beside_the_text_is_not_its_writers() -> None:
    old = "Content-Type: message/rfc822\r\n\r\nFrom: a@example.org\r\n\r\nMUSTER A1\r\n"
    assert lines(parts(entity("See below."), old)) == []
    assert lines(parts(entity(GOOD), old)) == WANTED


def test_only_the_root_of_related_parts_is_text() -> None:
    page = entity("<p>MUSTER C4</p><p>POT Q</p><img src=cid:1>", HTML)
    assert lines(parts(page, entity("MUSTER A1"), kind="related")) == WANTED


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">{}</div>',
        '<div style="DISPLAY : NONE !important">{}</div>',
        '<span style="visibility: hidden">{}</span>',
        '<p style="font-size:0">{}</p>',
        '<p style="mso-hide:all">{}</p>',
        '<div style="max-height:0;overflow:hidden">{}</div>',
        "<div hidden>{}</div>",
        "<script>\n{}\n</script>",
        "<style>\n{}\n</style>",
        "<title>{}</title>",
        "<!--\n{}\n-->",
        "<template>{}</template>",
        "<textarea>{}</textarea>",
        "<select><option>{}</select>",
        "<!--[if mso]>\n{}\n<![endif]-->",
    ],
)
def test_only_what_its_reader_could_see_counts(hidden: str) -> None:
    stale = hidden.format("<br>MUSTER A1<br>")
    assert lines(html(f"{stale}<p>MUSTER C4</p>{stale}<p>POT Q</p>{stale}")) == WANTED


@pytest.mark.parametrize("tag", ["s", "del", "strike", 'span style="text-decoration:line-through"'])
def test_struck_text_is_withdrawn(tag: str) -> None:
    closing = tag.split()[0]
    assert lines(html(f"<div><{tag}>MUSTER A1</{closing}></div><p>MUSTER C4</p>")) == ["MUSTER C4"]
    assert lines(html(f"<p>MUSTER C4 <{tag}>C5</{closing}></p>")) == ["MUSTER C4"]


def test_a_row_of_a_table_is_a_line() -> None:
    row = "<tr><td>{}</td><td>{}</td></tr>"
    table = row.format("MUSTER", "C4") + row.format("<p>POT</p>", "<p>Q<o:p></o:p></p>")
    assert lines(html(f"My turn:<table border=1>{table}</table>")) == WANTED


def test_a_page_laid_out_in_a_table_keeps_its_lines() -> None:
    page = "<table><tr><td><div>Hi</div><div>MUSTER C4</div><div>POT Q</div></td></tr></table>"
    assert lines(html(page)) == WANTED


def test_a_quote_in_a_cell_is_still_a_quote() -> None:
    cells = "<td>MUSTER C4</td></tr><tr><td><blockquote>MUSTER A1</blockquote></td>"
    assert lines(html(f"<table><tr>{cells}</tr></table>")) == ["MUSTER C4"]


def test_lists_emphasis_entities_and_links() -> None:
    assert lines(html("<ul><li><b>MUSTER</b> C4</li><li><i>POT&ensp;Q</i></ul>")) == WANTED
    assert lines(html("<p>&#77;USTER&nbsp;C4<p>PO&shy;T <a href='http://x'>Q</a>")) == WANTED


def test_line_ends_in_the_source_of_html_are_blanks() -> None:
    assert lines(html("<p>MUSTER\r\n   C4</p>\r\n<p>POT\tQ</p>")) == WANTED


QUOTES = {
    "gmail": '<div class="gmail_quote"><div class="gmail_attr">On 3 March 2031, Tribes '
    '&lt;game@play.example.org&gt; wrote:<br></div><blockquote class="gmail_quote">{}</blockquote>'
    "</div>",
    "apple": '<blockquote type="cite"><div>On 3 Mar 2031, at 09:00, Tribes wrote:</div>{}'
    "</blockquote>",
    "thunderbird": '<div class="moz-cite-prefix">On 3/3/31 10:00, Tribes wrote:<br></div>'
    '<blockquote type="cite" cite="mid:x">{}</blockquote>',
    "thunderbird forward": '<div class="moz-forward-container">-------- Forwarded Message --------'
    "{}</div>",
    "yahoo": '<div id="ydp1yahoo_quoted_2" class="ydp1yahoo_quoted"><div>{}</div></div>',
    "gmx": '<div name="quote" style="margin:10px"><div name="quoted-content">{}</div></div>',
    "outlook web": '<hr tabindex="-1"><div id="divRplyFwdMsg"><b>From:</b> Tribes</div>{}',
    "outlook phone": '<div id="mail-editor-reference-message-container"><div id="divRplyFwdMsg">'
    "<b>De :</b> Tribes</div>{}</div>",
    "outlook": '<div style="border:none;border-top:solid #E1E1E1 1.0pt"><p><b>Von:</b> Tribes '
    "&lt;game@play.example.org&gt;<br><b>Gesendet:</b> Montag, 3. März 2031 09:00<br><b>An:</b> "
    "Freya<br><b>Betreff:</b> [hexem1] Turn 5</p></div>{}",
    "outlook in paragraphs": "<p><b>From:</b> Tribes</p><p><b>Sent:</b> Monday</p><p><b>To:</b> "
    "Freya</p><p><b>Subject:</b> Turn 5</p>{}",
    "zimbra": '<hr id="zwchr" data-marker="__DIVIDER__"><div data-marker="__HEADERS__"><b>From: '
    '</b>"Tribes"<br></div><div data-marker="__QUOTED_TEXT__">{}</div>',
    "proton": '<div class="protonmail_quote">On Monday, Tribes wrote:<br><blockquote>{}'
    "</blockquote></div>",
    "yandex": "<div>03.03.2031, 12:00, «Tribes» &lt;game@play.example.org&gt;:</div><blockquote>{}"
    "</blockquote>",
    "mail.ru": '<blockquote style="border-left:1px solid #0857A6">Понедельник, 3 марта 2031, 12:00 '
    "+03:00 от Tribes &lt;game@play.example.org&gt;:<br>{}</blockquote>",
    "qq": "<div>------------------&nbsp;原始邮件&nbsp;------------------</div><div><b>发件人:</b>"
    "Tribes</div>{}",
    "fastmail": '<div>On Mon, 3 Mar 2031, at 9:00 AM, Tribes wrote:</div><blockquote type="cite" '
    'id="qt">{}</blockquote>',
    "tutanota": '3 Mar 2031, 09:00 by game@play.example.org:<br><blockquote class="tutanota_quote">'
    "{}</blockquote>",
    "gmail forward": '<div class="gmail_quote"><div>---------- Forwarded message ---------<br>'
    "From: <b>Tribes</b><br></div>{}</div>",
}


@pytest.mark.parametrize("client", QUOTES)
def test_055_quotes_of_clients_that_send_html_only(client: str) -> None:
    page = "<div>MUSTER C4</div><div>POT Q</div><div><br></div>" + QUOTES[client].format(STALE)
    assert lines(html(page)) == WANTED


@pytest.mark.parametrize(
    "signature",
    [
        '<div class="gmail_signature">{}</div>',
        '<div class="moz-signature">-- <br>{}</div>',
        '<div class="protonmail_signature_block">{}</div>',
        '<div id="ms-outlook-mobile-signature">{}</div>',
        '<div id="AppleMailSignature">{}</div>',
        "<div>--&nbsp;</div>{}",
        "<div>-- <br></div>{}",
    ],
)
def test_signatures_of_clients_that_send_html_only(signature: str) -> None:
    page = "<div>MUSTER C4</div><div>POT Q</div>" + signature.format(STALE)
    assert lines(html(page)) == WANTED


def test_058_answers_between_quotes_count_in_html_too() -> None:
    quote = '<blockquote type="cite"><div>Your muster? MUSTER A1</div><div>MUSTER A1</div>{}'
    page = quote.format("</blockquote><div>MUSTER C4</div>") + quote.format("</blockquote>")
    assert lines(html(f"{page}<div>POT Q</div>")) == WANTED


def test_an_indented_paragraph_is_no_quote() -> None:
    style = "margin:0 0 0 40px;border:none;padding:0px"
    page = f'<blockquote style="{style}"><div>MUSTER C4</div><div>POT Q</div></blockquote>'
    assert lines(html(page)) == WANTED


def test_a_subject_is_read_where_there_is_nothing_else() -> None:
    assert lines(mail("\r\n", Subject="[hexem1] MUSTER C4; POT Q")) == WANTED
    assert lines(mail("\r\n", Subject="Re: [hexem1] MUSTER C4")) == ["MUSTER C4"]
    assert lines(mail("see above\r\n", Subject="MUSTER C4")) == ["MUSTER C4"]
    assert lines(mail("Thanks!\r\n", Subject="Re: MUSTER C4")) == []
    assert lines(mail("BID Romans 3\r\n", Subject="MUSTER C4")) == ["BID Romans 3"]
