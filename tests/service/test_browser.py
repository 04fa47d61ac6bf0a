"""The page in a real browser: keyboard alone, light and dark, with and without scripts."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from tacit import load_oracle
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.settings import Settings
from tacit.service.state import Service

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def site(directory: Any) -> Iterator[tuple[str, str]]:
    """Serve an oracle on a free port; give the address and the administrator's key."""
    folder = directory()
    settings = Settings(str(folder))
    access = Access(settings.access)
    made = access.first_admin()
    assert made is not None
    service = Service(load_oracle(folder), access, settings)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(service), log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{found.getsockname()[1]}", made.text
        server.should_exit = True
        thread.join()


def test_a_person_signs_in_and_asks_with_the_keyboard_alone(site: Any, browser: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    address, key = site
    browser.get(address)
    skip = browser.switch_to.active_element
    skip.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to content"
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "key"
    browser.switch_to.active_element.send_keys(key, Keys.ENTER)
    wait = WebDriverWait(browser, 120)
    wait.until(lambda b: b.find_elements(By.ID, "x0"))
    browser.find_element(By.ID, "x0").send_keys("3")
    browser.find_element(By.ID, "x1").send_keys("2", Keys.ENTER)
    wait.until(lambda b: b.find_elements(By.CSS_SELECTOR, ".result .answered"))
    assert "yes" in browser.find_element(By.CSS_SELECTOR, ".result").text
    assert browser.find_element(By.TAG_NAME, "meter").get_attribute("value") == "1"
    assert key not in browser.current_url and key not in browser.page_source
    # The policy forbids everything from elsewhere; nothing on the page breaks it.
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


def test_light_and_dark_differ_and_both_can_be_read(site: Any, browser: Any) -> None:
    address, _ = site
    seen = {}
    for mode in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": mode}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        seen[mode] = [_luminance(colour) for colour in _colours(browser, address)]
        assert _contrast(*seen[mode]) >= 4.5  # WCAG AA, also for the faintest text
    assert seen["light"][1] > 0.5 > seen["dark"][1]


def test_it_works_without_scripts_and_on_a_narrow_screen(site: Any, browser: Any) -> None:
    from selenium.webdriver.common.by import By

    address, key = site
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.set_window_size(400, 900)
    browser.get(address)
    browser.find_element(By.ID, "key").send_keys(key)
    browser.find_element(By.CSS_SELECTOR, "main button").click()
    browser.find_element(By.ID, "x0").send_keys("-3")
    browser.find_element(By.ID, "x1").send_keys("-2")
    browser.find_element(By.CSS_SELECTOR, "form.ask button").click()
    assert "no" in browser.find_element(By.CSS_SELECTOR, ".result").text
    cards = browser.find_elements(By.CSS_SELECTOR, ".card")
    assert len({card.location["x"] for card in cards}) == 1  # one column
    assert max(card.size["width"] for card in cards) <= 500


def _colours(browser: Any, address: str) -> list[str]:
    """Return the colours of the faintest text and of what is behind it, once there are styles.

    Chromium drops requests when a network interface comes or goes: then it is asked again.
    """
    for _ in range(5):
        browser.get(address)
        found: list[str] = browser.execute_script(
            "const s = getComputedStyle(document.querySelector('.note')),"
            " c = getComputedStyle(document.querySelector('.card'));"
            "return [s.color, c.backgroundColor];"
        )
        if found[1] != "rgba(0, 0, 0, 0)":
            break
    return found


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: float, two: float) -> float:
    low, high = sorted((one, two))
    return (high + 0.05) / (low + 0.05)
