// The viewer of a page: what it draws, and what it does with mouse, fingers and keys. See viewer_numbers.js.

const LAYER = 16; // between parts whose surfaces coincide, in steps of the depth buffer

class Viewer {
  constructor(page, motion) {
    this.page = page;
    this.motion = motion;
    this.canvas = page.getElementById("view");
    // opaque: what is blended would let the page shine through the canvas
    this.gl = this.canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (!this.gl) throw new Error("this browser has no WebGL2");
    this.poses = decode(motion.poses);
    this.tensions = decode(motion.tensions);
    this.rows = Math.max(1, Math.ceil((2 * motion.stationCount) / TEXELS)); // of the texture
    this.now = new Float32Array(4 * TEXELS * this.rows);
    this.followed = decode(motion.followed);
    this.angle = viewAngle(motion.zoom);
    this.t = motion.times[0];
    this.playing = false;
    this.prepare();
    this.look(motion.view);
    page.getElementById("camera").value = motion.view;
    this.write();
    this.listen();
  }

  prepare() {
    const gl = this.gl, motion = this.motion;
    this.solid = program(gl, SOLID, PAINT);
    this.line = program(gl, LINE, INK);
    this.mesh = gl.createVertexArray();
    gl.bindVertexArray(this.mesh);
    const fill = (target, values) => {
      gl.bindBuffer(target, gl.createBuffer());
      gl.bufferData(target, values, gl.STATIC_DRAW);
    };
    fill(gl.ARRAY_BUFFER, decode(motion.localPoints));
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    fill(gl.ARRAY_BUFFER, decode(motion.localNormals));
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 3, gl.BYTE, true, 4, 0);
    fill(gl.ARRAY_BUFFER, decode(motion.pointStations));
    gl.enableVertexAttribArray(2);
    gl.vertexAttribIPointer(2, 1, gl.UNSIGNED_SHORT, 0, 0);
    fill(gl.ARRAY_BUFFER, decode(motion.growth));
    gl.enableVertexAttribArray(3);
    gl.vertexAttribPointer(3, 3, gl.BYTE, true, 4, 0);
    fill(gl.ARRAY_BUFFER, decode(motion.halfWidths));
    gl.enableVertexAttribArray(4);
    gl.vertexAttribPointer(4, 1, gl.FLOAT, false, 0, 0);
    fill(gl.ELEMENT_ARRAY_BUFFER, decode(motion.faces));
    this.prepareArrows(fill);
    this.lines = gl.createVertexArray();
    gl.bindVertexArray(this.lines);
    this.ends = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.ends);
    for (const [at, offset] of [[0, 0], [1, 12]]) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 24, offset);
    }
    this.textures = [this.texture(gl.NEAREST), this.texture(gl.LINEAR), this.texture(gl.NEAREST)];
    this.depths = gl.createFramebuffer();
    const bodies = motion.parts.filter((part) => part.kind === "body");
    this.layers = [...new Set(bodies.map((part) => part.colour))];
    gl.bindTexture(gl.TEXTURE_2D, this.textures[1]);
    const colours = decode(motion.colourMap);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, colours.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[0]);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, TEXELS, this.rows, 0, gl.RGBA, gl.FLOAT, null);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.depthFunc(gl.LEQUAL);
  }

  prepareArrows(fill) {
    const gl = this.gl, { arrows } = this.motion;
    this.arrow = program(gl, ARROW, PAINT);
    this.arrowValues = decode(arrows.startsAndVectors);
    this.shapes = arrows.shapes.map((shape) => {
      const array = gl.createVertexArray(), faces = decode(shape.faces);
      gl.bindVertexArray(array);
      for (const [at, size, block] of [[0, 4, shape.points], [1, 3, shape.normals]]) {
        fill(gl.ARRAY_BUFFER, decode(block));
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
      }
      fill(gl.ELEMENT_ARRAY_BUFFER, faces);
      return { array, count: faces.length, greatestWidth: shape.greatestWidth };
    });
  }

  texture(filter) {
    const gl = this.gl, made = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, made);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, filter);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return made;
  }

  look(name) {
    const [azimuth, elevation] = VIEWS[name], { clientWidth, clientHeight } = this.canvas, { motion } = this;
    this.target = pointAt(this.followed, motion.times, this.t);
    const focus = motion.near ? this.target : plus(motion.centre, this.target);
    this.camera = { azimuth, elevation, focus, distance: 1 };
    const { direction } = eyeOf(this.camera, motion.worldAxes);
    this.camera.distance = fitted(motion.halfExtents, direction, motion.worldAxes[2], clientWidth, clientHeight);
    this.fittedTo = [clientWidth, clientHeight];
  }

  // in a window of another size everything is as far inside as before
  refit() {
    const { clientWidth, clientHeight } = this.canvas, { motion } = this, [width, height] = this.fittedTo;
    if (clientWidth === width && clientHeight === height) return;
    const { direction } = eyeOf(this.camera, motion.worldAxes), up = motion.worldAxes[2];
    const [before, after] = [[width, height], [clientWidth, clientHeight]].map((size) =>
      fitted(motion.halfExtents, direction, up, ...size));
    this.camera.distance *= after / before;
    this.fittedTo = [clientWidth, clientHeight];
  }

  write() {
    const { page, motion } = this, timed = motion.times.length > 1;
    page.getElementById("title").textContent = motion.title;
    page.getElementById("detail").textContent = motion.detail;
    const scale = [motion.arrows.scaleLabel, `grid ${motion.floor.step} m; x orange, y green, z blue`];
    page.getElementById("scale").textContent = scale.filter((words) => words).join("\n");
    const make = (tag, parent, words = "") => {
      const element = page.createElement(tag);
      element.textContent = words;
      parent.appendChild(element);
      return element;
    };
    for (const [words, colour] of motion.legend) {
      const row = make("div", page.getElementById("names"), `${words} `);
      make("span", row, "\u25a0").style.color = colour;
    }
    const slider = page.getElementById("time");
    slider.min = motion.times[0];
    slider.max = motion.times[motion.times.length - 1];
    for (const name of ["play", "time", "speed"]) page.getElementById(name).hidden = !timed;
    if (!motion.quantity) return;
    const colours = decode(motion.colourMap), steps = [];
    for (let k = 0; k < colours.length; k += 4) steps.push(`rgb(${colours[k]},${colours[k + 1]},${colours[k + 2]})`);
    const bar = page.getElementById("legend");
    make("div", bar, motion.quantity);
    const row = make("div", bar), numbers = make("div", row);
    [row.id, numbers.id] = ["bar", "numbers"];
    for (let k = 4; k >= 0; k--) {
      const value = motion.colourRange[0] + (k / 4) * (motion.colourRange[1] - motion.colourRange[0]);
      make("span", numbers, Number(value.toPrecision(4)).toString());
    }
    const gradient = make("div", row);
    gradient.id = "ramp";
    gradient.style.background = `linear-gradient(to top, ${steps.join(",")})`;
  }

  listen() {
    const get = (name) => this.page.getElementById(name), pointers = new Map();
    get("play").addEventListener("click", () => this.toggle());
    get("time").addEventListener("input", (event) => this.seek(Number(event.target.value)));
    get("camera").addEventListener("change", (event) => this.look(event.target.value));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      this.canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
    }
    this.canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
      if (pointers.size > 1) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const far = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
        this.zoom(far(before) / far([event.clientX, event.clientY]));
        this.shift(dx / 2, dy / 2);
      } else if (event.buttons & 2 || event.shiftKey) this.shift(dx, dy);
      else this.turn(dx, dy);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    this.canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, 0.0015 * event.deltaY))));
    }, { passive: false });
    this.page.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], tag = event.target ? event.target.tagName : "";
      if (tag === "SELECT" || (tag === "BUTTON" && event.key === " ")) return; // they take these keys themselves
      if (event.key === " ") this.toggle();
      else if (step) this.step(step);
      else return;
      event.preventDefault();
    });
  }

  turn(dx, dy) {
    this.camera.azimuth -= 0.008 * dx;
    const most = Math.PI / 2 - 1e-4;
    this.camera.elevation = Math.min(Math.max(this.camera.elevation + 0.008 * dy, -most), most);
  }

  shift(dx, dy) {
    const { direction } = eyeOf(this.camera, this.motion.worldAxes), up = this.motion.worldAxes[2];
    const right = unit(cross(up, direction)), upwards = cross(direction, right);
    const scale = (2 * this.camera.distance * Math.tan(this.angle / 2)) / this.canvas.clientHeight;
    this.camera.focus = plus(plus(this.camera.focus, right, -dx * scale), upwards, dy * scale);
  }

  zoom(factor) {
    const { radius } = this.motion;
    this.camera.distance = Math.min(Math.max(this.camera.distance * factor, 0.05 * radius), 50 * radius);
  }

  toggle() {
    const { times } = this.motion;
    this.playing = !this.playing && times.length > 1;
    if (this.playing && this.t >= times[times.length - 1]) this.t = times[0];
  }

  seek(t) {
    const { times } = this.motion;
    this.t = Math.min(Math.max(t, times[0]), times[times.length - 1]);
  }

  step(by) {
    const { times } = this.motion, [low, high, weight] = between(times, this.t);
    this.playing = false;
    if (by > 0) this.seek(times[weight === 1 ? Math.min(high + 1, times.length - 1) : high]);
    else this.seek(times[weight === 0 ? Math.max(low - 1, 0) : low]);
  }

  tick(passed) {
    const { times } = this.motion;
    if (!this.playing) return;
    this.t += passed * Number(this.page.getElementById("speed").value);
    if (this.t >= times[times.length - 1]) [this.t, this.playing] = [times[times.length - 1], false];
  }

  draw() {
    this.refit();
    const { gl, canvas, motion } = this, ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((n) => Math.max(1, Math.round(ratio * n)));
    const target = pointAt(this.followed, motion.times, this.t);
    this.camera.focus = plus(this.camera.focus, plus(target, this.target, -1));
    this.target = target;
    const { azimuth, elevation, distance, focus } = this.camera;
    const state = [this.t, this.playing, azimuth, elevation, distance, ...focus, width, height].join();
    if (state === this.shown) return; // the picture stands
    this.shown = state;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const resized = this.fine !== `${width},${height}`;
    this.fine = `${width},${height}`;
    gl.viewport(0, 0, width, height);
    gl.clearColor(1, 1, 1, 1);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    posesAt(this.poses, motion.stationCount, motion.times, this.t, this.now);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[0]);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, TEXELS, this.rows, gl.RGBA, gl.FLOAT, this.now);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[1]);

    const up = motion.worldAxes[2], { eye, direction } = eyeOf(this.camera, motion.worldAxes);
    const far = this.camera.distance + 8 * motion.radius;
    const near = Math.max(this.camera.distance - 4 * motion.radius, 0.004 * far);
    const view = project(eye, this.camera.focus, up, width / height, near, far, this.angle);
    const right = unit(cross(up, direction)), half = Math.tan(this.angle / 2);
    const glassy = motion.parts.some((part) => part.kind === "tendon") && motion.colouredKind !== "rod";
    const rods = motion.parts.filter((part) => part.kind === "rod"), clear = glassy ? rods : [];
    const panes = motion.parts.filter((part) => part.kind === "obstacle" && part.opacity < 1);
    const through = [...clear, ...panes], opaque = motion.parts.filter((part) => !through.includes(part));
    this.drawLines(view);
    gl.useProgram(this.solid.handle);
    const { uniforms } = this.solid, [part, pixels] = motion.leastWidth;
    gl.uniform1f(uniforms.least, half * Math.max(part, (ratio * pixels) / height));
    gl.uniform4fv(uniforms.lens, [half, width / height, near, far]);
    gl.uniform1f(uniforms.reach, motion.occlusion);
    gl.uniform1i(uniforms.depths, 2);
    gl.uniform1i(uniforms.poses, 0);
    gl.uniform1i(uniforms.colourMap, 1);
    gl.uniformMatrix4fv(uniforms.view, false, view);
    gl.uniform4fv(uniforms.floor_, [...up, motion.floor.height]);
    gl.uniform3fv(uniforms.eye, eye);
    gl.uniform3fv(uniforms.right, right);
    gl.uniform3fv(uniforms.up, cross(direction, right));
    gl.bindVertexArray(this.mesh);
    if (motion.occlusion) this.drawDepths(opaque, width, height, resized);
    const casts = (part) => part.kind !== "tendon" && part.kind !== "obstacle";
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    // shadows lie on the floor, which has no depth of its own
    gl.depthMask(false);
    for (const part of motion.parts.filter(casts)) this.drawPart(part, "#dde0e5", 1, true);
    gl.depthMask(true);
    gl.enable(gl.CULL_FACE);
    gl.cullFace(gl.FRONT); // where tendons show: the pale inside of the far wall first
    for (const part of clear) this.drawPart(part, "#f3c9b6", 1, false, false);
    gl.cullFace(gl.BACK);
    for (const part of opaque) this.drawPart(part, part.colour, 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    for (const part of clear) this.drawPart(part, part.colour, 0.4);
    gl.disable(gl.CULL_FACE);
    gl.depthMask(false);
    for (const part of panes) this.drawPart(part, part.colour, part.opacity, false, false);
    gl.depthMask(true);
    this.drawArrows(view, eye, right, cross(direction, right));
    this.page.getElementById("time").value = this.t;
    this.page.getElementById("play").textContent = this.playing ? "pause" : "play";
    this.page.getElementById("clock").textContent = motion.times.length > 1 ? `t = ${this.t.toFixed(2)} s` : "";
  }

  // depths of what is opaque, by which the shader finds what is near to what
  drawDepths(opaque, width, height, resized) {
    const gl = this.gl, [, , depths] = this.textures;
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, null); // what is drawn into is not read
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.depths);
    if (resized) {
      gl.bindTexture(gl.TEXTURE_2D, depths);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, width, height, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, depths, 0);
      gl.drawBuffers([gl.NONE]);
      gl.bindTexture(gl.TEXTURE_2D, null);
    }
    gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const part of opaque) this.drawPart(part, part.colour, 1, false, false);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.bindTexture(gl.TEXTURE_2D, depths);
  }

  drawPart(part, colour, opacity, shadow = false, lit = true) {
    const gl = this.gl, { motion } = this, { uniforms } = this.solid;
    const painted = !shadow && lit && motion.colouredKind === part.kind;
    let uniformValue = -2e30;
    if (painted && part.kind === "tendon") {
      const [low, high, weight] = between(motion.times, this.t), n = motion.tendonCount;
      const [a, b] = [low, high].map((row) => this.tensions[row * n + part.tendonIndex]);
      uniformValue = a + weight * (b - a);
    }
    gl.uniform4fv(uniforms.colour, [...rgb(colour), opacity]);
    gl.uniform2fv(uniforms.colourRange, painted ? motion.colourRange : [0, 0]);
    gl.uniform1f(uniforms.uniformValue, uniformValue);
    // of parts whose surfaces coincide one is drawn before the other
    const layer = { rod: 1, body: 2 + this.layers.indexOf(part.colour) }[part.kind] || 0;
    gl.polygonOffset(0, -LAYER * (shadow ? -1 : layer)); // shadows lie below the grid
    gl.uniform1f(uniforms.shadow, shadow ? 1 : 0);
    gl.uniform1f(uniforms.lit, shadow || !lit ? 0 : 1);
    gl.drawElements(gl.TRIANGLES, part.indexCount, gl.UNSIGNED_INT, 4 * part.firstIndex);
  }

  // over what they lie in
  drawArrows(view, eye, right, up) {
    const gl = this.gl, { arrows, times } = this.motion, { handle, uniforms } = this.arrow;
    const shown = arrowsAt(this.arrowValues, arrows.tracks, times, this.t);
    if (!shown.length) return;
    gl.disable(gl.BLEND);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(handle);
    gl.uniformMatrix4fv(uniforms.view, false, view);
    for (const [name, value] of [["eye", eye], ["right", right], ["up", up]]) gl.uniform3fv(uniforms[name], value);
    gl.polygonOffset(0, 0);
    gl.uniform1f(uniforms.reach, 0);
    gl.uniform1i(uniforms.depths, 2);
    gl.uniform1f(uniforms.lit, 0.55); // colours that mean something are shaded less
    gl.uniform1f(uniforms.uniformValue, -2e30);
    gl.uniform2fv(uniforms.colourRange, [0, 0]);
    gl.uniform1i(uniforms.colourMap, 1);
    for (const { track, start, vector } of shown) {
      const { colour, heads } = arrows.tracks[track], { array, count, greatestWidth } = this.shapes[heads - 1];
      gl.bindVertexArray(array);
      gl.uniform4fv(uniforms.colour, [...rgb(colour), 1]);
      gl.uniform3fv(uniforms.start, start);
      gl.uniform3fv(uniforms.vector, vector);
      gl.uniform2fv(uniforms.headWidth, [arrows.headWidth, greatestWidth]);
      gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
    }
  }

  drawLines(view) {
    const gl = this.gl, { motion } = this, { floor } = motion;
    const grid = floor.lines.flatMap((point) => [...point, 0.77, 0.79, 0.81]);
    const axes = AXES.flatMap((ink, k) => {
      const end = floor.corner.map((x, i) => (i === k ? x + floor.step : x));
      return [...floor.corner, ...ink, ...end, ...ink];
    });
    const strips = [[gl.LINES, grid], [gl.LINES, axes]];
    motion.trails.forEach((trail) => {
      const points = [], until = between(motion.times, this.t)[0], ink = rgb(trail.colour);
      for (let row = 0; row <= until; row++) {
        const k = 8 * (row * motion.stationCount + trail.station);
        points.push(this.poses[k], this.poses[k + 1], this.poses[k + 2], ...ink);
      }
      const k = 8 * trail.station;
      points.push(this.now[k], this.now[k + 1], this.now[k + 2], ...ink);
      strips.push([gl.LINE_STRIP, points]);
    });
    gl.useProgram(this.line.handle);
    gl.uniformMatrix4fv(this.line.uniforms.view, false, view);
    gl.bindVertexArray(this.lines);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.ends);
    gl.disable(gl.BLEND);
    for (const [kind, values] of strips) {
      gl.depthFunc(values === axes ? gl.ALWAYS : gl.LEQUAL); // axes lie on lines of the grid
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.DYNAMIC_DRAW);
      gl.drawArrays(kind, 0, values.length / 6);
    }
    gl.depthFunc(gl.LEQUAL);
  }
}

if (typeof document !== "undefined") {
  try {
    const viewer = new Viewer(document, JSON.parse(document.getElementById("motion").textContent));
    let last = null;
    const frame = (now) => {
      viewer.tick(last === null ? 0 : (now - last) / 1000);
      last = now;
      viewer.draw();
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  } catch (error) {
    const trouble = document.getElementById("trouble");
    trouble.style.display = "flex";
    trouble.textContent = `Cannot draw here: ${error.message}`;
  }
}
