// The words of a page: heading, clock, legends, help; and the picture of a page as a file.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5];

class Words {
  constructor(page, motion, act) {
    Object.assign(this, { page, motion, act, rows: {} });
    this.get("title").textContent = motion.title;
    this.get("detail").textContent = motion.detail;
    const slider = this.get("time"), timed = motion.times.length > 1;
    [slider.min, slider.max] = [motion.times[0], motion.times[motion.times.length - 1]];
    for (const name of ["play", "time", "speed", "loop"]) this.get(name).hidden = !timed;
    for (const speed of SPEEDS) this.offer(speed);
  }

  get(id) {
    return this.page.getElementById(id);
  }

  make(tag, parent, words = "", id = "") {
    const element = this.page.createElement(tag);
    element.textContent = words;
    if (id) element.id = id;
    parent.appendChild(element);
    return element;
  }

  offer(speed) {
    this.make("option", this.get("speed"), `${Number(speed.toPrecision(3))} x`).value = String(speed);
  }

  // the keys, each a button for who has none
  list(keys) {
    for (const { label, action, description } of keys) {
      const row = this.make("button", this.get("help"));
      this.make("kbd", row, label);
      this.make("span", row, description);
      row.addEventListener("click", () => this.act(action));
      this.rows[action] = row;
    }
  }

  write(state, scale) {
    const { motion } = this, choose = this.get("speed"), { floor, axes } = state.switches;
    this.get("time").value = state.t;
    this.get("play").textContent = state.playing ? "pause" : "play";
    this.get("clock").textContent = state.timed ? `t = ${state.t.toFixed(2)} s` : "";
    if (![...choose.children].some((one) => Number(one.value) === state.speed)) this.offer(state.speed);
    choose.value = String(state.speed);
    const on = { ...state.switches, loop: state.loop, help: state.help };
    for (const [action, row] of Object.entries(this.rows)) {
      if (action in on) row.setAttribute("aria-pressed", on[action]);
    }
    this.get("loop").setAttribute("aria-pressed", state.loop);
    this.get("help").hidden = !state.help;
    this.fill("scale", [scale ? scale.label : "",
      [floor ? `grid ${motion.floor.step} m` : "", axes ? "x orange, y green, z blue" : ""].filter((x) => x).join("; ")]);
    const names = this.get("names");
    names.replaceChildren();
    for (const [words, colour] of [...motion.legend, ...(scale ? scale.legend : [])]) {
      this.make("span", this.make("div", names, `${words} `), "\u25a0").style.color = colour;
    }
  }

  fill(id, lines) {
    this.get(id).replaceChildren();
    for (const line of lines.filter((words) => words)) this.make("div", this.get(id), line);
  }

  // the bar of the colours of a quantity
  bar({ label, range }, colours) {
    const bar = this.get("legend"), steps = [];
    bar.replaceChildren();
    if (!colours) return;
    for (let k = 0; k < colours.length; k += 4) steps.push(`rgb(${colours[k]},${colours[k + 1]},${colours[k + 2]})`);
    this.make("div", bar, label);
    const row = this.make("div", bar, "", "bar"), numbers = this.make("div", row, "", "numbers");
    for (let k = 4; k >= 0; k--) {
      this.make("span", numbers, Number((range[0] + (k / 4) * (range[1] - range[0])).toPrecision(4)).toString());
    }
    const ramp = this.make("div", row, "", "ramp");
    ramp.style.background = `linear-gradient(to top, ${steps.join(",")})`;
    ramp.steps = steps;
  }

  // what the canvas shows, with the words beside it but not the controls, as a file that the browser keeps
  save(canvas, name) {
    const { page } = this, picture = page.createElement("canvas"), pen = picture.getContext("2d");
    [picture.width, picture.height] = [canvas.width, canvas.height];
    pen.drawImage(canvas, 0, 0);
    pen.scale(canvas.width / canvas.clientWidth, canvas.height / canvas.clientHeight);
    for (const id of ["words", "names", "legend", "scale", "detail"]) {
      for (const element of [this.get(id), ...this.get(id).querySelectorAll("*")]) this.copy(pen, element);
    }
    picture.toBlob((blob) => {
      const link = page.createElement("a");
      [link.href, link.download] = [URL.createObjectURL(blob), name];
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    });
  }

  copy(pen, element) {
    if (element.steps) {
      const { left, bottom, width, height } = element.getBoundingClientRect();
      const { steps } = element, ramp = pen.createLinearGradient(0, bottom, 0, bottom - height);
      steps.forEach((colour, k) => ramp.addColorStop(k / (steps.length - 1), colour));
      pen.fillStyle = ramp;
      pen.fillRect(left, bottom - height, width, height);
    }
    const { color, fontWeight, fontSize, fontFamily } = getComputedStyle(element);
    for (const node of [...element.childNodes].filter((child) => child.nodeType === 3 && child.data.trim())) {
      const range = this.page.createRange();
      range.selectNodeContents(node);
      const { left, top, bottom } = range.getBoundingClientRect();
      [pen.fillStyle, pen.font] = [color, `${fontWeight} ${fontSize} ${fontFamily}`];
      const words = node.data.trim(), { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText(words);
      pen.fillText(words, left, (top + bottom + above - below) / 2);
    }
  }
}
