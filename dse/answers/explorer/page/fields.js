// The form: presets, the memory cap, and every figure of model and system, in groups.
import * as dom from "../../../base/pages/dom.js";
import { element } from "../../../base/pages/dom.js";
import { CapField, Field } from "./field.js";
import { endGesture, get as present } from "./state.js";

const GROUPS = ["Limits", "Training", "Training run", "Cluster", "Accelerator", "Compute", "Network", "Model", "Collectives"];
const CLOSED = new Set(["Collectives"]);

class Form {
  // `set(partial, merge)` changes the state; `data` is that of the page.
  constructor(root, data, set) {
    this.root = root;
    this.data = data;
    this.set = set;
    this.byKey = new Map();
    this.groups = new Map();
    this.refused = {}; // changes that the engine did not take: tried again with the next one
    this.names = "";
    this.presets = ["model", "system"].map((group) => this.presetOf(group));
    const capField = {
      key: "memory_cap", label: "Memory cap of an NPU", kind: "number", unit: "", value: data.memory_cap_bytes, least: 1, most: null,
    };
    this.cap = new CapField(capField, (value) => this.set({ cap_bytes: value }, "memory_cap"), endGesture);
    root.append(dom.element("div", { class: "presets" }, ...this.presets.map(({ box }) => box)));
    root.addEventListener("submit", (event) => event.preventDefault());
  }

  presetOf(group) {
    const id = `preset-${group}`;
    const presets = this.data.presets[`${group}s`];
    const own = presets.findIndex(({ name }) => name === this.data.scenario[group].name);
    const options = presets.map(({ name }, index) => element("option", { value: index === own ? "" : name }, name));
    if (own < 0) options.unshift(element("option", { value: "" }, this.data.scenario[group].name));
    const select = element("select", { id }, ...options);
    select.addEventListener("change", () => this.choose(group, select.value || null));
    return { group, select, box: element("div", { class: "preset" }, element("label", { for: id }, group === "model" ? "Model" : "System"), select) };
  }

  addPreset(group, name) {
    const { select } = this.presets.find((each) => each.group === group);
    if (![...select.options].some(({ value }) => value === name)) select.append(element("option", { value: name }, name));
  }

  // Another model or system comes without the changes that were made to the last one.
  choose(group, name) {
    const { changes } = present();
    const kept = Object.fromEntries(Object.entries(changes).filter(([key]) => !key.startsWith(`${group}.`)));
    this.clear();
    // A system that says how much memory an NPU has brings the cap along.
    const { memory_cap_bytes: own = this.data.memory_cap_bytes } = this.data.presets[`${group}s`].find((each) => each.name === name) ?? {};
    const cap = group === "system" && this.data.presets.systems.some((each) => each.memory_cap_bytes) ? { cap_bytes: own } : {};
    this.set({ preset: { [group]: name }, changes: kept, ...cap }, null);
  }

  // Forgets all that is not part of the state.
  clear() {
    this.refused = {};
    for (const field of [...this.byKey.values(), this.cap]) field.clear();
  }

  build(fields) {
    const isOpen = new Map([...this.groups].map(([name, { box }]) => [name, box.open]));
    for (const { box } of this.groups.values()) box.remove();
    this.groups.clear();
    this.byKey.clear();
    const names = [...new Set([...GROUPS, ...fields.map(({ group }) => group)])];
    for (const name of names) {
      const members = fields.filter(({ group }) => group === name);
      if (!members.length && name !== "Limits") continue;
      const changed = element("span", { class: "changes" });
      const box = element("details", { open: isOpen.get(name) ?? !CLOSED.has(name) }, element("summary", {}, name, changed));
      if (name === "Limits") box.append(this.cap.root);
      this.fill(box, members);
      this.groups.set(name, { box, changed, keys: members.map(({ key }) => key) });
      this.root.append(box);
    }
  }

  // Labels such as "dimension 0: bandwidth of a link" make a group of their own for what stands before the colon.
  fill(box, members) {
    const parts = new Map();
    for (const field of members) {
      const [part, rest] = field.label.includes(": ") ? field.label.split(": ") : ["", field.label];
      if (part && !parts.has(part)) {
        parts.set(part, element("fieldset", element("legend", part)));
        box.append(parts.get(part));
      }
      const made = new Field({ ...field, short_label: rest }, (value) => this.onChange(field.key, value), endGesture);
      this.byKey.set(field.key, made);
      (parts.get(part) ?? box).append(made.root);
    }
  }

  // A value that is that of the preset is no change; what was refused before is tried with it.
  onChange(key, value) {
    const changes = { ...present().changes, ...this.refused, [key]: value };
    for (const [each, changed] of Object.entries(changes)) {
      if (this.byKey.get(each)?.field.value === changed) delete changes[each];
    }
    this.forget();
    this.tried = key;
    this.set({ changes }, key);
    this.update(present(), this.fields);
  }

  forget() {
    for (const key of Object.keys(this.refused)) this.byKey.get(key)?.clear();
    this.refused = {};
  }

  update(state, fields) {
    const names = JSON.stringify(fields.map(({ key, choices }) => [key, choices]));
    if (names !== this.names) this.build(fields);
    this.names = names;
    this.fields = fields;
    for (const field of fields) {
      const shown = this.byKey.get(field.key);
      if (shown.field !== field && JSON.stringify(shown.field) !== JSON.stringify(field)) shown.become(field);
      shown.field = field;
      if (!(field.key in this.refused)) shown.show(field.key in state.changes ? state.changes[field.key] : field.value);
    }
    this.cap.show(state.cap_bytes);
    for (const { group, select } of this.presets) select.value = state.preset[group] ?? "";
    for (const { changed, keys } of this.groups.values()) {
      const count = keys.filter((key) => key in state.changes).length;
      dom.setText(changed, count ? `${count} changed` : "");
    }
  }

  // What the engine refused stays in its fields, with the reason at the one that the message names.
  refuse(changes, message) {
    this.refused = { ...this.refused, ...changes };
    const keys = Object.keys(changes);
    if (!keys.length) return false;
    const named = [...this.byKey.keys()].filter((key) => message.includes(key)).sort((a, b) => b.length - a.length);
    const key = named.find((each) => keys.includes(each)) ?? keys.at(-1) ?? named[0];
    for (const each of keys) this.byKey.get(each)?.clear();
    const field = this.byKey.get(key);
    if (!field) return false;
    for (const each of keys) {
      const shown = this.byKey.get(each);
      if (!shown) continue;
      shown.show(changes[each]);
      shown.isBad = true;
    }
    field.fail(message);
    this.groups.get(field.field.group).box.open = true;
    return true;
  }

  disable(keys, why) {
    for (const key of keys) this.byKey.get(key)?.disable(why);
  }
}

export { Form };
