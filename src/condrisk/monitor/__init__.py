"""Expected loss of new rows by chunk, an alarm when labels say otherwise, and notes on drift."""

from condrisk.monitor._alarm import LossAlarm, loss_alarm
from condrisk.monitor._chunks import Chunk, chunks_by_rows, chunks_by_time
from condrisk.monitor._expected import ExpectedLoss, expected_loss
from condrisk.monitor._mean_regressor import MeanLossRegressor
from condrisk.monitor._monitor import monitor_table
from condrisk.monitor._reference import Reference
from condrisk.monitor._report import ChunkReport, Monitoring

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
