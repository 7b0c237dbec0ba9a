// The live card under a cell. Foreign text only ever reaches the page through textContent.
// Model: view (dict, see notebook/card_view.py), log (string), outputs (list of nbformat outputs).
// Messages to the kernel: {kind: "cancel"} (when this page's server does not know the task) and {kind: "outputs"}
// (when the card was not replaced at the end, because the page was loaded anew in between).

import { button, clock, flash, make, postToServer, setText, table, toggle } from "./drawing.js";

function twoSentences(what, next) {
  // what happened may be an error's own words, without a full stop
  return what && next && !/[.!?:]$/.test(what) ? `${what}. ${next}` : [what, next].filter(Boolean).join(" ");
}

// -- the parts of a card ----------------------------------------------------------------------------------------

function build(el) {
  const parts = { card: make("div", "jd-card jd-live") };
  const { card } = parts;
  card.setAttribute("role", "group");

  const top = make("div", "jd-row jd-top");
  parts.head = make("div", "jd-head");
  parts.name = make("span", "jd-name");
  parts.state = make("span", "jd-state");
  parts.state.setAttribute("role", "status");
  parts.mark = make("span", "jd-mark");
  parts.mark.setAttribute("aria-hidden", "true");
  parts.word = make("span", "jd-word");
  parts.state.append(parts.mark, " ", parts.word);
  parts.where = make("span", "jd-where");
  parts.fact = make("span", "jd-fact");
  parts.head.append(parts.name, parts.state, parts.where, parts.fact);
  const buttons = make("div", "jd-buttons");
  parts.logButton = button("log", "Show more of the job's log", "jd-button-log");
  parts.cancelButton = button("cancel", "Cancel the job at its site", "jd-button-cancel");
  parts.moreButton = button("⋯", "Details: what travelled, times, folder", "jd-button-more");
  parts.moreButton.setAttribute("aria-label", "details");
  buttons.append(parts.logButton, parts.cancelButton, parts.moreButton);
  top.append(parts.head, buttons);

  parts.progress = make("div", "jd-row jd-progress");
  parts.bar = make("div", "jd-bar");
  parts.bar.setAttribute("role", "progressbar");
  parts.bar.setAttribute("aria-label", "elapsed of its time limit");
  parts.fill = make("div");
  parts.bar.append(parts.fill);
  parts.elapsed = make("span", "jd-elapsed");
  parts.timing = make("span", "jd-timing");
  parts.progress.append(parts.bar, parts.elapsed, parts.timing);

  parts.staging = make("div", "jd-moves");
  parts.sentence = make("div", "jd-sentence");
  parts.trouble = make("div", "jd-trouble");
  parts.note = make("div", "jd-note");
  parts.last = make("pre", "jd-last");
  parts.log = make("pre", "jd-log");
  parts.log.tabIndex = 0;
  parts.whyRow = make("div", "jd-row");
  parts.why = make("div", "jd-why");
  parts.candidatesButton = button("", "Every place that was considered, with its reason", "jd-link jd-button-candidates");
  parts.whyRow.append(parts.why, parts.candidatesButton);
  parts.candidates = make("div", "jd-scroll");
  parts.more = make("div", "jd-scroll");
  parts.outputs = make("div", "jd-outputs");
  card.append(
    top, parts.progress, parts.staging, parts.sentence, parts.trouble, parts.note, parts.last, parts.log, parts.whyRow,
    parts.candidates, parts.more, parts.outputs,
  );
  el.append(card);
  return parts;
}

// -- what a view says -------------------------------------------------------------------------------------------

function showHead(parts, view) {
  const { card } = parts;
  if (card.dataset.state && card.dataset.state !== view.state) {
    flash(card);
  }
  card.dataset.diamondTask = view.task_id;
  card.dataset.state = view.state;
  card.dataset.tone = view.tone;
  card.toggleAttribute("data-simulated", view.simulated);
  card.setAttribute("aria-label", `task ${view.name}`);
  setText(parts.name, view.name);
  setText(parts.mark, view.glyph);
  setText(parts.word, view.word);
  setText(parts.where, view.where);
  const facts = [view.job, view.size];
  if (view.elapsed_s !== null) facts.push(clock(view.elapsed_s));
  if (view.charge) facts.push(view.charge);
  if (view.bound) facts.push(`${view.bound} in the kernel`);
  if (view.simulated) facts.push("simulated");
  setText(parts.fact, facts.filter(Boolean).map((text) => ` · ${text}`).join(""));
  parts.head.title = parts.head.textContent;
  parts.cancelButton.hidden = view.ended;
  parts.cancelButton.disabled = !view.can_cancel || view.result_ready;
  setText(parts.cancelButton, view.cancelling ? "cancelling…" : "cancel");
}

function showLines(parts, view) {
  for (const key of ["sentence", "trouble", "note"]) {
    const text = key === "sentence" ? twoSentences(view.sentence, view.action) : view[key];
    setText(parts[key], text);
    parts[key].hidden = !text;
  }
  setText(parts.why, view.why_here ? `why here: ${view.why_here}` : "");
  parts.why.title = view.why_here;
  parts.whyRow.hidden = !view.why_here && view.candidates.length < 2;
  parts.candidatesButton.hidden = view.candidates.length < 2;
  const arrow = parts.candidates.hidden ? "▸" : "▾";
  setText(parts.candidatesButton, `${arrow} ${view.candidates.length} candidates`);
}

/** One row a movement: a bar while it moves, what is wrong with it, and one button where the user is needed. */
function showStaging(parts, view) {
  const rows = view.staging ?? []; // a card of an older version has none
  parts.staging.hidden = !rows.length;
  const asked = document.activeElement?.closest?.(".jd-move")?.dataset.transfer;
  parts.staging.replaceChildren(...rows.map(moveRow));
  if (asked) parts.staging.querySelector(`[data-transfer="${CSS.escape(asked)}"] a`)?.focus();
}

function moveRow(row) {
  const element = make("div", "jd-move");
  element.dataset.transfer = row.transfer;
  element.dataset.tone = row.tone;
  const line = make("div", "jd-row");
  line.append(make("span", "jd-mark", row.glyph), make("span", "jd-what", row.what));
  if (row.moving) {
    const bar = make("div", "jd-bar");
    bar.setAttribute("role", "progressbar");
    bar.setAttribute("aria-label", `how much of ${row.what} is there`);
    const fill = make("div");
    if (row.share !== null) {
      const percent = Math.floor(100 * row.share);
      fill.style.width = `${percent}%`;
      bar.setAttribute("aria-valuenow", String(percent));
    }
    bar.append(fill);
    line.append(bar);
  }
  line.append(make("span", "jd-far", [row.word, row.text].filter(Boolean).join(" · ")));
  element.append(line);
  if (row.sentence) element.append(make("div", "jd-trouble", row.sentence));
  if (/^https?:\/\//i.test(row.link)) {
    const link = make("a", "jd-button jd-needed", "Give what it needs");
    link.href = row.link;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    element.append(link);
  }
  return element;
}

function showTables(parts, view) {
  if (!parts.candidates.hidden) {
    const rows = view.candidates.map((c) => [c.place, c.size, c.starts, c.charge, c.reason]);
    parts.candidates.replaceChildren(
      table("jd-candidates", ["place", "size", "starts", "charge", "reason"], rows, (i) => view.candidates[i].chosen));
  }
  if (!parts.more.hidden) {
    const names = view.captured.map((c) => [c.name, c.type, c.travels, c.size, c.detail]);
    parts.more.replaceChildren();
    if (names.length) parts.more.append(table("jd-captured", ["name", "type", "travels as", "size", ""], names));
    parts.more.append(table("jd-facts", [], view.facts));
  }
}

function showTime(parts, view, skew) {
  const running = view.started_at !== null && !view.ended;
  parts.bar.hidden = parts.elapsed.hidden = !running;
  parts.timing.classList.toggle("jd-waiting", !running);
  setText(parts.timing, view.timing);
  parts.progress.hidden = !view.timing && !running;
  if (!running) return;
  const elapsed = Math.max(0, Date.now() / 1000 + skew - view.started_at);
  const limit = view.limit_s;
  setText(parts.elapsed, limit ? `${clock(elapsed, limit)} of ${clock(limit)}` : clock(elapsed));
  const percent = limit ? Math.min(100, (100 * elapsed) / limit) : 0;
  parts.fill.style.width = `${percent}%`;
  parts.bar.setAttribute("aria-valuenow", String(Math.round(percent)));
}

function showLog(parts, view, log) {
  const lines = log ? log.split("\n") : [];
  const open = parts.logButton.getAttribute("aria-expanded") === "true";
  parts.logButton.hidden = !lines.length;
  parts.last.hidden = open || !lines.length || view.ended;
  parts.log.hidden = !open;
  if (open) {
    const atEnd = parts.log.scrollHeight - parts.log.scrollTop - parts.log.clientHeight < 30;
    setText(parts.log, log);
    if (atEnd) parts.log.scrollTop = parts.log.scrollHeight;
  } else {
    parts.last.replaceChildren(...lines.slice(-3).map((line) => make("div", "", line || " ")));
  }
}

// -- the cell's own outputs, when no native slot stands below (a notebook that was opened again) -----------------

function joined(value) {
  return Array.isArray(value) ? value.join("") : String(value ?? "");
}

function htmlFrame(html) {
  // The user's own HTML: no scripts run, and it cannot reach the page.
  const frame = make("iframe");
  frame.setAttribute("sandbox", "allow-same-origin");
  frame.addEventListener("load", () => {
    const inner = frame.contentDocument;
    if (!inner) return;
    const look = getComputedStyle(frame.parentElement);
    Object.assign(inner.body.style, { margin: "0", color: look.color, font: look.font });
    frame.style.height = "1px"; // a frame never measures less than its own height
    frame.style.height = `${inner.documentElement.scrollHeight + 4}px`;
  });
  frame.srcdoc = html;
  return frame;
}

function outputElement(output) {
  if (output.output_type === "stream") return make("pre", "jd-stream", joined(output.text));
  if (output.output_type === "error") return make("pre", "jd-error", joined([].concat(output.traceback ?? []).join("\n")));
  const data = output.data ?? {};
  for (const type of ["image/png", "image/jpeg", "image/gif"]) {
    if (data[type]) {
      const image = make("img");
      image.src = `data:${type};base64,${joined(data[type]).replace(/\s/g, "")}`;
      image.alt = joined(data["text/plain"]);
      return image;
    }
  }
  if (data["image/svg+xml"]) {
    const image = make("img");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(joined(data["image/svg+xml"]))}`;
    return image;
  }
  if (data["text/html"]) return htmlFrame(joined(data["text/html"]));
  return make("pre", "", joined(data["text/plain"]));
}

// -- life -------------------------------------------------------------------------------------------------------

function render({ model, el }) {
  const parts = build(el);
  const view = () => model.get("view");
  // Seconds that the kernel's clock is ahead of the browser's. A view from the past is a card opened again, not skew.
  let skew = Math.max(0, view().now - Date.now() / 1000);
  let asked = 0;

  const time = () => showTime(parts, view(), skew);
  const log = () => showLog(parts, view(), model.get("log"));
  const all = () => {
    showHead(parts, view());
    showLines(parts, view());
    showStaging(parts, view());
    showTables(parts, view());
    time();
    log();
    askOutputs();
  };
  const askOutputs = () => {
    if (!view().ended || asked || model.get("outputs").length) return;
    asked = setTimeout(() => el.isConnected && model.send({ kind: "outputs" }), 1000);
  };
  const outputs = () => parts.outputs.replaceChildren(...model.get("outputs").map(outputElement));
  const fresh = () => {
    skew = view().now - Date.now() / 1000;
    all();
  };

  toggle(parts.logButton, parts.log, () => log());
  toggle(parts.candidatesButton, parts.candidates, () => { showLines(parts, view()); showTables(parts, view()); });
  toggle(parts.moreButton, parts.more, () => showTables(parts, view()));
  parts.cancelButton.addEventListener("click", async () => {
    parts.cancelButton.disabled = true;
    setText(parts.cancelButton, "cancelling…");
    const done = await postToServer(`tasks/${encodeURIComponent(view().task_id)}/cancel`).catch(() => false);
    if (!done) model.send({ kind: "cancel" }); // the kernel may belong to another server, and knows it
  });

  model.on("change:view", fresh);
  model.on("change:log", log);
  model.on("change:outputs", outputs);
  all();
  outputs();
  const ticking = setInterval(time, 1000);
  return () => {
    clearInterval(ticking);
    clearTimeout(asked);
    model.off("change:view", fresh);
    model.off("change:log", log);
    model.off("change:outputs", outputs);
  };
}

export default { render };
