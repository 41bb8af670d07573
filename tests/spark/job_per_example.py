"""How Hypothesis goes about a test whose every example is a Spark job of many records."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

JOB_PER_EXAMPLE = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # The assertion names the record: shrinking would take minutes.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
