// One job, and one node.
import { el, put, meter, facts } from "./dom.js";
import { t, count, brief, percent, fine, loss, bytes, degrees, watts, at, span, since } from "./words.js";
import { store, hear, ask, NODE } from "./store.js";
import { curve } from "./curve.js";
import { LOW, explanation, useOf, progress } from "./lists.js";
import { confirm } from "./actions.js";

const jobLink = (id) => el("a", { href: `#/job/${encodeURIComponent(id)}` }, id);
export const nodeLink = (name) => el("a", { href: `#/node/${encodeURIComponent(name)}` }, name);
const listed = (parts) => parts.flatMap((part, number) => (number ? [" ", part] : [part]));
const when = (moment) => (moment == null ? null : `${at(moment)} (${t("unit.ago", since(moment, store.taken))})`);

/** A view that asks its address again whenever the picture changes. */
function asking(path, gone, draw) {
  const whole = el("div", {}, el("p", { class: "soft" }, t("top.loading")));
  let busy = false, again = false;
  async function load() {
    again = busy; // what changed while it was being asked is asked for after it
    if (busy) return;
    busy = true;
    const answer = await ask(path).catch(() => undefined);
    busy = false;
    if (answer === null) put(whole, el("p", { class: "note warn" }, gone));
    else if (answer) draw(whole, answer, load);
    if (again) load();
  }
  const deaf = hear((parts) => { if (parts.has("jobs") || parts.has("nodes") || parts.has("all")) load(); });
  load();
  return { whole, close: deaf };
}

export function job(id) {
  const curves = {
    loss: curve(t("curve.loss"), { form: loss, steps: true }),
    tokens: curve(t("curve.tokens"), { form: brief, floor: 0 }),
    mfu: curve(t("curve.mfu"), { form: fine, tick: percent, floor: 0 }),
    use: curve(t("curve.use"), { form: percent, floor: 0 }),
  };
  const top = el("div", { class: "head" }), known = el("div", { class: "card" }), ran = el("div", { class: "card" });
  const drawn = el("div", { class: "columns" });

  function draw(whole, job, load) {
    if (!whole.contains(top)) put(whole, top, known, ran, drawn);
    put(top, el("h1", {}, t("view.job", job.id), " ", el("span", { class: "soft" }, job.name)),
      el("span", { class: "chip" }, job.state),
      el("span", { class: "end" }, job.may.includes("cancel") ? el("button", {
        type: "button", class: "bad",
        on: { click: () => confirm(t("job.cancel.ask", job.id), `/api/job/${encodeURIComponent(id)}/cancel`).then(load) },
      }, t("job.cancel")) : null));
    put(known, facts([
      [t("job.user"), job.user], [t("job.team"), job.account], [t("job.partition"), job.partition],
      [t("job.gpus"), count(job.gpus)], [t("job.cpus"), count(job.cpus)], [t("job.priority"), count(job.priority)],
      [t("job.submitted"), when(job.submitted)], [t("job.started"), when(job.started)],
      [t("job.expected"), job.expected && at(job.expected)], [t("job.ends"), job.ends && at(job.ends)],
      [t("job.use"), job.utilisation == null ? null : useOf(job)],
      [t("job.explanation"), explanation(job), true], [t("job.reason"), job.reason, true],
      [t("job.nodes"), job.hosts.length ? listed(job.hosts.map(nodeLink)) : null, true],
    ]));
    const run = job.run;
    ran.hidden = !run;
    if (run) put(ran, facts([
      [t("run.name"), run.name, true], [t("run.state"), run.state], [t("run.step"), progress(run)], [t("run.loss"), loss(run.loss)],
      [t("run.tokens"), brief(run.tokens_per_s)], [t("run.samples"), brief(run.samples_per_s)], [t("run.mfu"), fine(run.mfu)],
      [t("run.eta"), span(run.eta_s)], [t("run.goodput"), fine(run.goodput)], [t("run.data"), fine(run.data_wait)],
      [t("run.communication"), fine(run.communication)],
      [t("run.checkpoint"), run.checkpoint_age_s == null ? null : t("unit.ago", span(run.checkpoint_age_s))],
      [t("run.slow"), run.slow_rank],
    ]));
    show(job);
  }

  function show({ run, trail }) {
    const over = (name) => trail.at.map((moment, each) => [moment, trail[name][each]]);
    const have = (name) => trail[name].some((value) => value != null);
    const wanted = { loss: run, tokens: run && have("tokens_per_s"), mfu: run && have("mfu"), use: have("utilisation") };
    const cards = Object.keys(curves).filter((name) => wanted[name]).map((name) => curves[name].card);
    if (cards.length !== drawn.children.length || cards.some((card, each) => drawn.children[each] !== card)) put(drawn, cards);
    if (run) curves.loss.update([{ name: t("run.loss"), points: run.curve }]);
    curves.tokens.update([{ name: t("run.tokens"), points: over("tokens_per_s") }]);
    curves.mfu.update([{ name: t("run.mfu"), points: over("mfu") }]);
    curves.use.update([{ name: t("job.use"), points: over("utilisation") }]);
  }

  const view = asking(`/api/job/${encodeURIComponent(id)}`, t("job.gone", id), draw);
  const close = view.close;
  view.close = () => { close(); for (const each of Object.values(curves)) each.close(); };
  return view;
}

export function node(name) {
  return asking(`/api/node/${encodeURIComponent(name)}`, t("node.gone", name), (whole, node, load) => {
    const path = `/api/node/${encodeURIComponent(name)}`;
    const acts = {
      drain: () => confirm(t("node.drain.ask", name), `${path}/drain`, t("node.drain.reason")).then(load),
      resume: () => confirm(t("node.resume.ask", name, node.reason || "–"), `${path}/resume`).then(load),
    };
    put(whole,
      el("div", { class: "head" }, el("h1", {}, t("view.node", node.name)),
        el("span", { class: `chip ${node.kind}` }, t(`kind.${node.kind}`)),
        el("span", { class: "end" }, node.may.map((act) => el("button", {
          type: "button", class: act === "drain" ? "bad" : "main", on: { click: acts[act] },
        }, t(`node.${act}`))))),
      el("div", { class: "card" }, facts([
        [t("node.reason"), node.reason, true], [t("node.by"), node.by && t(`by.${node.by}`)], [t("node.since"), when(node.since)],
        [t("node.state"), node.word], [t("node.group"), node.group], [t("node.leaf"), node.leaf],
        [t("node.partitions"), node.partitions.join(", ")], [t("node.cpus"), `${count(node.cpus_used)} / ${count(node.cpus)}`],
        [t("node.load"), brief(node.load)],
        [t("node.memory"), node.memory_used == null ? null : meter(node.memory_used / node.memory_total, { text: `${bytes(node.memory_used)} / ${bytes(node.memory_total)}` })],
        [t("node.jobs"), node.jobs.length ? listed(node.jobs.map(jobLink)) : null, true],
      ])),
      node.gpus.length ? el("div", { class: "card" }, gpuTable(node.gpus)) : null);
  });
}

function gpuTable(gpus) {
  const heads = ["gpu.index", "gpu.use", "gpu.memory", "gpu.celsius", "gpu.watts", "gpu.job", "gpu.name"];
  const cells = (gpu) => [
    gpu.index, meter(gpu.utilisation, { text: percent(gpu.utilisation), low: Boolean(gpu.job) && gpu.utilisation < LOW }),
    meter(gpu.memory_total && gpu.memory_used != null ? gpu.memory_used / gpu.memory_total : null, { text: bytes(gpu.memory_used) }),
    degrees(gpu.celsius), watts(gpu.watts), gpu.job ? jobLink(gpu.job) : "", gpu.name];
  return el("table", { class: "lists" },
    el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col" }, t(key))))),
    el("tbody", {}, gpus.map((gpu) => el("tr", {}, cells(gpu).map((cell, each) => el("td", { "data-label": t(heads[each]) }, cell))))));
}

/** Where an alert's subject is to be seen, if it is a node or a job of ours. */
export function subject(name) {
  if (store.byName.has(name)) return nodeLink(name);
  return /^\d+(_\d+)?$/.test(name) ? jobLink(name) : name;
}
