// The words of the language that the page was asked in, and how numbers and times are said in it.
const root = document.documentElement;
export const lang = root.dataset.lang;
const words = (await import(`./words.${lang}.js`)).default;

/** The text of a key; {0} and {1} are filled in. A key that is missing shows itself. */
export function t(key, ...fill) {
  return (words[key] ?? key).replace(/\{(\d)\}/g, (_, at) => fill[at]);
}

const tag = root.lang;
const whole = new Intl.NumberFormat(tag, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(tag, { notation: "compact", maximumSignificantDigits: 3 });
const exact = new Intl.NumberFormat(tag, { maximumSignificantDigits: 4 });
const moment = new Intl.DateTimeFormat(tag, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clock = new Intl.DateTimeFormat(tag, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const minutes = new Intl.DateTimeFormat(tag, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(tag, { month: "short", day: "numeric" });

const NOTHING = "–";
const said = (form) => (value) => (value == null ? NOTHING : form(value));

export const count = said((value) => whole.format(value));
export const brief = said((value) => (Math.abs(value) < 10000 ? exact.format(value) : short.format(value)));
export const percent = said((value) => `${Math.round(value * 100)} %`);
export const fine = said((value) => `${(value * 100).toFixed(1)} %`);
export const loss = said((value) => exact.format(value));
export const degrees = said((value) => `${Math.round(value)} °C`);
export const watts = said((value) => `${Math.round(value)} W`);
export const bytes = said((value) => {
  const power = Math.max(0, Math.min(5, Math.floor(Math.log2(value || 1) / 10)));
  return `${short.format(value / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][power]}`;
});
export const at = said((value) => moment.format(value * 1000));
export const minute = said((value) => minutes.format(value * 1000));
export const time = said((value) => clock.format(value * 1000));
export const date = said((value) => day.format(value * 1000));

/** A span of seconds in its two largest units. */
export const span = said((seconds) => {
  const left = Math.max(0, Math.round(seconds));
  const parts = [["day", Math.floor(left / 86400)], ["hour", Math.floor(left / 3600) % 24],
    ["minute", Math.floor(left / 60) % 60], ["second", left % 60]];
  const first = parts.findIndex(([, many]) => many > 0);
  if (first < 0) return t("unit.second", 0);
  return parts.slice(first, first + (first < 2 ? 2 : 1)).filter(([, many]) => many > 0)
    .map(([unit, many]) => t(`unit.${unit}`, many)).join(" ");
});

export const since = (from, now) => span(from == null ? null : now - from);
