"""What holds for all tests: hypothesis draws the same examples every time, and a busy machine is not a failure."""

from hypothesis import HealthCheck, settings

settings.register_profile("formdex", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("formdex")
