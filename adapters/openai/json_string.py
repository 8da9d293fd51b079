"""What may stand between the quotes of a JSON string, told without a parser."""

import re

ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')


def is_string(value: bytes) -> bool:
    """Say whether the bytes can stand between the quotes of a JSON string, and are not empty; False where unsure."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return False
    if "\\" in text:
        text = ESCAPE.sub("x", text)
    return bool(text) and text.isprintable() and '"' not in text and "\\" not in text
