"use strict";
// Sorts tables, switches columns, shows notes on cells, copies tables as LaTeX and filters texts. The page is whole
// without it: nothing is loaded, and no text of the page is ever run or set as HTML.

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Tables -----------------------------------------------------------------------------------------------------------

function number(key) {
  return key.trim() === "" ? NaN : Number(key);
}

function compare(a, b, falling) {
  const x = number(a), y = number(b), sign = falling ? -1 : 1;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;  // what is no number stays last
  return sign * (Number.isNaN(x) ? a.localeCompare(b) : x - y);
}

function sortBy(table, head) {
  const place = Number(head.dataset.column);
  const falling = head.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  let start = 0;
  while (start < rows.length) {  // between headings and rows of reference, which stay where they are
    let end = start;
    while (end < rows.length && rows[end].className === "") end += 1;
    const part = rows.slice(start, end);
    const keyOf = (row) => row.cells[place].dataset.key ?? row.cells[place].querySelector("bdi").textContent;
    part.sort((a, b) => compare(keyOf(a), keyOf(b), falling));
    const next = rows[end] || null;
    part.forEach((row) => body.insertBefore(row, next));
    start = end + 1;
  }
}

function showColumn(table, place, shown) {
  table.querySelectorAll("tr").forEach((row) => {
    const cell = [...row.cells].find((one) => one.dataset.column === String(place));
    if (cell) cell.hidden = !shown;
    else if (row.className !== "heading" && row.parentNode.tagName === "TBODY" && row.cells[place]) {
      row.cells[place].hidden = !shown;
    }
  });
  const heads = [...table.querySelectorAll("thead tr:last-child th")];
  table.querySelectorAll("thead th[data-first]").forEach((group) => {
    const first = Number(group.dataset.first);
    const width = Number(group.dataset.width);
    const left = heads.slice(first, first + width).filter((head) => !head.hidden).length;
    group.hidden = left === 0;
    if (left) group.colSpan = left;
  });
}

function columnMenu(table) {
  const heads = [...table.querySelectorAll("thead tr:last-child th")];
  const menu = element("details", {className: "columns"}, element("summary", {textContent: "Columns"}));
  heads.forEach((head, place) => {
    if (place === 0) return;
    const box = element("input", {type: "checkbox", checked: !head.hidden});
    box.addEventListener("change", () => showColumn(table, place, box.checked));
    const group = [...table.querySelectorAll("thead th[data-first]")]
      .find((one) => Number(one.dataset.first) <= place && place < Number(one.dataset.first) + Number(one.dataset.width));
    const name = [group ? group.textContent : "", head.textContent].join(" ").trim();
    menu.append(element("label", {}, box, " " + name));
  });
  return menu;
}

document.querySelectorAll(".table").forEach((frame) => {
  const table = frame.querySelector("table");
  const heads = [...table.querySelectorAll("thead tr:last-child th")];
  heads.forEach((head) => {
    head.tabIndex = 0;
    head.classList.add("sortable");
    head.addEventListener("click", () => sortBy(table, head));
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sortBy(table, head); }
    });
  });
  const tools = element("div", {className: "tools"});
  if (heads.length > 3) tools.append(columnMenu(table));
  if (tools.childElementCount || frame.dataset.latex) frame.append(tools);
  if (!frame.dataset.latex) return;
  const copy = element("button", {type: "button", textContent: "Copy LaTeX"});
  copy.addEventListener("click", async () => {
    const text = frame.dataset.latex;
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {  // a page opened from a file may have no clipboard
      const area = element("textarea", {value: text});
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy LaTeX"; }, 1500);
  });
  tools.append(copy);
});

document.querySelectorAll(".scroll").forEach((frame) => {
  const update = () => {
    frame.classList.toggle("more-right", frame.scrollLeft + frame.clientWidth < frame.scrollWidth - 2);
    frame.classList.toggle("more-left", frame.scrollLeft > 2);
  };
  frame.addEventListener("scroll", update);
  window.addEventListener("resize", update);
  update();
});

// Notes on cells ---------------------------------------------------------------------------------------------------

const tip = element("div", {className: "tip", role: "tooltip", id: "tip", hidden: true});
document.body.append(tip);

function showTip(cell) {
  tip.textContent = cell.dataset.note;
  tip.hidden = false;
  const box = cell.getBoundingClientRect();
  const left = Math.max(4, Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 4));
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${left + window.scrollX}px`;
  tip.style.top = `${(above < 0 ? box.bottom + 6 : above) + window.scrollY}px`;
  cell.setAttribute("aria-describedby", "tip");
}

function hideTip(cell) {
  tip.hidden = true;
  cell.removeAttribute("aria-describedby");
}

document.querySelectorAll("[title]").forEach((cell) => {
  cell.dataset.note = cell.title;
  cell.removeAttribute("title");
  if (cell.tabIndex < 0) cell.tabIndex = 0;
  cell.classList.add("noted");
  cell.addEventListener("mouseenter", () => showTip(cell));
  cell.addEventListener("mouseleave", () => hideTip(cell));
  cell.addEventListener("focus", () => showTip(cell));
  cell.addEventListener("blur", () => hideTip(cell));
});

// Folded sections --------------------------------------------------------------------------------------------------

const folded = [...document.querySelectorAll("details.section")];

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.matches("section")) target.querySelectorAll(":scope > details").forEach((one) => { one.open = true; });
  for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  target.scrollIntoView();
}

window.addEventListener("hashchange", openTarget);
document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", () => setTimeout(openTarget)));
openTarget();

let closedForPrint = [];
window.addEventListener("beforeprint", () => {
  closedForPrint = folded.filter((one) => !one.open);
  closedForPrint.forEach((one) => { one.open = true; });
});
window.addEventListener("afterprint", () => closedForPrint.forEach((one) => { one.open = false; }));

const sections = document.querySelector("nav ul");
if (sections && folded.length > 3) {
  const all = element("button", {type: "button", textContent: "Open all"});
  all.addEventListener("click", () => folded.forEach((one) => { one.open = true; }));
  sections.append(element("li", {}, all));
}

// Texts ------------------------------------------------------------------------------------------------------------

document.querySelectorAll(".texts").forEach((part) => {
  const entries = [...part.querySelectorAll("li")];
  const rest = entries.filter((entry) => entry.classList.contains("rest"));
  let isWhole = rest.length === 0;
  const asked = () => fields.some((field) => field.value !== "");
  const update = () => {
    const words = search.value.toLowerCase();
    const within = (value, from, to) =>
      (from.value === "" || value >= Number(from.value)) && (to.value === "" || value <= Number(to.value));
    let n = 0;
    entries.forEach((entry) => {
      const shown = entry.textContent.toLowerCase().includes(words)
        && ((low.value === "" && high.value === "") || entry.dataset.score !== "")
        && within(Number(entry.dataset.score), low, high)
        && (source.value === "" || entry.dataset.source === source.value)
        && within(Number(entry.dataset.length), shortest, longest);
      n += shown ? 1 : 0;
      if (shown && !isWhole && !asked() && rest.includes(entry)) entry.setAttribute("hidden", "until-found");
      else entry.hidden = !shown;
    });
    part.querySelectorAll(".list").forEach((list) => {
      list.hidden = asked() && !list.querySelector("li:not([hidden])");
    });
    left.textContent = asked() ? `${n} of ${entries.length} texts` : "";
    all.hidden = isWhole || asked();
  };
  const number = (name, hint) => element("input", {type: "number", placeholder: hint, ariaLabel: name});
  const search = element("input", {type: "search", placeholder: "words", ariaLabel: "Texts with these words"});
  const low = Object.assign(number("Least score", "score from"), {min: 0, max: 1, step: 0.05});
  const high = Object.assign(number("Largest score", "to"), {min: 0, max: 1, step: 0.05});
  const shortest = Object.assign(number("Fewest characters", "length from"), {min: 0});
  const longest = Object.assign(number("Most characters", "to"), {min: 0});
  const left = element("span", {className: "times", role: "status"});
  const sources = [...new Set(entries.map((entry) => entry.dataset.source))];
  const source = element("select", {ariaLabel: "Whose texts"}, element("option", {value: "", textContent: "all"}),
    ...sources.map((name) => element("option", {value: name, textContent: name})));
  const fields = [search, source, low, high, shortest, longest];
  const all = element("button", {type: "button", textContent: `Show all ${entries.length}`});
  const showAll = () => { isWhole = true; update(); };
  all.addEventListener("click", showAll);
  rest.forEach((entry) => entry.addEventListener("beforematch", showAll));
  const scored = entries.some((entry) => entry.dataset.score !== "");
  fields.forEach((field) => field.addEventListener("input", update));
  if (entries.length >= 6) {
    part.insertBefore(element("div", {className: "filter"}, search, ...(sources.length > 1 ? [source] : []),
      ...(scored ? [low, high] : []), shortest, longest, left), part.querySelector(".list"));
  }
  part.append(all);
  update();
});
