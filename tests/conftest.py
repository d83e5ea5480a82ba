"""What every test shares."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("postroom", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("postroom")
