"""A study as one HTML file: opened from a disk, it asks for the texts of a page and gives the answers as a CSV file.

For a handful of raters without a server. The file holds what participants see and nothing more. Texts stand in it as
data and are shown as text, never as mark-up; a content-security policy allows its own script and style and no address.
"""

import base64
import hashlib
import html
import json
from typing import Any

from textassay.human.study import NONE_OF_THEM, Study

__all__ = ["html_form"]

_STYLE = """
body { max-width: 46rem; margin: 0 auto; padding: 1rem; font: 1rem/1.5 sans-serif; color: #1a1a1a; background: #fff; }
fieldset { margin: 1.5rem 0; border: 1px solid #767676; border-radius: 4px; }
blockquote { margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
label { display: inline-block; padding: .5rem 1.5rem .5rem 0; }
button, input, select, textarea { font: inherit; }
textarea { width: 100%; }
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
function given() { return Object.fromEntries(new FormData(form)); }
function keep() { try { localStorage.setItem(key(), JSON.stringify(given())); } catch (error) { /* no storage */ } }
function load() {
  let before = {};
  try { before = JSON.parse(localStorage.getItem(key())) || {}; } catch (error) { /* no storage */ }
  for (const radio of items.querySelectorAll("input")) radio.checked = before[radio.name] === radio.value;
  form.elements.comment.value = before.comment || "";
}
function show() {
  items.replaceChildren();
  const page = study.pages[pages.selectedIndex];
  page.items.forEach((item, slot) => {
    const box = add(items, "fieldset", "");
    add(box, "legend", (slot + 1) + " of " + page.items.length);
    add(box, "blockquote", item.text);
    item.options.forEach(([label, word]) => {
      const line = add(box, "label", "");
      add(line, "input", "", {type: "radio", name: item.id, value: label, required: ""});
      line.append(" " + word);
    });
  });
  load();
}
function quoted(text) { return '"' + text.replaceAll('"', '""') + '"'; }
study.pages.forEach((page) => add(pages, "option", page.id));
form.addEventListener("input", (event) => {
  if (event.target === pages) show();
  else if (event.target === rater) load();
  else keep();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const answers = given(), rows = ["item,rater,label,comment,study"];
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
    """Return the file.

    A participant types a name, chooses a page and answers; what was answered is kept in the browser until then. The
    button gives ``item,rater,label,comment,study``, which ``textassay human import`` reads; a page with an open item
    gives nothing.
    """
    shown = json.dumps(_shown(study), ensure_ascii=True).replace("<", "\\u003c")
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
<p><label for="comment">What made you decide? (optional)</label>
<textarea id="comment" name="comment" rows="3"></textarea></p>
<p><button>Save the answers as a file</button></p>
</form>
<script type="application/json" id="study">{shown}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _shown(study: Study) -> dict[str, Any]:
    """Return what participants may see."""
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
