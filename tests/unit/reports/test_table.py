from __future__ import annotations

from trainrig.reports.table import Row, markdown, table

ROWS: list[Row] = [("where", "USD"), ("aws/us-east-1", "9"), ("a|b", "")]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table(ROWS) == ["  where          USD", "  aws/us-east-1  9", "  a|b"]


def test_a_bar_does_not_break_a_markdown_table() -> None:
    assert markdown(ROWS) == ["| where | USD |", "| --- | --- |", "| aws/us-east-1 | 9 |", "| a\\|b |  |"]
