"""Quotes, attributions, signatures and footers are cut; the writer's own words are not."""

import pytest

from pbem.marker import FORM_BEGIN, FORM_END, MARKER
from pbem.message import quotes
from tests.message.letters import MARKED, REPORT, entity, letter, lines, mail

WANTED = ["MUSTER C4", "POT Q"]
GOOD = "MUSTER C4\nPOT Q\n"
ADDRESS = "Tribes PBEM <game@play.example.org>"

ATTRIBUTIONS = {
    "en gmail": f"On Mon, Mar 3, 2031 at 9:00 AM {ADDRESS} wrote:",
    "en us outlook": f"On 3/3/31, 9:00 AM, {ADDRESS} wrote:",
    "en apple": "On 3 Mar 2031, at 09:00, Tribes PBEM wrote:",
    "en mutt": "On Mon, Mar 03, 2031 at 09:00:12AM +0000, Tribes PBEM wrote:",
    "en notes": "Tribes PBEM <game@play.example.org> wrote on 03/03/2031 09:00:12 AM:",
    "de": f"Am Mo., 3. März 2031 um 10:00 Uhr schrieb {ADDRESS}:",
    "de thunderbird": "Am 03.03.31 um 10:00 schrieb Tribes PBEM:",
    "fr": f"Le lun. 3 mars 2031 à 10:00, {ADDRESS} a écrit\xa0:",
    "es": "El lun, 3 mar 2031 a las 10:00, Tribes PBEM (<game@play.example.org>) escribió:",
    "it": f"Il giorno lun 3 mar 2031 alle ore 10:00 {ADDRESS} ha scritto:",
    "pt": f"Em seg., 3 de mar. de 2031 às 10:00, {ADDRESS} escreveu:",
    "nl": f"Op ma 3 mrt 2031 om 10:00 schreef {ADDRESS}:",
    "sv": f"Den mån 3 mars 2031 kl 10:00 skrev {ADDRESS}:",
    "da": f"Den man. 3. mar. 2031 kl. 10.00 skrev {ADDRESS}:",
    "no": f"man. 3. mars 2031 kl. 10:00 skrev {ADDRESS}:",
    "fi": "ma 3. maalisk. 2031 klo 10.00 Tribes PBEM (game@play.example.org) kirjoitti:",
    "pl": f"pon., 3 mar 2031 o 10:00 {ADDRESS} napisał(a):",
    "pl thunderbird": "W dniu 3.03.2031 o 10:00, Tribes PBEM pisze:",
    "cs": f"po 3. 3. 2031 v 10:00 odesílatel {ADDRESS} napsal:",
    "sk": f"po 3. 3. 2031 o 10:00 {ADDRESS} napísal(a):",
    "hu": f"{ADDRESS} ezt írta (időpont: 2031. márc. 3., H, 10:00):",
    "ro": f"lun., 3 mar. 2031 la 10:00, {ADDRESS} a scris:",
    "tr": f"{ADDRESS}, 3 Mar 2031 Pzt, 13:00 tarihinde şunu yazdı:",
    "ru": f"пн, 3 мар. 2031 г. в 12:00, {ADDRESS}:",
    "ru named": f"3 марта 2031 г., 12:00 пользователь {ADDRESS} написал(а):",
    "ru thunderbird": "03.03.2031 12:00, Tribes PBEM пишет:",
    "uk": f"пн, 3 бер. 2031 р. о 12:00 {ADDRESS} пише:",
    "el": f"Στις Δευ 3 Μαρ 2031 στις 12:00, ο χρήστης {ADDRESS} έγραψε:",
    "zh": f"{ADDRESS} 于2031年3月3日周一 17:00写道：",
    "zh tw": f"{ADDRESS} 於 2031年3月3日 週一 下午5:00寫道：",
    "ja": f"2031年3月3日(月) 18:00 {ADDRESS}:",
    "ko": f"2031년 3월 3일 (월) 오후 6:00, {ADDRESS}님이 작성:",
    "he": "\u200fבתאריך יום ב׳, 3 במרץ 2031 ב-12:00 מאת \u202aTribes PBEM\u202c\u200f "
    "<\u202agame@play.example.org\u202c\u200f>:\u200f",
    "ar": f"في الاثنين، 3 مارس 2031 في 12:00 م تمت كتابة ما يلي بواسطة {ADDRESS}:",
    "vi": f"Vào Th 2, 3 thg 3, 2031 vào lúc 16:00 {ADDRESS} đã viết:",
    "th": f"ในวันที่ จ. 3 มี.ค. 2031 16:00 น. {ADDRESS} เขียนว่า:",
    "id": f"Pada Sen, 3 Mar 2031 pukul 16.00 {ADDRESS} menulis:",
    "unknown tongue": f"Qa 3 xor 2031 zu 12:00, {ADDRESS} blorpte:",
}


@pytest.mark.parametrize("language", ATTRIBUTIONS)
def test_053_attributions_in_any_language_begin_an_unmarked_quote(language: str) -> None:
    text = f"{GOOD}\n{ATTRIBUTIONS[language]}\n\n{REPORT}\n"
    assert lines(text) == WANTED


@pytest.mark.parametrize("language", ATTRIBUTIONS)
def test_051_an_attribution_may_be_wrapped_anywhere(language: str) -> None:
    words = ATTRIBUTIONS[language].split(" ")
    for at in range(1, len(words)):
        wrapped = " ".join(words[:at]) + "\n" + " ".join(words[at:])
        assert lines(f"{GOOD}\n{wrapped}\n{MARKED}\n") == WANTED
        assert lines(f"{GOOD}\n{wrapped}\n{REPORT}\n") == WANTED, wrapped


def test_051_gmail_wraps_the_attribution_inside_the_address() -> None:
    wrapped = "On Mon, Mar 3, 2031 at 9:00 AM Tribes, the game of many tribes <\n"
    wrapped += "game@play.example.org> wrote:"
    read = letter(mail(f"{GOOD}\n{wrapped}\n\n{MARKED}\n"))
    assert read.text == GOOD.strip()


def test_052_an_attribution_without_a_verb() -> None:
    for said in (
        "03.03.2031, 12:00, «Tribes» <game@play.example.org>:",
        "2031-03-03 12:00 a@b.cd:",
    ):
        assert lines(f"{GOOD}\n{said}\n{REPORT}") == WANTED


@pytest.mark.parametrize(
    "prose",
    [
        "On Monday I went to Bath and my brother wrote:",
        "As Freya wrote:",
        "He said:",
        "These are my orders for turn 5:",
        "At 10:00 I changed my mind:",
        "My orders:",
        "On or before the ides wrote nobody:",
    ],
)
def test_054_prose_that_looks_like_an_attribution_cuts_nothing(prose: str) -> None:
    assert lines(f'{prose}\n\n"buy the mill". So:\n\n{GOOD}') == WANTED
    assert lines(f"{prose}\n{GOOD}") == WANTED


HEADERS = {
    "en": "From: {}\nSent: Monday, March 3, 2031 9:00 AM\nTo: Freya\nSubject: Turn 5",
    "en mac": "From: {}\nDate: Monday, 3 March 2031 at 09:00\nTo: Freya\nSubject: Turn 5",
    "en bold": "*From:* {}\n*Sent:* Monday, 3 March\n*To:* Freya\n*Subject:* Turn 5",
    "en spaced": "From: {}\n\nSent: Monday\n\nTo: Freya\n\nSubject: Turn 5",
    "de": "Von: {}\nGesendet: Montag, 3. März 2031 10:00\nAn: Freya\nBetreff: Turn 5",
    "de gmx": "Gesendet: Montag, 03. März 2031 um 10:00 Uhr\nVon: {}\nAn: x\nBetreff: Turn 5",
    "fr": "De : {}\nEnvoyé : lundi 3 mars 2031 10:00\nÀ : Freya\nObjet : Turn 5",
    "es": "De: {}\nEnviado el: lunes, 3 de marzo\nPara: Freya\nAsunto: Turn 5",
    "it": "Da: {}\nInviato: lunedì 3 marzo 2031 10:00\nA: Freya\nOggetto: Turn 5",
    "pt": "De: {}\nEnviada em: segunda-feira\nPara: Freya\nAssunto: Turn 5",
    "nl": "Van: {}\nVerzonden: maandag 3 maart 2031 10:00\nAan: Freya\nOnderwerp: Turn 5",
    "sv": "Från: {}\nSkickat: den 3 mars 2031 10:00\nTill: Freya\nÄmne: Turn 5",
    "da": "Fra: {}\nSendt: 3. marts 2031 10:00\nTil: Freya\nEmne: Turn 5",
    "fi": "Lähettäjä: {}\nLähetetty: maanantai\nVastaanottaja: Freya\nAihe: Turn 5",
    "pl": "Od: {}\nWysłano: poniedziałek, 3 marca\nDo: Freya\nTemat: Turn 5",
    "cs": "Od: {}\nOdesláno: pondělí 3. března\nKomu: Freya\nPředmět: Turn 5",
    "hu": "Feladó: {}\nElküldve: hétfő\nCímzett: Freya\nTárgy: Turn 5",
    "tr": "Kimden: {}\nGönderildi: Pazartesi\nKime: Freya\nKonu: Turn 5",
    "ru": "От: {}\nОтправлено: понедельник\nКому: Freya\nТема: Turn 5",
    "uk": "Від: {}\nНадіслано: понеділок\nКому: Freya\nТема: Turn 5",
    "el": "Από: {}\nΣτάλθηκε: Δευτέρα\nΠρος: Freya\nΘέμα: Turn 5",
    "zh": "发件人: {}\n发送时间: 2031年3月3日 17:00\n收件人: Freya\n主题: Turn 5",
    "zh wide": "发件人：{}\n日期：2031年3月3日\n收件人：Freya\n主题：Turn 5",
    "ja": "差出人: {}\n送信日時: 2031年3月3日\n宛先: Freya\n件名: Turn 5",
    "ko": "보낸 사람: {}\n보낸 날짜: 2031년 3월 3일\n받는 사람: Freya\n제목: Turn 5",
    "he": "מאת: {}\nנשלח: יום שני\nאל: Freya\nנושא: Turn 5",
    "unknown tongue": "Xa: {}\nYb: 3 xor 2031 12:00\nZc: Freya\nWd: Turn 5",
    "many recipients": "From: {}\nSent: Monday\nTo: a@example.org; b@example.org;\n"
    " c@example.org\nCc: d@example.org\nSubject: Turn 5",
}


@pytest.mark.parametrize("language", HEADERS)
def test_056_a_header_block_begins_an_old_mail(language: str) -> None:
    block = HEADERS[language].format(ADDRESS)
    assert lines(f"{GOOD}\nFreya\n\n{block}\n\n{REPORT}\n") == WANTED
    assert lines(f"{GOOD}\n________________________________\n{block}\n\n{REPORT}\n") == WANTED


@pytest.mark.parametrize(
    "rule",
    [
        "-----Original Message-----",
        "----- Ursprüngliche Nachricht -----",
        "-------- Message d'origine --------",
        "-----Mensaje original-----",
        "-----Oorspronkelijk bericht-----",
        "-----Исходное сообщение-----",
        "------------------ 原始邮件 ------------------",
        "----- 원본 메시지 -----",
        "---------- Forwarded message ---------",
        "-------- Weitergeleitete Nachricht --------",
        "-------- Пересылаемое сообщение --------",
        "Begin forwarded message:",
        "Anfang der weitergeleiteten Nachricht:",
        "Début du message réexpédié :",
        "===== Original Message =====",
        "--- Forwarded by Tribes on 3 March ---",
    ],
)
def test_065_what_stands_under_a_rule_with_words_is_an_old_mail(rule: str) -> None:
    assert lines(f"{GOOD}\n{rule}\n{REPORT}\n") == WANTED
    assert lines(f"Sorry, the wrong account.\n\n{rule}\nFrom: x\n\n{GOOD}") == []


def test_055_an_attribution_without_quote_marks_cuts_to_the_end() -> None:
    text = f"{GOOD}\n{ATTRIBUTIONS['en apple']}\n\n\n{REPORT}\n\nMUSTER A1\n"
    assert lines(text) == WANTED


def test_057_blank_lines_between_attribution_and_quote() -> None:
    text = f"{ATTRIBUTIONS['en gmail']}\n\n\n{MARKED}\n\n{GOOD}"
    assert lines(text) == WANTED


def test_058_answers_between_quoted_lines_count() -> None:
    between = "> Your muster?\n> MUSTER A1\nMUSTER C4\n> Your pot?\nPOT Q\n> POT Z"
    assert lines(f"{ATTRIBUTIONS['en gmail']}\n{between}") == WANTED


def test_059_bottom_posting_after_a_marked_quote() -> None:
    assert (
        lines(f"{ATTRIBUTIONS['en mutt']}\n{MARKED}\n\n{GOOD}\n-- \nFreya\nCLAIM YORK\n") == WANTED
    )
    assert lines(f"{HEADERS['en']}\n\n{MARKED}\n\n{GOOD}") == WANTED


@pytest.mark.parametrize(
    "mark",
    ["> ", ">", ">> ", "> > ", "| ", ": ", "} ", "OT> ", "Freya> ", "  > ", "» ", "＞", ">\t"],
)
def test_059_quote_marks_of_all_kinds(mark: str) -> None:
    quoted = "\n".join(mark + line for line in REPORT.split("\n"))
    assert lines(f"{quoted}\n\n{GOOD}") == WANTED


@pytest.mark.parametrize(
    "rule", ["--------------------", "*****", "_____", "=====", "- - -", "---"]
)
def test_060_a_rule_is_no_signature_and_no_quote(rule: str) -> None:
    assert lines(f"Hello.\n\n{rule}\n{GOOD}{rule}\nBye\n") == WANTED


@pytest.mark.parametrize("sign", ["-- ", "--", "*-- *", "—", "–", "--\xa0", " --", "__"])
def test_061_a_signature_is_cut(sign: str) -> None:
    assert lines(f"{GOOD}\n{sign}\nFreya\nCLAIM YORK\n") == WANTED


def test_061_dashes_far_from_the_end_or_in_a_sentence_are_no_signature() -> None:
    chat = "Some words of mine\n" * 20
    assert lines(f"Hello\n--\n{chat}{GOOD}") == WANTED
    assert lines(f"It is so -- you know --\nMUSTER C4 --\n{GOOD}")[-2:] == WANTED


def test_061_a_signature_above_a_quote_ends_with_it() -> None:
    assert lines(f"MUSTER C4\n-- \nFreya\nCLAIM YORK\n\n{MARKED}\n\nPOT Q\n") == WANTED


@pytest.mark.parametrize(
    "bullet", ["- ", "* ", "• ", "1. ", "2) ", "3: ", "4.", "(5) ", "a) ", "– ", "+ "]
)
def test_062_bullets_are_content(bullet: str) -> None:
    assert lines(f"{bullet}MUSTER C4\n{bullet}POT Q\n") == WANTED


def test_063_nothing_is_cut_from_the_top() -> None:
    assert lines(f"Thank you\n\n{GOOD}") == WANTED
    assert lines(f"--\n{GOOD}") == WANTED
    assert lines(f"\n\n-- \n{GOOD}") == WANTED


def test_064_below_our_marker_nothing_is_new() -> None:
    assert lines(f"{GOOD}\n{MARKER}\n{REPORT}") == WANTED
    assert lines(f"{GOOD}\n##- Write your orders above this line -##\n{REPORT}") == WANTED
    assert lines(f"{GOOD}\n\\#\\#- Write your orders above this line -\\#\\#\n{REPORT}") == WANTED
    assert lines(f"I wrote it above this line.\n{GOOD}") == WANTED


def test_064_a_marked_marker_cuts_only_what_is_marked() -> None:
    assert lines(f"> {MARKER}\n{MARKED}\n\n{GOOD}") == WANTED


FORM = f"{FORM_BEGIN}\nMUSTER {{}}\nBID Franks __\nPOT {{}}\n{FORM_END}"


def test_the_lines_of_an_order_form_count_quoted_or_not() -> None:
    filled = FORM.format("C4", "Q")
    marked = "\n".join(f"> {line}" for line in filled.split("\n"))
    for quoted in (
        f"{ATTRIBUTIONS['en gmail']}\n{MARKED}\n{marked}\n> MUSTER A1\n",
        f"{MARKER}\n{REPORT}\n{filled}\nMUSTER A1\n",
        f"{HEADERS['en']}\n\n{REPORT}\n{filled}\nMUSTER A1\n",
        filled,
    ):
        assert lines(f"Here they are.\n\n{quoted}") == WANTED


def test_an_order_form_as_sent_holds_no_order() -> None:
    assert lines(f"Thanks!\n\n> {MARKER}\n{MARKED}\n{FORM.format('__', '__')}") == []


def test_a_form_that_an_older_mail_brought_back_does_not_count() -> None:
    filled = FORM.format("A1", "Z")
    twice = "\n".join(f"> > {line}" for line in filled.split("\n"))
    assert lines(f"{GOOD}\n{ATTRIBUTIONS['en gmail']}\n{twice}") == WANTED
    own = "From: Freya <freya@example.net>\nSent: Monday\nTo: Tribes\nSubject: Re: x\n\nHi\n"
    assert lines(f"{GOOD}\n{own}\n{HEADERS['en']}\n\n{REPORT}\n{filled}") == WANTED


def test_a_form_whose_end_was_trimmed_away() -> None:
    filled = FORM.format("C4", "Q").replace(FORM_END, "")
    assert lines("Hi\n" + "\n".join(f"> {line}" for line in filled.split("\n"))) == WANTED


def test_050_a_disclaimer_is_cut_where_the_grammar_would_not_save_us() -> None:
    text = (
        f"{GOOD}\nFreya\n\nThis message and any files sent with it are for the addressee only.\n"
        "If you got it by mistake delete it and tell the sender.\nCLAIM YORK\n\n"
        "P Please think of the trees before you print.\n"
    )
    assert lines(text) == WANTED
    german = (
        "Diese E-Mail ist vertraulich. Falls Sie nicht der richtige Adressat sind, bitten wir\n"
    )
    assert lines(f"{GOOD}\n{german}Sie, den Absender zu informieren.\nCLAIM YORK\n") == WANTED


def test_050_one_such_word_makes_no_disclaimer() -> None:
    text = "I sent the last sheet in error, as you will have seen, and so here is the one that I\n"
    text += "would like to be judged by, now that I know the board better:\n"
    assert lines(text + GOOD) == WANTED


def test_050_secrets_among_players_are_no_disclaimer() -> None:
    text = "PRESS TO ALL\nThis is confidential and for the addressee only, by mistake or not, you "
    text += "see, and it is long enough to be one.\nEND PRESS\n"
    assert lines(text + GOOD) == WANTED
    assert letter(mail(text + GOOD)).text == (text + GOOD).strip()


@pytest.mark.parametrize(
    "trailer",
    [
        "Sent from my iPhone",
        "Get Outlook for iOS<https://aka.example.net/o>",
        "Von meinem iPhone gesendet",
        "Envoyé de mon iPad",
        "Отправлено с iPhone",
        "发自我的 iPhone",
    ],
)
def test_what_a_phone_says_of_itself_is_not_its_owners_word(trailer: str) -> None:
    assert letter(mail(f"{GOOD}\n{trailer}\n")).text.strip() == GOOD.strip()


@pytest.mark.parametrize(
    "footer",
    [
        "_______________________________________________\nTribes mailing list\nCLAIM YORK\n",
        "-- \nYou received this message because you are subscribed to it.\nCLAIM YORK\n",
        "-----\nTo unsubscribe write to x@example.org\nCLAIM YORK\n",
    ],
)
def test_036_a_list_footer_in_the_text(footer: str) -> None:
    assert lines(f"{GOOD}\n{footer}") == WANTED


def test_from_with_a_mark_is_no_quote() -> None:
    read = letter(mail("MUSTER C4\n>From the west a storm comes.\nPOT Q\n"))
    assert "\nFrom the west a storm comes.\n" in read.text


def test_text_after_an_end_line_is_no_signature_before_it() -> None:
    text = "PRESS TO ALL\nAve\n-- \nCaesar\nEND PRESS\nMUSTER C4\nPOT Q\n-- \nFreya\nCLAIM YORK\n"
    assert lines(text) == WANTED


def test_what_was_cut_is_kept_without_its_marks() -> None:
    read = letter(mail(f"Thanks!\n\n{ATTRIBUTIONS['en gmail']}\n{MARKED}\n"))
    assert read.text == "Thanks!"
    assert "MUSTER A1" in read.quoted.split("\n")


def test_every_line_is_either_own_or_quoted() -> None:
    text = f"{GOOD}\n{ATTRIBUTIONS['de']}\n{MARKED}\n\nMore\n-- \nFreya"
    own, quoted = quotes.cut(text)
    bare = sorted(line.removeprefix("> ") for line in text.split("\n") if line)
    assert sorted(line for line in (own + "\n" + quoted).split("\n") if line) == bare


def test_a_quoted_flowed_text() -> None:
    kind = "text/plain; charset=utf-8; format=flowed"
    assert lines(mail(f"{ATTRIBUTIONS['pl thunderbird']}\n{MARKED}\n\n{GOOD}", kind)) == WANTED
    assert entity("x").startswith("Content-Type: text/plain")


def test_emphasis_round_a_word_or_a_line() -> None:
    for said in ("*MUSTER* C4", "*MUSTER C4*", "**MUSTER C4**", "_MUSTER_ *C4*", "*MUSTER C4*."):
        assert lines(f"{said}\nPOT Q\n") == WANTED
