"""The table of overlays: complete, and no function replaced by two topics."""

from diastase.tracing.hooks import _TOPICS, OVERLAYS
from diastase_mlir.jax_internals import HOOK_POINTS


def test_every_hook_point_has_one_overlay():
    assert set(OVERLAYS) == set(HOOK_POINTS)
    assert len(OVERLAYS) == sum(len(topic.OVERLAYS) for topic in _TOPICS)
