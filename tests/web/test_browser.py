"""The page in a real browser: typing, filters, the reader, the timeline, the keyboard, a hostile note, a phone."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from small_vault import ADR7, TOKEN, FakeBrain

from onebrain.daemon.desk import Desk
from onebrain.search.question import Filters, Legs
from onebrain.web import serve
from onebrain.web.app import create
from onebrain.web.guard import Door

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Without these it looks for its maker's servers at every start.
OFFLINE = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run")

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", *OFFLINE])
        yield started
        started.close()


@pytest.fixture
def address(desk: Desk) -> Iterator[str]:
    """The page on a free port, as `onebrain serve` runs it."""
    import uvicorn

    listener = serve.take_port(0)
    port = int(listener.getsockname()[1])
    config = uvicorn.Config(create(desk, Door(port, TOKEN), lambda: date(2026, 10, 13)), log_level="warning", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
    listener.close()


def _given_up(message: str) -> bool:
    """htmx tells of every request that newer typing made needless."""
    return message.startswith(("htmx:afterRequest", "htmx:sendAbort"))


class Visit:
    """A window on the page, with all that went wrong in it and every address it asked for."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.faults: list[str] = []
        self.asked: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" and not _given_up(said.text) else None)
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(f"{address}/?token={TOKEN}")
        page.wait_for_selector("#q")

    def type(self, text: str) -> None:
        self.page.fill("#q", "")
        self.page.type("#q", text, delay=5)

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.innerText || document.activeElement.id"))


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Visit]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(8000)
    made = Visit(context.new_page(), address)
    yield made
    faults, elsewhere = made.faults, [url for url in made.asked if not url.startswith(address)]
    context.close()
    assert faults == []
    assert elsewhere == []  # nothing is ever asked of another server


def test_the_token_leaves_the_address(visit: Visit) -> None:
    visit.page.wait_for_url(f"{visit.address}/")


def test_words_answer_while_typing_and_meaning_follows(visit: Visit, brain: FakeBrain) -> None:
    visit.type("what replaced kafka")
    visit.page.wait_for_selector(".direct")
    quoted = visit.page.locator(".direct blockquote").inner_text()
    assert quoted == "We dropped Kafka because the team headcount didn't justify its ops cost."
    legs = [(request.legs, request.write_hyde) for request in brain.asked]
    assert legs[0][0] is Legs.LEX
    assert legs[-1] == (Legs.HYBRID, False)
    assert len([leg for leg, _ in legs if leg is Legs.HYBRID]) == 1  # asked once, when typing rested
    assert visit.page.url == f"{visit.address}/?q=what+replaced+kafka"
    assert visit.page.locator("#said").inner_text() == "An answer of 1 quoted sentence, 2 sources."


def test_enter_asks_for_everything_and_the_address_can_be_opened_again(visit: Visit, brain: FakeBrain) -> None:
    visit.type("what replaced kafka")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".direct")
    assert brain.asked[-1].write_hyde
    visit.page.reload()
    visit.page.wait_for_selector(".direct")
    assert visit.page.input_value("#q") == "what replaced kafka"


def test_filters_narrow_the_question(visit: Visit, brain: FakeBrain) -> None:
    visit.type("kafka")
    visit.page.click("text=Narrow it down")
    visit.page.select_option("select[name=folder]", "01-projects/beacon")
    visit.page.select_option("select[name=tag]", "adr")
    visit.page.fill("input[name=after]", "2026-01-01")
    visit.page.wait_for_url("**after=2026-01-01**")
    visit.page.wait_for_selector("#fuller", state="detached")
    assert brain.asked[-1].filters == Filters(("01-projects/beacon",), ("adr",), (), "2026-01-01", None)


def test_a_timeline_shows_dates_reasons_and_what_no_longer_holds(visit: Visit) -> None:
    visit.type("why did we drop kafka")
    visit.page.wait_for_selector(".timeline")
    events = visit.page.locator(".event")
    assert events.count() == 2
    assert events.nth(0).locator("time").inner_text() == "2 Oct 2025"
    assert "line-through" in visit.page.evaluate("getComputedStyle(document.querySelector('.event s')).textDecorationLine")
    assert events.nth(1).locator("blockquote").inner_text() == "the headcount didn't justify Kafka's ops cost"
    events.nth(1).locator("h3 a").click()
    visit.page.wait_for_selector("#reader[open] .hit")
    assert "We dropped Kafka because" in visit.page.locator("#reader .hit").inner_text()


def test_the_keyboard_is_enough(visit: Visit) -> None:
    keys = visit.page.keyboard
    visit.type("what replaced kafka")
    visit.page.wait_for_selector(".direct")
    keys.press("ArrowDown")
    assert "line 12" in visit.focused()  # the citation
    keys.press("j")
    assert visit.focused() == "ADR-007: Redis Streams"
    keys.press("j")
    keys.press("k")
    assert visit.focused() == "ADR-007: Redis Streams"
    keys.press("Enter")
    visit.page.wait_for_selector("#reader[open] .hit")
    assert visit.page.locator("#reader .hit").is_visible()
    keys.press("Escape")
    visit.page.wait_for_selector("#reader", state="hidden")
    assert visit.focused() == "ADR-007: Redis Streams"  # back where one was
    keys.press("Escape")
    assert visit.focused() == "q"
    keys.press("ArrowDown")
    keys.press("/")
    assert visit.focused() == "q"
    visit.type("j/k")  # letters of a question stay letters
    assert visit.page.input_value("#q") == "j/k"


def test_focus_stays_on_a_result_when_the_full_answer_arrives(visit: Visit) -> None:
    visit.type("what replaced kafka")
    visit.page.wait_for_selector("#results a.result")
    visit.page.locator("#results .hits a.result").first.focus()
    visit.page.wait_for_selector(".direct")
    assert visit.focused() == "ADR-007: Redis Streams"


def test_links_in_a_note_open_in_the_reader(visit: Visit) -> None:
    visit.type("what replaced kafka")
    visit.page.wait_for_selector(".direct")
    visit.page.locator("#results .hits a.result").first.click()
    visit.page.locator("#reader a.note-link", has_text="ADR-003").click()
    visit.page.wait_for_selector("#reader h1:has-text('ADR-003: Kafka')")
    visit.page.mouse.click(100, 500)  # beside the reader
    visit.page.wait_for_selector("#reader", state="hidden")


def test_a_hostile_note_runs_nothing_and_loads_nothing(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/note?path=03-knowledge/Hostile.md")
    assert page.title() == "<img src=x onerror=\"document.title='owned'\">"
    assert page.locator(".prose script, .prose img, .prose iframe, .prose form, .prose style, .prose svg").count() == 0
    assert page.locator("body").is_visible()
    page.get_by_text("click").first.click()  # `[click](javascript:…)` is no link
    assert page.title() != "owned"


def test_the_policy_stops_what_would_get_past_us(visit: Visit) -> None:
    attack = '<img src="data:," onerror="window.owned = 1"><img src="https://evil.example/x.png">'
    visit.page.evaluate("attack => document.body.insertAdjacentHTML('beforeend', attack)", attack)
    visit.page.wait_for_timeout(200)
    assert visit.page.evaluate("window.owned") is None
    assert visit.faults  # Chromium tells that it refused
    visit.faults.clear()
    visit.asked[:] = [url for url in visit.asked if "evil.example" not in url]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_can_read_it_all_without_scrolling_sideways(chromium: Any, address: str, scheme: Any, tmp_path: Path) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True)
    context.set_default_timeout(8000)
    visit = Visit(context.new_page(), address)
    for question, sign in (("what replaced kafka", ".direct"), ("why did we drop kafka", ".timeline"), ("zebra", ".none")):
        visit.type(question)
        visit.page.wait_for_selector(sign)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.page.click("text=Narrow it down")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.page.goto(f"{address}/note?path={ADR7}")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visit.faults == []
    context.close()


def test_a_stopped_server_is_told(visit: Visit) -> None:
    visit.page.route("**/answer**", lambda route: route.abort())
    visit.type("kafka")
    visit.page.wait_for_selector("text=The server has stopped")
    visit.faults.clear()


def test_landmarks_labels_and_headings_are_there_for_screen_readers(visit: Visit) -> None:
    visit.type("what replaced kafka")
    visit.page.wait_for_selector(".direct")
    for role in ("banner", "search", "main", "contentinfo"):
        assert visit.page.get_by_role(role).count() == 1, role
    elements = "[...document.querySelectorAll('a, button, input, select')]"
    assert visit.page.evaluate(elements + ".filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length") == 0
    ids = visit.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
