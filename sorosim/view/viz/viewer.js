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
    this.strains = decode(motion.strains);
    this.strainStations = decode(motion.strainStations);
    this.angle = viewAngle(motion.zoom);
    this.state = new Playback(motion);
    this.words = new Words(page, motion, (action) => this.act(action));
    this.words.list(this.state.keys);
    this.prepare();
    this.look(motion.view);
    this.paint();
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

  // what colours show
  paint() {
    const { gl, motion, state } = this;
    this.colour = motion.colours.find((one) => one.name === state.colour);
    const colours = this.colour.map ? decode(motion.colourMaps[this.colour.map]) : null;
    this.words.bar(this.colour, colours);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[1]);
    const shown = colours || new Uint8Array(4);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, shown.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, shown);
  }

  look(name) {
    const { clientWidth, clientHeight } = this.canvas, { motion, state } = this, view = levelView(name, motion.worldAxes);
    const [azimuth, elevation] = VIEWS[view];
    state.view = name;
    this.page.getElementById("camera").value = view;
    this.orbited = motion.orbit * state.t;
    this.target = pointAt(this.followed, motion.times, state.t);
    const focus = motion.near ? this.target : plus(motion.centre, this.target);
    this.camera = { azimuth: azimuth + this.orbited, elevation, focus, distance: 1 };
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

  listen() {
    const get = (name) => this.page.getElementById(name), pointers = new Map();
    const buttons = { play: "toggle", loop: "loop", picture: "screenshot", keys: "help" };
    for (const [id, action] of Object.entries(buttons)) get(id).addEventListener("click", () => this.act(action));
    get("time").addEventListener("input", (event) => this.state.seek(Number(event.target.value)));
    const choices = { camera: (value) => this.look(value), speed: (value) => (this.state.speed = Number(value)) };
    for (const [id, choose] of Object.entries(choices)) {
      get(id).addEventListener("change", (event) => {
        choose(event.target.value);
        get(id).blur(); // what was chosen or clicked does not keep the keys
      });
    }
    for (const id of ["controls", "help"]) {
      get(id).addEventListener("mousedown", (event) => event.target.closest("button") && event.preventDefault());
    }
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
      const tag = event.target ? event.target.tagName : "";
      if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's
      if (tag === "SELECT" || (tag === "BUTTON" && event.key === " ")) return; // they take these keys themselves
      const action = this.state.press(event.key);
      if (!action) return;
      event.preventDefault();
      this.complete(action);
    });
  }

  act(action) {
    this.state.act(action);
    this.complete(action);
  }

  // what a command does beside the state
  complete(action) {
    if (action === "fit" || action === this.state.view) this.look(this.state.view);
    if (action === "colour") this.paint();
    if (action === "screenshot") this.save();
  }

  save() {
    const { motion, state } = this, name = (motion.title || motion.legend.map(([words]) => words).join(" "));
    this.shown = ""; // what is drawn is there until the browser shows it
    this.draw();
    const stem = name.replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_|_$/g, "") || "robot";
    this.words.save(this.canvas, `${stem}${state.timed ? `_${state.t.toFixed(3)}s` : ""}.png`);
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

  tick(passed) {
    this.state.tick(passed);
  }

  draw() {
    this.refit();
    const { gl, canvas, motion, colour, state } = this, { switches } = state;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((n) => Math.max(1, Math.round(ratio * n)));
    const target = pointAt(this.followed, motion.times, state.t), turn = motion.orbit * state.t;
    this.camera.focus = plus(this.camera.focus, plus(target, this.target, -1));
    this.camera.azimuth += turn - this.orbited;
    [this.target, this.orbited] = [target, turn];
    const { azimuth, elevation, distance, focus } = this.camera;
    const { t, playing, speed, loop, help } = state, settings = [playing, speed, loop, state.view, help, switches];
    const shown = JSON.stringify([t, settings, state.colour, azimuth, elevation, distance, focus, width, height]);
    if (shown === this.shown) return; // the picture stands
    this.shown = shown;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const resized = this.fine !== `${width},${height}`;
    this.fine = `${width},${height}`;
    gl.viewport(0, 0, width, height);
    gl.clearColor(1, 1, 1, 1);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    posesAt(this.poses, motion.stationCount, motion.times, state.t, this.now);
    if (colour.kind === "rod") {
      const strains = motion.colours.filter((one) => one.kind === "rod"), which = strains.indexOf(colour);
      const stored = [this.strains, this.strainStations, strains.length, which];
      strainsAt(...stored, colour.range, motion.times, state.t, this.now);
    }
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
    const hidden = { tendon: !switches.tendons, obstacle: !switches.contacts };
    const parts = motion.parts.filter((part) => !hidden[part.kind]);
    const glassy = parts.some((part) => part.kind === "tendon") && colour.kind !== "rod";
    const clear = parts.filter((part) => glassy && part.kind === "rod");
    const panes = parts.filter((part) => part.kind === "obstacle" && part.opacity < 1);
    const through = [...clear, ...panes], opaque = parts.filter((part) => !through.includes(part));
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
    const casts = (part) => switches.floor && part.kind !== "tendon" && part.kind !== "obstacle";
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    // shadows lie on the floor, which has no depth of its own
    gl.depthMask(false);
    for (const part of parts.filter(casts)) this.drawPart(part, "#dde0e5", 1, true);
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
    const scale = this.scale();
    if (scale) this.drawArrows(scale, view, eye, right, cross(direction, right));
    if (switches.frames) this.drawFrames(view);
    this.words.write(state, scale);
  }

  // the scale of the arrows that are shown: of the kinds that act and are on
  scale() {
    const { scales } = this.motion.arrows, acting = Object.keys(scales).filter((kinds) => !kinds.includes(" "));
    return scales[acting.filter((kind) => this.state.switches[kind]).join(" ")];
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
    const painted = !shadow && lit && this.colour.kind === part.kind;
    let uniformValue = -2e30;
    if (painted && part.kind === "tendon") {
      const [low, high, weight] = between(motion.times, this.state.t), n = motion.tendonCount;
      const [a, b] = [low, high].map((row) => this.tensions[row * n + part.tendonIndex]);
      uniformValue = a + weight * (b - a);
    }
    gl.uniform4fv(uniforms.colour, [...rgb(colour), opacity]);
    gl.uniform2fv(uniforms.colourRange, painted ? this.colour.range : [0, 0]);
    gl.uniform1f(uniforms.uniformValue, uniformValue);
    // of parts whose surfaces coincide one is drawn before the other
    const layer = { rod: 1, body: 2 + this.layers.indexOf(part.colour) }[part.kind] || 0;
    gl.polygonOffset(0, -LAYER * (shadow ? -1 : layer)); // shadows lie below the grid
    gl.uniform1f(uniforms.shadow, shadow ? 1 : 0);
    gl.uniform1f(uniforms.lit, shadow || !lit ? 0 : 1);
    gl.drawElements(gl.TRIANGLES, part.indexCount, gl.UNSIGNED_INT, 4 * part.firstIndex);
  }

  // over what they lie in
  drawArrows(scale, view, eye, right, up) {
    const gl = this.gl, { arrows, times } = this.motion, { handle, uniforms } = this.arrow, { switches, t } = this.state;
    const acting = wrenchesAt(this.arrowValues, arrows.tracks, times, t);
    const shown = arrowsOf(acting.filter(({ track }) => switches[arrows.tracks[track].kind]), arrows.tracks, scale);
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
      gl.uniform2fv(uniforms.headWidth, [scale.headWidth, greatestWidth]);
      gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
    }
  }

  drawLines(view) {
    const gl = this.gl, { motion, state } = this, { floor } = motion, { switches } = state, strips = [];
    const grid = floor.lines.flatMap((point) => [...point, 0.77, 0.79, 0.81]);
    const axes = AXES.flatMap((ink, k) => {
      const end = floor.corner.map((x, i) => (i === k ? x + floor.step : x));
      return [...floor.corner, ...ink, ...end, ...ink];
    });
    if (switches.floor) strips.push([gl.LINES, grid]);
    if (switches.axes) strips.push([gl.LINES, axes, gl.ALWAYS]); // they lie on lines of the grid
    for (const trail of switches.trails ? motion.trails : []) {
      const points = [], until = between(motion.times, state.t)[0], ink = rgb(trail.colour);
      for (let row = 0; row <= until; row++) {
        const k = 7 * (row * motion.stationCount + trail.station);
        points.push(this.poses[k], this.poses[k + 1], this.poses[k + 2], ...ink);
      }
      points.push(...place(this.now, trail.station, [0, 0, 0]), ...ink);
      strips.push([gl.LINE_STRIP, points]);
    }
    this.drawStrips(view, strips);
  }

  // over what they lie in
  drawFrames(view) {
    const { length, stations } = this.motion.frames;
    const ends = (station, k) => [[0, 0, 0], [0, 1, 2].map((i) => (i === k ? length : 0))].map((local) =>
      place(this.now, station, local));
    const points = stations.flatMap((station) => AXES.flatMap((ink, k) =>
      ends(station, k).flatMap((point) => [...point, ...ink])));
    this.drawStrips(view, [[this.gl.LINES, points, this.gl.ALWAYS]]);
  }

  drawStrips(view, strips) {
    const gl = this.gl;
    gl.useProgram(this.line.handle);
    gl.uniformMatrix4fv(this.line.uniforms.view, false, view);
    gl.bindVertexArray(this.lines);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.ends);
    gl.disable(gl.BLEND);
    for (const [kind, values, depth] of strips) {
      gl.depthFunc(depth || gl.LEQUAL);
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
