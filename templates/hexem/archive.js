// The board of Hexem, step by step: a slider, buttons and keys over the steps that the page lists.
// Without this script the page shows the board at the end, and the list.
"use strict";
(() => {
  const HALF = 26;
  const ROW = 45;
  // The neighbours to the right and below, each with the two corners of the side to it.
  const SIDES = [
    [2 * HALF, 0, 26, -15, 26, 15],
    [HALF, ROW, 26, 15, 0, 30],
    [-HALF, ROW, 0, 30, -26, 15],
  ];
  const PAUSE = 1200;
  const LONG = 40;

  // Each frame has mark and armies of every hex; a step says what it changes ("3.0.12"), or that
  // every hex grows ("+").
  function frames(start, steps) {
    let now = start.split(" ").map((hex) => hex.split(".").map(Number));
    const all = [now];
    for (const step of steps) {
      now = now.slice();
      for (const change of step.split(" ").filter(Boolean)) {
        if (change === "+") {
          now = now.map(([mark, armies]) => [mark, armies + 1]);
        } else {
          const [at, mark, armies] = change.split(".").map(Number);
          now[at] = [mark, armies];
        }
      }
      all.push(now);
    }
    return all;
  }

  // As the page itself writes a change.
  const signed = (number) => (number > 0 ? `+${number}` : `${number}`);

  // An arrow over the border of two hexes, so short that it meets nothing written in either.
  function arrow(source, target) {
    const [dx, dy] = [target.x - source.x, target.y - source.y];
    // Labels above are wider than letters below: it keeps off the labels.
    const end = 0.58 - 0.04 * Math.sign(dy);
    const at = (along, across) =>
      `${source.x + dx * along - dy * across} ${source.y + dy * along + dx * across}`;
    return `M${at(end - 0.2, 0)}L${at(end, 0)}M${at(end - 0.06, 0.06)}L${at(end, 0)}L${at(end - 0.06, -0.06)}`;
  }

  function setUp(figure) {
    const slider = figure.querySelector("input[type=range]");
    const list = document.getElementById("steps");
    if (!slider || !list) return;
    const items = [...list.querySelectorAll("li[data-set]")];
    const all = frames(figure.dataset.start, items.map((item) => item.dataset.set));
    const last = items.length;
    const rows = [...document.querySelectorAll("table.holders tbody tr")];
    const marks = rows.map((row) => row.dataset);
    const cells = rows.map((row) => row.querySelectorAll("td"));
    // Marks of seats are always shown, others while they hold anything.
    const always = rows.map((row) => !row.hidden);
    const caption = document.querySelector("table.holders caption");
    const hexes = [...figure.querySelectorAll(".hexes > g")].map((group) => {
      const [, x, y] = group.getAttribute("transform").match(/\((\S+) (\S+)\)/);
      const [, armies, letter] = group.querySelectorAll("text");
      return { x: Number(x), y: Number(y), fill: group.querySelector("use"), armies, letter };
    });
    const places = new Map(hexes.map((hex, at) => [`${hex.x} ${hex.y}`, at]));
    const told = figure.querySelector(".told");
    const shown = figure.querySelector(".count");
    const play = figure.querySelector("[data-go=play]");
    const changed = figure.querySelector(".changed");
    const now = figure.querySelector(".now");
    const endCaption = caption.textContent;
    const { first, each } = figure.dataset;
    let timer = 0;

    function borders(frame) {
      const nobody = marks.length - 1;
      let fronts = "";
      let edges = "";
      hexes.forEach(({ x, y }, at) => {
        for (const [dx, dy, fromX, fromY, toX, toY] of SIDES) {
          const other = places.get(`${x + dx} ${y + dy}`);
          if (other === undefined || frame[other][0] === frame[at][0]) continue;
          const line = `M${x + fromX} ${y + fromY}L${x + toX} ${y + toY}`;
          if (frame[other][0] === nobody || frame[at][0] === nobody) edges += line;
          else fronts += line;
        }
      });
      figure.querySelector(".fronts").setAttribute("d", fronts);
      figure.querySelector(".edges").setAttribute("d", edges);
    }

    function holdings(frame) {
      const held = marks.map(() => [0, 0]);
      for (const [mark, armies] of frame) {
        held[mark][0] += 1;
        held[mark][1] += armies;
      }
      return held;
    }
    const begun = holdings(all[0]);

    // The table beside the board: what each holds at a step and, where it has columns for that,
    // how far that is from the beginning.
    function count(frame) {
      holdings(frame).forEach((held, mark) => {
        rows[mark].hidden = !always[mark] && !held[0];
        const hasChanges = cells[mark].length > held.length;
        held
          .flatMap((number, at) =>
            hasChanges ? [number, signed(number - begun[mark][at])] : [number],
          )
          .forEach((value, at) => {
            cells[mark][at].textContent = value;
          });
      });
    }

    function drawn(name, attributes) {
      const made = document.createElementNS(now.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    }

    function point(item) {
      now.replaceChildren();
      if (!item || item.dataset.at === undefined) return;
      const target = hexes[item.dataset.at];
      now.append(drawn("use", { href: "#ring", x: target.x, y: target.y }));
      for (const from of item.dataset.from.split(" ").filter(Boolean)) {
        const d = arrow(hexes[from], target);
        // A light rim keeps it apart from the borders that it crosses.
        now.append(drawn("path", { d, stroke: "var(--paper)", "stroke-width": 5 }), drawn("path", { d }));
      }
    }

    function show(step) {
      const frame = all[step];
      frame.forEach(([mark, armies], at) => {
        const { fill, armies: number, letter } = hexes[at];
        fill.setAttribute("fill", marks[mark].colour);
        number.textContent = armies;
        number.setAttribute("font-size", armies < 1000 ? 18 : 13);
        letter.textContent = marks[mark].letter;
      });
      borders(frame);
      count(frame);
      items.forEach((item, at) => {
        if (at === step - 1) item.setAttribute("aria-current", "step");
        else item.removeAttribute("aria-current");
      });
      const item = items[step - 1];
      point(item);
      changed.setAttribute("visibility", step === last ? "visible" : "hidden");
      if (item) told.replaceChildren(...item.cloneNode(true).childNodes);
      else told.textContent = `${first}.`;
      slider.value = step;
      slider.setAttribute("aria-valuetext", `${step} of ${last}`);
      shown.textContent = `${step} of ${last}`;
      caption.textContent = step === last ? endCaption : step ? `${each} ${step}` : first;
      figure.dataset.step = step;
    }

    function stop() {
      clearInterval(timer);
      timer = 0;
      play.textContent = "Play";
      told.setAttribute("aria-live", "polite");
    }

    function go(step) {
      show(Math.max(0, Math.min(last, step)));
    }

    function toggle() {
      if (timer) {
        stop();
        return;
      }
      if (Number(slider.value) === last) go(0);
      // A reader that speaks could not keep up: while it plays it is silent.
      told.setAttribute("aria-live", "off");
      play.textContent = "Pause";
      timer = setInterval(
        () => {
          go(Number(slider.value) + 1);
          if (Number(slider.value) === last) stop();
        },
        last > LONG ? PAUSE / 2 : PAUSE,
      );
    }

    const moves = {
      first: () => go(0),
      back: () => go(Number(slider.value) - 1),
      on: () => go(Number(slider.value) + 1),
      last: () => go(last),
    };

    slider.addEventListener("input", () => {
      stop();
      go(Number(slider.value));
    });
    figure.addEventListener("click", (event) => {
      const button = event.target.closest("[data-go]");
      if (!button) return;
      if (button === play) {
        toggle();
      } else {
        stop();
        moves[button.dataset.go]();
      }
    });
    figure.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const target = event.target;
      const region = target.closest(".scroll");
      if (event.key === " " && !target.closest("button, a, summary")) {
        event.preventDefault();
        toggle();
        return;
      }
      // The slider has these keys itself, and a board that is wider than its region scrolls.
      if (target === slider || (region && region.scrollWidth > region.clientWidth)) return;
      const key = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" }[event.key];
      if (key) {
        event.preventDefault();
        stop();
        moves[key]();
      }
    });
    // The address of a muster, turn-3.html#m12, shows the board after it.
    function follow() {
      const at = items.findIndex((item) => item.id && `#${item.id}` === location.hash);
      if (at >= 0) go(at + 1);
    }
    window.addEventListener("hashchange", follow);
    // On paper there is no slider, only the board as the page's words have it.
    window.addEventListener("beforeprint", () => {
      stop();
      go(last);
    });
    show(last);
    follow();
  }

  for (const figure of document.querySelectorAll("figure.replay")) setUp(figure);
})();
