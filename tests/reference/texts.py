"""Normal forms p1, s1 and t1 as a character scanner, and the three duplicate keys.

Written from the rules in ``tests/fixtures/oracles/structural_dedup.json``. The tables are those of Unicode 14.0, which
Python 3.11 carries; on a newer Python a code point that 14.0 does not assign is treated as unassigned all the same.
"""
from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path

_TABLE = json.loads((Path(__file__).parent / "unassigned_14.json").read_text("utf-8"))
_UNASSIGNED = [(low, high) for low, high in _TABLE["ranges"]]

WHITE = set("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(code) for code in range(0x2000, 0x200B)}
LINE_ENDS = {"\r", "\x85", "\u2028", "\u2029", "\x0b", "\x0c"}
DIGITS, HEX = set("0123456789"), set("0123456789abcdef")
WORD = set("0123456789abcdefghijklmnopqrstuvwxyz_")
DOUBLE_QUOTES = set("\u201c\u201d\u201e\u201f\u00ab\u00bb")
SINGLE_QUOTES = set("\u2018\u2019\u201a\u201b")
DASHES = set("\u2010\u2011\u2012\u2013\u2014\u2015\u2212")


def is_assigned(character: str) -> bool:
    """Whether Unicode 14.0 assigns the code point."""
    if unicodedata.unidata_version == "14.0.0":
        return unicodedata.category(character) != "Cn"
    code = ord(character)
    return unicodedata.category(character) != "Cn" and not any(low <= code <= high for low, high in _UNASSIGNED)


def _by_runs(text: str, change) -> str:
    """Apply ``change`` to each run of assigned characters; unassigned ones pass untouched."""
    result, run = "", ""
    for character in text:
        if is_assigned(character):
            run += character
        else:
            result += change(run) + character
            run = ""
    return result + change(run)


def nfkc(text: str) -> str:
    return _by_runs(text, lambda run: unicodedata.normalize("NFKC", run))


def fold(text: str) -> str:
    return nfkc(_by_runs(text, str.casefold))


def without_ignorable(text: str) -> str:
    kept = ""
    for character in text:
        code = ord(character)
        if is_assigned(character) and unicodedata.category(character) == "Cf":
            continue
        if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or code == 0x034F:
            continue
        kept += character
    return kept


def _kind(character: str) -> str:
    """super, sub, fraction, or nothing: the type of the compatibility decomposition."""
    decomposition = unicodedata.decomposition(character) if is_assigned(character) else ""
    for kind in ("super", "sub", "fraction"):
        if decomposition.startswith(f"<{kind}>"):
            return kind
    return ""


def safe_nfkc(text: str) -> str:
    marked, before = "", ""
    for character in text:
        kind = _kind(character)
        if kind == "fraction":
            marked += " "
        elif kind == "super" and before != "super":
            marked += "^"
        elif kind == "sub" and before != "sub":
            marked += "_"
        marked += character
        before = kind
    return nfkc(marked).replace("\u2044", "/")


def end_trim(text: str) -> str:
    words, word = [], ""
    for character in text:
        if character in WHITE:
            if word:
                words.append(word)
            word = ""
        else:
            word += character
    if word:
        words.append(word)
    collapsed = " ".join(words)
    end = len(collapsed)
    while end > 0 and collapsed[end - 1] in " .!?\u3002":
        end -= 1
    return collapsed[:end] if end else collapsed


def p1(text: str) -> str:
    """The normal form of a prompt."""
    return end_trim(fold(safe_nfkc(without_ignorable(text))))


def _lines(text: str) -> list[str]:
    lines, line, index = [], "", 0
    while index < len(text):
        character = text[index]
        if character == "\r" and text[index + 1:index + 2] == "\n":
            index += 1
            character = "\n"
        if character == "\n" or character in LINE_ENDS:
            lines.append(line)
            line = ""
        else:
            line += character
        index += 1
    return [*lines, line]


def _marker_length(line: str) -> int:
    """How many characters the leading block marker takes; 0 without one."""
    if line.startswith(">"):
        return 1
    hashes = 0
    while hashes < len(line) and line[hashes] == "#":
        hashes += 1
    if 1 <= hashes <= 6 and (hashes == len(line) or line[hashes] in " \t"):
        return hashes
    if len(line) > 1 and line[0] in "-*+\u2022" and line[1] in " \t":
        return 1
    digits = 0
    while digits < len(line) and line[digits] in DIGITS:
        digits += 1
    if 1 <= digits <= 3 and len(line) > digits + 1 and line[digits] in ".)" and line[digits + 1] in " \t":
        return digits + 1
    return 0


def _without_blocks(text: str) -> str:
    kept = []
    for line in _lines(text):
        line = line.strip(" \t")
        if line.startswith(("```", "~~~")):
            continue
        length = _marker_length(line)
        while length:
            line = line[length:].lstrip(" \t")
            length = _marker_length(line)
        kept.append(line)
    return "\n".join(kept)


def _emphasis_end(text: str, start: int) -> tuple[int, int] | None:
    """(stars, index after the closing stars) of the emphasis that opens at ``start``, or None."""
    if start > 0 and text[start - 1] not in WHITE and text[start - 1] not in "([\"'":
        return None
    stars = 0
    while start + stars < len(text) and text[start + stars] == "*":
        stars += 1
    first = start + stars
    if not 1 <= stars <= 3 or first == len(text) or text[first] in WHITE:
        return None
    close = first
    while close < len(text) and text[close] not in "*\n":
        close += 1
    if close == len(text) or text[close] != "*" or text[close - 1] in WHITE:
        return None
    end = close
    while end < len(text) and text[end] == "*":
        end += 1
    if end - close != stars or (end < len(text) and text[end] not in WHITE and text[end] not in ".,;:!?)]\"'"):
        return None
    return stars, end


def _without_emphasis(text: str) -> str:
    result, index = "", 0
    while index < len(text):
        found = _emphasis_end(text, index) if text[index] == "*" else None
        if found is None:
            result += text[index]
            index += 1
        else:
            stars, end = found
            result += text[index + stars:end - stars]
            index = end
    return result


def _link_end(text: str, start: int) -> tuple[str, str, int] | None:
    middle = start + 1
    while middle < len(text) and text[middle] not in "[]\n":
        middle += 1
    if text[middle:middle + 2] != "](":
        return None
    end = middle + 2
    while end < len(text) and text[end] not in "()" and text[end] not in WHITE:
        end += 1
    if end == len(text) or text[end] != ")":
        return None
    return text[start + 1:middle], text[middle + 2:end], end + 1


def _without_links(text: str) -> str:
    result, index = "", 0
    while index < len(text):
        found = _link_end(text, index) if text[index] == "[" else None
        if found is None:
            result += text[index]
            index += 1
        else:
            label, target, index = found
            result += f"{label} {target}"
    return result


def _plain_marks(text: str) -> str:
    result = ""
    for character in text:
        result += '"' if character in DOUBLE_QUOTES else "'" if character in SINGLE_QUOTES else "-" if character in DASHES else character
    return result


def _run(text: str, start: int, allowed: set[str]) -> int:
    end = start
    while end < len(text) and text[end] in allowed:
        end += 1
    return end


def _shape(text: str, start: int, shape: str) -> int | None:
    """The index after ``shape`` at ``start`` (d = digit, h = hex digit, else itself), or None."""
    if start + len(shape) > len(text):
        return None
    for offset, wanted in enumerate(shape):
        character = text[start + offset]
        if not (character in DIGITS if wanted == "d" else character in HEX if wanted == "h" else character == wanted):
            return None
    return start + len(shape)


def _time_ends(text: str, start: int) -> list[int]:
    """All indices at which a date with time that starts at ``start`` may end."""
    ends = []
    for separator in "t ":
        day = _shape(text, start, f"dddd-dd-dd{separator}dd:dd")
        if day is None:
            continue
        seconds = [day, _shape(text, day, ":dd")]
        parts = []
        for second in seconds:
            if second is not None:
                parts.append(second)
                if text[second:second + 1] == "." and _run(text, second + 1, DIGITS) > second + 1:
                    parts.append(_run(text, second + 1, DIGITS))
        for part in parts:
            ends.append(part)
            zones = [_shape(text, part, zone) for zone in ("z", "+dd:dd", "-dd:dd", "+dddd", "-dddd")]
            ends += [zone for zone in zones if zone is not None]
    return ends


def _masked(text: str) -> str:
    result, index = "", 0
    while index < len(text):
        outside_before = index == 0 or text[index - 1] not in WORD
        end, mask = None, ""
        if outside_before:
            candidates = [(_shape(text, index, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh"), "<uuid>")]
            run = _run(text, index, HEX)
            candidates.append((run if run - index >= 32 else None, "<hex>"))
            candidates += [(stop, "<time>") for stop in sorted(_time_ends(text, index), reverse=True)]
            for stop, name in candidates:
                if stop is not None and (stop == len(text) or text[stop] not in WORD):
                    end, mask = stop, name
                    break
        if end is None:
            result += text[index]
            index += 1
        else:
            result += mask
            index = end
    return result


def s1(text: str) -> str:
    """The structural skeleton of a completion."""
    text = _without_blocks(safe_nfkc(without_ignorable(text))).replace("`", "")
    return end_trim(_masked(fold(_plain_marks(_without_links(_without_emphasis(text))))))


def _is_number(token: str) -> bool:
    """Digits of any script: only the block markers of the skeleton are said to be ASCII."""
    digits = {character for character in token if character.isdecimal()}
    index = 1 if token[:1] in ("+", "-") and token else 0
    end = _run(token, index, digits)
    if end == index:
        return False
    while end < len(token) and token[end] in ".,:/" and _run(token, end + 1, digits) > end + 1:
        end = _run(token, end + 1, digits)
    return token[end:] in ("", "%")


def t1(text: str) -> str:
    """The template form; for reports only."""
    quoted, index, skeleton = "", 0, s1(text)
    while index < len(skeleton):
        close = skeleton.find('"', index + 1) if skeleton[index] == '"' else -1
        if close > index + 1:
            quoted += "<str>"
            index = close + 1
        else:
            quoted += skeleton[index]
            index += 1
    tokens = []
    for token in quoted.split(" "):
        outer = "\"'()[]{},;:!?."
        body = token.strip(outer)
        start = len(token) - len(token.lstrip(outer))
        if _is_number(body):
            body_form = "<num>"
        elif "_" in body or (any(c.isalpha() for c in body) and any(c.isdecimal() for c in body)):
            body_form = "<id>"
        else:
            body_form = body
        tokens.append(token[:start] + body_form + token[start + len(body):] if body else token)
    return " ".join(tokens)


def stripped(text: str) -> str:
    """The text without white space at its ends."""
    start, end = 0, len(text)
    while start < end and text[start] in WHITE:
        start += 1
    while end > start and text[end - 1] in WHITE:
        end -= 1
    return text[start:end]


def is_blank(text: str) -> bool:
    """Nothing is left after deleting format characters and white space."""
    return all(character in WHITE for character in without_ignorable(text))


def _digest(*fields: str) -> str:
    return hashlib.sha256(json.dumps(list(fields), separators=(",", ":"), ensure_ascii=False).encode("utf-8")).hexdigest()


def keys_of(prompt: str, chosen: str, rejected: str) -> dict[str, str]:
    """The three duplicate keys of a pair, by name."""
    p, c, r = p1(prompt), s1(chosen), s1(rejected)
    return {
        "prompt_normalized_sha256": _digest("p1", p),
        "chosen_structural_skeleton_sha256": _digest("s1", c),
        "joint_transition_pair_sha256": _digest("j1", p, c, r),
    }


def flattened(messages: list[dict]) -> str:
    """A message list as text: role LF content LF, then the canonical bytes of tool calls where present."""
    text = ""
    for message in messages:
        text += f"{message['role']}\n{message['content'] or ''}\n"
        if "tool_calls" in message:
            text += json.dumps(message["tool_calls"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text


def shared_turns(chosen: list[dict], rejected: list[dict]) -> int:
    """How many messages both sides repeat at their head, up to the last user turn among them."""
    count = last_user = 0
    while count < min(len(chosen), len(rejected)) and chosen[count] == rejected[count]:
        count += 1
        if chosen[count - 1]["role"] == "user":
            last_user = count
    return last_user
