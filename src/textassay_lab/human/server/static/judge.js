"use strict";
// Saves each answer when it is given, answers by keyboard, and says what is missing before the page is submitted.
(() => {
  const form = document.getElementById("sheet");
  const items = [...form.querySelectorAll(".item")];
  const comment = document.getElementById("comment");
  const saved = document.getElementById("saved");
  const problem = document.getElementById("problem");
  const waiting = new Map(); // field to value, not saved yet
  let sending = false, isOver = false, timer = 0, pause = 1000, keysOn = true, current = 0;

  const isGiven = (item) => item.querySelector("input:checked") !== null;
  const say = (text, isTrouble = false) => {
    saved.textContent = text;
    saved.classList.toggle("trouble", isTrouble);
  };

  async function send() {
    clearTimeout(timer);
    if (sending || isOver || !waiting.size) return;
    sending = true;
    const batch = [...waiting];
    const fields = [["proof", form.elements.proof.value], ["sheet", form.elements.sheet.value], ...batch];
    try {
      const answer = await fetch(form.dataset.save, { method: "POST", body: new URLSearchParams(fields), keepalive: true });
      if (answer.ok) {
        for (const [name, value] of batch) if (waiting.get(name) === value) waiting.delete(name);
        pause = 1000;
        say(waiting.size ? "Saving…" : "Saved");
      } else if (answer.status === 409 || answer.status === 403 || answer.status === 404) {
        isOver = true;
        location.assign(form.dataset.own);
      } else {
        throw new Error(String(answer.status));
      }
    } catch {
      say("Not saved yet, trying again", true);
      pause = Math.min(2 * pause, 15000);
    }
    sending = false;
    if (waiting.size) timer = setTimeout(send, saved.classList.contains("trouble") ? pause : 0);
  }

  function keep(name, value) {
    waiting.set(name, value);
    if (!saved.classList.contains("trouble")) say("Saving…");
    send();
  }

  function count() {
    const given = items.filter(isGiven).length;
    document.getElementById("count").textContent = `${given} of ${items.length} answered`;
    document.getElementById("progress").value = given;
    for (const item of items) if (isGiven(item)) item.classList.remove("missing");
    if (!problem.hidden) list();
  }

  function list() {
    const missing = items.filter((item) => !isGiven(item));
    problem.hidden = missing.length === 0;
    document.getElementById("problem-count").textContent = missing.length;
    document.getElementById("problem-list").replaceChildren(...missing.map((item) => {
      const link = document.createElement("a");
      link.href = `#${item.id}`;
      link.textContent = Number(item.dataset.place) + 1;
      const row = document.createElement("li");
      row.append(link);
      return row;
    }));
    return missing;
  }

  function mark(place) {
    items[current].classList.remove("current");
    current = place;
    items[current].classList.add("current");
  }

  function go(place) {
    mark(place);
    const item = items[place];
    (item.querySelector("input:checked") || item.querySelector("input")).focus({ preventScroll: true });
    item.scrollIntoView({ block: "center" });
  }

  form.addEventListener("change", (event) => {
    const field = event.target;
    if (field.type === "radio") {
      keep(field.name, field.value);
      count();
    }
  });
  comment.addEventListener("change", () => keep("comment", comment.value));
  let typing = 0;
  comment.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => keep("comment", comment.value), 800);
  });
  form.addEventListener("focusin", (event) => {
    const item = event.target.closest(".item");
    if (item) mark(items.indexOf(item));
  });
  problem.addEventListener("click", (event) => {
    if (event.target.hash) {
      event.preventDefault();
      go(Number(event.target.hash.slice(6)));
    }
  });

  form.addEventListener("submit", (event) => {
    const missing = list();
    if (missing.length) {
      event.preventDefault();
      for (const item of missing) item.classList.add("missing");
      go(items.indexOf(missing[0]));
    } else {
      isOver = true; // the form itself carries every answer
      document.getElementById("hand-in").disabled = true;
    }
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  window.addEventListener("beforeunload", (event) => { if (waiting.size && !isOver) event.preventDefault(); });

  document.addEventListener("keydown", (event) => {
    if (!keysOn || event.ctrlKey || event.altKey || event.metaKey || event.target === comment) return;
    const key = event.key.toLowerCase();
    if (key === "j" || key === "k") {
      event.preventDefault();
      go(Math.min(items.length - 1, Math.max(0, current + (key === "j" ? 1 : -1))));
      return;
    }
    const choices = [...items[current].querySelectorAll("input")];
    const chosen = choices.find((input) => input.parentElement.querySelector("kbd").textContent.toLowerCase() === key);
    if (!chosen || event.repeat) return;
    event.preventDefault();
    chosen.checked = true;
    chosen.dispatchEvent(new Event("change", { bubbles: true }));
    const next = items.findIndex((item, place) => place > current && !isGiven(item));
    const left = next < 0 ? items.findIndex((item) => !isGiven(item)) : next;
    if (left < 0) {
      const button = document.getElementById("hand-in");
      button.focus({ preventScroll: true });
      button.scrollIntoView({ block: "center" });
    } else {
      go(left);
    }
  });
  const button = document.getElementById("switch");
  button.addEventListener("click", () => {
    keysOn = !keysOn;
    button.setAttribute("aria-pressed", String(keysOn));
    button.textContent = keysOn ? "Turn shortcuts off" : "Turn shortcuts on";
    form.classList.toggle("keys-off", !keysOn);
  });
  mark(Math.max(0, items.findIndex((item) => !isGiven(item))));
  if (items.some(isGiven)) say("Saved");
})();
