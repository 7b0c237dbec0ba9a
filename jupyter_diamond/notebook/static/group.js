// The live card of a group. Foreign text only ever reaches the page through textContent.
// Model: view (dict, see notebook/group_view.py).
// Messages to the kernel: {kind: "cancel" | "hold" | "release"}, when this page's server does not know the group.

import { button, flash, make, number, postToServer, setText, table, toggle } from "./drawing.js";

function build(el) {
  const parts = { card: make("div", "jd-card jd-live jd-group") };
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
  parts.progress = make("span", "jd-progress-count");
  parts.fact = make("span", "jd-fact");
  parts.head.append(parts.name, parts.state, " ", parts.progress, parts.fact);
  const buttons = make("div", "jd-buttons");
  parts.holdButton = button("hold", "Submit nothing more of it for now", "jd-button-hold");
  parts.cancelButton = button("cancel", "Cancel all of its members at their sites", "jd-button-cancel");
  parts.moreButton = button("⋯", "Details: times, what each member is given", "jd-button-more");
  parts.moreButton.setAttribute("aria-label", "details");
  buttons.append(parts.holdButton, parts.cancelButton, parts.moreButton);
  top.append(parts.head, buttons);

  parts.bar = make("div", "jd-shares");
  parts.bar.setAttribute("role", "progressbar");
  parts.bar.setAttribute("aria-label", "members that have ended");
  parts.countRow = make("div", "jd-row jd-count-row");
  parts.counts = make("div", "jd-counts");
  parts.pace = make("span", "jd-timing");
  parts.countRow.append(parts.counts, parts.pace);
  parts.places = make("div", "jd-places");
  parts.failures = make("div", "jd-failures");
  parts.sentence = make("div", "jd-sentence");
  parts.note = make("div", "jd-note");
  parts.trouble = make("div", "jd-trouble");
  parts.why = make("div", "jd-why");
  parts.more = make("div", "jd-scroll");
  card.append(
    top, parts.bar, parts.countRow, parts.places, parts.failures, parts.sentence, parts.note, parts.trouble, parts.why,
    parts.more,
  );
  el.append(card);
  return parts;
}

function showHead(parts, view) {
  const { card } = parts;
  if (card.dataset.state && card.dataset.state !== view.state) flash(card);
  card.dataset.diamondGroup = view.group_id;
  card.dataset.state = view.state;
  card.dataset.tone = view.tone;
  card.setAttribute("aria-label", `group ${view.name}`);
  setText(parts.name, view.name);
  setText(parts.mark, view.glyph);
  setText(parts.word, view.word);
  setText(parts.progress, view.progress);
  setText(parts.fact, [view.rounds, view.elapsed, view.charge].filter(Boolean).map((text) => ` · ${text}`).join(""));
  parts.head.title = parts.head.textContent;
  parts.cancelButton.hidden = view.ended;
  parts.cancelButton.disabled = !view.can_cancel;
  setText(parts.cancelButton, view.cancelling ? "cancelling…" : "cancel");
  parts.holdButton.hidden = view.ended;
  parts.holdButton.disabled = !view.can_hold;
  setText(parts.holdButton, view.held ? "release" : "hold");
}

// Parts of the bar are as wide as their counts; those that are to come fill the rest.
function showBar(parts, view) {
  parts.bar.hidden = view.ended;
  parts.bar.setAttribute("aria-valuemax", String(view.members));
  parts.bar.setAttribute("aria-valuenow", String(view.ended_count));
  parts.bar.setAttribute("aria-valuetext", `${view.progress}: ${view.counts}`);
  const pieces = view.bar.map((part) => {
    const piece = make("div", "jd-share");
    piece.dataset.tone = part.tone;
    piece.style.flexGrow = String(part.count);
    piece.title = `${number(part.count)} ${part.word}`;
    return piece;
  });
  if (view.later) {
    const rest = make("div", "jd-share jd-later");
    rest.style.flexGrow = String(view.later);
    rest.title = `${number(view.later)} in later rounds`;
    pieces.push(rest);
  }
  parts.bar.replaceChildren(...pieces);
  parts.counts.replaceChildren(
    ...view.bar.map((part) => {
      const count = make("span", "jd-count");
      count.dataset.tone = part.tone;
      const mark = make("span", "jd-mark", part.glyph);
      mark.setAttribute("aria-hidden", "true");
      count.append(mark, ` ${number(part.count)} ${part.word}`);
      return count;
    }),
    ...(view.later ? [make("span", "jd-count", `${number(view.later)} ${view.ended ? "never sent" : "in later rounds"}`)] : []),
  );
  setText(parts.pace, view.pace);
}

function showLines(parts, view) {
  parts.places.replaceChildren(
    ...view.places.map((place) => {
      const row = make("div", "jd-place");
      row.append(make("span", "jd-place-count", `${number(place.ended)}/${number(place.total)}`), ` ${place.place}`);
      if (place.running) row.append(make("span", "jd-fact", ` ${number(place.running)} running`));
      if (place.wait) row.append(make("span", "jd-fact", ` ${place.wait}`));
      return row;
    }),
  );
  parts.places.hidden = !view.places.length;
  parts.failures.replaceChildren(
    ...view.failures.map((failure) => {
      const row = make("div", "jd-failure");
      const mark = make("span", "jd-mark", "✗");
      mark.setAttribute("aria-hidden", "true");
      row.append(mark, ` ${failure.text} `, make("span", "jd-fact", failure.cause));
      row.title = failure.cause;
      return row;
    }),
  );
  parts.failures.hidden = !view.failures.length;
  for (const [key, text] of [
    ["sentence", `${view.sentence} ${view.action}`.trim()], ["note", view.note], ["trouble", view.trouble],
    ["why", view.why_here ? `why here: ${view.why_here}` : ""],
  ]) {
    setText(parts[key], text);
    parts[key].hidden = !text;
  }
  parts.why.title = view.why_here;
  if (!parts.more.hidden) parts.more.replaceChildren(table("jd-facts", [], view.facts));
}

function render({ model, el }) {
  const parts = build(el);
  const all = () => {
    const view = model.get("view");
    showHead(parts, view);
    showBar(parts, view);
    showLines(parts, view);
  };
  const ask = (control, verb, meanwhile) => {
    control.addEventListener("click", async () => {
      const act = verb();
      control.disabled = true;
      setText(control, meanwhile(act));
      const group = encodeURIComponent(model.get("view").group_id);
      const done = await postToServer(`groups/${group}/${act}`).catch(() => false);
      if (!done) model.send({ kind: act }); // the kernel may belong to another server, and knows it
    });
  };
  toggle(parts.moreButton, parts.more, all);
  ask(parts.cancelButton, () => "cancel", () => "cancelling…");
  ask(parts.holdButton, () => (model.get("view").held ? "release" : "hold"), (act) => (act === "hold" ? "holding…" : "releasing…"));
  model.on("change:view", all);
  all();
  return () => model.off("change:view", all);
}

export default { render };
