"""Words by which a sentence gives itself away: as giving a reason, as telling of a decision. Many languages, one look-up each.

Words are looked up in sets and phrases only where their first word occurs: a regular expression of all of them costs more than
parsing the note.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"[^\W\d_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(text.split()).split(", "))


_REASON_WORDS = _words("""
because since rationale reason reasons reasoning justification justify justifies justified therefore weil damit denn
wegen aufgrund deshalb daher grund gründe car puisque afin porque pois perché poiché affinché omdat vanwege zodat
ponieważ dlatego żeby поскольку чтобы поэтому çünkü nedeniyle karena agar supaya لأن بسبب
""")
_REASON_PHRASES = _phrases("""
so that, in order to, due to, owing to, as a result of, given that, which is why, that's why, motivated by, driven by,
to avoid, to prevent, would have, would require, would mean, parce que, parce qu', en raison de, grâce à, ya que,
debido a, puesto que, para que, a fin de, já que, devido a, a causa di, dato che, потому что, так как, из-за, bởi vì,
من أجل
""")
_REASON_PIECES = _phrases("""
ため, ので, なぜなら, 理由, 因为, 因為, 由于, 由於, 为了, 為了, 原因, 때문, 위해, 이유, เพราะ, เนื่องจาก, เพื่อ,
สาเหตุ, क्योंकि, ताकि
""")
_NOT_A_REASON = re.compile(
    r"\bsince (?:\d|then\b|last\b|january|february|march|april|may|june|july|august|september|october|november|december)", re.IGNORECASE
)

_HINT_WORDS = _words("""
allow allows allowing enable enables enabling need needs needed require requires problem problems benefit benefits
advantage advantages simpler simplify simplicity easier cheaper faster cost costs lack lacks limited limitation
limitations risk risks difficult difficulty complex complexity hence thus instead unable impossible cannot confusing
confusion inconsistent better improve improves reduce reduces avoid avoids ensure ensures means goal expensive slow
painful burden overhead conflict fragile brittle unreliable insecure vulnerable deprecated unmaintained problème besoin
permet problema permite необходимо позволяет проблема
""")
_HINT_PIECES = _phrases("""
必要, 問題, 问题, 可以, ปัญหา, 문제
""")

_DECISION_WORDS = _words("""
decided decide decision chose chosen choose agreed changed reverted ditched scrapped cancelled canceled stopped
started rolled went gave upgraded renamed opted settled picked adopted adopt adopting switched switching switch
dropped dropping replaced replacing moved moving migrated rejected declined frozen abandoned deprecated retired
withdrawn confirmed approved going let use keep stay entschieden beschlossen wechseln gewechselt umgestiegen uns
umgestellt ersetzt abgeschafft verworfen décidé choisi adopté abandonné opté remplacé passés passé basculé migré
changé decidimos decidido decidió decidí elegimos elegido optamos adoptamos cambiamos cambiado migramos pasamos
reemplazamos reemplazado abandonamos escolhemos escolhido adotamos mudamos trocamos substituímos deciso scelto
adottato passati cambiato sostituito abbandonato решили решено решил решила выбрали перешли отказались заменили
сменили перенесли zdecydowali zdecydowaliśmy wybraliśmy przeszliśmy zrezygnowaliśmy zamieniliśmy besloten gekozen
overgestapt vervangen verdik seçtik geçtik vazgeçtik değiştirdik memutuskan beralih قررنا اخترنا اعتمدنا انتقلنا
استبدلنا passées pasado
""")
_DECISION_PIECES = _phrases("""
ことにした, ことに決め, 決めた, 決定した, 採用した, 変更した, 移行した, 廃止した, 决定, 決定了, 选择了, 選擇了,
采用, 改用, 放弃, 放棄, 切换到, 換成, 换成, 迁移到, 遷移到, ことにしました, ことに決めました, 決めました,
決定しました, 採用しました, 変更しました, 移行しました, 廃止しました, 切り替えた, 切り替えました, 乗り換えた,
결정했, 하기로 했, 채택, 전환했,
바꿨, 바꾸었, 옮겼, 변경했, ตัดสินใจ, เลือกใช้, เปลี่ยนไปใช้, เปลี่ยนจาก, ย้ายไป, ย้ายจาก, เลิกใช้, ไม่ต่อสัญญา,
quyết định, đã chọn, đã chuyển sang, chúng tôi chuyển, फ़ैसला किया, फैसला किया, निर्णय लिया
""")
_PAST = (
    "decided|chose|agreed|opted|settled|picked|adopted|switched|dropped|replaced|moved|migrated|rejected|declined|abandoned|confirmed"
    "|approved|went with|went back to|changed|reverted|ditched|scrapped|cancell?ed|(?:stopped|started) using|gave up on|rolled back"
    "|upgraded|renamed"
)
_DECIDES = re.compile(
    rf"\b(?:we|i|team|they|group|board|council|everyone) (?:(?:have|has|had|all|then|finally|ultimately|also|therefore) )*(?:{_PAST}"
    r"|will (?:use|adopt|keep|stay|switch|move|replace|stop|drop|not)|are (?:switching|moving|going with|dropping|replacing)"
    r"|want to (?:use|switch|move|replace|drop))\b"
    rf"|^\W*(?:{_PAST}|chosen|switching|dropping|moved (?:to|from|away)|going with|decision:"
    r"|let.s (?:use|go with|switch|drop|keep|move))(?!\w)"
    r"|\b(?:was|were|been|got it [-–—]) (?:decided|chosen|dropped|adopted|rejected|declined|frozen|abandoned|deprecated|retired"
    r"|withdrawn|replaced|switching)\b"
    r"|\b(?:i.ll use|we.ll (?:use|go with|keep|drop)|the decision (?:was|is) to|decided \d{4}-)"
    r"|\b(?:entschieden|beschlossen|wir wechseln|gewechselt|umgestiegen|haben uns für"
    r"|haben [^.;]*(?:umgestellt|ersetzt|abgeschafft|verworfen)"
    r"|(?:avons|a|ai) (?:décidé|choisi|adopté|abandonné|opté|remplacé|basculé|migré|changé)|(?:sommes|est) passée?s?"
    r"|decidimos|decidido|decidió|decidí|elegimos|optamos|adoptamos|cambiamos|migramos|pasamos (?:de|a)|reemplazamos|abandonamos"
    r"|(?:hemos|se ha|he) (?:elegido|cambiado|reemplazado|abandonado|pasado)|escolhemos|adotamos|mudamos (?:de|para)|trocamos"
    r"|substituímos|(?:abbiamo|ho) (?:deciso|scelto|adottato|cambiato|sostituito|abbandonato)|siamo passati"
    r"|решили|решено|решил|решила|выбрали|перешли|отказались|заменили|сменили|перенесли|zdecydowali(?:śmy)?|wybraliśmy|przeszliśmy"
    r"|zrezygnowaliśmy|zamieniliśmy|besloten|gekozen|overgestapt|hebben [^.;]*vervangen|karar verdik|seçtik|geçtik|vazgeçtik|değiştirdik"
    r"|memutuskan|beralih (?:dari|ke)|قررنا|اخترنا|اعتمدنا|انتقلنا|استبدلنا)\b",
    re.IGNORECASE,
)

_IN_PASSING = re.compile(  # what stands before it in its clause
    r"\b(?:if|when|whenever|once|before|after|until|unless|whether|why|how|should|could|would|never|not yet|wenn|falls|als|bevor|nachdem"
    r"|ob|quand|avant|après|cuando|antes|después|quando|prima|dopo|если|когда|toen|voordat|nadat|jeśli|kiedy)\b[^,;:(—–]*$",
    re.IGNORECASE,
)


def words_in(text: str) -> frozenset[str]:
    """The words of a text, case folded."""
    return frozenset(_WORDS.findall(text.casefold()))


def explains(text: str, words: frozenset[str] | None = None) -> bool:
    """Whether a text gives a reason, by its cue words. `words`: its `words_in`, where known."""
    words = words_in(text) if words is None else words
    found = words & _REASON_WORDS
    if found and (found != {"since"} or not _NOT_A_REASON.search(text)):
        return True
    folded = text.casefold()
    return any(phrase in folded for phrase in _REASON_PHRASES) or (not text.isascii() and any(piece in text for piece in _REASON_PIECES))


def hints(text: str, words: frozenset[str]) -> int:
    """How many words speak of needs, costs and benefits."""
    return len(words & _HINT_WORDS) + (0 if text.isascii() else sum(piece in text for piece in _HINT_PIECES))


def may_decide(text: str) -> bool:
    """A quick no: False where `decides` is false of every sentence of the text."""
    return bool(words_in(text) & _DECISION_WORDS) or (not text.isascii() and any(piece in text for piece in _DECISION_PIECES))


def decides(text: str, words: frozenset[str] | None = None) -> bool:
    """Whether a sentence tells of a decision, by its verbs."""
    words = words_in(text) if words is None else words
    if words & _DECISION_WORDS and _DECIDES.search(text):
        return True
    return not text.isascii() and any(piece in text for piece in _DECISION_PIECES)


def states(text: str) -> bool:
    """Whether a sentence tells of a decision outright, not in passing: `when we moved` and `if it was dropped` decide nothing."""
    if not text.isascii() and any(piece in text for piece in _DECISION_PIECES):
        return True
    if not words_in(text) & _DECISION_WORDS:
        return False
    return any(not _IN_PASSING.search(text, 0, found.start()) for found in _DECIDES.finditer(text))
