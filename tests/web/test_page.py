"""The page over HTTP: what each address shows, and what none of them ever does."""

from __future__ import annotations

from datetime import date
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from small_vault import ADR3, ADR7, PORT, TOKEN, WORDED, WORDED_WHY, FakeBrain
from starlette.testclient import TestClient

from onebrain.config import Config, Search, Web
from onebrain.daemon.desk import Desk
from onebrain.errors import IndexDamaged
from onebrain.search.question import Legs
from onebrain.web.app import create
from onebrain.web.guard import Door


def words_of(html: str) -> str:
    import re

    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_the_empty_page_offers_the_filters_and_the_newest_decisions(client: TestClient) -> None:
    page = client.get("/").text
    assert '<option value="01-projects/beacon">01-projects/beacon (2)</option>' in page
    assert '<option value="adr">adr (2)</option>' in page
    assert "Redis Streams for event transport" in page
    assert "ADR-003" not in page  # superseded: not lately decided


def test_what_the_index_says_of_a_note_that_changed_is_not_shown(client: TestClient, vault: Path) -> None:
    note = vault / ADR7
    text = note.read_text(encoding="utf-8").replace("Redis Streams", "RabbitMQ").replace("2026-04-19", "2026-05-01")
    note.write_text(text, encoding="utf-8")
    assert "Redis Streams for event transport" not in client.get("/").text
    html = client.get("/note", params={"path": ADR7}).text
    assert "RabbitMQ" in html and "19 Apr 2026" not in html
    assert f'href="/note?path={quote(ADR3, safe="")}"' in html
    note.unlink()
    assert "Redis Streams for event transport" not in client.get("/").text


def test_words_answer_first_and_ask_for_the_rest(client: TestClient, brain: FakeBrain) -> None:
    answer = client.get("/answer", params={"q": "kafka", "tag": "adr"})
    assert [request.legs for request in brain.asked] == [Legs.LEX]
    assert 'hx-get="/answer?q=kafka&amp;tag=adr&amp;stage=meaning"' in answer.text
    assert "Found by words. Reading for meaning" in answer.text
    assert answer.headers["hx-replace-url"] == "/?q=kafka&tag=adr"
    assert "%" not in words_of(answer.text)  # nothing was judged yet, so no chance is told
    client.get("/answer", params={"q": "kafka", "stage": "meaning"})
    assert (brain.asked[-1].legs, brain.asked[-1].write_hyde) == (Legs.HYBRID, False)  # typing does not wait for a writer


def test_an_address_with_a_question_ends_in_the_whole_answer(client: TestClient, brain: FakeBrain) -> None:
    assert 'hx-get="/answer?q=kafka&amp;stage=full"' in client.get("/?q=kafka").text
    assert "From your notes" in client.get("/?q=kafka&stage=full").text  # for a browser without scripts
    assert (brain.asked[-1].legs, brain.asked[-1].write_hyde) == (Legs.HYBRID, True)


def test_the_full_answer_quotes_cites_and_tells_its_bands(client: TestClient, brain: FakeBrain) -> None:
    html = client.get("/answer", params={"q": "what replaced kafka", "stage": "full"}).text
    assert brain.asked[-1].legs is Legs.HYBRID
    assert brain.asked[-1].now == date(2026, 10, 13)
    text = words_of(html)
    assert "We dropped Kafka because the team headcount didn't justify its ops cost." in text
    assert f"{ADR7} › ADR-007 › Decision · line 12" in text
    assert "Confident 87" in text and "Possible 41" in text and "Weak 8" in text
    assert "1 more match" in text
    assert "2 passages can be found by words only" in text
    assert "Answered without an imagined answer to search with: the model took longer than 3 s" in text
    assert '<span class="status">superseded</span>' in html
    assert 'href="obsidian://open?vault=My%20Vault&amp;file=01-projects%2Fbeacon%2FADR-007%20Redis%20Streams.md"' in html


def test_a_chain_is_a_timeline_with_what_no_longer_holds_struck_through(client: TestClient) -> None:
    html = client.get("/answer", params={"q": "why did we drop kafka", "stage": "full"}).text
    assert html.index('<time datetime="2025-10-02">2 Oct 2025</time>') < html.index('<time datetime="2026-04-19">19 Apr 2026</time>')
    assert "<s>Kafka, three brokers that we run</s>" in html
    assert html.count("<s>") == 1
    text = words_of(html)
    assert "no longer holds replaced by ADR-007 Redis Streams" in text
    assert "7 months later" in text
    assert "the headcount didn't justify Kafka's ops cost" in text
    assert f'href="/note?path={quote(ADR3, safe="")}&amp;line=5"' in html


def test_a_synthesis_follows_the_quotes_and_its_text_stays_text(client: TestClient, brain: FakeBrain) -> None:
    brain.ask = lambda request: WORDED  # type: ignore[method-assign]
    html = client.get("/answer", params={"q": "what replaced kafka", "stage": "full"}).text
    assert html.index("From your notes") < html.index("In other words") < html.index("Sources")
    assert "<img src=x>" not in html and "<b>127" not in html
    text = words_of(html)
    assert "In other words Kafka was dropped for its *ops* cost <img src=x>. quote 1 Written by llama3.2 at <b>127.0.0.1 from" in text
    brain.ask = lambda request: WORDED_WHY  # type: ignore[method-assign]
    html = client.get("/answer", params={"q": "why did we drop kafka", "stage": "full"}).text
    assert html.index("How it came to be") < html.index("In other words")
    assert html.count('class="note-link cite"') == 3


def test_no_match_says_so_and_shows_how_far_the_best_came(client: TestClient) -> None:
    text = words_of(client.get("/answer", params={"q": "zebra", "stage": "full"}).text)
    assert "No strong match for “zebra” Nothing in the vault clears the confidence bar. The best of 1 below it scores 12 %." in text


def test_a_note_is_shown_with_its_passage_marked(client: TestClient) -> None:
    html = client.get("/note", params={"path": ADR7, "line": 12}, headers={"HX-Request": "true"}).text
    assert "<html" not in html
    assert '<p class="hit">We dropped Kafka because the team headcount didn\'t justify its ops cost.</p>' in html
    assert html.count('class="hit"') == 1
    assert f'<a href="/note?path={quote(ADR3, safe="")}" class="note-link"' in html  # [[ADR-003 Kafka|ADR-003]]
    assert "19 Apr 2026" in html and "#beacon" in html
    assert "<html" in client.get("/note", params={"path": ADR7}).text  # opened in a tab of its own
    assert 'class="hit"' in client.get("/note", params={"path": ADR7, "at": "decision"}).text


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "../My Vault/03-knowledge/Glossary.md",
        "/etc/passwd",
        "03-knowledge/../../../etc/passwd.md",
        ".obsidian/app.md",
        "attachments/secret.md",  # excluded by the configuration
        "03-knowledge/data.txt",
        "No Such Note.md",
        "link.md",  # leads out of the vault
        "",
        "\x00.md",
    ],
)
def test_no_path_leaves_the_vault(client: TestClient, vault: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.md").write_text("TOP SECRET", encoding="utf-8")
    if not (vault / "link.md").is_symlink():
        (vault / "link.md").symlink_to(tmp_path / "outside.md")
    answer = client.get("/note", params={"path": path})
    assert answer.status_code == 404
    assert "SECRET" not in answer.text and "root:" not in answer.text


def test_a_hostile_note_and_a_hostile_question_stay_text(client: TestClient) -> None:
    note = client.get("/note", params={"path": "03-knowledge/Hostile.md"}).text
    assert "<img" not in note and "<iframe" not in note and "<script>" not in note
    attack = '"><script>alert(1)</script>'
    for address in ("/", "/answer"):
        for stage in ("", "full"):
            html = client.get(address, params={"q": attack, "stage": stage}).text
            assert "<script>alert" not in html


@pytest.mark.parametrize("address", ["/", "/answer"])
def test_a_bad_address_is_told_in_words(client: TestClient, address: str) -> None:
    answer = client.get(address, params={"q": "x", "after": "soon"})
    assert answer.status_code == 200
    assert "'soon' is no day. Write it as 2026-04-19." in words_of(answer.text)


def test_trouble_with_the_index_is_told_and_the_page_still_opens(config: Config) -> None:
    class Broken(FakeBrain):
        def ask(self, request: Any) -> Any:
            raise IndexDamaged("The index can't be read.", hint="Run `onebrain search reindex --force`.")

    desk = Desk(config, {}, lambda owner: Broken(owner))  # type: ignore[arg-type, return-value]
    client = TestClient(create(desk, Door(PORT, TOKEN)), base_url=f"http://127.0.0.1:{PORT}", headers={"authorization": f"Bearer {TOKEN}"})
    assert "The index can't be read. Run `onebrain search reindex --force`." in words_of(client.get("/?q=kafka").text)
    desk.close()


def test_without_an_index_the_page_says_what_to_run_and_builds_nothing(config: Config) -> None:
    brain = FakeBrain(True)
    brain.status_now.doc_count, brain.status_now.last_indexed_at = 0, None
    opened: list[bool] = []
    desk = Desk(config, {}, lambda owner: opened.append(owner) or brain)  # type: ignore[arg-type, func-returns-value, return-value]
    client = TestClient(create(desk, Door(PORT, TOKEN)), base_url=f"http://127.0.0.1:{PORT}", headers={"authorization": f"Bearer {TOKEN}"})
    assert "onebrain search reindex" in client.get("/answer", params={"q": "kafka"}).text
    assert client.get("/").status_code == 200
    assert brain.asked == [] and "words" not in brain.log and True not in opened
    desk.close()


def test_health_is_a_line_with_the_figures_behind_it(client: TestClient) -> None:
    text = words_of(client.get("/health").text)
    assert text.startswith("Index: 6 notes")
    assert "Passages 9" in text


def omnisearch_client(vault: Path, data: Path, brain: FakeBrain) -> tuple[TestClient, Desk]:
    config = Config(vault=vault, file=None, data_dir=data, search=Search(collection="test"), web=Web(omnisearch=True))
    desk = Desk(config, {}, lambda owner: brain)  # type: ignore[arg-type, return-value]
    app = create(desk, Door(PORT, TOKEN, frozenset({"/search"})))
    return TestClient(app, base_url=f"http://localhost:{PORT}"), desk


def test_omnisearch_answers_when_configured_and_never_to_web_pages(vault: Path, tmp_path: Path, brain: FakeBrain) -> None:
    client, desk = omnisearch_client(vault, tmp_path / "data", brain)
    answer = client.get("/search", params={"q": "kafka"})
    assert answer.status_code == 200
    assert set(answer.json()[0]) >= {"score", "path", "basename", "foundWords", "matches", "excerpt"}
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert client.get("/search").json() == []
    assert client.get("/search", params={"q": "kafka"}, headers={"origin": "https://www.google.com"}).status_code == 403
    assert client.get("/note", params={"path": ADR7}).status_code == 403  # the rest still wants the token
    desk.close()


def test_omnisearch_is_off_unless_configured(client: TestClient) -> None:
    assert client.get("/search", params={"q": "kafka"}).status_code == 404


def test_the_vendored_script_comes_with_its_licence() -> None:
    static = Path(__file__).parent.parent.parent / "onebrain" / "web" / "static"
    assert "Zero-Clause BSD" in (static / "htmx.LICENSE.txt").read_text(encoding="utf-8")
    assert 'version:"2.0.11"' in (static / "htmx.min.js").read_text(encoding="utf-8")
