"use strict";
// Shows the newest numbers every three seconds while the page is looked at.
(() => {
  const now = document.getElementById("now");
  const live = document.getElementById("live");
  live.textContent = " · live";
  async function refresh() {
    if (document.visibilityState === "visible") {
      try {
        const answer = await fetch("/owner/progress");
        if (answer.status === 401) return location.reload();
        if (!answer.ok) throw new Error(String(answer.status));
        const text = await answer.text();
        if (text !== now.dataset.text) now.innerHTML = text; // escaped where it was made
        now.dataset.text = text;
        live.textContent = " · live";
      } catch {
        live.textContent = " · the server does not answer";
      }
    }
    setTimeout(refresh, 3000);
  }
  setTimeout(refresh, 3000);
})();
