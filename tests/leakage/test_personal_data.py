"""Personal data with a form is found and masked; numbers and words that look like it are left."""

import pytest

from textassay.leakage.personal_data import data_of, masked, personal_data

FOUND = {
    "write to anna.b+x@mail.example.org today": "write to [e-mail] today",
    "call +49 30 1234567 or (555) 123-4567": "call [phone] or [phone]",
    "call 0171 2345678.": "call [phone].",
    "IBAN DE89 3704 0044 0532 0130 00, thanks": "IBAN [IBAN], thanks",
    "card 4111 1111 1111 1111 and 5500-0000-0000-0004": "card [card] and [card]",
    "at 192.168.0.1 or 2001:db8::1": "at [IP] or [IP]",
    "key sk-abcdefghijklmnopqrstuv12": "key [key]",
    "AKIAIOSFODNN7EXAMPLE": "[key]",
    "hash d41d8cd98f00b204e9800998ecf8427e": "hash [key]",
}
LEFT = (
    "from 2019-2020 to 2021", "1,000,000 people at 12:30:45", "version 1.2.3", "card 4111 1111 1111 1112",
    "GB82 WEST 1234 5698 7654 33", "https://www.example.com/some/long/path-to-page-2020-01-01", "999.1.1.1",
    "Donaudampfschifffahrtsgesellschaft", "a @ b . c", "127.0.0.1", "3.14159265358979", "_num_ _num_ _num_",
)  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_what_is_personal_is_masked(text: str) -> None:
    assert masked(text) == FOUND[text]


@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_is_left(text: str) -> None:
    assert masked(text) == text
    assert list(personal_data(text)) == []


def test_two_spellings_are_one_number() -> None:
    assert data_of(["card 4111 1111 1111 1111", "none", "4111-1111-1111-1111 A@B.org"]) == [
        (0, "card", "4111111111111111"),
        (2, "card", "4111111111111111"),
        (2, "e-mail", "a@borg"),
    ]
