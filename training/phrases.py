"""The wording that questions are made of: question words, frames around a heading, headings that say nothing by themselves."""

_GENERIC = """
summary motivation introduction overview goals non-goals examples example usage notes proposal rationale drawbacks alternatives
abstract specification recap conclusion copyright reference parameters returns caveats history methods contacts context decision
status consequences background basic api props faq resources exercise exercises prerequisites installation
"""
GENERIC = frozenset(_GENERIC.split()) | {
    "design details",
    "security considerations",
    "prior art",
    "unresolved questions",
    "future possibilities",
    "test plan",
    "graduation criteria",
    "see also",
    "next steps",
    "further reading",
    "what it is",
    "problem it addresses",
    "how it helps",
}

WH = {
    "en": {"number": ["how many", "what number", "when", "what year"], "other": ["what", "which", "who"]},
    "de": {"number": ["wie viele", "wann", "in welchem Jahr"], "other": ["was", "welche", "wer"]},
    "es": {"number": ["cuántos", "cuándo", "en qué año"], "other": ["qué", "cuál", "quién"]},
    "fr": {"number": ["combien", "quand"], "other": ["quoi", "quel", "qui"]},
    "pt": {"number": ["quantos", "quando"], "other": ["o que", "qual", "quem"]},
    "it": {"number": ["quanti", "quando"], "other": ["che cosa", "quale", "chi"]},
    "ru": {"number": ["сколько", "когда", "в каком году"], "other": ["что", "какой", "кто"]},
    "uk": {"number": ["скільки", "коли"], "other": ["що", "який", "хто"]},
    "ja": {"number": ["いくつ", "いつ"], "other": ["何", "どの", "誰"]},
    "zh": {"number": ["多少", "什么时候", "哪一年"], "other": ["什么", "哪个", "谁"]},
    "zh-hant": {"number": ["多少", "什麼時候"], "other": ["什麼", "哪個"]},
    "ko": {"number": ["몇", "언제"], "other": ["무엇", "어떤", "누가"]},
    "th": {"number": ["กี่", "เมื่อไร", "ปีใด"], "other": ["อะไร", "ใด", "ใคร"]},
    "tr": {"number": ["kaç", "ne zaman"], "other": ["ne", "hangi", "kim"]},
    "vi": {"number": ["bao nhiêu", "khi nào"], "other": ["gì", "nào", "ai"]},
    "ar": {"number": ["كم", "متى"], "other": ["ما", "أي", "من"]},
    "hi": {"number": ["कितने", "कब"], "other": ["क्या", "कौन सा"]},
}

WRAPS = {
    "en": [
        "how do I {}", "how to {}?", "what about {}", "what is {}?", "where did I write about {}", "anything on {}?", "explain {}",
        "what did we say about {}", "notes on {}", "tell me about {}", "what do I know about {}?",
    ],
    "de": ["was ist {}?", "wie geht {}?", "was wissen wir über {}?", "wo steht etwas zu {}"],
    "es": ["¿qué es {}?", "¿cómo funciona {}?", "¿qué dijimos sobre {}?", "información sobre {}"],
    "fr": ["c'est quoi {} ?", "comment faire {} ?", "que sait-on de {} ?"],
    "pt": ["o que é {}?", "como fazer {}?", "o que sabemos sobre {}?"],
    "it": ["che cos'è {}?", "come funziona {}?"],
    "ru": ["что такое {}?", "как сделать {}?", "что известно про {}?"],
    "ja": ["{}とは？", "{}について教えて", "{}はどうやる？"],
    "zh": ["什么是{}？", "{}怎么做？", "关于{}我们知道什么"],
    "zh-hant": ["什麼是{}？", "{}怎麼做？"],
    "ko": ["{}이란?", "{} 어떻게 하나요?", "{}에 대해 알려줘"],
    "th": ["{} คืออะไร", "{} ทำอย่างไร", "เรื่อง {} เขียนไว้ว่าอย่างไร"],
    "ar": ["ما هو {}؟", "كيف يعمل {}؟"],
    "hi": ["{} क्या है?", "{} कैसे करें?"],
    "tr": ["{} nedir?", "{} nasıl yapılır?"],
    "vi": ["{} là gì?", "làm sao để {}?"],
}

ISSUES = ["{} does not work", "problem with {}", "trouble with {}", "bug: {}", "I cannot get {} right", "need help: {}", "{} fails"]

CAUSES = [
    "why {}?", "why did we choose {}?", "what was the reason for {}", "reason behind {}", "why was {} decided?", "what led to {}",
    "what problem does {} solve?", "motivation of {}", "what did we decide about {}?", "how come {}?", "rationale: {}", "{}",
]

# What is asked about a subject: how a sentence that says it can be told, and the question in ten languages. A passage about the subject
# without such a sentence is a near miss.
ATTRIBUTES: dict[str, tuple[str, dict[str, list[str]]]] = {
    "licence": (
        r"\blicen[cs](e[ds]?|ing)\b",
        {
            "en": ["under what licence is {}", "may I use {} commercially?", "legal terms of {}", "copyright conditions for {}"],
            "de": ["unter welcher Lizenz steht {}?"], "es": ["¿qué licencia tiene {}?"], "fr": ["quelle est la licence de {} ?"],
            "ru": ["под какой лицензией {}?"], "ar": ["ما رخصة {}؟"], "zh": ["{}使用什么许可证？"], "ja": ["{}のライセンスは？"],
            "ko": ["{}의 라이선스는?"], "th": ["{} ใช้สัญญาอนุญาตแบบใด"],
        },
    ),
    "cost": (
        r"[$€£]\s?\d|\b(costs?|prices?|pricing|fees?|expensive|cheap)\b",
        {
            "en": ["how much does {} cost?", "is {} expensive?", "price of {}", "what do we pay for {}", "how costly is {}"],
            "de": ["was kostet {}?"], "es": ["¿cuánto cuesta {}?"], "fr": ["combien coûte {} ?"], "ru": ["сколько стоит {}?"],
            "ar": ["كم تكلفة {}؟"], "zh": ["{}要多少钱？"], "ja": ["{}の費用はいくら？"], "ko": ["{} 비용은 얼마인가요?"],
            "th": ["{} ราคาเท่าไร"],
        },
    ),
    "owner": (
        r"\b(maintain(s|ers?|ed by)|owned by|owners?|led by|responsible for|in charge)\b",
        {
            "en": ["who owns {}?", "who is responsible for {}", "who looks after {}?", "whom do I ask about {}", "person in charge of {}"],
            "de": ["wer ist für {} zuständig?"], "es": ["¿quién es responsable de {}?"], "fr": ["qui est responsable de {} ?"],
            "ru": ["кто отвечает за {}?"], "ar": ["من المسؤول عن {}؟"], "zh": ["谁负责{}？"], "ja": ["{}の担当者は誰？"],
            "ko": ["{} 담당자는 누구인가요?"], "th": ["ใครรับผิดชอบ {}"],
        },
    ),
    "date": (
        r"\b(19[89]|20[012])\d\b",
        {
            "en": ["when did {} happen?", "when was {} introduced", "what year was {}", "date of {}", "since when do we have {}"],
            "de": ["wann wurde {} eingeführt?"], "es": ["¿cuándo se introdujo {}?"], "fr": ["quand {} a-t-il été introduit ?"],
            "ru": ["когда появился {}?"], "ar": ["متى ظهر {}؟"], "zh": ["{}是什么时候推出的？"], "ja": ["{}はいつ導入された？"],
            "ko": ["{}은 언제 도입되었나요?"], "th": ["{} เริ่มใช้เมื่อไร"],
        },
    ),
    "limit": (
        r"\b(at most|maximum|limit(s|ed to)?|up to \d|no more than|cannot exceed)\b",
        {
            "en": ["what is the limit of {}?", "how large can {} get", "upper bound for {}", "how many at once with {}?", "is {} capped?"],
            "de": ["wie groß darf {} höchstens sein?"], "es": ["¿cuál es el límite de {}?"], "fr": ["quelle est la limite de {} ?"],
            "ru": ["какое ограничение у {}?"], "ar": ["ما الحد الأقصى لـ {}؟"], "zh": ["{}的上限是多少？"], "ja": ["{}の上限は？"],
            "ko": ["{}의 한도는 얼마인가요?"], "th": ["{} จำกัดสูงสุดเท่าไร"],
        },
    ),
    "duration": (
        r"\b(\d+|one|two|three|few|several) (milli)?(seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b",
        {
            "en": ["how long does {} take?", "how much time for {}", "duration of {}", "how often does {} happen?", "deadline for {}"],
            "de": ["wie lange dauert {}?"], "es": ["¿cuánto tarda {}?"], "fr": ["combien de temps dure {} ?"],
            "ru": ["сколько времени занимает {}?"], "ar": ["كم يستغرق {}؟"], "zh": ["{}需要多长时间？"],
            "ja": ["{}はどのくらい時間がかかる？"], "ko": ["{}은 얼마나 걸리나요?"], "th": ["{} ใช้เวลานานเท่าไร"],
        },
    ),
    "default": (
        r"\b(by default|defaults? to|default value)\b",
        {
            "en": ["what is {} if I set nothing?", "default of {}", "standard setting for {}", "what does {} do out of the box?"],
            "de": ["was ist die Voreinstellung von {}?"], "es": ["¿cuál es el valor predeterminado de {}?"],
            "fr": ["quelle est la valeur par défaut de {} ?"], "ru": ["какое значение по умолчанию у {}?"],
            "ar": ["ما القيمة الافتراضية لـ {}؟"], "zh": ["{}的默认值是什么？"], "ja": ["{}のデフォルトは？"], "ko": ["{}의 기본값은?"],
            "th": ["ค่าเริ่มต้นของ {} คืออะไร"],
        },
    ),
    "danger": (
        r"\b(vulnerab\w+|attack(s|ers?)?|malicious|insecure|unsafe|exploit\w*)\b",
        {
            "en": ["is {} safe?", "what can go wrong security-wise with {}", "risks of {}", "how could someone abuse {}?", "dangers of {}"],
            "de": ["wie sicher ist {}?"], "es": ["¿es seguro {}?"], "fr": ["{} est-il sûr ?"], "ru": ["насколько безопасен {}?"],
            "ar": ["هل {} آمن؟"], "zh": ["{}安全吗？"], "ja": ["{}は安全？"], "ko": ["{}은 안전한가요?"], "th": ["{} ปลอดภัยหรือไม่"],
        },
    ),
    "contact": (
        r"\b(slack|mailing list|e-?mail|zoom|discord|forum)\b",
        {
            "en": ["where do people talk about {}?", "how do I reach the people of {}", "channel for {}", "where to ask questions on {}"],
            "de": ["wo spricht man über {}?"], "es": ["¿dónde se pregunta sobre {}?"], "fr": ["où poser des questions sur {} ?"],
            "ru": ["где спросить про {}?"], "ar": ["أين أسأل عن {}؟"], "zh": ["在哪里讨论{}？"], "ja": ["{}について質問するには？"],
            "ko": ["{}에 대해 어디에 물어보나요?"], "th": ["ถามเรื่อง {} ได้ที่ไหน"],
        },
    ),
    "instead": (
        r"\b(alternatives?|instead of|rather than)\b",
        {
            "en": ["what else could we use for {}?", "other options besides {}", "what did {} replace?", "substitute for {}"],
            "de": ["welche Alternative gibt es zu {}?"], "es": ["¿qué alternativa hay a {}?"], "fr": ["quelle alternative à {} ?"],
            "ru": ["какая есть альтернатива {}?"], "ar": ["ما البديل لـ {}؟"], "zh": ["{}有什么替代方案？"], "ja": ["{}の代わりは？"],
            "ko": ["{}의 대안은?"], "th": ["ใช้อะไรแทน {} ได้บ้าง"],
        },
    ),
}
