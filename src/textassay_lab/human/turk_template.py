"""Export a study to Mechanical Turk: one row per page, and the HTML layout for them.

The rows do not say who wrote the texts. Turk inserts fields into the page unescaped, so they are escaped here; so are
characters beyond ASCII, because Turk rejects four-byte characters.
"""

import html
import string

from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError
from textassay_lab.human.study import NONE_OF_THEM, Study

_PLAIN = frozenset(string.ascii_letters + string.digits + " .,!?:;()_/'")  # nothing that begins a formula, such as -
_SCRIPT = "https://assets.crowd.aws/crowd-html-elements.js"  # Turk's own, required by its crowd layout


def turk_files(study: Study) -> dict[str, str]:
    """Return file name to content: ``pages.csv`` for a batch, and ``template.html``, its layout.

    All pages must have the same number of items, and all items the same number of choices.
    """
    sizes = {(len(page.items), len(item.choices)) for page in study.pages for item in page.items}
    if len(sizes) > 1:
        raise InputError(
            "Mechanical Turk needs pages of one size: some pages of this study have more items than others"
        )
    ((n_items, n_choices),) = sizes
    return {"pages.csv": _rows(study, n_items, n_choices), "template.html": _template(study, n_items, n_choices)}


def escaped(text: str) -> str:
    """Return `text` as ASCII HTML without mark-up and without Turk's ``${variables}``."""
    return "".join(letter if letter in _PLAIN else f"&#{ord(letter)};" for letter in text)


def _rows(study: Study, n_items: int, n_choices: int) -> str:
    columns = ["hit_id"]
    for slot in range(n_items):
        columns += [f"review_{slot}_text", *(f"review_{slot}_choice_{place}" for place in range(n_choices))]
    rows = (
        [page.id, *(escaped(text) for item in page.items for text in (item.text, *item.choices))]
        for page in study.pages
    )
    return csv_text(columns, rows)


def _template(study: Study, n_items: int, n_choices: int) -> str:
    paragraphs = "\n".join(f"    <p>{_words(part)}</p>" for part in study.instructions.split("\n\n"))
    items = "\n".join(_item(slot, study, n_items, n_choices) for slot in range(n_items))
    return f"""<!-- Use this as the layout of a Mechanical Turk project, and publish pages.csv as a batch of it. -->
<script src="{_SCRIPT}"></script>
<style>
  main {{ max-width: 46rem; margin: 0 auto; font: 1rem/1.5 sans-serif; color: #1a1a1a; }}
  fieldset {{ margin: 1.5rem 0; border: 1px solid #767676; border-radius: 4px; }}
  blockquote {{ margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }}
  label {{ display: inline-block; padding: .5rem 1.5rem .5rem 0; }}
  textarea {{ width: 100%; }}
</style>
<crowd-form answer-format="flatten-objects">
  <main>
    <h1>{_words(study.title)}</h1>
{paragraphs}
{items}
    <p><label for="comment">What did you base your answers on? (optional)</label>
    <textarea id="comment" name="comment" rows="3"></textarea></p>
  </main>
</crowd-form>
"""


def _item(slot: int, study: Study, n_items: int, n_choices: int) -> str:
    name = f"review_{slot}_judgment"
    if n_choices:
        words = [f"${{review_{slot}_choice_{place}}}" for place in range(n_choices)] + [_words(NONE_OF_THEM)]
        options = [(str(place), word) for place, word in enumerate(words)]
    else:
        options = [(label, label) for label in study.pages[0].items[0].labels]
    radios = "\n".join(
        f'      <label><input type="radio" name="{name}" value="{value}" required> {word}</label>'
        for value, word in options
    )
    return f"""    <fieldset>
      <legend>{slot + 1} of {n_items}</legend>
      <blockquote dir="auto">${{review_{slot}_text}}</blockquote>
{radios}
    </fieldset>"""


def _words(text: str) -> str:
    """Return plain text as readable HTML without Turk's variables."""
    return html.escape(text).replace("$", "&#36;")
