"""What mail programs write round a quoted mail, in the languages people use: data only.

All in lower case, typography folded to ASCII where it has a twin.
"""


def _phrases(rows: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for row in rows.strip().splitlines() for phrase in row.split("|"))


# The line we put ourselves where HTML says that an old mail begins.
SEPARATOR = "-----Original Message-----"

# Labels of the header block that stands before an old mail, by the field they mean.
LABELS = {
    label: field
    for field, labels in {
        "from": """
            from | von | de | da | van | från | fra | od | от | от кого | від | от имени
            发件人 | 寄件者 | 寄件人 | 差出人 | 送信者 | 보낸 사람 | 보낸사람 | kimden
            gönderen | lähettäjä | feladó | από | מאת | من | de la | expéditeur | mittente
            remitente | remetente | afzender | avsändare | afsender | avsender | nadawca
            odesílatel | odesilatel | absender | відправник | отправитель | từ | saatja | no
            iš | pošiljatelj | šalje | expeditor
        """,
        "date": """
            date | sent | sent at | gesendet | datum | envoyé | envoyé le | enviado | enviado el
            enviada em | enviado em | fecha | data | inviato | verzonden | skickat | sendt
            dato | wysłano | wysłane | отправлено | дата | odesláno | odoslané | 发送时间
            发送日期 | 寄件日期 | 傳送日期 | 日期 | 送信日時 | 日付 | 보낸 날짜 | 날짜
            보낸날짜 | gönderildi | gönderme tarihi | tarih | lähetetty | päivämäärä | päiväys
            küldve | elküldve | dátum | στάλθηκε | ημερομηνία | נשלח | תאריך | تاريخ الإرسال
            التاريخ | надіслано | trimis | poslano | đã gửi | ngày | saadetud | data invio
            when | posted at
        """,
        "to": """
            to | an | à | a | para | aan | till | til | do | komu | кому | 收件人 | 收件者
            宛先 | 받는 사람 | 받는사람 | kime | alıcı | vastaanottaja | címzett | προς | אל
            إلى | către | destinataire | destinatario | destinatário | mottagare | modtager
            mottaker | empfänger | ontvanger | príjemca | příjemce | đến | za
        """,
        "subject": """
            subject | betreff | objet | asunto | oggetto | onderwerp | ämne | emne | temat
            тема | předmět | predmet | 主题 | 主題 | 主旨 | 件名 | 제목 | konu | aihe | tárgy
            θέμα | נושא | الموضوع | assunto | subiect | sujet | re | chủ đề | teema
        """,
        "other": """
            cc | bcc | kopie | copie | copia | cópia | kopia | копия | 抄送 | 副本 | 참조
            bilgi | kopio | másolat | reply-to | antwort an | répondre à | responder a
            attachments | anlagen | importance | priority | message-id | organization
            newsgroups | kopi | skrytá | κοιν. | עותק | نسخة | копія | x-mailer
        """,
    }.items()
    for label in _phrases(labels)
}

# What stands between dashes before an old mail, or before one that is passed on.
OLD_MAIL = _phrases(
    """
    original message | original mail | original email | original appointment
    original-nachricht | originalnachricht | ursprüngliche nachricht | urspruengliche nachricht
    ursprungliche nachricht | message d'origine | message original | message initial
    mensaje original | messaggio originale | messaggio inoltrato | messaggio da
    oorspronkelijk bericht | originalmeddelande | ursprungligt meddelande | opprinnelig melding
    oprindelig meddelelse | original meddelelse | wiadomość oryginalna | oryginalna wiadomość
    исходное сообщение | исходное письмо | пересылаемое сообщение | пересылаемое письмо
    пересланное сообщение | пересланное письмо | конец пересылаемого | завершение пересылаемого
    původní zpráva | pôvodná správa | původní e-mail | přeposlaná zpráva | 原始邮件 | 原邮件
    原始郵件 | 转发邮件 | 转发的邮件 | 轉寄 | 元のメッセージ | 转发信息 | 転送メッセージ
    원본 메시지 | 원본 메일 | 전달된 메시지 | 전달된 메일 | orijinal ileti | özgün ileti
    iletilen mesaj | yönlendirilen | iletilmiş | alkuperäinen viesti | välitetty viesti
    eredeti üzenet | továbbított üzenet | mensagem original | mensagem encaminhada
    mensagem reencaminhada | αρχικό μήνυμα | προωθημένο μήνυμα | הודעה מקורית | הודעה שהועברה
    الرسالة الأصلية | رسالة معاد | forwarded message | forwarded by | forwarded mail
    weitergeleitete nachricht | weitergeleitet von | message transféré | message transmis
    message réexpédié | transféré par | mensaje reenviado | reenviado por | doorgestuurd bericht
    vidarebefordrat | vidarebefordrat meddelande | videresendt melding | videresendt meddelelse
    videresendt besked | przekazana wiadomość | wiadomość przekazana | przekazane przez
    початкове повідомлення | переслане повідомлення | mesaj original | mesaj redirecționat
    tin nhắn đã chuyển tiếp | thư gốc | reply to message | reply message | begin forwarded
    """
)

# Lines without dashes that say the same, and end with a colon.
FORWARDS = _phrases(
    """
    begin forwarded message | anfang der weitergeleiteten nachricht | anfang der e-mail
    début du message réexpédié | début du message transféré | inizio messaggio inoltrato
    inicio del mensaje reenviado | begin doorgestuurd bericht | vidarebefordrat mejl
    start på videresendt besked | videresendt melding | początek przekazywanej wiadomości
    início da mensagem encaminhada | início da mensagem reencaminhada
    начало переадресованного сообщения | 下面是被转发的邮件 | 開始轉寄郵件
    転送されたメッセージ | 전달된 메시지 | iletilmiş mesaj | välitetty viesti
    továbbított levél | начало переадресованного письма | započetí přeposílané zprávy
    začátek přeposílané zprávy
    """
)

# The verb of an attribution: `On … <ann@example.org> wrote:`.
WROTE = _phrases(
    """
    wrote | writes | said | schrieb | geschrieben | schreibt | a écrit | écrit | a ecrit
    escribió | escribio | ha scritto | scrisse | scritto | escreveu | schreef | geschreven
    skrev | napisał | pisze | napisała | написал | пишет | писал | написала | написав | пише
    napsal | píše | napísal | napisao | 写道 | 寫道 | 寫於 | 写于 | さんは書きました | のメール
    書き込みました | 작성 | 님이 | şunu yazdı | yazdı | tarihinde | kirjoitti | írta | ezt írta
    έγραψε | έγραψαν | כתב | כתבה | מאת | كتب | كتبت | كتابة | a scris | đã viết | viết
    เขียนว่า | menulis | kirjutas | rakstīja | rašė | je napisal | napisala | komentoval
    sinulat
    """
)

# What a phone or a mail program adds about itself, at the start of a line.
TRAILERS = _phrases(
    """
    sent from my | sent from mail for | sent from yahoo | sent from outlook | sent from proton
    sent via | sent with | get outlook for | outlook für | gesendet mit | gesendet von
    von meinem | diese nachricht wurde von meinem | envoyé de mon | envoyé depuis
    obtenir outlook | télécharger outlook | enviado desde | enviado do meu | enviado de mi
    obtener outlook | obter o | inviato da | ottieni outlook | verstuurd vanaf | verzonden vanaf
    download outlook | skickat från | sendt fra | hent outlook | wysłane z | wysłano z
    отправлено с | отправлено из | відправлено з | odesláno z | odoslané z | 发自我的 | 从我的
    傳送自我的 | iphoneから送信 | androidから送信 | 나의 iphone에서 | iphone'umdan gönderildi
    lähetetty | iphone-ról küldve | στάλθηκε από | נשלח מה
    """
)

# What a list server writes under a mail.
LIST_FOOTERS = _phrases(
    """
    mailing list | to unsubscribe | unsubscribe | you received this message because | list info
    listinfo | mailingliste | abmelden | abbestellen | désabonner | liste de diffusion
    cancellarsi | darse de baja | отписаться | рассылк | lista de correo | google groups
    mailinglijst | postorius
    """
)

# Words of which a disclaimer has two or more.
DISCLAIMER = _phrases(
    """
    confidential | addressee | intended recipient | intended only | intended solely | privileged
    by mistake | in error | disclos | unauthori | delete it | delete this | notify the sender
    tell the sender | files sent with it | files transmitted | copying | vertraulich
    bestimmungsgemäße | richtige adressat | irrtümlich | unbefugt | absender | vernichten
    confidentiel | destinataire | par erreur | détruire | confidenziale | destinatario
    per errore | confidencial | por error | por engano | vertrouwelijk | geadresseerde
    ten onrechte | poufn | adresat | omyłkow | конфиденциальн | адресат | по ошибке | fortrolig
    konfidentiell | av misstag
    """
)

# Before the subject of a mail that answers or passes on another.
PREFIXES = frozenset(
    _phrases(
        """
    antw | antwort | atb | aw | bls | doorst | enc | fs | fw | fwd | hom | i | ilt | odp | pd
    r | re | ref | res | rif | rv | sv | továbbítás | tr | trs | va | vb | vl | vs | vá | wg
    ynt | απ | πρθ | σχετ | на | отв | ответ | пересл | הועבר | השב | פ | תשובה | إعادة توجيه
    رد | 回复 | 回覆 | 答复 | 転送 | 轉寄 | 转发 | 返信 | 답장 | 전달
    """
    )
)

# The subject of an automatic answer, whole or before a colon.
AUTOMATIC = _phrases(
    """
    automatic reply | auto reply | auto-reply | autoreply | auto response | auto-response
    autoresponse | out of office | out of the office | out-of-office | automatische antwort
    abwesenheitsnotiz | abwesenheit | abwesend | abwesenheitsmeldung | réponse automatique
    absence du bureau | message d'absence | absent du bureau | respuesta automática
    respuesta automatica | fuera de la oficina | risposta automatica | fuori sede
    fuori ufficio | automatisch antwoord | afwezig | afwezigheid | autosvar | automatiskt svar
    frånvarande | automatisk svar | fraværende | resposta automática | resposta automatica
    ausência | fora do escritório | automatyczna odpowiedź | odpowiedź automatyczna
    poza biurem | автоответ | автоматический ответ | автоматична відповідь | automatická odpověď
    mimo kancelář | 自动回复 | 自動回覆 | 自動返信 | 不在通知 | 자동 회신 | 부재중
    otomatik yanıt | ofis dışında | automaattinen vastaus | poissa | automatikus válasz
    αυτόματη απάντηση | מענה אוטומטי | רد تلقائي | vacation | vacation reply | auto
    """
)
