// Teams, alerts and history.
import { el, put, meter } from "./dom.js";
import { t, lang, count, percent, since, at } from "./words.js";
import { store, hear, ask } from "./store.js";
import { curve } from "./curve.js";
import { subject } from "./details.js";

/** A table that is drawn anew when its part of the picture changes. */
function board(part, heads, rows, empty, hint) {
  const body = el("tbody"), nothing = el("p", { class: "soft" }, empty);
  const table = el("table", { class: "lists" },
    el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col" }, t(key))))), body);
  const whole = el("div", { class: "card" }, table, nothing, hint ? el("p", { class: "soft small" }, hint) : null);
  function draw() {
    const all = rows();
    table.hidden = !all.length;
    nothing.hidden = all.length > 0;
    if (body.contains(document.activeElement)) return;
    put(body, all.map(([kind, cells]) => el("tr", { class: kind }, cells.map((cell, each) =>
      el("td", { "data-label": t(heads[each]), class: heads[each] === "alert.summary" ? "broad" : null }, cell)))));
  }
  draw();
  return { whole, close: hear((parts) => { if (parts.has(part) || parts.has("all")) draw(); }) };
}

export function teams() {
  const heads = ["team.name", "team.used", "team.share", "team.fairshare", "team.gpus", "team.running", "team.waiting"];
  const rows = () => store.teams.map((team) => ["", [
    el("b", {}, team.name), meter(team.used, { text: percent(team.used), long: true, mark: team.share }), percent(team.share),
    team.fairshare == null ? "–" : team.fairshare.toFixed(2), count(team.gpus), count(team.running), count(team.waiting)]]);
  return board("teams", heads, rows, t("team.empty"), t("team.hint"));
}

const WEIGHT = { critical: 0, warning: 1, info: 2 };

export function alerts() {
  const heads = ["alert.severity", "alert.subject", "alert.summary", "alert.name", "alert.since"];
  const sorted = () => [...store.alerts].sort((a, b) =>
    a.muted - b.muted || (WEIGHT[a.severity] ?? 3) - (WEIGHT[b.severity] ?? 3) || b.since - a.since);
  const rows = () => sorted().map((alert) => [alert.muted ? "muted" : "", [
    [el("span", { class: `chip ${alert.severity}` }, alert.severity in WEIGHT ? t(`severity.${alert.severity}`) : alert.severity),
      alert.muted ? el("small", {}, " ", t("alert.muted")) : null],
    subject(alert.subject), (lang === "zh" && alert.summary_zh) || alert.summary,
    alert.runbook ? el("a", { href: alert.runbook, rel: "noreferrer noopener", target: "_blank", title: t("alert.runbook") }, alert.name) : alert.name,
    el("span", { title: at(alert.since) }, t("unit.ago", since(alert.since, store.taken)))]]);
  return board("alerts", heads, rows, t("alert.empty"));
}

const SPANS = ["hours", "day", "week", "month", "year"];

export function history(query, go) {
  const chosen = SPANS.includes(query.get("span")) ? query.get("span") : "day";
  const drawn = {
    nodes: [curve(t("history.nodes"), { form: count, floor: 0 }), [["nodes", "history.of"], ["up", "history.up"]]],
    gpus: [curve(t("history.gpus"), { form: count, floor: 0 }), [["gpus", "history.of"], ["gpus_used", "history.now"]]],
    use: [curve(t("history.use"), { form: percent, floor: 0 }), [["use", "history.use"]]],
    jobs: [curve(t("history.jobs"), { form: count, floor: 0 }), [["running", "history.running"], ["waiting", "history.waiting"]]],
    alerts: [curve(t("history.alerts"), { form: count, floor: 0 }), [["alerts", "history.alerts"]]],
  };
  const nothing = el("p", { class: "note", hidden: true }, t("history.empty"));
  const spans = el("span", { class: "seg", role: "group", "aria-label": t("history.span") }, SPANS.map((span) => el("button", {
    type: "button", "aria-pressed": String(span === chosen), on: { click: () => go({ span }) } }, t(`history.${span}`))));
  const whole = el("div", {}, el("div", { class: "bar" }, spans), nothing,
    el("div", { class: "columns" }, Object.values(drawn).map(([each]) => each.card)));
  let last = 0;
  async function load() {
    last = Date.now();
    const data = await ask(`/api/history?span=${chosen}`).catch(() => null);
    if (!data) return;
    nothing.hidden = data.at.length > 0;
    for (const [card, lines] of Object.values(drawn)) card.update(lines.map(([name, key]) => ({
      name: t(key), points: data.at.map((moment, each) => [moment, data[name][each]]) })));
  }
  const deaf = hear(() => { if (Date.now() - last > 60000) load(); });
  load();
  return { whole, close: () => { deaf(); for (const [each] of Object.values(drawn)) each.close(); } };
}
