"""What events of one shape say, remembered over all streams of a replay: equal shapes need no JSON parser.

Guesses nothing: a shape is kept only where it reads alike with other values, and whatever fits none is parsed.
"""

from adapters.openai.event import Event, read_event
from adapters.openai.shape import Shape, learn_shape

MAX_SHAPES = 8  # a stream has four or five; each costs an event that fits none of them a look
MAX_LESSONS = 256  # of a server whose events have no common shape, nothing more is learnt


class EventMemo:
    """Reads events as `read_event` does, by known shapes where one fits."""

    def __init__(self) -> None:
        self._shapes: list[Shape] = []
        self._lessons_left = MAX_LESSONS

    def read(self, payload: bytes) -> tuple[Event, bool]:
        """Read the data of one server-sent event; say too whether its shape is known, so that all of it say the same.

        Raises:
            ValueError: the data is not one JSON object in UTF-8.
        """
        payload.decode()
        for shape in self._shapes:
            event = shape.read(payload)
            if event is not None:
                return event, True
        event = read_event(payload)
        return event, self._learn(payload, event)

    def _learn(self, payload: bytes, event: Event) -> bool:
        if not self._lessons_left or len(self._shapes) == MAX_SHAPES:
            return False
        self._lessons_left -= 1
        shape = learn_shape(payload, event)
        if shape is not None:
            self._shapes.append(shape)
        return shape is not None
