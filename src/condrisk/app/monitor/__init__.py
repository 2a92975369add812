"""Expected loss of new rows by chunk, an alarm when labels say otherwise, and what happened."""

from condrisk.app.monitor._alarm import loss_alarm
from condrisk.app.monitor._evidence import TwoSampleTest
from condrisk.app.monitor._expected import expected_loss
from condrisk.app.monitor._folder import WatchedFolder
from condrisk.app.monitor._monitor import monitor
from condrisk.app.monitor._reference import Reference
from condrisk.app.monitor._report import Monitoring

__all__ = [
    "Monitoring",
    "Reference",
    "TwoSampleTest",
    "WatchedFolder",
    "expected_loss",
    "loss_alarm",
    "monitor",
]
