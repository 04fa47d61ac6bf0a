"""The page without a script: sign in with a key, ask, read, sign out; nothing from other sites."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from tacit.service import problems

SAME = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}


class Outline(HTMLParser):
    """Collects what a screen reader goes by, and everything that would be loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.labels: set[str] = set()
        self.fields: set[str] = set()
        self.loaded: list[str] = []
        self.headings: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = dict(attrs)
        if tag == "label":
            self.labels.add(found["for"])
        if tag in ("input", "textarea", "meter") and found.get("type") != "hidden":
            self.fields.add(found["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)
        self.loaded += [found[name] for name in ("src", "href", "action") if name in found]
        self.inline += [name for name in found if name == "style" or name.startswith("on")]


def signed_in(running: Any, key: str | None = None) -> str:
    """Sign in and return the token of the forms."""
    response = running.client.post("/session", data={"key": key or running.key}, headers=SAME)
    assert response.status_code == 200 and response.url.path == "/"
    return str(re.search(r'name="token" value="([0-9a-f]+)"', response.text)[1])  # type: ignore[index]


def test_without_a_key_there_is_the_statement_and_a_form(run: Any) -> None:
    running = run()
    text = running.client.get("/").text
    assert "Privacy statement" in text and "Enter your key" in text
    assert 'id="budget-title"' not in text and "<meter" not in text


def test_a_session_shows_budget_answers_and_refusals(run: Any) -> None:
    running = run()
    token = signed_in(running)
    asked = {"token": token, "x0": "3", "x1": "2"}
    text = running.client.post("/ask", data=asked, headers=SAME).text
    assert "The answer is <strong>yes</strong>" in text and "1 of 7" in text
    text = running.client.post("/ask", data={**asked, "x0": "0.4", "x1": "-0.4"}, headers=SAME).text
    assert "Refused." in text and "answered-bar" in text and "refused-bar" in text
    assert 'value="0.4"' in text  # what was typed is still there
    assert running.client.get("/").text.count("<tr>") == 4  # analysts and hours: heads and rows
    running.client.post("/session/end", data={"token": token}, headers=SAME)
    assert "Enter your key" in running.client.get("/").text


def test_what_was_typed_wrong_is_told_on_the_page_and_costs_nothing(run: Any) -> None:
    running = run()
    token = signed_in(running)
    for x0 in ("", "abc", "nan", "inf", "1e999"):
        asked = {"token": token, "x0": x0, "x1": "1"}
        response = running.client.post("/ask", data=asked, headers=SAME)
        assert response.status_code == 422 and 'class="problem"' in response.text
    assert running.used() == 0


def test_the_key_is_in_no_page_address_or_cookie(run: Any) -> None:
    running = run()
    signed_in(running)
    page = running.client.get("/")
    secret = running.key.rpartition("_")[2][-30:]
    assert secret not in page.text and secret not in str(page.url)
    cookie = next(iter(running.client.cookies.jar))
    assert secret not in cookie.value and cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"


def test_forged_cookies_and_forms_are_refused(run: Any) -> None:
    running = run()
    token = signed_in(running)
    asked = {"token": token, "x0": "3", "x1": "2"}
    for headers in (
        {**SAME, "Origin": "http://evil.example"},
        {**SAME, "Origin": "http://["},
        {**SAME, "Sec-Fetch-Site": "cross-site"},
    ):
        assert running.client.post("/ask", data=asked, headers=headers).status_code == 403
    assert (
        running.client.post("/ask", data={**asked, "token": "0"}, headers=SAME).status_code == 403
    )
    cookie = running.client.cookies["tacit_session"]
    running.client.cookies.clear()
    for forged in (cookie[:-1] + ("0" if cookie[-1] != "0" else "1"), "a.b.c", "9" * 90):
        page = running.client.get("/", headers={"Cookie": f"tacit_session={forged}"})
        assert "Enter your key" in page.text
    assert running.used() == 0


def test_a_session_ends_with_its_key_and_after_hours(run: Any) -> None:
    running = run()
    made = running.access.create("ann", days=30)
    signed_in(running, made.text)
    assert "ann" in running.client.get("/").text
    running.clock.now += 9 * 3600
    assert "Enter your key" in running.client.get("/").text
    signed_in(running, made.text)
    running.access.revoke(made.id)
    assert "Enter your key" in running.client.get("/").text


def test_a_session_that_was_ended_is_over_wherever_its_cookie_still_is(run: Any) -> None:
    running = run()
    token = signed_in(running)
    cookie = running.client.cookies["tacit_session"]
    signed_in(running)  # a second one, of the same key and at the same moment
    other = running.client.cookies["tacit_session"]
    running.client.cookies.clear()
    kept = {"Cookie": f"tacit_session={cookie}"}
    assert "Enter your key" not in running.client.get("/", headers=kept).text
    running.client.post("/session/end", data={"token": token}, headers={**SAME, **kept})
    assert "Enter your key" in running.client.get("/", headers=kept).text
    asked = {"x0": "1", "x1": "1", "token": token}
    assert running.client.post("/ask", data=asked, headers={**SAME, **kept}).status_code == 403
    again = running.client.get("/", headers={"Cookie": f"tacit_session={other}"})
    assert "Enter your key" not in again.text
    now = int(running.clock.now)
    running.service.requests.end_session(b"old", now - 1)
    running.service.requests.end_session(b"new", now + 60)
    assert running.service.requests.session_ended(b"new")
    assert not running.service.requests.session_ended(b"old")  # it is over by itself: forgotten


def test_an_analyst_sees_no_other_analyst(run: Any) -> None:
    running = run()
    running.access.create("bob-the-other")
    ann = running.access.create("ann", allowance=5).text
    signed_in(running, ann)
    text = running.client.get("/").text
    assert "Your part" in text and "bob-the-other" not in text and "admin" not in text


def test_a_wrong_key_is_told_as_a_page(run: Any) -> None:
    running = run()
    response = running.client.post("/session", data={"key": "nonsense"}, headers=SAME)
    assert response.status_code == 401 and "text/html" in response.headers["content-type"]
    assert problems.NO_KEY.title in response.text


def test_everything_is_labelled_and_nothing_comes_from_elsewhere(run: Any) -> None:
    running = run()
    pages = [running.client.get("/").text]
    signed_in(running)
    running.ask([3.0, 2.0])
    pages.append(running.client.get("/").text)
    for text in pages:
        outline = Outline(text)
        assert outline.fields <= outline.labels
        assert outline.headings[0] == "h1" and set(outline.headings[1:]) == {"h2"}
        assert all(re.match(r"[/#](?!/)", place) for place in outline.loaded)
        assert not outline.inline and "<style" not in text
        assert 'lang="en"' in text and 'href="#main"' in text and 'id="main"' in text


def test_names_are_escaped(run: Any) -> None:
    running = run()
    key = running.access.create("<script>alert(1)</script>").text
    signed_in(running, key)
    running.ask([3.0, 2.0], key=key)
    assert "<script>alert" not in running.client.get("/").text


def test_odd_forms_are_refused_in_the_one_shape(run: Any) -> None:
    running = run()
    response = running.client.post("/session", json={"key": "x"})
    assert response.status_code == 415
    assert response.headers["content-type"] == problems.MEDIA_TYPE
    odd = running.client.post(
        "/session",
        content=b"\xff=\xff",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert odd.status_code in (400, 401)
