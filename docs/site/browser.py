"""Look at the built site: `make site-check`, or `python docs/site/browser.py`.

Every link and anchor of every page leads somewhere; every public name is in the reference. In
headless Chromium, wide and as on a telephone, pages say nothing on the console and are never wider
than the window, and the search finds what it should. Nothing outside of the site is asked for; of
external links only the form is checked.
"""

import argparse
import functools
import http.server
import shutil
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from public_names import public_names
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

SITE = Path(__file__).parents[2] / "build" / "site"
WIDTHS = {"wide": 1400, "narrow": 400}
PAGES = (
    "index", "quick-start", "tutorials/vqe", "tutorials/noise", "tutorials/embedding", "gallery",
    "how-to", "reference/diastase", "reference/diastase.passes", "errors", "from-catalyst",
    "measured", "architecture", "decisions/index", "trust", "accuracy", "pictures",
)  # fmt: skip
SEARCHES = {
    "value_and_grad": "reference/diastase.html",
    "trajectories": "noise.html",
    "UnknownSizesDifferError": "errors.html",
}
"""A word, and a page that has to be among what is found."""

LEVELS = "WARNING", "SEVERE"
OF_SPHINX = "Anchored content block not found"
"""Its search looks for names with dots as if these were classes of CSS: a summary is missing."""


class Page(HTMLParser):
    """The links of a page and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag links to, and its name."""
        for name, value in attrs:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)
            if value and ((name == "href" and tag != "base") or name == "src"):
                self.links.append(value)


def pages_of(site: Path) -> list[Path]:
    """All pages; the theme has a template among its files."""
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


def broken_links(site: Path) -> tuple[list[str], int]:
    """Links that lead nowhere, and how many there were."""
    pages = {path.resolve(): Page(path.read_text()) for path in pages_of(site)}
    broken, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            count += 1
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("http", "https", "data", "mailto") or " " in link:
                    broken.append(f"{path.relative_to(site)}: {link}: not the form of a link")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}: there is no such file")
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    broken.append(f"{path.relative_to(site)}: {link}: there is no such anchor")
    return broken, count


def missing_names(site: Path) -> list[str]:
    """Public names that the inventory of the reference does not have."""
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    there = {line.split(" ", 1)[0] for line in zlib.decompress(inventory).decode().splitlines()}
    return [
        str(name) for name in public_names() if name.kind != "module" and str(name) not in there
    ]


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site on a port of this computer."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": _say_nothing})
    handler = functools.partial(quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _say_nothing(*_: object) -> None:
    """Of requests that are answered."""


@contextmanager
def chromium(driver: str, browser: str) -> Iterator[webdriver.Chrome]:
    """A browser without a window, whose console is kept."""
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options, Service(driver))
    try:
        yield running
    finally:
        running.quit()


def faults_of_pages(browser: webdriver.Chrome, base: str, pictures: Path | None) -> list[str]:
    """What the console says, and what is wider than the window."""
    faults = []
    for name, width in WIDTHS.items():
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for page in PAGES:
            browser.get(f"{base}/{page}.html")
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            if wide > width:
                faults.append(f"{page}, {name}: {wide} pixels wide in a window of {width}")
            faults += [f"{page}, {name}: {message}" for message in _complaints(browser)]
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                path = pictures / f"site-{page.replace('/', '-')}-{name}.png"
                browser.save_screenshot(str(path))
    return faults


def faults_of_search(browser: webdriver.Chrome, base: str) -> list[str]:
    """Words that the search does not find where they are."""
    faults = []
    for word, page in SEARCHES.items():
        browser.get(f"{base}/search.html?q={word}")
        if not _finds(browser, page):
            faults.append(f"search for {word!r}: {page} is not among {_found(browser)}")
        faults += [f"search for {word!r}: {message}" for message in _complaints(browser)]
    return faults


def _finds(browser: webdriver.Chrome, page: str) -> bool:
    """Whether the search lists a page, which it does after a while."""
    try:
        return WebDriverWait(browser, 20).until(lambda browser: page in _found(browser))
    except TimeoutException:
        return False


def _complaints(browser: webdriver.Chrome) -> list[str]:
    """Warnings and errors of the console; what the theme tells beside is left out."""
    entries = [entry for entry in browser.get_log("browser") if entry["level"] in LEVELS]
    return [entry["message"] for entry in entries if OF_SPHINX not in entry["message"]]


def _found(browser: webdriver.Chrome) -> list[str]:
    """Pages that the search lists."""
    links = browser.execute_script(
        "return [...document.querySelectorAll('#search-results a')].map(a => a.pathname)"
    )
    return [link.lstrip("/") for link in links]


def main() -> int:
    """Check; 1 if anything is wrong, 2 if there is no browser to look with."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--screenshots", type=Path)
    given = parser.parse_args()
    site = given.site.resolve()
    if not (site / "index.html").exists():
        print(f"there is no site in {site}: run `make site`")
        return 2
    faults, links = broken_links(site)
    print(f"{links} links of {len(pages_of(site))} pages")
    faults += [f"not in the reference: {name}" for name in missing_names(site)]
    browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    driver = shutil.which("chromedriver")
    if browser and driver:
        with served(site) as base, chromium(driver, browser) as running:
            faults += faults_of_pages(running, base, given.screenshots)
            faults += faults_of_search(running, base)
        widths = " and ".join(map(str, WIDTHS.values()))
        print(f"{len(PAGES)} pages at {widths} pixels, {len(SEARCHES)} searches")
    for fault in faults:
        print(fault)
    if not (browser and driver):
        print("no page was looked at: there is no Chromium with a chromedriver on the PATH")
        print("    on Debian: apt install chromium chromium-driver")
        return 2
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
