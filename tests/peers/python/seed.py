"""Makes ids and timestamps deterministic, so that recordings can be compared. Import before any SDK module."""

import datetime
import random
import uuid

_random = random.Random(2026)
_now = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_STEP = datetime.timedelta(seconds=1, microseconds=234567)


class _Clock(datetime.datetime):
    """Clock that advances by a fixed step on every read."""

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
