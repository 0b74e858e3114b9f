"""How people say what they do, by language: the patterns that `narration` looks for.

`before` and `after` stand directly beside the name of a key ("press" Enter, Strg+S "drücken"). In the other patterns
the groups are ``target``, ``to``, ``text``, and ``up`` or ``down``; a target ends where `stop` matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patterns:
    """One language's patterns; those for clicks are tried in order, so the special ones come first."""

    before: re.Pattern[str]
    after: re.Pattern[str] | None
    double_click: tuple[re.Pattern[str], ...]
    right_click: tuple[re.Pattern[str], ...]
    click: tuple[re.Pattern[str], ...]
    type: tuple[re.Pattern[str], ...]
    scroll: tuple[re.Pattern[str], ...]
    drag: tuple[re.Pattern[str], ...]
    stop: re.Pattern[str]
    article: re.Pattern[str]
    vague: frozenset[str]
    denied: re.Pattern[str]
    possible: re.Pattern[str]


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _patterns(
    *,
    before: str,
    click: tuple[str, ...],
    double_click: tuple[str, ...],
    right_click: tuple[str, ...],
    type: tuple[str, ...],
    scroll: tuple[str, ...],
    stop: str,
    after: str = "",
    drag: tuple[str, ...] = (),
    article: str = r"(?!)",
    vague: str = "",
    denied: str = r"(?!)",
    possible: str = r"(?!)",
) -> Patterns:
    return Patterns(
        before=re.compile(f"(?:{before})$", re.IGNORECASE),
        after=re.compile(after, re.IGNORECASE) if after else None,
        double_click=_compiled(*double_click),
        right_click=_compiled(*right_click),
        click=_compiled(*click),
        type=_compiled(*type),
        scroll=_compiled(*scroll),
        drag=_compiled(*drag),
        stop=re.compile(stop, re.IGNORECASE),
        article=re.compile(article, re.IGNORECASE),
        vague=frozenset(vague.split()),
        denied=re.compile(f"(?:{denied})\\s*$", re.IGNORECASE),
        possible=re.compile(f"(?:{possible})\\s*$", re.IGNORECASE),
    )


_REST = r"(?P<target>.{1,60})?"
_LATIN_STOP = r"[,.;:!?]+(?:\s|$)|[()]"

_ENGLISH = _patterns(
    before=r"\b(?:press|hit|push|tap|strike|use)(?:ing|ting|ed|ped|es)?(?:\s+(?:on|down))?(?:\s+(?:the|your))?"
    r"(?:\s+(?:keyboard\s+)?(?:shortcut|keys?|letter|combination))?(?:\s+of)?\s+",
    click=(
        r"(?<!right )(?<!double )(?<!-)(?<!\bone )(?<!\ba )(?<!\bmouse )(?<!\bthe )\b(?:left[\s-]+)?click(?:ing|ed)?\b"
        rf"(?:\s+(?:on|onto|in|inside|at))?\s*{_REST}",
    ),
    double_click=(rf"\bdouble[\s-]*click(?:ing|ed)?\b(?:\s+(?:on|in|at))?\s*{_REST}",),
    right_click=(rf"\bright[\s-]*click(?:ing|ed)?\b(?:\s+(?:on|in|at))?\s*{_REST}",),
    type=(
        r"(?<!this )(?<!that )(?<!the )(?<!what )(?<!which )(?<!data )(?<!file )(?<!some )(?<!any )(?<!same )(?<!\ba )"
        r"\btyp(?:e|ing)\b(?!\s+of\b)(?:\s+in)?\s+(?P<text>.{1,80})",
        r"\benter(?:ing)?\s+(?P<text>(?:[\"“'‘]|your\b|the\b|a\b|an\b).{1,80})",
    ),
    scroll=(
        r"\bscroll(?:ing|ed)?\b(?:\s+(?:all\s+the\s+way|further|a\s+(?:little|bit)|back))?"
        r"(?:\s+(?:(?P<down>down)|(?P<up>up))\b)?",
    ),
    drag=(
        r"\bdrag(?:ging|ged)?\b(?:\s+and\s+drop)?\s+(?P<target>.{1,40}?)"
        r"\s+(?:over\s+)?(?:in|on)?to\s+(?P<to>.{1,40})",
    ),
    stop=_LATIN_STOP + r"|\s(?:and|then|to|so|which|that|because|if|when|you|we|i|again|now|once|until|before|after|"
    r"as|but|or|for|it|is|here)\b",
    article=r"(?:on\s+)?(?:the|this|that|a|an|your|our|my|where\s+it\s+says|where\s+it\s+said)\s+",
    vague="here there it this that",
    denied=r"\b(?:don'?t|do\s+not|never|without|instead\s+of|not|didn'?t|doesn'?t|won'?t|can'?t)(?:\s+\w+)?",
    possible=r"\b(?:can|could|may|might|would|if\s+(?:you|i|we)|when(?:ever)?\s+(?:you|i|we)|by|after|before|"
    r"either|or)(?:\s+(?:also|just|simply|even))?",
)

_GERMAN = _patterns(
    before=r"\bdrück(?:e|t|en)?(?:\s+(?:sie|wir|ihr|ich|du))?(?:\s+(?:jetzt|dann|nun|einfach|mal))*"
    r"(?:\s+auf)?(?:\s+(?:die|der|den))?(?:\s+tastenkombination|\s+tasten?)?\s+",
    after=r"(?:[\s-]*taste)?\s+(?:zu\s+|ge)?drück(?:en|e|t)\b",
    double_click=(rf"\bdoppelklick(?:e|t|en)?(?:\s+(?:sie|wir|ich))?\s+auf\s+{_REST}",),
    right_click=(
        rf"\brechtsklick(?:e|t|en)?(?:\s+(?:sie|wir|ich))?\s+auf\s+{_REST}",
        rf"\bklick(?:e|t|en)?(?:\s+(?:sie|wir|ich))?(?:\s+mit\s+der)\s+rechten\s+(?:maustaste)\s+auf\s+{_REST}",
    ),
    click=(
        rf"(?<!doppel)(?<!rechts)\bklick(?:e|t|en)?(?:\s+(?:sie|wir|ihr|ich|du))?(?:\s+(?:jetzt|dann|nun|hier|einfach))*"
        rf"\s+auf\s+{_REST}",
        r"\bauf\s+(?P<target>[^,.;:!?]{1,40}?)\s+(?:zu\s+|ge)?klick(?:en|e|t)\b",
    ),
    type=(
        r"\b(?:gib|gebt|geben\s+(?:sie|wir)|gebe\s+ich)\s+(?P<text>[^,.;!?]{1,60}?)\s+ein\b",
        r"\b(?:tippe|tippt|tippen\s+(?:sie|wir))\s+(?P<text>[\"„“'‚].{1,60})",
    ),
    scroll=(
        r"\bscroll(?:e|t|en)\b(?:\s+(?:sie|wir|ich))?(?:\s+(?:jetzt|dann|ein\s+(?:bisschen|wenig|stück)|etwas))*"
        r"(?:\s+(?:nach\s+)?(?:(?P<down>unten|runter|herunter)|(?P<up>oben|hoch|rauf)))?",
    ),
    stop=_LATIN_STOP + r"|\s(?:und|dann|um|oder|aber|damit|wenn)\b",
    article=r"(?:die|der|das|den|dem|diese[nrms]?|eine[nrms]?|ein)\s+",
    vague="hier da das es diesen",
    denied=r"\b(?:nicht|nie|kein(?:e|en)?)(?:\s+\w+)?",
    possible=r"\b(?:wenn|falls|könn(?:t|en)|kann|kannst)(?:\s+(?:man|ihr|sie|wir|ich|du|auch))*",
)

_SPANISH = _patterns(
    before=r"\b(?:presion(?:a|e|amos|ar|en)|puls(?:a|e|amos|ar)|oprim(?:e|a|imos|ir)|apret(?:a|amos|ar)|apriet[ae])"
    r"(?:\s+(?:en|sobre))?(?:\s+(?:la|las|el))?(?:\s+(?:teclas?|tecla\s+de|combinación(?:\s+de\s+teclas)?|atajo))?\s+",
    double_click=(rf"\bdoble\s+clic[k]?\s+(?:en|sobre|a)\s+{_REST}",),
    right_click=(rf"\bclic[k]?\s+(?:con\s+el\s+botón\s+)?derecho\s+(?:en|sobre|a)\s+{_REST}",),
    click=(rf"(?<!doble )\bclic[k]?(?:\s+izquierdo)?\s+(?:en|sobre|a)\s+{_REST}",),
    type=(r"\b(?:escrib(?:e|a|imos|es)|tecle(?:a|e|amos)|introduc(?:e|imos)|introduzca)\s+(?P<text>[\"“«'].{1,60})",),
    scroll=(
        r"\b(?:desplaz(?:a|á|amos|arse|ate|arnos)\w*|haz\s+scroll|baj(?:a|amos)|sub(?:e|imos))\s+(?:hacia\s+)?"
        r"(?:(?P<down>abajo)|(?P<up>arriba))\b",
    ),
    stop=_LATIN_STOP + r"|\s(?:y|luego|para|o|pero|que|si|cuando)\b",
    article=r"(?:el|la|los|las|este|esta|un|una)\s+",
    vague="aquí ahí esto eso él",
    denied=r"\b(?:no|nunca|sin)(?:\s+(?:haz|hagas|hacer|dar))?",
    possible=r"\b(?:si|puede[ns]?|podemos|podrías?|cuando)(?:\s+(?:hacer|dar|hacemos|damos|haces))?",
)

_FRENCH = _patterns(
    before=r"\bappu(?:yez|ie|ies|yer|yons)(?:\s+(?:maintenant|ensuite|simplement))?\s+sur(?:\s+(?:la|les|le))?"
    r"(?:\s+(?:touches?|combinaison))?\s+",
    double_click=(rf"\bdouble[\s-]*cli(?:quez|quer|que|quons|c)\s+(?:sur|dans)\s+{_REST}",),
    right_click=(
        rf"\bclic\s+droit\s+(?:sur|dans)\s+{_REST}",
        rf"\bcli(?:quez|quer|que|quons)\s+(?:avec\s+le\s+bouton\s+)?droit\s+(?:de\s+la\s+souris\s+)?sur\s+{_REST}",
    ),
    click=(rf"(?<!double )(?<!-)\bcli(?:quez|quer|que|quons|c)\s+(?:sur|dans)\s+{_REST}",),
    type=(r"\b(?:tapez|saisissez|écrivez|taper|saisir)\s+(?P<text>[\"“«'].{1,60})",),
    scroll=(
        r"\b(?:défil(?:ez|er|ons)|scroll(?:ez|er|e|ons)?)\s+(?:vers\s+le\s+)?(?:(?P<down>bas)|(?P<up>haut))\b",
        r"\b(?:(?P<down>descendez)|(?P<up>remontez))\s+dans\s+la\s+page\b",
    ),
    stop=_LATIN_STOP + r"|\s(?:et|puis|pour|ou|mais|qui|si|quand|ensuite)\b",
    article=r"(?:le|la|les|l['’]|ce|cette|un|une)\s*",
    vague="ici là ça cela",
    denied=r"\b(?:ne|n['’]|jamais|sans)(?:\s+\w+)?",
    possible=r"\b(?:si|pouvez|peut|pouvons|pourriez|quand|lorsque)(?:\s+(?:vous|on|aussi|également|faire(?:\s+un)?))*",
)

_PORTUGUESE = _patterns(
    before=r"\b(?:pression(?:e|a|ar|amos|em)|apert(?:e|a|ar|amos|em)|tecl(?:e|a|ar|amos))(?:\s+(?:em|na|no|as?|o))?"
    r"(?:\s+(?:teclas?|combinação|atalho))?\s+",
    double_click=(
        rf"\b(?:duplo\s+clique|clique\s+duplo|cli(?:que|car|camos)\s+duas\s+vezes)\s+(?:em|no|na|sobre)\s+{_REST}",
    ),
    right_click=(
        rf"\b(?:clique|clicar|clicamos|botão)?\s*(?:com\s+o\s+)?(?:botão\s+)?direito\s+(?:do\s+mouse\s+|do\s+rato\s+)?"
        rf"(?:em|no|na|sobre)\s+{_REST}",
    ),
    click=(rf"(?<!duplo )\bcli(?:que|car|ca|camos|quem)\s+(?:aqui\s+)?(?:em|no|na|nos|nas|sobre)\s+{_REST}",),
    type=(r"\b(?:digit(?:e|a|amos|ar)|escrev(?:a|e|emos|er))\s+(?P<text>[\"“«'].{1,60})",),
    scroll=(
        r"\b(?:rol(?:e|a|ar|amos)|desliz(?:e|a|ar))(?:\s+a\s+(?:página|tela))?\s+(?:para\s+)?"
        r"(?:(?P<down>baixo)|(?P<up>cima))\b",
    ),
    stop=_LATIN_STOP + r"|\s(?:e|depois|para|ou|mas|que|se|quando)\b",
    article=r"(?:o|a|os|as|este|esta|um|uma)\s+",
    vague="aqui ali isso isto",
    denied=r"\b(?:não|nunca|sem)",
    possible=r"\b(?:se|pode[ms]?|podemos|poderia|quando)(?:\s+(?:também|você))*",
)

_RUSSIAN = _patterns(
    before=r"\b(?:нажм(?:ите|ём|ем|и|у)|нажима(?:ем|йте|ю|ть)|жм(?:ём|ем|ите|у|и))(?:\s+(?:на|теперь|просто))*"
    r"(?:\s+(?:клавиш[уи]|кнопку|сочетание(?:\s+клавиш)?|комбинацию(?:\s+клавиш)?))?\s+",
    double_click=(
        rf"\b(?:дважды|двойным\s+щелчком)\s+(?:щ[её]лкн(?:ите|ем)|кликн(?:ите|ем)|нажмите|кликаем)(?:\s+(?:по|на))?\s+{_REST}",
    ),
    right_click=(
        rf"\bправой\s+(?:кнопкой|клавишей)(?:\s+мыши)?(?:\s+(?:щ[её]лкн\w+|кликн\w+|нажм\w+|кликаем|нажимаем))?"
        rf"\s+(?:по|на)\s+{_REST}",
    ),
    click=(
        rf"\b(?:щ[её]лкн(?:ите|ем|и)|кликн(?:ите|ем|и)|клика(?:ем|йте))\s+(?:по|на)\s+{_REST}",
        rf"\b(?:нажм(?:ите|ём|ем|и)|нажима(?:ем|йте))\s+(?:на\s+)?(?:кнопку|ссылку|значок|иконку|пункт)\s+{_REST}",
    ),
    type=(r"\b(?:введ(?:ите|ём|ем|и)|вводим|напечата(?:йте|ем)|напиш(?:ите|ем))\s+(?P<text>[\"“«„'].{1,60})",),
    scroll=(
        r"\b(?:прокру(?:тите|чиваем|тим|тить)|проли(?:стайте|стаем|стываем)|скролл\w*)(?:\s+(?:страницу|немного))*"
        r"\s+(?:(?P<down>вниз)|(?P<up>вверх))\b",
    ),
    stop=_LATIN_STOP + r"|\s(?:и|затем|потом|чтобы|или|но|если|когда)\b",
    article=r"(?:эту|этот|это)\s+",
    vague="сюда здесь это него неё",
    denied=r"\bне",
    possible=r"\b(?:если|можно|можете|можем|когда)(?:\s+(?:вы|мы|также|просто))*",
)

_JAPANESE = _patterns(
    before=r"(?!)",
    after=r"\s*(?:キー|ボタン)?\s*を\s*(?:同時に\s*)?押(?:す|し|せ|さ)(?!な)",
    double_click=(r"(?P<target>[^、。！？\s]{1,30}?)を\s*ダブルクリック",),
    right_click=(r"(?P<target>[^、。！？\s]{1,30}?)(?:を|の上で|で)\s*右クリック",),
    click=(r"(?P<target>[^、。！？\s]{1,30}?)を\s*(?:左)?クリック",),
    type=(r"[「『\"“](?P<text>[^」』\"”]{1,60})[」』\"”]\s*(?:と|を)\s*(?:入力|タイプ|打)",),
    scroll=(
        r"(?:(?P<down>下)|(?P<up>上))(?:に|へ|方向に|の方に)\s*スクロール",
        r"スクロール(?:ダウン|して|します|する)",
    ),
    drag=(r"(?P<target>[^、。！？\s]{1,30}?)を\s*(?P<to>[^、。！？\s]{1,30}?)(?:に|へ|まで)\s*ドラッグ",),
    stop=r"[、。！？\s]",
    vague="ここ これ そこ それ",
    denied=r"(?!)",
    possible=r"もし",
)

_CHINESE = _patterns(
    before=r"(?:按|按下|按一下|敲|敲击|使用|按住|點按|按壓)\s*(?:键盘(?:上)?的?|快捷键|快捷鍵|组合键|組合鍵)?\s*",
    double_click=(r"(?:双击|雙擊)(?:一下)?\s*(?P<target>[^，。！？、\s]{1,30})?",),
    right_click=(
        r"(?:右键|右鍵)(?:单击|單擊|点击|點擊|点一下)\s*(?P<target>[^，。！？、\s]{1,30})?",
        r"右(?:击|擊)\s*(?P<target>[^，。！？、\s]{1,30})?",
    ),
    click=(r"(?<!右键)(?<!右鍵)(?:单击|單擊|点击|點擊|点选|點選)(?:一下)?\s*(?P<target>[^，。！？、\s]{1,30})?",),
    type=(r"(?:输入|輸入|键入|鍵入)\s*[「『\"“‘](?P<text>[^」』\"”’]{1,60})[」』\"”’]",),
    scroll=(r"(?:向|往)(?:(?P<down>下)|(?P<up>上))\s*(?:滚动|滾動|滑动|滑動|拉|翻)",),
    drag=(r"(?:把|将|將)(?P<target>[^，。！？\s]{1,20}?)(?:拖拽?|拖动|拖動|拖曳)到(?P<to>[^，。！？\s]{1,20})",),
    stop=r"[，。！？、；\s]|然后|然後|之后|之後|就",
    vague="这里 這裡 它 这个 這個",
    denied=r"(?:不要|别|別|不用|无需|無需)(?:去)?",
    possible=r"(?:如果|可以|要是|也可以)(?:你|您|我们|我們)?(?:直接|通过)?",
)

LANGUAGES: dict[str, Patterns] = {
    "en": _ENGLISH, "de": _GERMAN, "es": _SPANISH, "fr": _FRENCH, "pt": _PORTUGUESE, "ru": _RUSSIAN,
    "ja": _JAPANESE, "zh": _CHINESE,
}  # fmt: skip
