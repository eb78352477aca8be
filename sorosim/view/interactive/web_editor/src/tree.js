// The parts of the robot as a tree, and what may be done to them.
import { ask, make } from "./dom.js";

export const BLOCKS = ["materials", "links", "loops", "couplings", "actuators", "loads", "sensors"];
const key = (path) => JSON.stringify(path);
// whether a key of the file is one of the tree, or of the form of the robot
export const isBlock = ([name, kind]) => BLOCKS.includes(name) || kind === "map";

export class Tree {
  constructor(tree, bar, text, say) {
    Object.assign(this, { tree, bar, text, say, path: [], onSelect: () => {}, shown: "" });
    tree.addEventListener("sl-selection-change", ({ detail }) => {
      const path = JSON.parse(detail.selection[0]?.dataset.path ?? "[]");
      if (key(path) !== key(this.path)) this.select(path, true);
    });
    tree.addEventListener("keydown", (event) => this.press(event), true);
    const button = (label, icon, action, keys) =>
      make("sl-tooltip", { content: keys ? `${label} (${keys})` : label }, make("button", { type: "button", "aria-label": label, "aria-keyshortcuts": keys ?? null, onclick: () => this.run(action) }, icon));
    bar.append(
      button("Add", "+", () => this.add(), "Insert"), button("Copy", make("sl-icon", { name: "copy" }), () => this.copy(), "Control+D"), button("Rename", "✎", () => this.rename(), "F2"),
      button("Move up", "↑", () => this.move(-1), "Alt+ArrowUp"), button("Move down", "↓", () => this.move(1), "Alt+ArrowDown"), button("Delete", "✕", () => this.remove(), "Delete"),
    );
  }

  async run(action) {
    try {
      await action();
    } catch (error) {
      this.say(error.message, true);
    }
  }

  press(event) {
    const one = { Insert: () => this.add(), F2: () => this.rename(), Delete: () => this.remove() }[event.key] ??
      (event.altKey && event.key === "ArrowUp" && (() => this.move(-1))) ?? null;
    const other = event.altKey && event.key === "ArrowDown" ? () => this.move(1) : event.ctrlKey && event.key === "d" ? () => this.copy() : null;
    if (!(one || other)) return;
    event.preventDefault();
    event.stopPropagation();
    this.run(one || other);
  }

  // names of parts by blocks; the elements are made anew only where these changed
  show(outline) {
    const blocks = new Map(outline.map((one) => [one[0], one]));
    const listed = new Set([...BLOCKS, ...outline.filter(isBlock).map((one) => one[0])]);
    const names = [...listed].map((block) => [block, this.isOfParts(block) ? (blocks.get(block)?.[5] ?? []).map((one) => [one[0], kindOf(one, this.text.schema, block)]) : []]);
    if (key(names) === this.shown) return;
    this.shown = key(names);
    const open = new Set([...this.tree.querySelectorAll("sl-tree-item[expanded]")].map((one) => one.dataset.path));
    const first = !this.tree.children.length, focused = this.tree.contains(document.activeElement);
    const item = (path, ...content) => make("sl-tree-item", { "data-path": key(path), selected: key(path) === key(this.path) }, ...content);
    this.tree.replaceChildren(item([], make("span", {}, "robot")), ...names.map(([block, parts]) => {
      const out = item([block], make("span", {}, block), ...parts.map(([name, kind]) => item([block, name], make("span", {}, String(name)), make("small", {}, kind))));
      out.expanded = first || open.has(key([block])) || (this.path[0] === block && this.path.length > 1);
      return out;
    }));
    // browsers see no tree in items that are slotted into one; they see what it owns
    const items = [...this.tree.querySelectorAll("sl-tree-item")];
    items.forEach((one, k) => ((one.id = `item-${k}`), one.setAttribute("aria-level", JSON.parse(one.dataset.path).length)));
    this.tree.setAttribute("aria-owns", items.map((one) => one.id).join(" "));
    if (focused) requestAnimationFrame(() => this.item(this.path)?.focus());
  }

  item(path) {
    return this.tree.querySelector(`sl-tree-item[data-path='${CSS.escape ? key(path).replaceAll("'", "\\'") : key(path)}']`);
  }

  // path: of a part, a block, or of something in a part
  select(path, tell = false) {
    const own = path.slice(0, 2);
    while (own.length && !this.item(own)) own.pop();
    if (!this.item(own)) return;
    this.path = own;
    for (const one of this.tree.querySelectorAll("sl-tree-item")) one.selected = one.dataset.path === key(own); // attributes come later
    const found = this.item(own);
    found.selected = true;
    if (own.length > 1) this.item(own.slice(0, 1)).expanded = true;
    found.scrollIntoView({ block: "nearest" });
    this.onSelect(own, tell);
  }

  part() {
    if (this.path.length < 2) throw new Error("Select a part first.");
    return this.path;
  }

  async add() {
    const block = this.path[0] ?? "links";
    if (!BLOCKS.includes(block)) return this.addOther(block);
    const beside = block === "links" && this.path.length > 1 ? this.path[1] : "";
    const kinds = await this.text.link.ask("kinds", { block, beside });
    const name = make("input", { name: "name", value: kinds.find((one) => !one.lacks)?.name ?? "", "aria-label": "Name", required: true, autocomplete: "off" });
    const choices = make("fieldset", { className: "kinds" }, make("legend", {}, "Kind"), ...kinds.map((one) => {
      const input = make("input", { type: "radio", name: "kind", value: one.kind, disabled: Boolean(one.lacks), onchange: () => (name.value = one.name) });
      return make("label", { className: one.lacks ? "lacks" : "" }, input, make("b", {}, one.kind), make("span", {}, one.lacks ? `${one.meaning} (${one.lacks})` : one.meaning));
    }));
    const first = choices.querySelector("input:not(:disabled)");
    if (!first) throw new Error(`Nothing can be added to ${block} yet: ${kinds[0].lacks}.`);
    first.checked = true;
    const chosen = await ask(`Add to ${block}`, choices, make("label", { className: "row" }, "Name", name));
    if (!chosen) return;
    await this.text.edit("add", [block], { kind: chosen.kind, name: chosen.name, beside });
    this.later([block, chosen.name]);
  }

  // whether a block has parts by their names
  isOfParts(block) {
    return this.text.schema.at([block]).some((one) => typeof one.additionalProperties === "object");
  }

  async addOther(block) {
    if (!this.isOfParts(block)) throw new Error(`${block} is changed by its form.`);
    const chosen = await ask(`Add to ${block}`, make("label", { className: "row" }, "Name", make("input", { name: "name", required: true, autocomplete: "off" })));
    if (!chosen) return;
    await this.text.edit("put", [block], { key: chosen.name, yaml: JSON.stringify(this.text.schema.example(this.text.schema.at([block, chosen.name]))) });
    this.later([block, chosen.name]);
  }

  async rename() {
    const path = this.part();
    const chosen = await ask(`Rename ${path[1]}`, make("label", { className: "row" }, "Name", make("input", { name: "name", value: path[1], required: true, autocomplete: "off" })));
    if (!chosen || chosen.name === path[1]) return;
    await this.text.edit("rename", path, { name: chosen.name });
    this.later([path[0], chosen.name]);
  }

  async copy() {
    const path = this.part(), taken = new Set(this.text.names(path[0]));
    let k = 2;
    while (taken.has(`${path[1]}${k}`)) k++;
    await this.text.edit("copy", path, { name: `${path[1]}${k}` });
    this.later([path[0], `${path[1]}${k}`]);
  }

  async move(by) {
    const path = this.part(), names = this.text.names(path[0]), at = names.indexOf(path[1]);
    const before = by < 0 ? names[at - 1] : names[at + 2] ?? null;
    if (by < 0 ? at === 0 : at === names.length - 1) return;
    await this.text.edit("move", path, { before });
    this.later(path);
  }

  async remove() {
    if (this.path.length === 1) {
      await this.text.edit("remove", this.path);
      return this.later([]);
    }
    const path = this.part(), names = this.text.names(path[0]), at = names.indexOf(path[1]);
    await this.text.edit("remove", path);
    this.later(names.length > 1 ? [path[0], names[at + 1] ?? names[at - 1]] : [path[0]]);
  }

  // select what this outline has, or the next one
  later(path) {
    this.wanted = path;
    this.after();
  }

  after() {
    if (this.wanted && this.item(this.wanted)) {
      this.select(this.wanted, true);
      this.wanted = null;
    }
  }
}

// what a part is, in a word
function kindOf(node, schema, block) {
  const names = node[5].map((one) => one[0]), kinds = schema.isKind(schema.at([block, node[0]]));
  return ["rod", "tubes", "body"].find((one) => names.includes(one)) ?? (kinds && names.length ? String(names[0]) : node[2]);
}
