// Columns of text beside each other; what comes from the same lines of the user's lights up together.
//
// A line of a column has a group, which is a list of the user's lines (`page.py`). A column keeps in
// the document those of its lines only that are in sight, so texts may be long. A line in sight stays
// the same element: a browser gives no click to an element that was replaced when it was pressed.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const ROW = 18; // pixels, as in page.css
const AROUND = 20; // rows beyond what is in sight
const narrow = matchMedia("(max-width: 700px)");
const search = document.getElementById("search");
const only = document.getElementById("only");
const found = document.getElementById("found");

let pinned = null; // the group that stays lit
let shining = 0; // the group that is pointed at, or stays lit
let lit = new Set(); // groups that are lit with it
let words = "";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const groupsOfLine = new Map();
data.groups.forEach((lines, group) => {
  for (const line of lines) groupsOfLine.set(line, [...(groupsOfLine.get(line) ?? []), group]);
});

/** Groups that have a line of the user's in common with this one. */
function related(group) {
  return new Set(data.groups[group].flatMap((line) => groupsOfLine.get(line)));
}

class Column {
  constructor(source) {
    this.name = source.name;
    this.shown = source.shown;
    this.lines = source.text.split("\n");
    this.groups = [];
    for (let i = 0; i < source.groups.length; i += 2)
      for (let n = source.groups[i + 1]; n > 0; n--) this.groups.push(source.groups[i]);
    this.numbers = source.numbers ?? this.lines.map((_, i) => i + 1);
    this.digits = String(this.numbers.reduce((most, number) => Math.max(most, number), 1)).length;
    this.rows = [...this.lines.keys()]; // those that are not filtered away
    this.cursor = 0; // a place in `rows`, as `litRows` are
    this.litRows = [];
    this.matches = new Set(); // of lines
    this.isPlaced = false;
    this.drawn = new Map(); // elements of lines that are in the document, by row
    this.build(source);
  }

  build(source) {
    this.count = element("span", { className: "count" });
    const title = element("h2", { textContent: source.title, title: source.about });
    const size = element("small", { textContent: `${this.lines.length.toLocaleString("en")} lines` });
    this.space = element("div", { className: "space" });
    this.box = element("div", { className: "box", tabIndex: 0, role: "region" }, this.space);
    this.box.setAttribute("aria-label", source.title);
    this.map = element("canvas", { className: "map", width: 6 });
    this.section = element("section", { className: "column" },
      element("header", {}, title, size, this.count),
      element("div", { className: "body" }, this.box, this.map));
    this.section.dataset.name = this.name;
    this.button = element("button", { type: "button", textContent: source.title, title: source.about });
    this.button.addEventListener("click", () => choose(this));
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("mouseover", (event) => this.point(event, (row) => pinned === null && light(this.groupAt(row))));
    this.box.addEventListener("mouseleave", () => pinned === null && light(0));
    this.box.addEventListener("click", (event) => getSelection().isCollapsed && this.point(event, (row) => this.pin(row)));
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("focus", () => this.draw());
    this.box.addEventListener("blur", () => this.draw());
  }

  groupAt(row) {
    return this.groups[this.rows[row]] ?? 0;
  }

  point(event, act) {
    const line = event.target.closest(".line");
    if (line) act(Number(line.dataset.row));
  }

  /** Keep a line's group lit, or let go of it if it is. */
  pin(row) {
    this.cursor = row;
    const group = this.groupAt(row);
    pinned = group === 0 || pinned === group ? null : group;
    light(pinned ?? 0);
    if (pinned !== null) for (const column of columns) if (column !== this) column.reveal();
  }

  /** Scroll to the first lit line, unless one is in sight; of exactly the same lines of the user's if there is one. */
  reveal() {
    const exact = this.litRows.filter((row) => this.groupAt(row) === shining);
    const rows = exact.length ? exact : this.litRows;
    const first = Math.ceil(this.box.scrollTop / ROW);
    const last = first + Math.floor(this.box.clientHeight / ROW) - 1;
    const inSight = rows.some((row) => first <= row && row <= last);
    if (rows.length && !inSight) this.scrollTo(rows[0]);
  }

  /** Begin with what comes from the user's source, below what does not. */
  place() {
    this.isPlaced = true;
    const first = this.groups.findIndex((group) => group > 0);
    if (first * ROW > this.box.clientHeight / 2) this.scrollTo(first);
  }

  scrollTo(row) {
    this.box.scrollTop = Math.max(0, row * ROW - this.box.clientHeight / 3);
    this.draw();
  }

  move(row) {
    this.cursor = Math.min(Math.max(row, 0), this.rows.length - 1);
    const top = this.cursor * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + 2 * ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + 2 * ROW - this.box.clientHeight;
    if (pinned === null) light(this.groupAt(this.cursor));
    this.draw();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // these are the browser's
    const page = Math.floor(this.box.clientHeight / ROW) - 1;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const sides = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in moves) this.move(this.cursor + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.pin(this.cursor);
    else if (event.key in sides) neighbour(this, sides[event.key])?.box.focus();
    else return;
    event.preventDefault();
  }

  /** Find the words, and keep the matching lines only if that is asked for. */
  look() {
    this.matches = new Set(words ? [...this.lines.keys()].filter((i) => this.lines[i].toLowerCase().includes(words)) : []);
    this.rows = words && only.checked ? [...this.matches] : [...this.lines.keys()];
    this.cursor = 0;
    this.drawn.clear();
    this.space.replaceChildren();
    this.box.scrollTop = 0;
    if (this.matches.size) this.scrollTo(this.rows.findIndex((i) => this.matches.has(i)));
    this.relight();
  }

  relight() {
    this.litRows = lit.size ? [...this.rows.keys()].filter((row) => lit.has(this.groupAt(row))) : [];
    this.count.textContent = lit.size ? `${this.litRows.length} lit` : words ? `${this.matches.size} found` : "";
    this.draw();
  }

  /** Go to the next match after the cursor, from the last to the first. */
  next() {
    const places = [...this.rows.keys()].filter((row) => this.matches.has(this.rows[row]));
    if (!places.length) return;
    this.cursor = places.find((row) => row > this.cursor) ?? places[0];
    this.scrollTo(this.cursor);
  }

  draw() {
    if (this.section.hidden) return;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - AROUND);
    const last = Math.min(this.rows.length, first + Math.ceil(this.box.clientHeight / ROW) + 2 * AROUND);
    const focused = document.activeElement === this.box;
    this.space.style.height = `${this.rows.length * ROW + 4}px`;
    this.space.style.setProperty("--digits", `${this.digits}ch`);
    for (const [row, line] of this.drawn)
      if (row < first || row >= last) {
        line.remove();
        this.drawn.delete(row);
      }
    let next = this.space.firstChild;
    for (let row = first; row < last; row++) {
      const line = this.drawn.get(row) ?? this.space.insertBefore(this.line(row), next);
      this.drawn.set(row, line);
      next = line.nextSibling;
      line.classList.toggle("lit", lit.has(this.groupAt(row)));
      line.classList.toggle("cursor", focused && row === this.cursor);
    }
    this.drawMap();
  }

  line(row) {
    const place = this.rows[row];
    const group = this.groups[place] ?? 0;
    const number = this.numbers[place];
    const line = element("div", { className: "line" },
      element("b", { textContent: number || "" }), element("code", {}, ...marked(this.lines[place])));
    line.dataset.row = row;
    line.style.top = `${row * ROW}px`;
    line.classList.toggle("heading", !number);
    line.classList.toggle("match", this.matches.has(place));
    if (group) {
      line.style.setProperty("--hue", (data.groups[group][0] * 137.5) % 360); // neighbours differ
      line.classList.add("known");
    }
    return line;
  }

  /** Where in the text the lit lines are, beside the column. */
  drawMap() {
    const height = (this.map.height = this.map.clientHeight);
    const context = this.map.getContext("2d");
    const scale = Math.min(ROW, height / this.rows.length);
    context.fillStyle = getComputedStyle(this.map).color;
    for (const row of this.litRows) context.fillRect(0, row * scale, 6, Math.max(2, scale));
  }
}

/** Mark the words that are looked for in a line. */
function marked(line) {
  const parts = [];
  let at = 0;
  for (let place; words && (place = line.toLowerCase().indexOf(words, at)) >= 0; at = place + words.length)
    parts.push(line.slice(at, place), element("mark", { textContent: line.slice(place, place + words.length) }));
  return [...parts, line.slice(at)];
}

function light(group) {
  document.body.classList.toggle("pinned", pinned !== null);
  if (group === shining) return;
  shining = group;
  lit = group ? related(group) : new Set();
  for (const column of columns) column.relight();
}

/** Show a column, or hide it; where there is no room, it is shown instead of the others. */
function choose(column) {
  if (narrow.matches) {
    for (const other of columns) other.shown = other.name === "source" || other === column;
  } else {
    column.shown = !column.shown;
  }
  arrange();
}

function arrange() {
  if (narrow.matches) {
    const [first] = columns.filter((column) => column.shown && column.name !== "source");
    for (const column of columns) column.shown = column.name === "source" || column === first;
  }
  for (const column of columns) {
    column.section.hidden = !column.shown;
    column.button.setAttribute("aria-pressed", column.shown);
  }
  for (const column of columns.filter((each) => each.shown)) {
    if (!column.isPlaced) column.place();
    if (pinned !== null) column.reveal();
    column.draw();
  }
}

function neighbour(column, side) {
  const shown = columns.filter((each) => each.shown);
  return shown[shown.indexOf(column) + side];
}

function look() {
  words = search.value.toLowerCase();
  for (const column of columns) column.look();
  const number = columns.reduce((sum, column) => sum + (column.shown ? column.matches.size : 0), 0);
  found.textContent = words ? `${number.toLocaleString("en")} lines` : "";
}

const columns = data.columns.map((source) => new Column(source));
document.getElementById("columns").append(...columns.map((column) => column.section));
document.getElementById("chooser").append(...columns.map((column) => column.button));
arrange();

search.addEventListener("input", look);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") for (const column of columns) column.next();
});
only.addEventListener("change", look);
narrow.addEventListener("change", arrange);
new ResizeObserver(() => columns.forEach((column) => column.draw())).observe(document.getElementById("columns"));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search && !event.ctrlKey && !event.metaKey) {
    search.focus();
    event.preventDefault();
  } else if (event.key === "Escape") {
    pinned = null;
    light(0);
    if (document.activeElement === search) search.blur();
  }
});
