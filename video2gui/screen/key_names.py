"""What keys are called, in speech, on key overlays and on keyboards of several languages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from video2gui.schema import MODIFIERS, Hotkey, Press, canonical_key

#: Signs for keys, as overlays and menus show them.
SIGNS: dict[str, str] = {
    "⌘": "cmd", "⌥": "option", "⌃": "ctrl", "⇧": "shift", "⏎": "enter", "↩": "enter", "↵": "enter", "⌅": "enter",
    "⌫": "backspace", "⌦": "delete", "⇥": "tab", "⇤": "tab", "↹": "tab", "⎋": "escape", "↑": "up", "↓": "down",
    "←": "left", "→": "right", "⇞": "page_up", "⇟": "page_down", "↖": "home", "↘": "end", "␣": "space",
    "⇪": "caps_lock", "❖": "super", "⊞": "super", "⇡": "up", "⇣": "down", "⇠": "left", "⇢": "right",
}  # fmt: skip

_WORDS = {
    "ctrl": "ctrl control ctl strg steuerung contrôle ctrl-taste контрол контрл コントロール 控制键",
    "alt": "alt alt-taste альт オルト",
    "shift": "shift umschalt umschalttaste maj majuscule mayús mayúscula mayúsculas шифт シフト 上档键",
    "super": "super win windows windows-taste meta",
    "cmd": "cmd command commande comando befehl befehlstaste コマンド",
    "option": "option opt opción",
    "fn": "fn",
    "enter": "enter return entrée intro eingabe eingabetaste enter-taste entrar ввод энтер интер エンター 回车 回车键",
    "tab": "tab tabulator tabulatortaste tab-taste tabulation tabulador таб табуляция タブ 制表键",
    "escape": "escape esc escape-taste échap эскейп エスケープ 退出键",
    "backspace": "backspace bksp back_space rücktaste retroceso retour_arrière бэкспейс бекспейс バックスペース 退格 "
    "退格键",
    "delete": "delete del entf entfernen suppr supprimer supr suprimir делит デリート 删除键",
    "insert": "insert ins einfg",
    "space": "space spacebar space_bar leertaste espace espacio espaço barra_espaciadora barra_de_espaço пробел "
    "スペース スペースキー 空格 空格键",
    "home": "home pos1 début inicio início",
    "end": "end ende fin fim конец",
    "page_up": "page_up pageup pgup pg_up prior bild_auf",
    "page_down": "page_down pagedown pgdn pg_dn pgdown next bild_ab",
    "up": "up up_arrow arrow_up pfeil_nach_oben flèche_haut flecha_arriba 上矢印 上箭头",
    "down": "down down_arrow arrow_down pfeil_nach_unten flèche_bas flecha_abajo 下矢印 下箭头",
    "left": "left left_arrow arrow_left pfeil_nach_links flèche_gauche flecha_izquierda 左矢印 左箭头",
    "right": "right right_arrow arrow_right pfeil_nach_rechts flèche_droite flecha_derecha 右矢印 右箭头",
    "caps_lock": "caps_lock capslock caps feststelltaste",
    "print_screen": "print_screen prtsc printscreen druck",
    "menu": "menu",
}
_NAMES = {word: key for key, words in _WORDS.items() for word in words.split()}
_FUNCTION = re.compile(r"f([1-9]|1[0-9]|2[0-4])")


def named_key(word: str) -> str | None:
    """The canonical key that `word` names ("Strg", "⌘", "Page Down", "s", "F5"), or None where it names none."""
    if word in SIGNS:
        return SIGNS[word]
    name = re.sub(r"\s+", "_", word.strip().casefold())
    if name in _NAMES:
        return _NAMES[name]
    if _FUNCTION.fullmatch(name) or (len(name) == 1 and name.isprintable() and not name.isspace()):
        return canonical_key(name)
    return None


def key_action(keys: Iterable[str]) -> Press | Hotkey | None:
    """Canonical keys as one action, modifiers first and in one order; None for none, or for modifiers alone."""
    given = dict.fromkeys(keys)
    modifiers = [key for key in MODIFIERS if key in given]
    others = [key for key in given if key not in MODIFIERS]
    if len(others) != 1:
        return None
    return Hotkey((*modifiers, others[0])) if modifiers else Press(others[0])


def key_words() -> frozenset[str]:
    """All words that name a key, in lower case, parts joined by ``_``."""
    return frozenset(_NAMES)
