"""Expected loss of new rows by chunk, an alarm when labels say otherwise, and notes on drift."""

from condrisk.app.monitor._alarm import LossAlarm, loss_alarm
from condrisk.app.monitor._chunks import Chunk, chunks_by_rows, chunks_by_time
from condrisk.app.monitor._expected import ExpectedLoss, expected_loss
from condrisk.app.monitor._mean_regressor import MeanLossRegressor
from condrisk.app.monitor._monitor import monitor_table
from condrisk.app.monitor._reference import Reference
from condrisk.app.monitor._report import ChunkReport, Monitoring

__all__ = [
    "Chunk",
    "ChunkReport",
    "ExpectedLoss",
    "LossAlarm",
    "MeanLossRegressor",
    "Monitoring",
    "Reference",
    "chunks_by_rows",
    "chunks_by_time",
    "expected_loss",
    "loss_alarm",
    "monitor_table",
]
