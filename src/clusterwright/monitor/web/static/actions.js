// Changes: asked for once more, sent, and what came of it said.
import { el, put } from "./dom.js";
import { t } from "./words.js";
import { act } from "./store.js";

const dialog = document.getElementById("ask"), line = document.getElementById("said");
let fading = 0;

/** A sentence at the foot of the page, for some seconds. */
export function say(text) {
  line.textContent = text;
  line.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { line.hidden = true; }, 6000);
}

function trouble(answer) {
  if (answer.done) return t("act.done");
  if (answer.error === "failed") return t("error.failed", answer.said);
  const known = ["role", "sign-in", "token", "reason", "busy"].includes(answer.error);
  return known ? t(`error.${answer.error}`) : t("error.other", answer.error ?? "");
}

/** Ask, with a line for the reason where `label` is given; do it when the answer is yes. */
export function confirm(question, path, label = "") {
  const reason = label ? el("input", { maxlength: 120, required: true, autocomplete: "off" }) : null;
  const form = el("form", { method: "dialog" }, el("p", {}, question),
    reason && el("label", {}, label, reason),
    el("p", { class: "ends" },
      el("button", { type: "button", autofocus: !label, on: { click: () => dialog.close() } }, t("act.no")),
      el("button", { type: "submit", class: "main" }, t("act.yes"))));
  put(dialog, form);
  dialog.setAttribute("aria-label", question);
  return new Promise((resolve) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      dialog.close();
      say(t("act.doing"));
      const answer = await act(path, reason ? { reason: reason.value } : {}).catch(() => ({ error: "" }));
      say(trouble(answer));
      resolve();
    });
    dialog.addEventListener("close", () => resolve(), { once: true });
    dialog.showModal();
    reason?.focus();
  });
}
