// All nodes as tiles in racks: colored by state, or each tile a stripe a GPU.
import { el, put } from "./dom.js";
import { t, count, percent, degrees, watts } from "./words.js";
import { store, hear, NODE, KINDS, MEASURES } from "./store.js";

const SIGN = { down: "×", drained: "–", draining: "…", idle: "", part: "", full: "", other: "·" };
const SCALES = { use: [0, 100, "h"], memory: [0, 100, "h"], celsius: [30, 90, "t"], watts: [50, 700, "t"] };
const FORMS = { use: (value) => percent(value / 100), memory: (value) => percent(value / 100), celsius: degrees, watts };
const NAMED_MOST = 64; // nodes of a cluster whose tiles have room for their names
const GROUPS = { leaf: NODE.leaf, class: NODE.group, partition: NODE.partition, kind: NODE.kind };

/** The color of one GPU. */
function shade(by, value) {
  if (value == null) return "var(--unknown)";
  const [low, high, ramp] = SCALES[by];
  return `var(--${ramp}${Math.max(0, Math.min(9, Math.floor(((value - low) / (high - low)) * 10)))})`;
}

function values(row, by) {
  const at = MEASURES.indexOf(by);
  return Array.from({ length: row[NODE.gpus] }, (_, gpu) => row[NODE.numbers][gpu * MEASURES.length + at] ?? null);
}

function stripes(row, by) {
  const all = values(row, by);
  const edge = 100 / all.length;
  const parts = all.map((value, at) => `${shade(by, value)} ${(at * edge).toFixed(2)}% ${((at + 1) * edge).toFixed(2)}%`);
  return all.length ? `linear-gradient(90deg, ${parts.join(", ")})` : "var(--faint)";
}

/** What a tile says in words. */
function said(row, by) {
  const parts = [row[NODE.name], `${t(`kind.${row[NODE.kind]}`)} (${row[NODE.state]})`];
  if (row[NODE.gpus]) parts.push(t("tiles.said", row[NODE.used], row[NODE.gpus], row[NODE.jobs]));
  if (by !== "kind" && row[NODE.gpus]) {
    const known = values(row, by);
    parts.push(`${t(`tiles.${by}`)}: ${known.map((value) => (value == null ? "–" : FORMS[by](value))).join(" ")}`);
  }
  return parts.join(" · ");
}

function paint(tile, row, by) {
  const face = tile.firstElementChild ?? tile; // of a tile with a name, the part above it
  const kind = row[NODE.kind];
  for (const each of KINDS) face.classList.toggle(`k-${each}`, by === "kind" && each === kind);
  face.textContent = by === "kind" || ["down", "drained", "draining"].includes(kind) ? SIGN[kind] : "";
  face.style.background = by === "kind" ? "" : stripes(row, by);
  tile.setAttribute("aria-label", said(row, by === "kind" ? "kind" : by));
}

/** The picture of all nodes; `wide` tiles show GPUs side by side. */
export function tiles(options) {
  const { wide, ways, key } = options;
  const kept = JSON.parse(sessionStorage.getItem(key) ?? "{}");
  const wish = { group: kept.group in GROUPS ? kept.group : "leaf", by: ways.includes(kept.by) ? kept.by : ways[0], only: null };
  const racks = el("div", { class: wide ? "racks wide" : "racks" });
  const peek = el("p", { class: "peek" }, t("tiles.hint"));
  const bar = el("div", { class: "bar" });
  const whole = el("div", {}, bar, racks, peek);
  let byName = new Map(), order = [];

  function choice(name, words, from) {
    const select = el("select", { on: { change: () => { wish[name] = select.value; keep(); build(); } } },
      from.map((each) => el("option", { value: each, selected: wish[name] === each }, t(`tiles.${each}`))));
    return el("label", {}, words, select);
  }

  function keep() {
    sessionStorage.setItem(key, JSON.stringify({ group: wish.group, by: wish.by }));
  }

  function legend() {
    const counts = {};
    for (const row of store.nodes) counts[row[NODE.kind]] = (counts[row[NODE.kind]] ?? 0) + 1;
    if (wish.by !== "kind") {
      const [low, high, ramp] = SCALES[wish.by];
      const steps = Array.from({ length: 10 }, (_, at) => `var(--${ramp}${at}) ${at * 10}% ${at * 10 + 10}%`);
      return el("span", { class: "scale" }, FORMS[wish.by](low),
        el("i", { style: { background: `linear-gradient(90deg, ${steps.join(", ")})` } }), FORMS[wish.by](high));
    }
    return el("span", { class: "legend" }, KINDS.filter((kind) => counts[kind]).map((kind) => el("button", {
      type: "button", "aria-pressed": String(wish.only === kind), title: t("tiles.filter", t(`kind.${kind}`)),
      on: { click: () => { wish.only = wish.only === kind ? null : kind; top(); fade(); } },
    }, el("i", { class: `k-${kind}` }), t(`kind.${kind}`), el("b", {}, count(counts[kind])))));
  }

  function top() {
    put(bar, choice("group", t("tiles.group"), Object.keys(GROUPS)),
      ways.length > 1 ? choice("by", t("tiles.color"), ways) : null, legend());
  }

  function fade() {
    for (const [name, tile] of byName) tile.classList.toggle("off", wish.only != null && store.byName.get(name)?.[NODE.kind] !== wish.only);
  }

  function build() {
    const groups = new Map();
    for (const row of store.nodes) {
      if (wide && !row[NODE.gpus]) continue;
      const raw = row[GROUPS[wish.group]];
      const name = !raw ? t("tiles.none") : wish.group === "kind" ? t(`kind.${raw}`) : raw;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(row);
    }
    byName = new Map();
    const named = store.nodes.length <= NAMED_MOST;
    racks.classList.toggle("named", named);
    const blocks = [...groups].map(([name, rows]) => el("section", { class: "rack" },
      el("h2", {}, el("b", {}, name), el("span", {}, t("tiles.nodes", count(rows.length)))),
      el("div", { class: "tiles" }, rows.map((row) => {
        const tile = el("button", { type: "button", class: "tile", tabindex: -1, "data-node": row[NODE.name] },
          named ? [el("i"), el("span", {}, row[NODE.name])] : null);
        paint(tile, row, wish.by);
        byName.set(row[NODE.name], tile);
        return tile;
      }))));
    put(racks, blocks.length ? blocks : el("p", { class: "soft" }, t("tiles.empty")));
    order = [...byName.values()];
    order[0]?.setAttribute("tabindex", 0);
    top();
    fade();
  }

  function show(tile) {
    const row = store.byName.get(tile?.dataset?.node);
    peek.classList.toggle("on", Boolean(row));
    put(peek, row ? said(row, wish.by) : t("tiles.hint"));
  }

  /** The next tile that way, by where it is on the screen. */
  function beside(tile, keyName) {
    const at = order.indexOf(tile);
    if (keyName === "ArrowLeft") return order[at - 1];
    if (keyName === "ArrowRight") return order[at + 1];
    const here = tile.getBoundingClientRect();
    const rest = keyName === "ArrowDown" ? order.slice(at + 1) : order.slice(0, at).reverse();
    return rest.find((each) => {
      const box = each.getBoundingClientRect();
      return Math.abs(box.left - here.left) < box.width * 0.6 && Math.abs(box.top - here.top) > 4;
    });
  }

  racks.addEventListener("click", (event) => {
    const tile = event.target.closest(".tile");
    if (tile) location.hash = `#/node/${encodeURIComponent(tile.dataset.node)}`;
  });
  racks.addEventListener("pointerover", (event) => show(event.target.closest(".tile")));
  racks.addEventListener("pointerleave", () => show(document.activeElement));
  racks.addEventListener("focusin", (event) => {
    for (const tile of order) if (tile.tabIndex === 0) tile.tabIndex = -1;
    event.target.tabIndex = 0;
    show(event.target);
  });
  racks.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    const next = beside(event.target, event.key);
    if (next) { event.preventDefault(); next.focus(); }
  });

  const deaf = hear((parts) => {
    if (parts.has("all") || (parts.has("nodes") && wish.group === "kind")) return build();
    if (!parts.has("nodes")) return;
    for (const row of store.changed) {
      const tile = byName.get(row[NODE.name]);
      if (tile) paint(tile, row, wish.by);
    }
    if (!bar.contains(document.activeElement)) top();
    fade();
  });
  build();
  return { whole, close: deaf };
}
