"""How much is tried: little on each run, more with `--hypothesis-profile thorough`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

NOT_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("modest", max_examples=500, deadline=None, suppress_health_check=NOT_SLOW)
settings.register_profile("thorough", settings.get_profile("modest"), max_examples=10_000)
settings.load_profile("modest")
