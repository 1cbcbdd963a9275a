// Keyboard and the reader. Everything else is plain HTML and htmx; without this file the page still works, link by link.
(() => {
  "use strict";
  const q = document.getElementById("q");
  const ask = document.getElementById("ask");
  const reader = document.getElementById("reader");
  const body = document.getElementById("reader-body");
  const health = document.getElementById("health");
  const results = () => [...document.querySelectorAll("#results a.result")].filter((link) => link.checkVisibility());

  const read = (href) => htmx.ajax("GET", href, { source: body, target: body, swap: "innerHTML" });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.note-link");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    read(link.getAttribute("href"));
  });

  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target !== body) return;
    if (!reader.open) reader.showModal();
    const hit = body.querySelector(".hit");
    if (hit) hit.scrollIntoView({ block: "center" });
    else body.scrollTop = 0;
    const title = body.querySelector("h1, h2");
    if (title) title.focus({ preventScroll: true });
  });

  const unreachable = () => {
    document.getElementById("results").innerHTML =
      '<div class="problem" role="alert"><h2>The server has stopped</h2><p>Run <code>onebrain serve</code> again and open the address it prints.</p></div>';
  };
  document.body.addEventListener("htmx:sendError", unreachable);

  reader.addEventListener("click", (event) => event.target === reader && reader.close());

  const move = (step) => {
    const links = results();
    if (!links.length) return;
    const at = links.indexOf(document.activeElement) + step;
    if (at < 0) return void (document.activeElement === q ? links.at(-1).focus() : q.focus());
    const next = links[Math.min(at, links.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (reader.open) {
      if (event.key === "o") body.querySelector("a.obsidian")?.click();
      return;
    }
    const inBox = event.target === q;
    const typing = event.target.matches("input, select, textarea");
    const free = !typing;
    if (event.key === "ArrowDown" && (inBox || free)) move(1);
    else if (event.key === "ArrowUp" && free) move(-1);
    else if (event.key === "j" && free) move(1);
    else if (event.key === "k" && free) move(-1);
    else if (event.key === "/" && free) q.select(), q.focus();
    else if (event.key === "o" && free) event.target.closest("li, figure")?.querySelector("a.obsidian")?.click();
    else if (event.key === "Escape" && !inBox) q.focus();
    else return;
    event.preventDefault();
  });

  setInterval(() => {
    if (!document.hidden && !health.querySelector("details[open]")) htmx.trigger(health, "look");
  }, 15000);
  document.addEventListener("click", (event) => {
    const open = health.querySelector("details[open]");
    if (open && !health.contains(event.target)) open.open = false;
  });
  // Typing asks for words, then for meaning; Enter asks for everything, which may take seconds.
  ask.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.triggeringEvent?.type === "submit") event.detail.parameters.set("stage", "full");
  });
})();
