// The page: which view is shown, what stands above it, and the keys.
import { el, put } from "./dom.js";
import { t, lang, count, percent, time } from "./words.js";
import { store, hear, begin, act, NODE } from "./store.js";
import { tiles } from "./tiles.js";
import { list } from "./lists.js";
import { job, node } from "./details.js";
import { teams, alerts, history as past } from "./boards.js";
import { say } from "./actions.js";

const root = document.documentElement, by = (id) => document.getElementById(id);
const place = by("view"), input = by("search").querySelector("input");
const VIEWS = {
  cluster: () => tiles({ wide: false, ways: ["kind", "use", "memory", "celsius", "watts"], key: "cluster" }),
  gpus: () => tiles({ wide: true, ways: ["use", "memory", "celsius", "watts"], key: "gpus" }),
  jobs: (_, query, go) => list("running", query, go),
  queue: (_, query, go) => list("waiting", query, go),
  teams: () => teams(),
  alerts: () => alerts(),
  history: (_, query, go) => past(query, go),
  job: (name) => job(name),
  node: (name) => node(name),
};
const TABS = [...document.querySelectorAll("nav a")];
let view = null, shown = "";

function route() {
  const [path, words] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const which = name in VIEWS ? name : "cluster";
  const about = rest.map(decodeURIComponent).join("/");
  const query = new URLSearchParams(words);
  const same = shown === which;
  view?.close?.();
  const go = (wishes) => { location.hash = `#/${which}?${new URLSearchParams(wishes)}`; };
  view = VIEWS[which](about, query, go);
  shown = which;
  put(place, view.whole);
  for (const tab of TABS) {
    tab.toggleAttribute("aria-current", tab.dataset.view === which);
    if (tab.dataset.view !== which) continue;
    tab.setAttribute("aria-current", "page");
    tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  if (["jobs", "queue"].includes(which)) input.value = query.get("find") ?? input.value;
  document.title = `${["job", "node"].includes(which) ? t(`view.${which}`, about) : t(`view.${which}`)} · ${store.cluster}`;
  if (!same) scrollTo(0, 0);
  if (["job", "node"].includes(which)) place.focus({ preventScroll: true });
}

function above(parts) {
  const { sums } = store;
  const out = (sums.kinds?.down ?? 0) + (sums.kinds?.drained ?? 0);
  const numbers = {
    nodes: [count(sums.nodes - out), el("small", {}, ` / ${count(sums.nodes)}`)],
    gpus: [count(sums.gpus_used), el("small", {}, ` / ${count(sums.gpus)}`)],
    use: percent(sums.use), running: count(sums.running), waiting: count(sums.waiting), alerts: count(sums.alerts),
  };
  for (const box of document.querySelectorAll("[data-sum]")) {
    put(box.querySelector("dd"), numbers[box.dataset.sum]);
    box.classList.toggle("bad", box.dataset.sum === "alerts" && sums.critical > 0);
  }
  const tab = TABS.find((each) => each.dataset.view === "alerts");
  tab.querySelector(".many")?.remove();
  if (sums.alerts) tab.querySelector("span").after(el("span", { class: "many" }, count(sums.alerts)));
  const state = by("live");
  state.className = store.live ? "on" : "off";
  const words = store.live ? t("top.taken", time(store.taken || null)) : t("top.lost");
  if (parts.has("live") || !parts.size) state.setAttribute("title", store.live ? t("top.live") : t("top.lost"));
  if (state.textContent !== words) state.textContent = words;
  notes();
}

function notes() {
  const { trouble, missing, taken } = store;
  const lines = missing.map((line) => el("p", { class: "note warn" }, t("top.missing", line[lang])));
  if (trouble) lines.unshift(el("p", { class: "note bad", role: "alert" },
    taken ? t("top.trouble", time(taken), trouble) : t("top.never", trouble)));
  const said = lines.map((line) => line.textContent).join("\n");
  if (by("notes").dataset.said !== said) {
    by("notes").dataset.said = said;
    put(by("notes"), lines);
  }
}

function me() {
  const { name, role } = store.me;
  put(by("me"), name ? [el("span", { class: "soft small" }, `${name} · ${t(`role.${role}`)}`),
    el("button", { type: "button", on: { click: async () => { await act("/sign-out"); location.reload(); } } }, t("top.sign-out"))]
    : el("a", { href: "/sign-in" }, t("top.sign-in")));
}

function keep(name, value) {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=strict${location.protocol === "https:" ? "; secure" : ""}`;
}

function theme() {
  const dark = root.dataset.theme === "dark" || (root.dataset.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
  keep("wright-theme", root.dataset.theme);
}

function language() {
  keep("wright-lang", lang === "zh" ? "en" : "zh");
  location.reload();
}

function help() {
  const rows = [["1 – 7", "key.views"], ["/", "key.search"], ["j k", "key.rows"], ["↵", "key.open"], ["n p", "key.pages"],
    ["← ↑ ↓ →", "key.arrows"], ["Esc", "key.back"], ["t", "key.theme"], ["l", "key.lang"], ["?", "key.help"]];
  put(by("help"), el("h2", {}, t("top.help")), el("dl", {}, rows.map(([keys, words]) =>
    [el("dt", {}, keys.split(" ").map((key) => [el("kbd", {}, key), " "])), el("dd", {}, t(words))])),
    el("form", { method: "dialog", class: "ends" }, el("button", { class: "main" }, t("key.close"))));
  by("help").showModal();
}

const KEYS = { "/": () => input.select(), t: theme, l: language, "?": help, Escape: () => { if (["job", "node"].includes(shown)) history.back(); } };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const tab = TABS[Number(event.key) - 1];
  const work = view?.keys?.[event.key] ?? (tab ? () => { location.hash = tab.getAttribute("href"); } : KEYS[event.key]);
  if (!work) return;
  event.preventDefault();
  work();
});

let typing = 0;
input.addEventListener("input", () => {
  clearTimeout(typing);
  if (view?.find) typing = setTimeout(() => view.find(input.value.trim()), 250);
});
by("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = input.value.trim();
  if (store.byName.has(words)) location.hash = `#/node/${encodeURIComponent(words)}`;
  else if (view?.find) view.find(words);
  else location.hash = `#/jobs?${new URLSearchParams({ of: "all", find: words })}`;
});
by("theme").addEventListener("click", theme);
by("lang").addEventListener("click", language);
by("keys").addEventListener("click", help);
addEventListener("hashchange", route);

/** Until the first picture is there: whoever serves it may only just be starting. */
function start() {
  begin().then(() => { me(); route(); }, (error) => {
    say(t("error.other", error.message));
    setTimeout(start, 2000);
  });
}

hear(above);
start();
