// A page and WebGL that are not there: run by tests/viz/test_web.py with run.html in the folder.
const fs = require("fs"), html = fs.readFileSync("run.html", "utf8");
const motion = html.match(/id="motion">([\s\S]*?)<\/script>/)[1], counts = { lines: 0, triangles: 0 };
const gl = new Proxy({ LINK_STATUS: 1, ACTIVE_UNIFORMS: 2, TRIANGLES: 4 }, { get(known, name) {
  if (name in known) return known[name];
  if (name === name.toUpperCase()) return name;
  return (...args) => {
    for (const value of args) if (typeof value === "number" && Number.isNaN(value)) throw new Error(`${name} got NaN`);
    if (args[1] instanceof Float32Array && args[1].some(Number.isNaN)) throw new Error(`${name} got NaN`);
    if (name === "drawArrays") counts.lines++;
    if (name === "drawElements") counts.triangles++;
    if (name === "getProgramParameter") return args[1] === 2 ? 0 : true;
    if (name === "getShaderParameter") return true;
    return {};
  };
} });
let context = null;
const elements = {}, heard = {};
const links = [];
const pen = new Proxy({}, { get: () => () => {}, set: () => true });
const make = (id) => ({ id, style: {}, children: [], childNodes: [], clientWidth: 640, clientHeight: 360, value: "1",
  textContent: id === "motion" ? motion : "", setPointerCapture() {}, blur() {}, setAttribute(name, value) { this[name] = value; },
  getContext(kind, options) { if (kind === "2d") return pen; context = options; return gl; },
  addEventListener(name, f) { heard[`${id}.${name}`] = f; }, appendChild(child) { this.children.push(child); },
  replaceChildren() { this.children = []; }, querySelectorAll: () => [], toBlob: (f) => f("blob"),
  click() { links.push(this.download); } });
globalThis.getComputedStyle = () => ({});
URL.createObjectURL = () => "blob";
globalThis.setTimeout = () => {};
const get = (id) => (elements[id] ??= make(id));
globalThis.document = { getElementById: get, createElement: make, activeElement: null,
  addEventListener(name, f) { heard[`page.${name}`] = f; } };
let next = null, now = 0;
globalThis.requestAnimationFrame = (f) => { next = f; };
const clocks = [], buttons = [];
const frame = (passed) => {
  now += passed;
  next(now);
  clocks.push(get("clock").textContent);
  buttons.push(get("play").textContent);
};
const key = (name) => heard["page.keydown"]({ key: name, preventDefault() {} });
// the class is inside of the script: its viewer is handed out for the test
const [, script] = html.match(/<script>\n([\s\S]*?)<\/script>/);
(0, eval)(script.replace("let last = null;", "globalThis.viewer = viewer; let last = null;"));
frame(0);
heard["time.input"]({ target: { value: "0.4" } });
counts.lines = counts.triangles = 0;
frame(16);
const drawn = { ...counts };
next((now += 16)); // nothing has changed, so nothing is drawn
const again = counts.triangles - drawn.triangles;
document.activeElement = get("time"); // as after a drag of the slider
key("ArrowRight");
frame(16);
const slider = get("time").value;
document.activeElement = null;
key("ArrowLeft");
frame(16);
key(" ");
frame(500);
frame(500);
const before = viewer.camera.distance, turned = viewer.camera.azimuth;
heard["view.wheel"]({ deltaY: 100, preventDefault() {} });
const zoomed = viewer.camera.distance / before;
heard["view.pointerdown"]({ pointerId: 1, clientX: 0, clientY: 0 });
heard["view.pointermove"]({ pointerId: 1, clientX: 10, clientY: 5, buttons: 1 });
const azimuth = viewer.camera.azimuth - turned;
heard["view.pointermove"]({ pointerId: 1, clientX: 20, clientY: 5, buttons: 2 });
heard["view.pointerup"]({ pointerId: 1 });
heard["camera.change"]({ target: { value: "top" } });
next(now + 16);
const wide = viewer.camera.distance;
get("view").clientWidth = 160;
next(now + 32);
const narrow = viewer.camera.distance;
viewer.look("top");
const resized = { wide, narrow, anew: viewer.camera.distance };
// keys, each pressed twice from the end of the motion
const press = (name) => {
  key(name);
  counts.lines = counts.triangles = 0;
  next((now += 16));
  return { ...counts };
};
press("End");
const keys = {}, bars = [], bar = () => get("legend").children[0]?.textContent ?? "";
for (const name of ["t", "f", "a", "g", "d", "m"]) {
  keys[name] = press(name);
  press(name);
}
bars.push(bar());
keys.c = press("c");
bars.push(bar());
const help = [!get("help").hidden];
press("?");
help.push(!get("help").hidden);
const rows = get("help").children.length;
heard["keys.click"]();
next((now += 16));
help.push(!get("help").hidden);
press("l");
const pressed = get("loop")["aria-pressed"];
press("s");
const [saved] = links, speeds = [get("speed").value];
for (let k = 0; k < 2; k++) press("ArrowUp"), speeds.push(get("speed").value);
press("Home");
const from = viewer.camera.azimuth;
viewer.motion.orbit = 0.5;
press("End");
const orbited = (viewer.camera.azimuth - from) / viewer.motion.times[viewer.motion.times.length - 1];
const [title, trouble] = ["title", "trouble"].map((id) => get(id).textContent);
const names = get("names").children.map((row) => row.textContent);
console.log(JSON.stringify({ slider, context, names, clocks, buttons, drawn, again, zoomed, azimuth, resized, title, trouble,
  keys, bars, help, rows, pressed, saved, speeds, orbited }));
