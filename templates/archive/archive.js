"use strict";
// What pages can do beyond being read: search, and unfolding where it is due. It asks for nothing but the index beside the page,
// and all that it shows it sets as text.
(() => {
  document.documentElement.classList.add("script");

  // On paper nothing unfolds: what is folded to be short on a screen is printed whole.
  let shut = [];
  window.addEventListener("beforeprint", () => {
    shut = [...document.querySelectorAll("details.fold:not([open])")];
    for (const one of shut) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of shut) one.open = false; });

  // A link to what is folded unfolds it, also where the browser doesn't by itself.
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    const folded = target && target.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  unfold();

  const form = document.querySelector("form[data-index]");
  if (!form) return;
  const field = form.querySelector("input");
  const hits = form.querySelector("ol");
  const found = form.querySelector("[role=status]");
  const MOST = 50;
  let entries = null;
  let isAsked = false;

  const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  // The index is a script that calls this: a page opened from disk may load nothing else.
  window.pbemIndex = (turns) => {
    entries = turns.flatMap((turn) => turn || []).map(([address, what, text]) => {
      return { address, what, text, folded: folded(`${what} ${text}`) };
    });
    search();
  };

  const load = () => {
    if (isAsked) return;
    isAsked = true;
    const script = document.createElement("script");
    script.src = form.dataset.index;
    script.onerror = () => { found.textContent = "The index can't be loaded."; };
    document.head.append(script);
  };

  // Marks the words in a text that is short enough to read, cut round the first of them.
  const shown = (text, words) => {
    const at = words.map((word) => folded(text).indexOf(word)).filter((place) => place >= 0);
    const from = text.length > 240 && at.length ? Math.max(0, Math.min(...at) - 60) : 0;
    const cut = text.slice(from, from + 240);
    const line = document.createElement("span");
    let rest = (from ? "… " : "") + cut + (from + 240 < text.length ? " …" : "");
    const low = (part) => part.toLowerCase();
    while (rest) {
      const next = words.map((word) => [low(rest).indexOf(word), word]).filter(([place]) => place >= 0)
        .sort((one, other) => one[0] - other[0])[0];
      if (!next) break;
      const mark = document.createElement("mark");
      mark.textContent = rest.slice(next[0], next[0] + next[1].length);
      line.append(rest.slice(0, next[0]), mark);
      rest = rest.slice(next[0] + next[1].length);
    }
    line.append(rest);
    return line;
  };

  const search = () => {
    const words = folded(field.value).split(/\s+/).filter(Boolean);
    hits.replaceChildren();
    found.textContent = "";
    if (!words.length || !entries) return;
    const all = entries.filter((one) => words.every((word) => one.folded.includes(word)));
    // A line of orders or a letter is nearer to what is looked for than a whole report.
    const isLine = (one) => Number(one.address.includes("#"));
    all.sort((one, other) => isLine(other) - isLine(one));
    for (const one of all.slice(0, MOST)) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = one.address;
      link.textContent = one.what;
      item.append(link, shown(one.text, words));
      hits.append(item);
    }
    const count = all.length === 1 ? "1 place" : `${all.length} places`;
    found.textContent = all.length > MOST ? `${count}; the first ${MOST} are shown.` : `${count}.`;
  };

  field.addEventListener("focus", load);
  field.addEventListener("input", () => { load(); search(); });
  field.addEventListener("keydown", (event) => {
    const first = hits.querySelector("a");
    if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
    if (event.key === "Escape") { field.value = ""; search(); }
  });
  hits.addEventListener("keydown", (event) => {
    const links = [...hits.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && links[at + 1]) { event.preventDefault(); links[at + 1].focus(); }
    if (event.key === "ArrowUp") { event.preventDefault(); (links[at - 1] || field).focus(); }
    if (event.key === "Escape") field.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = hits.querySelector("a");
    if (first) first.focus();
  });
  // A browser keeps what was typed when one comes back to a page.
  if (field.value) load();
})();
