// What the card and the wall draw with. notebook/static_files.py puts it in front of each of them: a widget is one module.
// Foreign text only ever reaches the page through textContent.

export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function button(text, title, className) {
  const element = make("button", className, text);
  element.type = "button";
  if (title) element.title = title;
  return element;
}

/** Run the animation of jd-changed once more. */
export function flash(element) {
  element.classList.remove("jd-changed");
  void element.offsetWidth; // restarts it
  element.classList.add("jd-changed");
}

/** Heads and rows of texts; mark(index) makes a row stand out. */
export function table(kind, heads, rows, mark) {
  const element = make("table", `jd-table ${kind}`);
  if (heads.length) {
    const row = element.createTHead().insertRow();
    for (const head of heads) row.append(make("th", "", head));
  }
  const body = element.createTBody();
  rows.forEach((cells, index) => {
    const row = body.insertRow();
    if (mark && mark(index)) row.className = "jd-chosen";
    for (const cell of cells) row.insertCell().textContent = cell;
  });
  return element;
}

/** A button that opens and closes what is hidden. */
export function toggle(control, target, onOpen) {
  target.hidden = true;
  control.setAttribute("aria-expanded", "false");
  control.addEventListener("click", () => {
    target.hidden = !target.hidden;
    control.setAttribute("aria-expanded", String(!target.hidden));
    onOpen(!target.hidden);
  });
}

// -- numbers and times, in the words of notebook/vocabulary.py ---------------------------------------------------------

export const number = (count) => (count === null ? "?" : count.toLocaleString("en-US"));

/** A count that fits a narrow column. */
export function compact(count) {
  if (count === null || count < 10000) return count === null ? "?" : String(count);
  const [value, unit] = count < 999500 ? [count / 1000, "k"] : [count / 1e6, "M"];
  return (value < 100 ? String(Math.floor(value * 10) / 10) : String(Math.floor(value))) + unit;
}

/** A running clock; scale fixes the shape, so that two clocks compare. */
export function clock(seconds, scale = seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const two = (n) => String(n).padStart(2, "0");
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600), Math.floor(s / 60)];
  if (scale >= 86400) return `${d} d ${two(h % 24)}:${two(m % 60)}`;
  return scale >= 3600 ? `${h}:${two(m % 60)}:${two(s % 60)}` : `${two(m)}:${two(s % 60)}`;
}

export function age(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.floor(s / 60)} min`;
  return s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}

/** The reader's wall clock, with the date when it is not today's. */
export function moment(epoch, seconds = false) {
  const at = new Date(epoch * 1000);
  const two = (n) => String(n).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ""}`;
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getDate()} ${at.toLocaleString("en-GB", { month: "short" })} ${time}`;
}

// -- the server that made this page --------------------------------------------------------------------------------------

/** POST to its Diamond; true when it did it. A kernel that runs a cell would hear of a click only afterwards. */
export async function postToServer(path) {
  const config = JSON.parse(document.getElementById("jupyter-config-data")?.textContent || "{}");
  if (!config.baseUrl) return false;
  const headers = { "Content-Type": "application/json" };
  if (config.token) headers.Authorization = `token ${config.token}`;
  const xsrf = document.cookie.match(/(?:^|;\s*)_xsrf=([^;]*)/);
  if (xsrf) headers["X-XSRFToken"] = xsrf[1];
  const url = new URL(`${config.baseUrl.replace(/\/?$/, "/")}jupyter_diamond/api/${path}`, location.href);
  const answer = await fetch(url, { method: "POST", headers, body: "{}", credentials: "same-origin" });
  return answer.ok;
}
