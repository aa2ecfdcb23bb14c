"""Makes ids and times repeatable. Import before any SDK module, so that a new recording differs little."""

import datetime
import random
import uuid

_random = random.Random(2026)
_now = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_STEP = datetime.timedelta(seconds=1, microseconds=234567)


class _Clock(datetime.datetime):
    """A clock that moves by a fixed step each time somebody looks at it."""

    @classmethod
    def now(cls, tz=None):
        global _now
        _now += _STEP
        return _now.astimezone(tz) if tz else _now.replace(tzinfo=None)

    @classmethod
    def utcnow(cls):
        return cls.now()


def _uuid4():
    return uuid.UUID(int=_random.getrandbits(128), version=4)


uuid.uuid4 = _uuid4
datetime.datetime = _Clock
