import re

from made_up import sentences
from textassay_lab.monitoring.document import draw_monitor
from textassay_lab.monitoring.monitor import TextMonitor


def test_every_metric_with_a_value_has_its_figure() -> None:
    monitor = TextMonitor(sentences(120, 1), metrics="dd,distinct-n(order=1)", n=60)
    for step, shift in ((100, 1.0), (1200, 0.5)):
        monitor.measure(lambda n, seed, shift=shift: sentences(n, seed, shift=shift), step)  # type: ignore[misc]
    monitor.measure(lambda n, seed: [""] * n, 2000)
    drawings = draw_monitor(monitor.rows())
    assert [drawing.file_name for drawing in drawings] == ["monitor-dd.svg", "monitor-distinct-n-order-1.svg"]
    dd, distinct = drawings
    assert monitor.floor is not None
    floor = monitor.floor.values["dd"]
    assert re.fullmatch(r"dd by step: \S+ at 100, \S+ at 1,200, 1 at 2,000; real text at \S+\.", dd.description)
    assert f"{floor:.2f}" in dd.description.replace("\N{MINUS SIGN}", "-")
    assert "n/a at 2,000;" in distinct.description  # the last step has no value
    assert all("real text" in drawing.svg and drawing.svg.lstrip().startswith("<?xml") for drawing in drawings)
    assert draw_monitor(monitor.rows()) == drawings


def test_without_floor_and_values() -> None:
    monitor = TextMonitor(sentences(60, 1), metrics="length,distinct-n(order=1)", n=60)
    assert draw_monitor(monitor.rows()) == []
    monitor.measure(lambda n, seed: [""] * n, 1)
    (drawing,) = draw_monitor(monitor.rows())
    assert drawing.name == "monitor-length"
    assert "real text" not in drawing.svg + drawing.description
