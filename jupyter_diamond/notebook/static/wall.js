// The live wall. Foreign text only ever reaches the page through textContent.
// Model: wall (see notebook/wall_view.py). The kernel sends {kind: "patch", strip, order?, sites?, rows?}: only what
// changed. A page sends {kind: "refresh"} when its own server cannot be asked to read the sites now.

import { age, button, compact, flash, make, moment, number, postToServer, setText } from "./drawing.js";

const SEGMENTS = 8;
const OLD_S = 120; // two ticks of the probe
const STALE_S = 600; // placement does not take such numbers any more
const GAP = 8;
const SHOWN = 10; // partitions of a site before "more"

// -- the model: patches are merged once, whatever number of views there is -----------------------------------------

function merged(wall, patch) {
  const sites = { ...wall.sites, ...patch.sites };
  const rows = { ...wall.rows };
  for (const [site, changed] of Object.entries(patch.rows ?? {})) {
    rows[site] = { ...rows[site], ...changed };
    for (const [part, row] of Object.entries(changed)) if (row === null) delete rows[site][part];
  }
  return { strip: patch.strip, order: patch.order ?? wall.order, sites, rows };
}

function initialize({ model }) {
  const heard = (message) => {
    if (message?.kind === "patch") model.set("wall", merged(model.get("wall"), message));
  };
  model.on("msg:custom", heard);
  return () => model.off("msg:custom", heard);
}

// -- filter and order ----------------------------------------------------------------------------------------------

/** Partitions of a site that every word of the filter names, by their own name and kind or by their site's. */
function matching(site, rows, words) {
  const about = `${site.name} ${site.means} ${site.word}`.toLowerCase();
  const left = words.filter((word) => !about.includes(word));
  const parts = site.partitions.filter((part) => rows[part]);
  if (!left.length) return parts;
  return parts.filter((part) => {
    const row = rows[part];
    const said = `${row.name} ${row.kind} ${row.unit} ${row.state}`.toLowerCase();
    return left.every((word) => said.includes(word));
  });
}

/** Unknown comes last, whatever the order. */
const ORDERS = {
  name: ["name", null],
  gpus: ["free GPUs", (site) => (site.gpus_free === null ? null : site.gpus_free)],
  busy: ["least busy", (site, rows) => {
    const known = Object.values(rows).filter((row) => row.busy !== null && row.total > 0);
    const total = known.reduce((sum, row) => sum + row.total, 0);
    return total ? -known.reduce((sum, row) => sum + row.busy, 0) / total : null;
  }],
  depth: ["shortest queue", (site) => (site.pending === null ? null : -site.pending)],
};

function ordered(wall, key) {
  const score = ORDERS[key][1];
  if (!score) return wall.order.slice().sort((a, b) => before(wall, a, b) || a.localeCompare(b));
  const scores = new Map(wall.order.map((name) => [name, score(wall.sites[name], wall.rows[name] ?? {})]));
  const value = (name) => scores.get(name) ?? -Infinity;
  return wall.order.slice().sort((a, b) => before(wall, a, b) || (value(b) > value(a) ? 1 : value(b) < value(a) ? -1 : a.localeCompare(b)));
}

const before = (wall, a, b) => Number(wall.sites[a].simulated) - Number(wall.sites[b].simulated);

// -- parts ---------------------------------------------------------------------------------------------------------

function buildBar() {
  const bar = make("div", "jd-busybar");
  bar.setAttribute("role", "img");
  return bar;
}

function showBar(bar, row) {
  const known = row.open && row.busy !== null && row.total !== null;
  const { busy, total } = row;
  const lit = !known ? "?" : busy <= 0 || total <= 0 ? 0 : busy >= total ? SEGMENTS
    : Math.min(SEGMENTS - 1, Math.max(1, Math.round((SEGMENTS * busy) / total)));
  const said = known ? `${number(busy)} of ${number(total)} ${row.unit}s busy` : `busy ${row.unit}s not known`;
  bar.setAttribute("aria-label", said);
  if (bar.dataset.lit === String(lit)) return;
  bar.dataset.lit = String(lit);
  bar.classList.toggle("jd-unknown", !known);
  bar.replaceChildren(...(known ? Array.from({ length: SEGMENTS }, (_, at) => make("i", at < lit ? "jd-lit" : "")) : []));
}

function buildRow(open) {
  const line = make("tr", "jd-row");
  const parts = { line, part: button("", "", "jd-part"), bar: buildBar(), num: make("span", "jd-num"), unit: make("span", "jd-unit") };
  const cell = (...children) => {
    const made = line.insertCell();
    made.append(...children);
    return made;
  };
  cell(parts.part);
  cell(parts.bar);
  parts.free = cell(parts.num, " ", parts.unit);
  parts.pending = cell();
  parts.mine = cell();
  parts.cap = cell();
  parts.detail = make("tr", "jd-detail");
  parts.detail.hidden = true;
  parts.facts = parts.detail.insertCell();
  parts.facts.colSpan = 6;
  parts.part.setAttribute("aria-expanded", "false");
  parts.part.addEventListener("click", () => {
    parts.detail.hidden = !parts.detail.hidden;
    parts.part.setAttribute("aria-expanded", String(!parts.detail.hidden));
    open();
  });
  return parts;
}

function showRow(parts, row, site) {
  const { line } = parts;
  line.dataset.partition = row.name;
  line.dataset.free = row.open ? row.free ?? "?" : row.state;
  line.dataset.pending = row.pending ?? "?";
  line.classList.toggle("jd-closed", !row.open);
  line.classList.toggle("jd-none", row.free === 0);
  setText(parts.part, row.name);
  showBar(parts.bar, row);
  setText(parts.num, row.open ? compact(row.free) : "");
  setText(parts.unit, row.open ? `${row.unit}${row.free === 1 ? "" : "s"}` : row.state);
  setText(parts.pending, compact(row.pending));
  parts.pending.classList.toggle("jd-quiet", !row.pending);
  const mine = [[row.mine_running, "●"], [row.mine_pending, "○"]].filter(([count]) => count !== 0);
  setText(parts.mine, mine.map(([count, mark]) => `${compact(count)}${mark}`).join(" "));
  setText(parts.cap, row.cap);
  const read = site.read_at === null ? "never read" : `read ${moment(site.read_at, true)}`;
  line.title = [row.name, ...row.facts, read].join("\n");
  setText(parts.facts, [...row.facts, read].join(" · "));
}

function buildSite(redraw) {
  const card = make("section", "jd-site");
  const parts = { card, rows: new Map(), all: false };
  const head = make("div", "jd-head");
  parts.name = make("span", "jd-name");
  parts.means = make("span", "jd-means");
  parts.age = make("span", "jd-age");
  parts.health = make("span", "jd-health");
  parts.health.setAttribute("role", "status");
  parts.mark = make("span", "jd-mark");
  parts.mark.setAttribute("aria-hidden", "true");
  parts.word = make("span", "jd-word");
  parts.health.append(parts.mark, parts.word);
  head.append(parts.name, parts.means, parts.age, parts.health);
  parts.head = head;
  parts.problem = make("div", "jd-problem");
  parts.table = make("table", "jd-rows");
  const columns = make("colgroup");
  for (const name of ["part", "busy", "free", "pending", "mine", "cap"]) columns.append(make("col", `jd-c-${name}`));
  const heads = make("thead").appendChild(make("tr"));
  for (const [text, title] of [["partition", ""], ["busy", "Share of GPUs that is taken; of cores where there are none"],
    ["free", "What a job could really get now"], ["pending", "Jobs that wait there"],
    ["yours", "● running, ○ pending"], ["limit", "How long one job may run"]]) {
    const made = make("th", "", text);
    made.scope = "col";
    if (title) made.title = title;
    heads.append(made);
  }
  parts.body = make("tbody");
  parts.table.append(columns, heads.parentElement, parts.body);
  parts.more = button("", "", "jd-more");
  parts.more.addEventListener("click", () => {
    parts.all = !parts.all;
    redraw();
  });
  parts.empty = make("div", "jd-empty");
  parts.empty.style.padding = "0 10px 4px";
  card.append(head, parts.problem, parts.table, parts.more, parts.empty);
  return parts;
}

function showSite(parts, site, rows, shown) {
  const { card } = parts;
  if (card.dataset.health && card.dataset.health !== site.health) {
    flash(parts.health);
  }
  card.dataset.site = site.name;
  card.dataset.health = site.health;
  card.dataset.tone = site.tone;
  card.toggleAttribute("data-simulated", site.simulated);
  card.setAttribute("aria-label", `site ${site.name}`);
  setText(parts.name, site.name);
  setText(parts.means, site.means);
  setText(parts.mark, site.mark);
  setText(parts.word, site.word);
  parts.head.title = site.title;
  const visible = parts.all || shown.length <= SHOWN + 1 ? shown : shown.slice(0, SHOWN);
  const lines = visible.flatMap((name) => {
    if (!parts.rows.has(name)) parts.rows.set(name, buildRow(() => {}));
    const row = parts.rows.get(name);
    showRow(row, rows[name], site);
    return [row.line, row.detail];
  });
  for (const name of parts.rows.keys()) if (!rows[name]) parts.rows.delete(name);
  keep(parts.body, lines);
  parts.table.hidden = !lines.length;
  parts.more.hidden = shown.length <= SHOWN + 1;
  setText(parts.more, parts.all ? "fewer" : `${shown.length - visible.length} more`);
  parts.empty.hidden = lines.length > 0 || Boolean(site.problem);
  setText(parts.empty, site.read_at === null ? "Not read yet." : "It shows no partitions.");
}

/** Put children in order without moving those that stand right: moving one takes the focus from it. */
function keep(parent, children) {
  children.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

function showProblem(parts, site, now) {
  const again = site.again !== null && site.again > now ? `; tried again at ${moment(site.again)}` : "";
  const since = site.since === null ? "" : ` Since ${moment(site.since)}${again}.`;
  const text = site.problem ? site.problem + since : "";
  setText(parts.problem, text);
  parts.problem.hidden = !text;
}

function showAge(parts, site, now) {
  const seconds = site.read_at === null ? null : now - site.read_at;
  const old = seconds === null || seconds > OLD_S;
  const stale = site.health === "offline" || (seconds !== null && seconds > STALE_S);
  parts.card.toggleAttribute("data-stale", stale);
  parts.age.toggleAttribute("data-old", (old || stale) && seconds !== null);
  setText(parts.age, seconds === null ? "never read" : `${age(seconds)}${old ? " old" : ""}`);
  parts.age.title = seconds === null ? "" : `read ${moment(site.read_at, true)}`;
}

function buildTop(redraw) {
  const top = make("div", "jd-top");
  const parts = { top, sums: [] };
  for (let at = 0; at < 4; at++) {
    const sum = make("div", "jd-sum");
    const value = make("div", "jd-value");
    const label = make("div", "jd-label");
    sum.append(value, label);
    parts.sums.push({ sum, value, label });
    top.append(sum);
  }
  parts.lacking = make("div", "jd-lacking");
  top.append(parts.lacking);
  const tools = make("div", "jd-tools");
  parts.filter = make("input", "jd-filter");
  parts.filter.type = "search";
  parts.filter.placeholder = "site, partition, kind";
  parts.filter.setAttribute("aria-label", "Show only sites and partitions with these words");
  parts.filter.addEventListener("input", redraw);
  parts.sort = make("select", "jd-sort");
  parts.sort.setAttribute("aria-label", "Order of the sites");
  for (const [key, [text]] of Object.entries(ORDERS)) {
    const option = make("option", "", `by ${text}`);
    option.value = key;
    parts.sort.append(option);
  }
  parts.sort.addEventListener("change", redraw);
  parts.ask = button("Read now", "Ask every site now", "jd-button jd-ask");
  tools.append(parts.filter, parts.sort, parts.ask);
  top.append(tools);
  // letters typed here are for the filter, not for the notebook; Ctrl+S still saves
  for (const element of [parts.filter, parts.sort]) {
    element.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
    });
  }
  return parts;
}

function showStrip(parts, strip) {
  const lacking = new Set();
  strip.sums.forEach((total, at) => {
    const { sum, value, label } = parts.sums[at];
    const least = total.value !== null && total.without.length > 0;
    setText(value, total.value === null ? "?" : `${least ? "≥ " : ""}${number(total.value)}`);
    setText(label, strip.simulated ? `${total.label}, simulated` : total.label);
    sum.dataset.sum = total.label;
    for (const name of total.without) lacking.add(name);
    sum.title = total.without.length ? `${least ? "At least: not" : "Not"} known of ${total.without.join(", ")}` : "";
  });
  const names = [...lacking];
  setText(parts.lacking, names.length ? `Not all is known of ${names.slice(0, 4).join(", ")}${names.length > 4 ? " …" : ""}` : "");
  parts.lacking.hidden = !names.length;
}

// -- life ----------------------------------------------------------------------------------------------------------

/** A card spans as many rows of one pixel as it is high. */
function fit() {
  return new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const rows = `span ${Math.ceil(target.getBoundingClientRect().height) + GAP}`;
      if (target.style.gridRowEnd !== rows) target.style.gridRowEnd = rows;
    }
  });
}

function render({ model, el }) {
  const root = make("div", "jd-wall jd-wall-live");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "All sites");
  const cards = new Map();
  const heights = fit();
  const wall = () => model.get("wall");
  // Seconds that the kernel's clock is ahead of the browser's. A wall from the past is one opened again, not skew.
  let skew = Math.max(0, wall().strip.now - Date.now() / 1000);

  const draw = () => {
    const now = wall();
    const words = top.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    showStrip(top, now.strip);
    setText(banner, now.strip.trouble);
    banner.hidden = !now.strip.trouble;
    const standing = [];
    for (const name of ordered(now, top.sort.value)) {
      const site = now.sites[name];
      const rows = now.rows[name] ?? {};
      const shown = matching(site, rows, words);
      const named = words.every((word) => `${site.name} ${site.means} ${site.word}`.toLowerCase().includes(word));
      if (words.length && !shown.length && !named) continue;
      if (!cards.has(name)) {
        cards.set(name, buildSite(draw));
        heights.observe(cards.get(name).card);
      }
      showSite(cards.get(name), site, rows, shown);
      standing.push(cards.get(name).card);
    }
    for (const name of cards.keys()) if (!now.sites[name]) cards.delete(name);
    keep(sites, standing);
    empty.hidden = standing.length > 0;
    setText(empty, now.order.length ? "No site or partition has these words." : "No sites yet: jupyter diamond init-sites writes a catalogue to fill in.");
    tick();
  };
  const tick = () => {
    const now = Date.now() / 1000 + skew;
    for (const [name, parts] of cards) {
      showAge(parts, wall().sites[name], now);
      showProblem(parts, wall().sites[name], now);
    }
  };
  const fresh = () => {
    skew = wall().strip.now - Date.now() / 1000;
    draw();
  };

  const top = buildTop(() => draw());
  const banner = make("div", "jd-banner");
  banner.setAttribute("role", "alert");
  const sites = make("div", "jd-sites");
  const empty = make("div", "jd-empty");
  root.append(top.top, banner, sites, empty);
  el.append(root);
  top.ask.addEventListener("click", async () => {
    top.ask.disabled = true;
    setText(top.ask, "Reading…");
    const done = await postToServer("sites/refresh").catch(() => false);
    if (!done) model.send({ kind: "refresh" }); // the kernel may belong to another server, and knows it
    top.ask.disabled = false;
    setText(top.ask, "Read now");
  });

  model.on("change:wall", fresh);
  draw();
  const ticking = setInterval(tick, 1000);
  return () => {
    clearInterval(ticking);
    heights.disconnect();
    model.off("change:wall", fresh);
  };
}

export default { initialize, render };
