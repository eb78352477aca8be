// The state of a page, and the keys that change it.

// a key, its name in the help, its command, what it does, whether it needs a motion
const KEYS = [
  [" ", "space", "toggle", "play, pause", true],
  ["ArrowRight", "→", "forwards", "next state", true],
  ["ArrowLeft", "←", "backwards", "state before", true],
  ["ArrowUp", "↑", "faster", "twice as fast", true],
  ["ArrowDown", "↓", "slower", "half as fast", true],
  ["Home", "Home", "first", "go to the start", true],
  ["End", "End", "last", "go to the end", true],
  ["l", "l", "loop", "loop on, off", true],
  ["t", "t", "trails", "trails of the tips", true],
  ["f", "f", "frames", "frames along the robot", false],
  ["d", "d", "tendons", "tendons", false],
  ["k", "k", "contacts", "contacts and obstacles", false],
  ["e", "e", "loads", "loads as arrows", false],
  ["j", "j", "joints", "forces in loops and joints", false],
  ["m", "m", "gravity", "weight", false],
  ["g", "g", "floor", "floor and grid", false],
  ["a", "a", "axes", "axes of the world", false],
  ["c", "c", "colour", "colour by the next quantity", false],
  ["i", "i", "iso", "view from a corner", false],
  ["x", "x", "x", "view along x", false],
  ["y", "y", "y", "view along y", false],
  ["z", "z", "z", "view along z", false],
  ["r", "r", "fit", "fit the view", false],
  ["s", "s", "screenshot", "save a picture", false],
  ["h", "h, ?", "help", "this help", false],
].map(([key, label, action, description, timed]) => ({ key, label, action, description, timed }));
const SLOWEST = 2 ** -10, FASTEST = 2 ** 10;

class Playback {
  constructor(motion) {
    const { times, speed, loop, playing, view, colour, colours, switches } = motion;
    this.times = times;
    this.timed = times.length > 1;
    [this.start, this.end] = [times[0], times[times.length - 1]];
    this.colours = colours.map((one) => one.name);
    Object.assign(this, { t: this.start, speed, loop, playing: playing && this.timed, view, colour, help: false });
    this.switches = { ...switches };
  }

  // those that do something here
  get keys() {
    return KEYS.filter((key) => this.timed || !key.timed);
  }

  seek(t) {
    this.t = Math.min(Math.max(t, this.start), this.end);
  }

  tick(passed) {
    if (!this.playing) return;
    const t = this.t + passed * this.speed, span = this.end - this.start;
    if (t < this.end) this.t = t;
    else if (this.loop && span > 0) this.t = this.start + ((t - this.start) % span);
    else [this.t, this.playing] = [this.end, false];
  }

  // the command of a key, null where it has none
  press(key) {
    const name = key === "?" ? "h" : key.length === 1 ? key.toLowerCase() : key;
    const found = this.keys.find((one) => one.key === name);
    if (!found) return null;
    this.act(found.action);
    return found.action;
  }

  act(action) {
    if (action in this.switches) this.switches[action] = !this.switches[action];
    else if (["iso", "x", "y", "z"].includes(action)) this.view = action;
    else if (action === "toggle") {
      this.playing = !this.playing;
      if (this.playing && this.t >= this.end) this.t = this.start;
    } else if (action === "forwards" || action === "backwards") this.step(action === "forwards");
    else if (action === "faster") this.speed = Math.min(2 * this.speed, FASTEST);
    else if (action === "slower") this.speed = Math.max(0.5 * this.speed, SLOWEST);
    else if (action === "first") this.t = this.start;
    else if (action === "last") [this.t, this.playing] = [this.end, false];
    else if (action === "loop") this.loop = !this.loop;
    else if (action === "help") this.help = !this.help;
    else if (action === "colour") {
      this.colour = this.colours[(this.colours.indexOf(this.colour) + 1) % this.colours.length];
    }
  }

  // to the next stored state, or the one before
  step(forwards) {
    const tiny = 1e-9 * (this.end - this.start);
    const later = this.times.find((t) => t > this.t + tiny), earlier = this.times.findLast((t) => t < this.t - tiny);
    this.t = forwards ? later ?? this.end : earlier ?? this.start;
    this.playing = false;
  }
}

if (typeof module !== "undefined") module.exports = { KEYS, Playback, SLOWEST, FASTEST };
