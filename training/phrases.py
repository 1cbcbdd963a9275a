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
