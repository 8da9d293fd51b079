"""What all tests share: property tests judge results, not speed."""

from hypothesis import settings

settings.register_profile("seatrial", deadline=None)
settings.load_profile("seatrial")
