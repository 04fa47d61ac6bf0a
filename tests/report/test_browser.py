"""The page of a report in a real browser: light, dark, on paper, on a narrow screen."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.filterwarnings("ignore::ResourceWarning")]

_spec = importlib.util.spec_from_file_location(
    "report_examples", Path(__file__).with_name("test_html.py")
)
assert _spec is not None and _spec.loader is not None
examples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(examples)


@pytest.fixture
def page(tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    hostile = {"<script>document.title='broken'</script>": 5, "yes": 4}
    made = examples.report(released={**hostile, "a long name " * 8: 2})
    made.save_html(path, frontier=examples.frontier())
    return path.as_uri()


def emulate(browser: Any, media: str, mode: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": mode}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})


def colours(browser: Any, selector: str) -> tuple[float, float]:
    text, ground = browser.execute_script(
        "const one = document.querySelector(arguments[0]), style = getComputedStyle(one);"
        "return [one instanceof SVGElement ? style.fill : style.color,"
        " getComputedStyle(document.querySelector('.card')).backgroundColor];",
        selector,
    )
    return luminance(text), luminance(ground)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_can_be_read_in_light_in_the_dark_and_on_paper(page: str, browser: Any) -> None:
    grounds = {}
    for media, mode in (("screen", "light"), ("screen", "dark"), ("print", "dark")):
        emulate(browser, media, mode)
        browser.get(page)
        for selector in (".note", "svg .tick", "svg .name", ".said dd", "pre"):
            low, high = sorted(colours(browser, selector))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (media, mode, selector)  # WCAG AA
        grounds[media, mode] = colours(browser, ".note")[1]
        assert browser.title.startswith("Report of a private run")
    assert grounds["screen", "light"] > 0.5 > grounds["screen", "dark"]
    assert grounds["print", "dark"] == 1.0
    assert not browser.find_element("css selector", ".programs").is_displayed()
    assert browser.get_log("browser") == []  # nothing was loaded, refused or run


@pytest.mark.parametrize("width", [380, 1100])
def test_nothing_is_cut_off(page: str, browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # Every text in a chart lies within its drawing.
    outside = browser.execute_script(
        "return [...document.querySelectorAll('svg.chart')].flatMap(svg => {"
        " const box = svg.getBoundingClientRect();"
        " return [...svg.querySelectorAll('text')].filter(text => {"
        "  const at = text.getBoundingClientRect();"
        "  return at.left < box.left - 1 || at.right > box.right + 1;"
        " }).map(text => text.textContent); });"
    )
    assert outside == []


def test_charts_have_names_for_those_who_do_not_see_them(page: str, browser: Any) -> None:
    browser.get(page)
    charts = browser.find_elements("css selector", "svg.chart")
    assert len(charts) == 5
    for chart in charts:
        assert chart.aria_role in ("image", "img") and len(chart.accessible_name) > 20
    pages = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert pages["data"].startswith("JVBERi")  # %PDF
