"""Personal data that have a form: e-mail and IP addresses, telephone, bank and card numbers, keys of interfaces.

What has a checksum is checked (IBAN, cards), and a key must be random enough. Names and street addresses have no form
and are not found; nor is what a tokeniser took apart, such as ``anna @ example . org``.
"""

import ipaddress
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

_LEAST_DIGITS, _MOST_DIGITS = 8, 15  # of a telephone number
_LEAST_KEY, _LEAST_BITS = 24, 3.3  # characters of a key without a known beginning; bits a character

# A text in which nothing of this occurs holds none of the kinds: most texts are passed by at once
_SIGNS = re.compile(r"@|\d(?:\D?\d){6}|\S{20}|(?:[0-9A-Fa-f]{1,4}:){2}|\d\.\d{1,3}\.\d")
_NAMED_KEYS = (
    r"sk-[\w-]{16,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|"
    r"xox[abprs]-[\w-]{10,}|eyJ[\w-]+\.[\w.-]{20,}"
)


def is_iban(found: str) -> bool:
    """Return whether the checksum of a bank account number holds."""
    letters = found.replace(" ", "").upper()
    return int("".join(str(int(each, 36)) for each in letters[4:] + letters[:4])) % 97 == 1


def is_card(found: str) -> bool:
    """Return whether the checksum of a card number holds (Luhn)."""
    digits = [int(each) for each in found if each.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_ip(found: str) -> bool:
    """Return whether it is an address of the internet that is not this machine's own or none."""
    try:
        address = ipaddress.ip_address(found)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def is_key(found: str) -> bool:
    """Return whether a long word mixes letters and digits as random ones do."""
    if re.match(_NAMED_KEYS, found):
        return True
    n = len(found)
    bits = -sum(count / n * math.log2(count / n) for count in Counter(found).values())
    n_digits = sum(map(str.isdigit, found))
    return bits >= _LEAST_BITS and 3 <= n_digits <= n - 3 and not found.lower().startswith(("http", "www."))


def is_phone(found: str) -> bool:
    """Return whether it has as many digits as a telephone number."""
    return _LEAST_DIGITS <= sum(map(str.isdigit, found)) <= _MOST_DIGITS


_E_MAIL = r"[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b"
_KEY = rf"(?<![\w/.])(?:{_NAMED_KEYS}|[\w+/-]{{{_LEAST_KEY},}}={{0,2}})(?!\w)"
_IBAN = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
_CARD = r"(?<![\w.])[2-6](?:[ -]?\d){12,18}(?![\w-])"
_IP = r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})(?![\w:])"
_ABROAD = r"(?:\+|00?)[1-9]\d{0,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}"
_PHONE = rf"(?<![\w.-])(?:{_ABROAD}|\(?\d{{3}}\)?[ .-]\d{{3}}[ .-]\d{{4}})(?![\w-])"

# In this order: what is one kind is not looked at again
KINDS: Mapping[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "e-mail": (re.compile(_E_MAIL), lambda found: True),
    "key": (re.compile(_KEY), is_key),
    "IBAN": (re.compile(_IBAN), is_iban),
    "card": (re.compile(_CARD), is_card),
    "IP": (re.compile(_IP), is_ip),
    "phone": (re.compile(_PHONE), is_phone),
}


def personal_data(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what a text holds, in order: kind, start and stop."""
    if not _SIGNS.search(text):
        return
    taken: list[tuple[str, int, int]] = []
    for kind, (pattern, holds) in KINDS.items():
        for match in pattern.finditer(text):
            start, stop = match.span()
            if all(stop <= other[1] or start >= other[2] for other in taken) and holds(match[0]):
                taken.append((kind, start, stop))
    yield from sorted(taken, key=lambda one: one[1])


def masked(text: str) -> str:
    """Return a text in which personal data is replaced by its kind, such as ``[e-mail]``."""
    pieces, end = [], 0
    for kind, start, stop in personal_data(text):
        pieces += [text[end:start], f"[{kind}]"]
        end = stop
    return "".join([*pieces, text[end:]])


def normal_form(found: str) -> str:
    """Return what is equal for two spellings of one number or address."""
    return re.sub(r"[\s()./-]", "", found).lower()


def data_of(texts: Iterable[str]) -> list[tuple[int, str, str]]:
    """Return the number of the text, the kind and the normal form of all personal data of many texts."""
    return [
        (number, kind, normal_form(text[start:stop]))
        for number, text in enumerate(texts)
        for kind, start, stop in personal_data(text)
    ]
