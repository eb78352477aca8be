// Studies of the robot: what is computed, how it plays in the scene, and files of it.
import { make } from "./dom.js";

const INPUTS = { sliders: "as the sliders are", file: "as the file says" };
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
// what a slider says, beside it and to who listens
const told = (slider, beside, words) => (slider.setAttribute("aria-valuetext", words), (beside.textContent = words));
const number = (x) => String(Number(Number(x).toPrecision(4)));

export class Studies {
  constructor(panel, link, say) {
    Object.assign(this, { panel, link, say, state: { found: "" }, playing: null, given: {}, keys: new Set(), inputs: { simulate: "file" }, axes: [{}, {}], shape: "" });
    this.kind = "simulate";
    link.on("study", (state) => this.take(state));
    link.on("playback", (playing) => this.play(playing));
    link.on("export", ({ key, url }) => {
      if (!this.keys.delete(key)) return; // of another page
      make("a", { href: url, download: "" }).click();
    });
  }

  async open() {
    const known = await this.link.ask("studies");
    Object.assign(this, { forms: known.forms, span: known.span, varied: known.varied, writers: known.writers });
    if (!this.result) this.build();
    else this.fill();
    this.take(known.state, true);
    this.play(known.playback);
  }

  async run(what, given) {
    try {
      return await this.link.ask(what, given);
    } catch (error) {
      this.say(error.message, true);
    }
  }

  // one request at a time, the newest last
  follow(what, given) {
    this.next = [what, given];
    if (this.following) return;
    this.following = (async () => {
      while (this.next) {
        const [name, values] = this.next;
        this.next = null;
        await this.run(name, values);
      }
      this.following = null;
    })();
  }

  // -- what is asked for

  build() {
    const select = make("select", { id: "study-kind", "aria-label": "Study", onchange: () => ((this.kind = select.value), this.fill()) }, ...Object.entries(this.forms).map(([value, one]) => make("option", { value }, one.label)));
    this.ask = make("form", { "aria-label": "Options of the study" });
    this.ask.addEventListener("submit", (event) => (event.preventDefault(), this.start()));
    this.bar = make("progress", { max: 1, value: 0, "aria-label": "How far the study is" });
    this.words = make("div", { className: "words" });
    this.cancel = make("button", { type: "button", onclick: () => this.run("cancel") }, "Cancel");
    this.begin = make("button", { type: "button", onclick: () => this.start() }, "Compute");
    this.result = make("section", { "aria-label": "Result of the study" });
    const head = make("div", { className: "head" }, make("label", { className: "row" }, make("span", { className: "name" }, "Study"), select), make("div", { className: "buttons" }, this.begin, this.cancel, this.bar), this.words);
    this.panel.replaceChildren(head, this.ask, this.result);
    this.fill();
  }

  fill() {
    const { meaning, fields } = this.forms[this.kind], given = (this.given[this.kind] ??= {});
    const inputs = make("select", { "aria-label": "Inputs", onchange: (event) => (this.inputs[this.kind] = event.target.value) }, ...Object.entries(INPUTS).map(([value, label]) => make("option", { value, selected: value === (this.inputs[this.kind] ?? "sliders") }, label)));
    const rows = fields.map((one) => [one, this.field(one, given, (value) => ((given[one.name] = value), one.name === "method" && this.hide()))]);
    this.rows = rows;
    const own = rows.filter(([one]) => !one.methods.length).map(([, row]) => row), others = rows.filter(([one]) => one.methods.length).map(([, row]) => row);
    this.ask.replaceChildren(
      make("p", { className: "meaning" }, meaning), this.row("Inputs", "Where inputs and driven coordinates are taken from.", "", inputs),
      ...(this.kind === "sweep" ? this.axes.map((axis, k) => this.axis(axis, k)) : []), ...own,
      ...(others.length ? [make("details", {}, make("summary", {}, "options of the method"), ...others)] : []),
      make("input", { type: "submit", hidden: true }),
    );
    this.hide();
  }

  row(name, meaning, unit, ...content) {
    if (content[0].matches("input, select")) content[0].setAttribute("aria-description", meaning);
    return make("label", { className: "row", title: meaning }, make("span", { className: "name" }, name, unit ? make("small", {}, ` ${unit}`) : ""), ...content);
  }

  field(one, given, set) {
    const value = given[one.name] ?? "", words = one.words.map((word) => ({ true: "yes", false: "no" })[word] ?? word);
    if (!one.free) {
      const usual = ({ true: "yes", false: "no" })[one.default] ?? one.default;
      const select = make("select", { name: one.name, onchange: () => set(select.value) }, make("option", { value: "" }, usual ? `(${usual})` : ""), ...one.words.map((word, k) => make("option", { value: word, selected: word === value }, words[k])));
      return this.row(one.name, one.meaning, one.unit, select);
    }
    const id = `words-${this.kind}-${one.name}`;
    const input = make("input", { type: "text", name: one.name, value, placeholder: one.default, autocomplete: "off", spellcheck: false, oninput: () => set(input.value), list: words.length ? id : null });
    return this.row(one.name, one.meaning, one.unit, input, words.length ? make("datalist", { id }, ...words.map((word) => make("option", { value: word }))) : "");
  }

  // options of other methods than the chosen one
  hide() {
    const method = this.rows.find(([one]) => one.name === "method")?.[0];
    const chosen = this.given[this.kind].method || method?.default;
    for (const [one, row] of this.rows) row.hidden = one.methods.length > 0 && !one.methods.includes(chosen);
  }

  axis(axis, k) {
    const name = make("input", { type: "text", name: `axis${k + 1}`, value: axis.name ?? "", list: "varied", placeholder: k ? "none" : "an input, or a number of the file", autocomplete: "off", spellcheck: false });
    const unit = make("small");
    const ends = Object.fromEntries(this.span.map((one) => {
      const input = make("input", { type: "text", name: `axis${k + 1}-${one.name}`, value: axis[one.name] ?? (one.name === "n" ? "5" : ""), autocomplete: "off", "aria-label": `${one.name}: ${one.meaning}`, title: one.meaning, oninput: () => (axis[one.name] = input.value) });
      axis[one.name] ??= input.value;
      return [one.name, input];
    }));
    const known = () => {
      const found = this.varied.find((one) => one.name === name.value);
      unit.textContent = found?.unit ?? "";
      return found;
    };
    name.addEventListener("input", () => {
      axis.name = name.value;
      const found = known();
      if (!found) return;
      ends.from.value = axis.from = number(found.low);
      ends.to.value = axis.to = number(found.high);
    });
    known();
    const parts = Object.entries(ends).flatMap(([label, input]) => [make("span", {}, label), input]);
    return make("fieldset", { className: "axis" }, make("legend", {}, k ? "Second number" : "First number"), k ? "" : make("datalist", { id: "varied" }, ...this.varied.map((one) => make("option", { value: one.name }))), this.row("name", "u.NAME, driven.NAME or the path of a number in the file", "", name), make("div", { className: "span" }, ...parts, unit));
  }

  start() {
    if (this.state.busy) return;
    const axes = this.kind === "sweep" ? this.axes.filter((one) => one.name) : [];
    return this.run("study", { kind: this.kind, options: this.given[this.kind], inputs: this.inputs[this.kind] ?? "sliders", axes });
  }

  // -- how far it is, and what was found

  take(state, first = false) {
    const ended = this.state.busy && !state.busy;
    this.state = "found" in state ? state : { ...this.state, ...state }; // nothing of a result before
    if (!this.result) return;
    if (!state.busy && document.activeElement === this.cancel) this.begin.focus();
    this.bar.hidden = this.cancel.hidden = !state.busy;
    if (state.busy && !state.done) this.bar.removeAttribute("value");
    else this.bar.value = state.done;
    this.begin.setAttribute("aria-disabled", Boolean(state.busy)); // keeps the focus, unlike one that is disabled
    this.words.textContent = state.busy ? state.words : "";
    const quarter = state.busy ? Math.floor(4 * state.done) : -1;
    if (quarter !== this.quarter && state.busy) this.say(state.words); // who listens hears quarters of it
    this.quarter = quarter;
    if (!first && (ended || (!state.busy && state.wrong))) this.say(state.words, state.wrong);
    if (!("found" in state)) return;
    const shape = JSON.stringify([state.found, state.modes, state.axes, state.columns, state.exports]);
    if (shape !== this.shape) this.show();
    this.shape = shape;
    this.update();
  }

  show() {
    const { found, modes, axes, exports } = this.state;
    this.parts = {};
    if (!found) return this.result.replaceChildren();
    const title = make("h2", {}, { simulate: "Motion", statics: "Equilibrium", modes: "Modes", sweep: "Sweep" }[found]);
    const files = make("div", { className: "buttons", role: "group", "aria-label": "Files of it" }, ...exports.map((form) => make("button", { type: "button", title: `Download a ${this.writers[form]}`, onclick: () => this.fetch(form) }, `${this.writers[form]} .${form}`)));
    this.result.replaceChildren(title, ...(modes ? [this.modes(modes)] : axes ? this.sweep(axes) : []), this.player(), files);
    if (axes) this.draw(this.state.column);
    this.result.scrollIntoView({ block: "nearest" });
  }

  fetch(form) {
    const key = crypto.randomUUID?.() ?? String(Math.random());
    this.keys.add(key);
    this.run("export", { format: form, key });
  }

  modes(modes) {
    const select = make("select", { "aria-label": "Mode", onchange: () => this.follow("mode", { number: Number(select.value) }) }, ...modes.map((one) => make("option", { value: one.number }, `${one.number}: ${one.words}`)));
    this.parts.mode = select;
    return this.row("Mode", "Which one oscillates in the scene", "", select);
  }

  sweep(axes) {
    const { columns } = this.state, shape = axes.map((one) => one.values.length);
    const column = make("select", { "aria-label": "Output", onchange: () => this.draw(column.value) }, ...columns.map((one) => make("option", { value: one, selected: one === this.state.column }, one)));
    const go = () => {
      const at = this.parts.points.map((one) => Number(one.value));
      this.mark(at);
      this.follow("point", { index: at.length > 1 ? at[0] * shape[1] + at[1] : at[0] });
    };
    this.parts.points = axes.map((one) => make("input", { type: "range", min: 0, max: one.values.length - 1, step: 1, "aria-label": `${one.name}, which equilibrium is shown`, oninput: go }));
    this.parts.values = axes.map(() => make("small"));
    this.parts.image = make("img", { alt: "" });
    this.parts.dot = make("div", { className: axes.length > 1 ? "dot" : "dot line" });
    const picture = make("div", { className: "picture" }, this.parts.image, this.parts.dot);
    this.parts.image.addEventListener("click", (event) => {
      if (!this.box) return;
      const { left, top, width, height } = this.parts.image.getBoundingClientRect(), { box, x, y } = this.box;
      const part = [(event.clientX - left) / width, (event.clientY - top) / height].map((one, k) => (one - box[k]) / box[k + 2]);
      const at = [x[0] + part[0] * (x[1] - x[0]), y[1] - part[1] * (y[1] - y[0])];
      axes.forEach((one, k) => {
        const away = one.values.map((value) => Math.abs(value - at[k]));
        this.parts.points[k].value = away.indexOf(Math.min(...away));
      });
      go();
    });
    return [this.row("Output", "What the picture shows", "", column), picture, ...axes.map((one, k) => this.row(one.name, "Which equilibrium is shown", one.unit, make("span", { className: "chosen" }, this.parts.points[k], this.parts.values[k])))];
  }

  async draw(column) {
    if (!column) return;
    const image = this.parts.image;
    let found = null;
    try {
      found = await this.link.ask("picture", { column });
    } catch (error) {
      if (image === this.parts.image) this.say(error.message, true);
    }
    if (!found || image !== this.parts.image) return; // of a sweep before
    this.box = found;
    image.src = `data:image/png;base64,${found.png}`;
    image.alt = `${column} over ${this.state.axes.map((one) => one.name).join(" and ")}; sliders below choose the equilibrium`;
    this.mark();
  }

  // the equilibrium that is shown, in the picture and beside the sliders
  mark(at = this.parts.points.map((one) => Number(one.value))) {
    const { axes } = this.state;
    at.forEach((i, k) => (told(this.parts.points[k], this.parts.values[k], `${number(axes[k].values[i])} ${axes[k].unit}`)));
    if (!this.box) return;
    const { box, x, y } = this.box, part = [(axes[0].values[at[0]] - x[0]) / (x[1] - x[0]), at.length > 1 ? (y[1] - axes[1].values[at[1]]) / (y[1] - y[0]) : 0];
    this.parts.dot.style.left = `${100 * (box[0] + part[0] * box[2])}%`;
    this.parts.dot.style.top = `${100 * (box[1] + part[1] * box[3])}%`;
    this.parts.dot.style.height = at.length > 1 ? "" : `${100 * box[3]}%`;
  }

  update() {
    const { mode, point, axes } = this.state;
    if (this.parts.mode) this.parts.mode.value = mode;
    if (this.parts.points && !this.following) {
      const n = axes[1]?.values.length ?? 1;
      const at = axes.length > 1 ? [Math.floor(point / n), point % n] : [point];
      this.parts.points.forEach((one, k) => (one.value = at[k]));
      this.mark(at);
    }
  }

  // -- how it plays

  player() {
    const part = this.parts;
    part.button = make("button", { type: "button", onclick: () => this.run("playback", { plays: !this.playing?.plays }) }, "Play");
    part.time = make("input", { type: "range", step: "any", "aria-label": "Time", oninput: () => (told(part.time, part.clock, `${number(part.time.value)} s`), this.follow("playback", { t: Number(part.time.value), plays: false })) });
    part.clock = make("small", { className: "clock" });
    part.speed = make("select", { "aria-label": "Speed", title: "Seconds of it per second", onchange: () => this.run("playback", { speed: Number(part.speed.value) }) });
    part.loop = make("input", { type: "checkbox", onchange: () => this.run("playback", { loop: part.loop.checked }) });
    part.back = make("button", { type: "button", onclick: () => this.run("playback", this.playing ? { close: true } : { again: true }) });
    part.timed = make("div", { className: "player", role: "group", "aria-label": "Playback" }, part.button, part.time, part.clock, part.speed, make("label", {}, part.loop, " loop"));
    this.play(this.playing);
    return make("div", {}, part.timed, make("div", { className: "buttons" }, part.back));
  }

  play(playing) {
    this.playing = playing;
    const part = this.parts ?? {};
    if (!part.button) return;
    part.back.textContent = playing ? "Back to the robot" : "Show it again";
    part.timed.hidden = !playing?.span;
    if (!playing?.span) return;
    part.button.textContent = playing.plays ? "Pause" : "Play";
    [part.time.min, part.time.max] = playing.span;
    if (!this.following) part.time.value = playing.t;
    told(part.time, part.clock, `${number(part.time.value)} s`);
    part.loop.checked = playing.loop;
    const speeds = [...new Set([...SPEEDS, playing.speed])].sort((a, b) => a - b);
    if (part.speed.length !== speeds.length) part.speed.replaceChildren(...speeds.map((one) => make("option", { value: one }, `${number(one)}×`)));
    part.speed.value = playing.speed;
  }
}

// Tabs: one of several panels is shown; arrows go from one to the next.
export function tabs(bar, panels, onShow = () => {}) {
  const names = Object.keys(panels), buttons = {};
  const show = (name) => {
    for (const one of names) {
      panels[one].hidden = one !== name;
      buttons[one].setAttribute("aria-selected", String(one === name));
      buttons[one].tabIndex = one === name ? 0 : -1;
    }
    onShow(name);
  };
  for (const name of names) {
    buttons[name] = make("button", { type: "button", role: "tab", id: `tab-${panels[name].id}`, "aria-controls": panels[name].id, onclick: () => show(name) }, name);
    panels[name].setAttribute("aria-labelledby", `tab-${panels[name].id}`);
  }
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key], at = names.findIndex((one) => buttons[one] === document.activeElement);
    if (!by || at < 0) return;
    event.preventDefault();
    const next = names[(at + by + names.length) % names.length];
    show(next);
    buttons[next].focus();
  });
  bar.append(...Object.values(buttons));
  show(names[0]);
  return show;
}
