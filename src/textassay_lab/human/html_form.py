"""A study as one HTML file for a few raters without a server; it saves answers as a CSV file.

The file holds only what participants may see. Texts are embedded as data and never interpreted as mark-up; the
content-security policy allows only its own script and style, and no network.
"""

import base64
import hashlib
import html
import json
from typing import Any

from textassay_lab.human.study import NONE_OF_THEM, Study

_STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfa; --ink: #1c2127; --muted: #59636f; --rule: #d9dcd8; --edge: #868f99;
  --accent: #0b5a8a; --on-accent: #fff; --serif: ui-serif, Charter, Georgia, "Liberation Serif", serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e7e9ea; --muted: #a3adb7; --rule: #363d44;
  --edge: #7a8590; --accent: #7fbdea; --on-accent: #0d1a24; } }
body { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; font: 1rem/1.6 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font: 600 2rem/1.2 var(--serif); }
fieldset { margin: 0 0 1.25rem; padding: 0 1.25rem 1.1rem; border: 1px solid var(--rule); border-radius: 14px; }
legend { padding: 0 .4rem; color: var(--muted); font-size: .85rem; }
blockquote { margin: .3rem 0 .8rem; font: 1.13rem/1.62 var(--serif); white-space: pre-wrap; overflow-wrap: anywhere;
  unicode-bidi: isolate; }
label { display: inline-block; margin: 0 1.5rem .5rem 0; }
fieldset label { margin: 0 .5rem .5rem 0; padding: .5rem 1.1rem; border: 1px solid var(--edge); border-radius: 10px;
  cursor: pointer; overflow-wrap: anywhere; }
fieldset label:has(:checked) { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
label:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
button, input, select, textarea { font: inherit; color: inherit; }
#rater, select, textarea { padding: .5rem .7rem; border: 1px solid var(--edge); border-radius: 9px;
  background: var(--paper); }
textarea { width: 100%; box-sizing: border-box; }
button { padding: .7rem 1.8rem; border: 0; border-radius: 9px; cursor: pointer; font-weight: 600;
  background: var(--accent); color: var(--on-accent); }
"""

_SCRIPT = """
"use strict";
const study = JSON.parse(document.getElementById("study").textContent);
const form = document.getElementById("form"), items = document.getElementById("items");
const pages = document.getElementById("page"), rater = document.getElementById("rater");
function add(parent, tag, text, attributes) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  parent.append(element);
  return element;
}
function key() { return "textassay/" + study.id + "/" + rater.value + "/" + pages.value; }
function currentAnswers() { return Object.fromEntries(new FormData(form)); }
function store() {
  try { localStorage.setItem(key(), JSON.stringify(currentAnswers())); } catch (error) { /* no storage */ }
}
function load(fallback) {
  let before = fallback || {};
  try { before = JSON.parse(localStorage.getItem(key())) || before; } catch (error) { /* no storage */ }
  for (const radio of items.querySelectorAll("input")) radio.checked = before[radio.name] === radio.value;
  form.elements.comment.value = before.comment || "";
}
function show() {
  items.replaceChildren();
  const page = study.pages[pages.selectedIndex];
  page.items.forEach((item, slot) => {
    const box = add(items, "fieldset", "");
    add(box, "legend", (slot + 1) + " of " + page.items.length);
    add(box, "blockquote", item.text, {dir: "auto"});
    item.options.forEach(([label, word]) => {
      const line = add(box, "label", "");
      add(line, "input", "", {type: "radio", name: item.id, value: label, required: ""});
      line.append(" " + word);
    });
  });
  load();
}
function quoted(text) { // like textassay.corpus.csv_files: no cell may be a formula
  const isFormula = /^'*(?:[\\t\\r\\n]|[\\s\\u200b\\0]*[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20])/.test(text);
  const isNumber = /^[+-]?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(text);
  return '"' + (isFormula && !isNumber ? "'" : "") + text.replaceAll('"', '""') + '"';
}
study.pages.forEach((page) => add(pages, "option", page.id));
let currentName = ""; // the name whose answers are shown
rater.addEventListener("change", () => {
  const unnamed = currentName ? null : currentAnswers(); // answers given before a name was typed belong to it
  try { if (!currentName) localStorage.removeItem("textassay/" + study.id + "//" + pages.value); }
  catch (error) { /* no storage */ }
  currentName = rater.value;
  load(unnamed);
  store();
});
form.addEventListener("input", (event) => {
  if (event.target === pages) show();
  else if (event.target !== rater) store();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const answers = currentAnswers(), rows = ["item,rater,label,comment,study"];
  study.pages[pages.selectedIndex].items.forEach((item, slot) => rows.push(
    [item.id, rater.value, answers[item.id], slot === 0 ? answers.comment : "", study.id].map(quoted).join(",")));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.join("\\n") + "\\n"], {type: "text/csv"}));
  link.download = "answers-" + rater.value.replace(/[^A-Za-z0-9_-]/g, "_") + "-" + pages.value + ".csv";
  link.click();
});
show();
"""


def html_form(study: Study) -> str:
    """Return the HTML.

    Participants type a name, choose a page and answer; the browser stores unfinished answers. The button saves a file
    with ``item,rater,label,comment,study`` for ``textassay human import``, once all items of the page are answered.
    """
    data = json.dumps(_participant_view(study), ensure_ascii=True).replace("<", "\\u003c")
    paragraphs = "\n".join(f"<p>{html.escape(part)}</p>" for part in study.instructions.split("\n\n"))
    policy = f"default-src 'none'; script-src '{_hash(_SCRIPT)}'; style-src '{_hash(_STYLE)}'; base-uri 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{html.escape(study.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{html.escape(study.title)}</h1>
{paragraphs}
<form id="form">
<p><label>Your name <input id="rater" required pattern=".*\\S.*" autocomplete="off"></label>
<label>Page <select id="page"></select></label></p>
<div id="items"></div>
<p><label for="comment">What did you base your answers on? (optional)</label>
<textarea id="comment" name="comment" rows="3"></textarea></p>
<p><button>Save my answers as a file</button></p>
</form>
<script type="application/json" id="study">{data}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _participant_view(study: Study) -> dict[str, Any]:
    pages = []
    for page in study.pages:
        items = []
        for item in page.items:
            words = (*item.choices, NONE_OF_THEM) if item.choices else item.labels
            items.append({"id": item.id, "text": item.text, "options": list(zip(item.labels, words, strict=True))})
        pages.append({"id": page.id, "items": items})
    return {"id": study.fingerprint, "pages": pages}


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
