// The page of the editor: the parts of a robot, the text of its file, and the robot itself beside them.
import { redo, undo } from "@codemirror/commands";
import "@shoelace-style/shoelace/dist/components/button/button.js";
import "@shoelace-style/shoelace/dist/components/dialog/dialog.js";
import "@shoelace-style/shoelace/dist/components/tooltip/tooltip.js";
import "@shoelace-style/shoelace/dist/components/tree-item/tree-item.js";
import "@shoelace-style/shoelace/dist/components/tree/tree.js";
import { registerIconLibrary } from "@shoelace-style/shoelace/dist/utilities/icon-library.js";
import { ask, make } from "./dom.js";
import { Form } from "./form.js";
import { Link } from "./link.js";
import { nameAll } from "./names.js";
import { Schema } from "./schema.js";
import { Studies, tabs } from "./studies.js";
import { Text } from "./text.js";
import { Tree } from "./tree.js";

// icons of the parts of the page come with it
const svg = (path) => `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5"><path d="${path}"/></svg>`)}`;
const ICONS = { "chevron-right": "M6 3l5 5-5 5", "chevron-left": "M10 3L5 8l5 5", "x-lg": "M3 3l10 10M13 3L3 13", check: "M3 8l4 4 6-8", copy: "M3 3h7v7H3zM6 10v3h7V6h-3" };
for (const name of ["system", "default"]) registerIconLibrary(name, { resolver: (icon) => svg(ICONS[icon] ?? "") });

const $ = (id) => document.getElementById(id);
// what a command failed in is told at once, mistakes of the text when nothing else is
const status = $("status"), [told, alarm] = status.children;
const say = (words, wrong = false, now = wrong) => {
  told.textContent = now ? "" : words;
  alarm.textContent = now ? words : "";
  status.className = wrong ? "wrong" : "";
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => {
  document.documentElement.classList.toggle("sl-theme-dark", dark.matches);
  if ($("scene").src) $("scene").src = scene();
};
const scene = () => (dark.matches ? "scene/?darkMode" : "scene/");
dark.addEventListener("change", theme);
theme();

const draws = Boolean(document.createElement("canvas").getContext("webgl2"));
if (!draws) $("scene").replaceWith(make("p", { id: "scene", className: "wrong" }, "This browser draws no WebGL 2, so the robot and its sliders are not shown; the text, the parts and studies work without it."));

const schema = new Schema(await (await fetch("schema.json")).json());
const link = new Link();
const text = new Text($("text"), link, schema);
schema.names = (block) => text.names(block);
const tree = new Tree($("tree"), $("tree-bar"), text, say);
const form = new Form($("form"), text, schema, say);
const studies = new Studies($("studies"), link, say);
let saved = true, file = "";

const run = async (action) => {
  try {
    await action();
  } catch (error) {
    say(error.message, true);
  }
};
const save = async (over = false) => {
  await text.push();
  try {
    await link.ask("save", { over });
  } catch (error) {
    if (over || !/outside of the page/.test(error.message)) throw error;
    if (await ask("The file was changed by something else", make("p", {}, "Write over it?"))) return save(true);
  }
};
const button = (label, action, keys, title = keys ? `${label} (${keys})` : label) => make("button", { type: "button", onclick: () => run(action), "aria-keyshortcuts": keys ?? null, title }, label);
// a bundled robot in the place of the text, as an edit that undo takes back
const gallery = async () => {
  if (text.imported) throw new Error(text.imported);
  const { robots, kept } = await link.ask("robots");
  const choices = make("fieldset", { className: "kinds" }, make("legend", {}, "Robot"), ...robots.map((one, k) => make("label", {}, make("input", { type: "radio", name: "robot", value: one.name, checked: !k }), make("b", {}, one.name), make("span", {}, one.words))));
  const chosen = await ask("Open a bundled robot", choices, kept ? null : make("p", { className: "wrong" }, "The text is not saved: the robot takes its place. Undo brings it back."));
  if (!chosen) return;
  const found = await link.ask("robot", { name: chosen.robot });
  await text.replace(found);
  say(`the text is that of ${chosen.robot}; undo brings back the one before`);
};
const makeFile = async () => {
  const chosen = await ask("Make this a file", make("label", { className: "row" }, "Name", make("input", { name: "name", value: file.replace(/\.[^.]*$/, ".yaml"), required: true, autocomplete: "off" })));
  if (!chosen) return;
  await link.ask("make", { name: chosen.name });
  say(`written: ${chosen.name}`);
};
const name = make("h1", { id: "name" }), light = make("span", { id: "light", className: "light", role: "img", "aria-label": "state" }), size = make("span", { id: "size" });
const makeButton = button("Make this a file ...", makeFile);
$("bar").append(
  light, name, size, make("span", { className: "space" }), button("Open a bundled robot ...", gallery), makeButton, button("Save", () => save(), "Control+S"), button("Undo", () => undo(text.view), "Control+Z"), button("Redo", () => redo(text.view), "Control+Y"),
  make("span", { className: "gap" }), button("Motion / statics", () => link.ask("press", { command: "mode" })), button("Pause", () => link.ask("press", { command: "pause" })), button("Reset", () => link.ask("press", { command: "reset" })),
);
addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase(), inText = $("text").contains(event.target);
  if (!(event.ctrlKey || event.metaKey)) return;
  if (key === "s") (event.preventDefault(), run(() => save()));
  else if (!inText && !event.target.matches("input[type=text]") && key === "z") (event.preventDefault(), event.shiftKey ? redo(text.view) : undo(text.view));
  else if (!inText && !event.target.matches("input[type=text]") && key === "y") (event.preventDefault(), redo(text.view));
});
// a page in which nobody did anything has nothing to keep
addEventListener("beforeunload", (event) => saved || navigator.userActivation?.hasBeenActive === false || event.preventDefault());

// on narrow screens one of three is shown
const panes = { Parts: "parts", Text: "text", Robot: "view" };
for (const [label, id] of Object.entries(panes)) {
  $("narrow").append(make("button", { type: "button", "aria-controls": id, onclick: () => pane(id) }, label));
}
const pane = (id) => {
  $("main").dataset.pane = id;
  for (const one of $("narrow").children) one.setAttribute("aria-pressed", String(one.getAttribute("aria-controls") === id));
};
pane("parts");
addEventListener("resize", () => tree.item(tree.path)?.scrollIntoView({ block: "nearest" }));

tabs($("tabs"), { Properties: $("properties"), Studies: $("studies") }, (name) => {
  $("parts").dataset.tab = name.toLowerCase();
  if (name === "Studies") run(() => studies.open());
});

tree.onSelect = (path, tell) => {
  form.show(path);
  if (tell) text.show(path);
  link.ask("select", { path }).catch(() => {});
};
form.onBlock = (block) => tree.later([block]);
text.onCursor = (path) => path.length && tree.select(path);
text.onChange = () => mark(false);
const mark = (now) => {
  saved = now;
  name.textContent = `${file}${saved ? "" : " •"}`;
  name.title = saved ? "saved" : "not saved";
  document.title = `${saved ? "" : "• "}${file} - sorosim`;
};

link.on("document", (found) => {
  file = found.file;
  text.open(found);
  mark(found.saved);
  makeButton.hidden = !found.imported;
  if (!$("scene").src && draws) $("scene").src = scene();
});
const LEVELS = { good: "no mistakes, nothing odd", note: "something to note", odd: "something odd", wrong: "mistakes" };
const show = (level) => {
  light.className = `light ${level}`;
  light.setAttribute("aria-label", LEVELS[level]);
  light.title = LEVELS[level];
};
link.on("state", (state) => {
  if (!state.version && !("outline" in state) && !state.mistakes) return;
  text.take(state);
  if (state.outline) {
    tree.show(text.outline);
    tree.after();
    form.show(tree.path);
  }
  document.body.dataset.version = state.version;
  if (state.size) size.textContent = state.size;
  const [first] = state.mistakes;
  if (first) say(first.line ? `line ${first.line}: ${first.words}` : first.words, true, false);
  else if (status.className) say("");
  show(first ? "wrong" : "good");
  $("view").classList.toggle("stale", Boolean(first));
});
const RANKS = { wrong: "mistake", odd: "odd", note: "note" };
let found = "";
link.on("findings", ({ rows, discretisation }) => {
  const level = ["wrong", "odd", "note"].find((one) => rows.some((row) => row.level === one));
  if (!light.classList.contains("wrong") || level === "wrong") show(level ?? "good");
  if (found === (found = JSON.stringify([rows, discretisation]))) return; // nothing to tell again
  const remedy = ({ path, yaml }) => button(`${path[path.length - 1]}: ${yaml}`, () => text.edit("set", path, { yaml }), null, `Set ${path.join(".")} to ${yaml}`);
  const lines = rows.map((row) => make("div", { className: row.level }, make("b", {}, row.where), make("small", {}, ` ${RANKS[row.level]}: `), row.what, row.remedy ? make("i", {}, ` ${row.remedy}`) : "", row.change ? remedy(row.change) : ""));
  const box = $("findings"), open = Boolean($("discretisation")?.open), inside = box.contains(document.activeElement);
  if (discretisation) {
    const { words, divisions } = discretisation, now = discretisation.level === "ok" ? "good" : discretisation.level;
    const head = make("summary", {}, make("span", { className: `light ${now}`, role: "img", "aria-label": LEVELS[now] }), make("b", {}, "discretisation"), ` ${words[0] ?? ""}`);
    lines.unshift(make("details", { id: "discretisation", open }, head, ...[...words.slice(1), ...divisions].map((one) => make("p", {}, one))));
  }
  box.replaceChildren(...lines);
  if (inside) (box.querySelector("summary, button") ?? box).focus();
});
link.on("updates", () => run(() => text.pull()));
link.on("saved", () => {
  mark(true);
  say(`written: ${file}`);
});
link.on("conflict", (words) => say(words, true));
link.on("refused", (words) => say(words, true));
link.on("numbers", (values) => run(() => text.edit("numbers", [], { values })));
// who drags a handle in the scene of this page undoes it here
$("scene").addEventListener("load", () => {
  $("scene").contentWindow.addEventListener("pointerdown", () => link.ask("touch").catch(() => {}), true);
  nameAll($("scene").contentDocument);
});
link.on("selected", (path) => tree.select(path, true));
link.addEventListener("closed", () => say("The session ended; what is in the text is not lost: copy it, or begin the session again and load the page.", true));
