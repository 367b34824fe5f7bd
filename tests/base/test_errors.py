"""Messages of errors: short, whatever a file holds."""

from dse.base.errors import InputError


def test_a_word_of_thousands_of_characters_is_shown_by_its_two_ends() -> None:
    message = str(InputError(f"model.d_model is {'9' * 5000}; it must be at most 1000"))
    assert message == f"model.d_model is {'9' * 100}…{'9' * 19}; it must be at most 1000"


def test_a_message_of_plain_words_is_as_it_was_written() -> None:
    assert str(InputError("gbs is 0; it must be at least 1")) == "gbs is 0; it must be at least 1"
