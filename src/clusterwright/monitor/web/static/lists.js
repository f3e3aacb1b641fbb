// Jobs that run and jobs that wait: a page of rows at a time, asked anew when something has changed.
import { el, put, meter } from "./dom.js";
import { t, lang, count, brief, percent, fine, loss, since, span, at } from "./words.js";
import { store, hear, ask } from "./store.js";
import { spark } from "./curve.js";

const ORDERS = {
  running: ["started", "use", "gpus", "ends", "user", "team", "name", "id"],
  waiting: ["priority", "waited", "gpus", "user", "team", "name", "id"],
  all: ["id", "user", "team", "gpus", "name"],
};
const PLAIN = new Set(["list.id", "list.name"]); // say themselves what they are, on a phone too
export const LOW = 0.15; // use of GPUs that are given out and do next to nothing

const link = (job, text) => el("a", { href: `#/job/${encodeURIComponent(job.id)}` }, text);
const cut = (text) => el("span", { class: "cut", title: text }, text);
const who = (job) => [job.user, el("small", {}, " ", job.account)];
const where = (job) => el("span", { class: "cut", title: job.nodes }, count(job.gpus), " ",
  el("small", {}, job.nodes || `× ${count(job.node_count)}`));
export const explanation = (job) => (lang === "zh" ? job.explanation_zh || job.explanation : job.explanation || job.reason);
export const useOf = (job) => meter(job.utilisation, { text: percent(job.utilisation), low: job.utilisation < LOW });

/** How far a run is. */
export function progress(run) {
  if (run?.step == null) return "";
  const words = run.total_steps ? `${brief(run.step)} / ${brief(run.total_steps)}` : brief(run.step);
  return run.total_steps ? meter(run.step / run.total_steps, { text: el("small", {}, words) }) : words;
}

const speed = (run) => {
  if (!run) return "";
  const told = run.tokens_per_s ?? run.samples_per_s;
  return told == null && run.mfu == null ? "" : [brief(told), el("small", {}, run.mfu == null ? "" : ` ${fine(run.mfu)}`)];
};

// [key of the heading, cell, class]; `broad` takes the whole width of a phone, `some` is left out where it is narrow.
const RUNNING = [
  ["list.id", (job) => link(job, job.id)],
  ["list.name", (job) => cut(job.name)],
  ["list.who", who],
  ["list.where", where],
  ["list.use", useOf],
  ["list.loss", (job) => (job.run?.loss == null ? "" : [spark(job.run.curve), loss(job.run.loss)])],
  ["list.speed", (job) => speed(job.run)],
  ["list.progress", (job) => progress(job.run), "some"],
  ["list.since", (job) => since(job.started, store.taken), "some"],
];
const WAITING = [
  ["list.id", (job) => link(job, job.id)],
  ["list.name", (job) => cut(job.name)],
  ["list.who", who],
  ["list.where", where],
  ["list.explanation", (job) => [explanation(job), job.reason && job.reason !== explanation(job) ? el("small", {}, " ", job.reason) : null], "broad"],
  ["list.waited", (job) => since(job.submitted, store.taken)],
  ["list.expected", (job) => (job.expected ? at(job.expected) : "")],
  ["list.priority", (job) => count(job.priority), "some"],
];
const ALL = [RUNNING[0], RUNNING[1], ["job.state", (job) => job.state], RUNNING[2], RUNNING[3],
  ["list.explanation", (job) => explanation(job), "broad"]];
const COLUMNS = { running: RUNNING, waiting: WAITING, all: ALL };

/** The view; its wishes stand in the address, so that back and a shared link work. */
export function list(set, query, go) {
  const of = query.get("of") ?? set;
  const wish = { find: query.get("find") ?? "", order: query.get("order") ?? "", page: Number(query.get("page")) || 0 };
  const bar = el("div", { class: "bar" }), body = el("tbody"), pager = el("div", { class: "pager" });
  const empty = el("p", { class: "soft", hidden: true }, t("list.empty"));
  const columns = COLUMNS[of];
  const table = el("table", { class: "lists" },
    el("thead", {}, el("tr", {}, columns.map(([key, , kind]) => el("th", { scope: "col", class: kind }, t(key))))), body);
  const whole = el("div", {}, bar, el("div", { class: "card" }, table, empty), pager);
  let asked = 0, shown = { pages: 1 };

  const order = el("select", { on: { change: () => turn({ order: order.value, page: 0 }) } },
    ORDERS[of].map((each) => el("option", { value: each, selected: each === wish.order }, t(`list.order.${each}`))));

  function turn(next) {
    const all = { of: of === set ? "" : of, find: wish.find, order: wish.order, page: wish.page, ...next };
    go(Object.fromEntries(Object.entries(all).filter(([, value]) => value)));
  }

  async function load() {
    const mine = ++asked;
    const query = new URLSearchParams({ of, find: wish.find, page: wish.page, ...(wish.order ? { order: wish.order } : {}) });
    const answer = await ask(`/api/jobs?${query}`).catch(() => null);
    if (answer && mine === asked) draw(answer);
  }

  function draw(answer) {
    shown = answer;
    const here = body.querySelector(".here")?.dataset.job;
    const held = document.activeElement?.closest?.("tr")?.dataset.job;
    put(body, answer.jobs.map((job) => el("tr", { "data-job": job.id, class: job.id === here ? "here" : null },
      columns.map(([key, cell, kind]) => {
        const inside = cell(job);
        return el("td", { class: kind, "data-label": inside === "" || inside == null || PLAIN.has(key) ? null : t(key) }, inside);
      }))));
    if (held) body.querySelector(`tr[data-job="${CSS.escape(held)}"] a`)?.focus({ preventScroll: true });
    empty.hidden = answer.jobs.length > 0;
    const many = wish.find ? t("list.found", count(answer.count), wish.find) : t("list.count", count(answer.count));
    if (!bar.contains(document.activeElement)) put(bar, el("b", {}, many),
      wish.find ? el("button", { type: "button", on: { click: () => turn({ find: "", page: 0 }) } }, t("list.clear")) : null,
      el("label", { class: "end" }, t("list.order"), order));
    if (!pager.contains(document.activeElement)) put(pager, answer.pages > 1 ? [
      el("button", { type: "button", disabled: answer.page === 0, on: { click: () => page(-1) } }, t("list.before")),
      t("list.page", count(answer.page + 1), count(answer.pages)),
      el("button", { type: "button", disabled: answer.page + 1 >= answer.pages, on: { click: () => page(1) } }, t("list.after")),
    ] : []);
  }

  function page(by) {
    const to = wish.page + by;
    if (to >= 0 && to < shown.pages) turn({ page: to });
  }

  /** The row above or below takes the focus. */
  function row(by) {
    const rows = [...body.children];
    const from = rows.findIndex((each) => each.classList.contains("here"));
    const next = rows[Math.max(0, Math.min(rows.length - 1, from < 0 ? 0 : from + by))];
    for (const each of rows) each.classList.toggle("here", each === next);
    next?.querySelector("a")?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  body.addEventListener("focusin", (event) => {
    for (const each of body.children) each.classList.toggle("here", each.contains(event.target));
  });
  const deaf = hear((parts) => { if (parts.has("jobs") || parts.has("all")) load(); });
  load();
  return {
    whole, close: deaf, find: (words) => turn({ find: words, page: 0 }),
    keys: { j: () => row(1), k: () => row(-1), n: () => page(1), p: () => page(-1) },
  };
}
