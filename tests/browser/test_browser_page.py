"""The page in Debian's Chromium.

apt-get install chromium chromium-driver
pip install --require-hashes -r requirements/http.lock -r requirements/browser.lock
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="requirements/browser.lock is not installed")
pytest.importorskip("uvicorn", reason="requirements/http.lock is not installed")

# ruff: noqa: E402  (what follows needs them)
from selenium.common.exceptions import JavascriptException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from service.http_pages import INSTALL, KATEX, PAGE
from tests.http.http_stand import FORMULAS, Client, StandInIndex, running, write_collection

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium and chromedriver are not installed"),
    pytest.mark.skipif(not (PAGE / KATEX / "katex.min.js").is_file(), reason=f"KaTeX is not installed: {INSTALL}"),
]
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1000,900"
).split()
WAIT_S = 60


class Page:
    """The browser on one server, with the waits that a slow machine needs."""

    def __init__(self, driver: Any, root: str) -> None:
        self.driver, self.root = driver, root

    def open(self, path: str = "/") -> None:
        self.driver.get(self.root + path)
        if path.startswith("/?q="):
            self.settle()

    def until(self, what: Any) -> Any:
        return WebDriverWait(self.driver, WAIT_S, 0.05).until(lambda _: what())

    def settle(self) -> str:
        """The status line, once the search is over."""
        return self.until(lambda: (text := self.text("#status")) != "Searching…" and text)

    def text(self, selector: str) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def search(self, latex: str) -> str:
        box = self.driver.find_element(By.ID, "box")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(latex, Keys.ENTER)
        self.until(lambda: f"q={quote(latex, safe='*-._').replace('%20', '+')}" in self.driver.current_url)
        return self.settle()

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def severe(self) -> list[str]:
        """What the browser logged since the last call: refusals of the content policy, exceptions of the page."""
        entries = self.driver.get_log("browser")
        # An answer of 400 is logged too, and the page says what it was; plain text has no icon.
        return [
            e["message"] for e in entries if e["level"] == "SEVERE" and "responded with a status" not in e["message"]
        ]

    def shown(self) -> list[str]:
        """The LaTeX of the results, from KaTeX's own annotation or the text that stands in for it."""
        return self.run(
            "return [...document.querySelectorAll('#results > li')].map(li => (li.querySelector('.formula annotation')"
            " ?? li.querySelector('.formula code')).textContent)"
        )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(write_collection(tmp_path_factory.mktemp("collection"))) as client:
        yield client


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(WAIT_S)
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(driver: Any, client: Client) -> Iterator[Page]:
    driver.get_log("browser")
    driver.set_window_size(1000, 900)
    page = Page(driver, client.root)
    page.open()
    yield page
    assert page.severe() == []
    assert page.run("return window.stolen") is None


def test_type_see_follow_go_back(page: Page) -> None:
    assert page.driver.switch_to.active_element.get_attribute("id") == "box"
    page.driver.find_element(By.ID, "box").send_keys("a^2+b^2")
    assert page.all("#preview .katex")
    assert page.search("a^2+b^2=c^2").startswith("Results 1 to 10 of the best")
    ranking = StandInIndex().search("a^2+b^2=c^2")
    latex = {str(number): formula for number, formula, _ in FORMULAS}
    assert page.shown() == [latex[number] for number, _ in ranking[:10]]
    first = page.driver.current_url

    page.all(".source")[0].click()
    page.until(lambda: "/source/2" in page.driver.current_url)
    assert "papers/paper.md:50:3" in page.text("body")
    page.driver.back()
    page.until(lambda: page.driver.current_url == first and page.all("#results > li"))
    assert page.driver.find_element(By.ID, "box").get_attribute("value") == "a^2+b^2=c^2"

    page.all(".similar")[1].click()
    page.until(lambda: page.driver.current_url != first)
    page.settle()
    assert page.shown()[0] == latex[ranking[1][0]]
    page.driver.back()
    page.until(lambda: page.driver.current_url == first and page.text("#status").startswith("Results"))
    page.until(lambda: page.shown()[:2] == [latex[number] for number, _ in ranking[:2]])
    page.driver.forward()
    page.until(lambda: page.shown()[:1] == [latex[ranking[1][0]]])


def test_pages_live_in_the_address(page: Page) -> None:
    page.open("/?q=" + quote("x^2"))
    first = page.shown()
    page.all("#pages .next")[0].click()
    page.until(lambda: "page=2" in page.driver.current_url and page.text("#status").startswith("Results 11"))
    second = page.shown()
    assert not set(first) & set(second)
    page.driver.refresh()
    page.until(lambda: page.text("#status").startswith("Results 11"))
    assert page.shown() == second
    page.open("/?q=" + quote("x^2") + "&page=99")
    assert "Go back" in page.text("#status")
    page.open("/?q=" + quote("x^2") + "&page=-1e9")
    assert page.text("#status").startswith("Results 1 to")


def test_broken_latex_is_text_with_the_reason(page: Page) -> None:
    page.search(r"\frac{1}{x^2")
    assert page.text("#preview code") == r"\frac{1}{x^2"
    assert "expected '}'" in page.text("#preview .reason")
    broken = page.all("#results > li")[0]
    assert broken.find_element(By.CSS_SELECTOR, ".broken code").text == r"\frac{1}{x^2"
    assert "expected '}'" in broken.find_element(By.CSS_SELECTOR, ".reason").text
    assert broken.find_elements(By.CSS_SELECTOR, ".broken mark")
    page.search(r"\frac{1}{x^2}")
    assert page.all("#preview .katex")
    assert not page.all("#preview .reason")


def test_a_narrow_window_has_no_sideways_scrolling(page: Page) -> None:
    page.open("/?q=" + quote(r"\int_0^\infty e^{-x^2}\,dx=\frac{\sqrt{\pi}}{2}"))
    for width in (1000, 600, 320):
        # Headless windows have a least width; the emulated device has not.
        size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            assert page.run("return innerWidth") == width
            assert page.run("return document.documentElement.scrollWidth") <= width
            assert page.run("return document.querySelector('form button').getBoundingClientRect().right") <= width
        finally:
            page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_text_of_documents_never_becomes_markup(page: Page) -> None:
    page.open("/?q=" + quote(r"\text{script}\href{x}{x^2}\htmlClass{hit}{x}") + "&n=50")
    for at in (1, 2, 3, 4):
        page.open(f"/?q={quote('script src img href x')}&page={at}")
        assert (
            page.run(
                "return document.querySelectorAll('#results script, #results img, #results b, #results iframe').length"
            )
            == 0
        )
        targets = page.run("return [...document.querySelectorAll('a')].map(a => a.href)")
        assert all(target.startswith(page.root + "/") for target in targets)
        for text in page.run("return [...document.querySelectorAll('.context')].map(p => p.textContent)"):
            assert "<script>window.stolen=1</script>" in text
    page.run("document.body.insertAdjacentText('beforeend', '<script>window.stolen=1</script>')")
    with pytest.raises(JavascriptException, match="TrustedHTML"):
        page.run("document.body.innerHTML = '<img src=x onerror=window.stolen=1>'")
    severe = page.severe()
    assert len(severe) == 1
    assert "TrustedHTML" in severe[0]


def test_matching_symbols_are_marked(page: Page) -> None:
    page.open("/?q=" + quote(r"\int\frac{x}{\sqrt{\pi}}12\sin"))
    marked = page.run(
        "const li = [...document.querySelectorAll('#results > li')].find(li => /int/.test(li.textContent));"
        "return [...li.querySelectorAll('.katex-html .hit')].map(e => e.textContent || e.className)"
    )
    assert {"∫", "x", "π", "2"} <= set(marked)
    assert "e" not in marked
    assert any("frac-line" in mark for mark in marked)


def test_keys(page: Page) -> None:
    def press(*keys: str) -> None:
        ActionChains(page.driver).send_keys(*keys).perform()

    page.search("x^2")
    press("j")
    assert page.run("return document.activeElement.value") == 1
    press("j", "j", "k")
    assert page.run("return document.activeElement.value") == 2
    press("n")
    page.until(lambda: page.text("#status").startswith("Results 11"))
    press("p")
    page.until(lambda: page.text("#status").startswith("Results 1 to"))
    press("/")
    assert page.run("return document.activeElement.id") == "box"
    assert page.driver.find_element(By.ID, "box").get_attribute("value") == "x^2"


def test_colours_switch_and_stay(page: Page) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for _ in range(3):
        page.driver.find_element(By.ID, "theme").click()
        seen[page.run("return document.documentElement.dataset.theme")] = page.run(ground)
    assert set(seen) == {"auto", "light", "dark"}
    assert seen["light"] != seen["dark"]
    for system in ("light", "dark"):
        page.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": system}]}
        )
        assert page.run(ground) == seen[system]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.driver.find_element(By.ID, "theme").click()
    page.open()
    assert page.run("return document.documentElement.dataset.theme") == "light"
    page.run("localStorage.clear()")


def test_empty_and_error_states_help(page: Page) -> None:
    assert len(page.all("#examples a")) >= 5
    page.all("#examples a")[2].click()
    page.settle()
    assert page.driver.find_element(By.ID, "box").get_attribute("value") == "a^2+b^2=c^2"
    page.open("/?q=" + "x" * 2001)
    assert "at most 2000 characters" in page.text("#status")
    page.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.driver.find_element(By.ID, "box").clear()
    page.search("y")
    assert "Is it still running?" in page.text("#status")


def test_every_occurrence_is_listed(page: Page) -> None:
    page.open("/?q=" + quote("a^2+b^2=c^2"))
    page.all("details.places summary")[0].click()
    page.until(lambda: len(page.all("details.places li")) == 2)
    links = [link.get_attribute("href") for link in page.all("details.places a")]
    assert [Path(link).name for link in links] == ["2", "3"]
