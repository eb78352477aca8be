// The text of the file: colours, completion, help, mistakes at their lines, and the merging of what others type.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { collab, getSyncedVersion, receiveUpdates, sendableUpdates } from "@codemirror/collab";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, foldGutter, foldKeymap, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { ChangeSet, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { keysOf, meaning, unit } from "./schema.js";

const colours = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--code-key)" },
  { tag: [tags.content, tags.string], color: "var(--code-text)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: "var(--code-sign)" },
]);

// Tab goes through the text; once somebody does something in it, Tab indents, and goes on after Escape
let tabbed = false;
addEventListener("keydown", (event) => (tabbed = event.key === "Tab"), true);
addEventListener("pointerdown", () => (tabbed = false), true);
const works = (event, view) => !["Tab", "Shift", "Control", "Alt", "Meta", "Escape"].includes(event.key) && view.setTabFocusMode(false);
const passing = EditorView.domEventObservers({ focus: (event, view) => view.setTabFocusMode(tabbed), keydown: works, mousedown: works });

export class Text {
  constructor(parent, link, schema) {
    this.link = link;
    this.schema = schema;
    this.parent = parent;
    this.outline = [];
    this.pushing = null;
    this.onCursor = () => {};
    this.onChange = () => {};
    this.since = null; // changes since the outline was made
  }

  open({ text, version, file, imported }) {
    this.imported = imported ? `${file} is of another format: make this a file, and edit that.` : "";
    this.view?.destroy();
    const own = EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        this.since = this.since ? this.since.compose(update.changes) : update.changes;
        this.onChange();
        this.push();
      }
      if (update.selectionSet && !update.docChanged && update.view.hasFocus) this.onCursor(this.pathAt(update.state.selection.main.head));
    });
    this.view = new EditorView({
      parent: this.parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(), foldGutter(), history(), drawSelection(), bracketMatching(), highlightActiveLine(), EditorView.lineWrapping, yaml(),
          syntaxHighlighting(colours), indentUnit.of("  "), EditorState.tabSize.of(2), lintGutter(),
          autocompletion({ override: [(context) => this.complete(context)] }),
          hoverTooltip((view, position) => this.help(position)),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...lintKeymap, indentWithTab]),
          collab({ startVersion: version }), own, EditorState.readOnly.of(Boolean(imported)),
          EditorView.contentAttributes.of({ "aria-label": "Text of the robot's file", "aria-describedby": "leave", tabindex: "0" }), passing,
        ],
      }),
    });
    this.since = null;
  }

  get state() {
    return this.view.state;
  }

  // whether it was changed since its outline was made
  get isAhead() {
    return this.read < getSyncedVersion(this.state) || sendableUpdates(this.state).length > 0;
  }

  // -- merging

  async push() {
    if (this.pushing) return this.pushing;
    this.pushing = (async () => {
      let updates;
      while ((updates = sendableUpdates(this.state)).length) {
        const version = getSyncedVersion(this.state);
        const sent = updates.map((one) => ({ clientID: one.clientID, changes: one.changes.toJSON() }));
        const taken = await this.link.ask("push", { version, updates: sent });
        await this.pull();
        if (!taken) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    try {
      await this.pushing;
    } finally {
      this.pushing = null;
    }
  }

  async pull() {
    const version = getSyncedVersion(this.state);
    const updates = await this.link.ask("pull", { version });
    if (!updates.length || getSyncedVersion(this.state) !== version) return; // another pull brought them
    const made = updates.map((one) => ({ clientID: one.clientID, changes: ChangeSet.fromJSON(one.changes) }));
    this.view.dispatch(receiveUpdates(this.state, made));
  }

  // another text in the place of this one
  async replace(text) {
    this.view.dispatch({ changes: { from: 0, to: this.state.doc.length, insert: text }, selection: { anchor: 0 }, userEvent: "input.robot" });
    return this.push();
  }

  // an edit that the session works out, as a change of this page
  async edit(what, path, given = {}) {
    if (this.imported) throw new Error(this.imported);
    for (;;) {
      await this.push();
      const { version, changes } = await this.link.ask("edit", { what, path, ...given });
      if (version !== getSyncedVersion(this.state) || sendableUpdates(this.state).length) {
        await this.pull();
        continue;
      }
      if (changes.length) this.view.dispatch({ changes: changes.map(([from, to, insert]) => ({ from, to, insert })), userEvent: "input.form" });
      return this.push();
    }
  }

  // -- what the session says of it

  take(state) {
    if (state.outline) {
      this.outline = state.outline;
      this.read = state.version;
      this.since = null;
    }
    const doc = this.state.doc, found = [];
    for (const { line, column, words } of state.mistakes) {
      const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
      const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
      const word = /^[^\s,}\]]*/.exec(doc.sliceString(from, at.to))[0].length;
      found.push({ from, to: Math.max(from + word, Math.min(from + 1, at.to)), severity: "error", message: words });
    }
    this.view.dispatch(setDiagnostics(this.state, found));
  }

  now(offset) {
    return this.since ? this.since.mapPos(offset) : offset;
  }

  // the path of the entry at an offset
  pathAt(position) {
    const path = [];
    let entries = this.outline;
    for (;;) {
      const inside = entries.find((one) => this.now(one[3]) <= position && position <= this.now(one[4]));
      if (!inside) return path;
      path.push(inside[0]);
      entries = inside[5];
    }
  }

  node(path) {
    let found = ["", "map", "", 0, 0, this.outline];
    for (const key of path) if (!(found = found[5].find((one) => one[0] === key))) return null;
    return found;
  }

  names(block) {
    return (this.node([block])?.[5] ?? []).map((one) => one[0]);
  }

  show(path) {
    const found = this.node(path);
    if (!found) return;
    const from = this.now(found[3]);
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }

  // -- completion and help

  // the path of a line's indentation, for lines that are no entry yet
  around(position) {
    const line = this.state.doc.lineAt(position);
    let indent = /^ */.exec(line.text)[0].length;
    const path = [];
    for (let n = line.number - 1; n > 0 && indent > 0; n--) {
      const above = /^( *)(?:- )?([^\s#:][^:]*):\s*(?:#.*)?$/.exec(this.state.doc.line(n).text);
      if (above && above[1].length < indent) {
        path.unshift(above[2].trim());
        indent = above[1].length;
      }
    }
    return path;
  }

  complete(context) {
    const line = context.state.doc.lineAt(context.pos), before = line.text.slice(0, context.pos - line.from);
    const word = context.matchBefore(/[\w-]*/), value = /^\s*(?:- )?([\w-]+):\s+[\w.-]*$/.exec(before);
    if (!context.explicit && !word.text) return null;
    const flow = this.inFlow(context.pos);
    const path = flow ?? this.around(context.pos), forms = this.schema.at(path);
    if (value && !flow) return this.values(word, this.schema.within(forms, value[1]));
    const inline = /[{,]\s*([\w-]+):\s+[\w.-]*$/.exec(before);
    if (flow && inline) return this.values(word, this.schema.within(forms, inline[1]));
    const options = [...this.schema.keys(forms)].map(([label, own]) => ({
      label, type: "property", detail: unit(own) ? `[${unit(own)}]` : "", info: meaning(own), apply: `${label}: `,
    }));
    const block = keysOf(forms);
    options.push(...(block ? this.names(block) : []).map((label) => ({ label, type: "variable", apply: `${label}: ` })));
    return options.length ? { from: word.from, options, validFor: /^[\w-]*$/ } : null;
  }

  values(word, forms) {
    const options = forms.flatMap((one) => [
      ...(one.enum ?? []).map((label) => ({ label: String(label), type: "enum" })),
      ...(one["x-names"] ? this.names(one["x-names"]).map((label) => ({ label, type: "variable" })) : []),
      ...(one.type === "boolean" ? [{ label: "true" }, { label: "false" }] : []),
      ...(one.examples ?? []).map((example) => ({ label: JSON.stringify(example).replaceAll('"', ""), type: "text", info: meaning(forms) })),
    ]);
    return options.length ? { from: word.from, options, validFor: /^[\w.-]*$/ } : null;
  }

  // the path of the flow mapping around a position
  inFlow(position) {
    const path = this.pathAt(position), node = this.node(path);
    const before = this.state.sliceDoc(this.state.doc.lineAt(position).from, position);
    const open = (before.match(/[{[]/g) ?? []).length - (before.match(/[}\]]/g) ?? []).length;
    if (open <= 0) return null;
    return node && node[1] === "text" ? path.slice(0, -1) : path;
  }

  help(position) {
    const path = this.pathAt(position), node = this.node(path);
    if (!node || !path.length) return null;
    const forms = this.schema.at(path), words = meaning(forms), of = unit(forms);
    if (!words) return null;
    return {
      pos: this.now(node[3]), above: true,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "help";
        dom.textContent = words.includes(`[${of}]`) || !of ? words : `${words} [${of}]`;
        return { dom };
      },
    };
  }
}
