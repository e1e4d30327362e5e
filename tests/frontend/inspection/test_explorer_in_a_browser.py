"""The page of the explorer in Chromium: pointing, clicking, keys, searching, and no errors.

The page is given a script that acts as a user does (events at the elements that are at a place, not
at those that ought to be), and writes down what there is to see then.
"""

import json
import re
import shutil
import subprocess

import jax.numpy as jnp
import pytest

from explorer_pages import TRACED, module_of

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

WATCHED = """
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => errors.push(event.violatedDirective));
for (const name of ["error", "warn"]) console[name] = (...words) => errors.push(words.join(" "));
"""

HANDS = """
const section = (name) => document.querySelector(`[data-name="${name}"]`);
const box = (name) => section(name).querySelector(".box");
const visible = () => [...document.querySelectorAll(".column")].filter((each) => !each.hidden)
  .map((each) => each.dataset.name);
const drawn = (name) => [...section(name).querySelectorAll(".line")];
const text = (line) => line.querySelector("code").textContent;
const lit = () => Object.fromEntries(visible().map((name) =>
  [name, drawn(name).filter((line) => line.classList.contains("lit")).map(text)]));
const counts = () => Object.fromEntries(visible().map((name) =>
  [name, section(name).querySelector(".count").textContent]));
function at(name, words) {  // what the pointer meets at a line, once it is in sight
  const line = drawn(name).find((each) => text(each).includes(words));
  line.scrollIntoView({ block: "center" });
  const place = line.querySelector("code").getBoundingClientRect();
  const met = document.elementFromPoint(place.x + 4, place.y + place.height / 2);
  if (!line.contains(met)) errors.push(`${words} in ${name} is covered by ${met?.outerHTML}`);
  return met;
}
const act = (element, kind) =>
  element.dispatchEvent(new MouseEvent(kind, { bubbles: kind !== "mouseleave" }));
const press = (element, key) =>
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const chip = (title) => [...document.querySelectorAll("#chooser button")]
  .find((each) => each.textContent === title);
function type(words) {
  const field = document.getElementById("search");
  field.value = words;
  field.dispatchEvent(new Event("input"));
}
const inSight = (name) => drawn(name).filter((line) => {
  const place = line.getBoundingClientRect(), frame = box(name).getBoundingClientRect();
  return frame.top <= place.top && place.bottom <= frame.bottom;
});
const seen = {};
"""


def in_browser(html, script, tmp_path, width=1400):
    """Open the page, run the script in it, and return what it wrote down in `seen`."""
    written = (
        f"<script>{{ {HANDS}"
        f"try {{ {script} }} catch (error) {{ errors.push(String(error.stack)); }}"
        "const out = document.createElement('pre'); out.id = 'seen';"
        "out.textContent = JSON.stringify({ ...seen, errors });"
        "document.body.append(out); }</script>"
    )
    html = html.replace("<head>", f"<head><script>{WATCHED}</script>", 1)
    html = html.replace("</body>", f"{written}</body>")
    return opened(html, tmp_path, width)


def opened(html, tmp_path, width=1400):
    page = tmp_path / "page.html"
    page.write_text(html)
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
               f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900",
               "--virtual-time-budget=4000", "--dump-dom"]  # fmt: skip
    run = subprocess.run([CHROMIUM, *options, page.as_uri()], capture_output=True, text=True,
                         timeout=120, check=True)  # fmt: skip
    assert "CONSOLE" not in run.stderr
    found = re.search(r'<pre id="seen">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found is not None, run.stdout[-2000:]
    text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    function = module_of(tmp_path_factory.mktemp("page") / "traced_in_browser.py", TRACED)
    return function.explore(jnp.ones(2), jnp.ones(3))


USE = """
seen.atFirst = visible();
act(at("source", "qml.CNOT"), "mouseover");
seen.hovered = lit();
act(at("mlir", '"Hadamard"'), "mouseover");
seen.back = lit();
act(box("mlir"), "mouseleave");
seen.left = lit();

act(at("source", "jnp.sum"), "click");
seen.pinned = counts();
seen.scrolledTo = Object.fromEntries(visible().map((name) =>
  [name, inSight(name).some((line) => line.classList.contains("lit"))]));
act(at("source", "qml.CNOT"), "mouseover");
seen.stillPinned = lit().source;
press(document.body, "Escape");
seen.released = lit().source;

press(document.body, "/");
seen.searchHasFocus = document.activeElement.id;
type("QUANTUM.gate");
seen.found = counts();
seen.marked = [...section("mlir").querySelectorAll("mark")].map((each) => each.textContent);
document.getElementById("only").click();
seen.only = Object.fromEntries(visible().map((name) => [name, drawn(name).map(text)]));
document.getElementById("only").click();
type("movq");
const before = box("assembly").scrollTop;
press(document.getElementById("search"), "Enter");
press(document.getElementById("search"), "Enter");
seen.nextMoves = box("assembly").scrollTop !== before;
type("");
seen.cleared = counts();

box("source").focus();
press(box("source"), "Home");
for (let n = 0; n < 100 && !lit().source.length; n++) press(box("source"), "ArrowDown");
seen.byKeys = lit();
press(box("source"), "Enter");
seen.pinnedByKeys = document.body.classList.contains("pinned");
press(box("source"), "ArrowRight");
seen.focused = document.activeElement.getAttribute("aria-label");
press(document.body, "Escape");

chip("LLVM IR, optimised").click();
chip("jaxpr").click();
seen.chosen = visible();
seen.pressed = chip("LLVM IR, optimised").getAttribute("aria-pressed");
act(at("source", "jnp.sin"), "click");
seen.inLLVM = lit().optimise;
seen.pictures = [...document.querySelectorAll("figure img")]
  .map((each) => each.complete && each.naturalWidth > 100);
"""


def test_pointing_clicking_searching_and_keys(page, tmp_path):
    seen = in_browser(page.html, USE, tmp_path)
    assert seen["errors"] == []
    assert seen["atFirst"] == ["source", "jaxpr", "mlir", "assembly"]
    hovered = seen["hovered"]
    assert hovered["source"] == ["            qml.CNOT([i, i + 1])"]
    assert any('"CNOT"' in line for line in hovered["mlir"])
    assert any("CNOT" in line for line in hovered["jaxpr"])
    assert not any('"Hadamard"' in line for line in hovered["mlir"])
    assert seen["back"]["source"] == ["        qml.Hadamard(0)"]
    assert seen["left"] == {name: [] for name in seen["atFirst"]}

    assert all(re.fullmatch(r"[1-9]\d* lit", count) for count in seen["pinned"].values())
    assert all(seen["scrolledTo"].values())
    assert seen["stillPinned"] == ["    return z + jnp.sum(y)"]
    assert seen["released"] == []

    assert seen["searchHasFocus"] == "search"
    assert seen["found"] == {"source": "0 found", "jaxpr": "0 found", "mlir": "3 found",
                             "assembly": "0 found"}  # fmt: skip
    assert seen["marked"] == ["quantum.gate"] * 3
    assert [line.split('"')[1] for line in seen["only"]["mlir"]] == ["Hadamard", "RX", "CNOT"]
    assert seen["only"]["source"] == []
    assert seen["nextMoves"]
    assert set(seen["cleared"].values()) == {""}

    assert seen["byKeys"]["source"] == ["    y = jnp.sin(x) * 2"]
    assert any("sine" in line for line in seen["byKeys"]["mlir"])
    assert seen["pinnedByKeys"]
    assert seen["focused"] == "jaxpr"
    assert seen["chosen"] == ["source", "mlir", "optimise", "assembly"]
    assert seen["pressed"] == "true"
    assert any("sin_f64" in line for line in seen["inLLVM"])
    assert seen["pictures"] == [True, True]


HELD = """
const pressed = at("source", "qml.CNOT");
box("source").focus();
act(pressed, "mouseover");
seen.stays = pressed.isConnected;
seen.lit = lit().source;
const range = document.createRange();
range.setStart(at("source", "qml.Hadamard").firstChild, 0);
range.setEnd(pressed.firstChild, 20);
getSelection().addRange(range);
act(at("source", "qml.RX(p[0]"), "mouseover");
seen.selected = getSelection().toString();
act(at("source", "qml.RX(p[0]"), "click");
seen.pinnedBySelecting = document.body.classList.contains("pinned");
getSelection().removeAllRanges();
act(at("source", "qml.RX(p[0]"), "click");
seen.pinned = document.body.classList.contains("pinned");
box("source").scrollTop = 1e6;
box("source").dispatchEvent(new Event("scroll"));
box("source").scrollTop = 0;
box("source").dispatchEvent(new Event("scroll"));
seen.inOrder = drawn("source").every((line, row) => Number(line.dataset.row) === row);
const back = new KeyboardEvent("keydown", { key: "ArrowLeft", altKey: true, cancelable: true });
box("source").dispatchEvent(back);
seen.taken = back.defaultPrevented;
"""


def test_a_line_stays_the_same_element_so_it_can_be_clicked_and_selected(page, tmp_path):
    """Pressing gives the column the focus; no click comes where the line is replaced."""
    seen = in_browser(page.html, HELD, tmp_path)
    assert seen["errors"] == []
    assert seen["stays"]
    assert seen["lit"] == ["            qml.CNOT([i, i + 1])"]
    assert [line.strip() for line in seen["selected"].split("\n")][:2] == [
        "qml.Hadamard(0)", "qml.RX(p[0], 0)"]  # fmt: skip
    assert not seen["pinnedBySelecting"]
    assert seen["pinned"]
    assert seen["inOrder"]
    assert not seen["taken"]


NARROW = """
seen.atFirst = visible();
seen.isWithin = document.documentElement.scrollWidth <= innerWidth;
seen.width = innerWidth;
chip("assembly").click();
seen.chosen = visible();
act(at("source", "qml.CNOT"), "click");
seen.lit = lit();
"""


def test_a_narrow_window_has_the_source_above_one_column(page, tmp_path):
    seen = in_browser(page.html, NARROW, tmp_path, width=400)
    assert seen["errors"] == []
    assert seen["width"] <= 500
    assert seen["isWithin"]
    assert seen["atFirst"] == ["source", "jaxpr"]
    assert seen["chosen"] == ["source", "assembly"]
    assert seen["lit"]["source"]
    assert seen["lit"]["assembly"]


def test_a_notebook_shows_it_in_a_frame_of_its_own(page, tmp_path):
    """What is in the frame reads nothing outside of it."""
    report = """<script>
      let reached = "no"; try { reached = parent.document.title; } catch { }
      parent.postMessage({ columns: document.querySelectorAll(".column").length, reached }, "*");
    </script></body>"""
    shown = type(page)(page.title, page.html.replace("</body>", report), page.path)
    notebook = f"""<!doctype html><html><head><title>secret</title></head><body>
      <script>addEventListener("message", (event) => {{
        const out = document.createElement("pre");
        out.id = "seen";
        out.textContent = JSON.stringify(event.data);
        document.body.append(out);
      }});</script>{shown._repr_html_()}</body></html>"""
    assert opened(notebook, tmp_path) == {"columns": 14, "reached": "no"}


MANY = """
seen.drawn = document.querySelectorAll(".line").length;
seen.lines = data.columns.reduce((sum, each) => sum + each.text.split("\\n").length, 0);
box("source").scrollTop = 18 * 700;
box("source").dispatchEvent(new Event("scroll"));
act(at("source", "qml.RX"), "mouseover");
seen.hovered = lit().source;
seen.counts = counts();
act(at("source", lit().source[0]), "click");
seen.lit = lit();
"""


def test_many_gates_are_drawn_where_they_are_in_sight(tmp_path):
    lines = [f"    qml.RX({n / 7:.3f} * x, {n % 5})" for n in range(1500)]
    source = ["import pennylane as qml", "from diastase import qjit", "@qjit",
              "@qml.qnode(qml.device('lightning.qubit', wires=5))", "def traced(x):", *lines,
              "    return qml.expval(qml.Z(0))", ""]  # fmt: skip
    function = module_of(tmp_path / "many_in_browser.py", "\n".join(source))
    seen = in_browser(function.explore(0.3).html, MANY, tmp_path)
    assert seen["errors"] == []
    assert seen["lines"] > 10_000
    assert seen["drawn"] < 600
    (hovered,) = seen["hovered"]
    assert lines.index(hovered) in range(600, 700)
    assert seen["counts"]["source"] == "1 lit"
    wire = lines.index(hovered) % 5
    assert any(line.startswith(f"      RX {wire} : %") for line in seen["lit"]["mlir"])
