"use strict";
// A motion in a page: every point is fixed in a station (a section of a rod, or a body), whose poses are stored over
// time. The graphics card reads the poses of one moment from a texture and puts the points there.

const TEXELS = 512; // in a row of the texture of poses; a station takes two: position and value, quaternion
const KINDS = { f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array, i1: Int8Array };
const SLIDER = 50; // pixels
const VIEW_ANGLE = (28 * Math.PI) / 180;
const viewAngle = (zoom) => 2 * Math.atan(Math.tan(VIEW_ANGLE / 2) / zoom);

function decode(block) {
  const text = atob(block.base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new KINDS[block.kind](bytes.buffer);
}

// the stored moment before a time, and how far it is to the next, 0 to 1
function between(times, t) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  const span = times[high] - times[low];
  return [low, high, span > 0 ? Math.min(Math.max((t - times[low]) / span, 0), 1) : 0];
}

// poses at a time, of seven numbers each, into `out`, eight numbers a station: x, y, z, a free one, quaternion x, y, z, w
function posesAt(poses, n, times, t, out) {
  const [low, high, weight] = between(times, t);
  for (let station = 0; station < n; station++) {
    const a = 7 * (low * n + station), b = 7 * (high * n + station), k = 8 * station;
    const blend = (i) => poses[a + i] + weight * (poses[b + i] - poses[a + i]);
    for (let i = 0; i < 3; i++) out[k + i] = blend(i);
    for (let i = 3; i < 7; i++) out[k + 1 + i] = blend(i);
    const length = Math.hypot(out[k + 4], out[k + 5], out[k + 6], out[k + 7]) || 1;
    for (let i = 4; i < 8; i++) out[k + i] /= length;
  }
  return out;
}

// one of m strains at a time into the free numbers of its stations; stored from 0 to 65535 over its range
function strainsAt(strains, stations, m, which, range, times, t, out) {
  const [low, high, weight] = between(times, t), n = stations.length, unit = (range[1] - range[0]) / 65535;
  for (let k = 0; k < n; k++) {
    const a = strains[(low * m + which) * n + k], b = strains[(high * m + which) * n + k];
    out[8 * stations[k] + 3] = range[0] + unit * (a + weight * (b - a));
  }
  return out;
}

// forces and moments at a time: track, where it acts, its vector. Steady ones are blended between stored moments at which they are
// there; the others are those of the nearest moment
function wrenchesAt(values, tracks, times, t) {
  const [low, high, weight] = between(times, t), n = tracks.length, found = [];
  const row = (moment, track) => values.subarray(6 * (moment * n + track), 6 * (moment * n + track + 1));
  const there = (one) => one[3] !== 0 || one[4] !== 0 || one[5] !== 0;
  tracks.forEach(({ steady }, track) => {
    const a = row(low, track), b = row(high, track), blend = steady && there(a) && there(b);
    const now = blend ? Array.from(a, (x, i) => x + weight * (b[i] - x)) : [...(weight < 0.5 ? a : b)];
    if (there(now)) found.push({ track, start: now.slice(0, 3), vector: now.slice(3) });
  });
  return found;
}

// wrenches as arrows by a scale, without small ones; some end where they act
function arrowsOf(found, tracks, scale) {
  return found.flatMap(({ track, start, vector }) => {
    const { heads, ends } = tracks[track], one = scale.heads[heads - 1], size = Math.hypot(...vector);
    if (!one || size <= one.least) return [];
    const metres = Math.min(one.metres, (one.longest ?? Infinity) / size), arrow = vector.map((x) => metres * x);
    return [{ track, start: ends ? plus(start, arrow, -1) : start, vector: arrow }];
  });
}

// v + 2 q x (q x v + w v), as the shader has it
function rotate(x, y, z, w, v) {
  const a = y * v[2] - z * v[1] + w * v[0], b = z * v[0] - x * v[2] + w * v[1], c = x * v[1] - y * v[0] + w * v[2];
  return [v[0] + 2 * (y * c - z * b), v[1] + 2 * (z * a - x * c), v[2] + 2 * (x * b - y * a)];
}

function place(poses, station, local) {
  const k = 8 * station, turned = rotate(poses[k + 4], poses[k + 5], poses[k + 6], poses[k + 7], local);
  return [poses[k] + turned[0], poses[k + 1] + turned[1], poses[k + 2] + turned[2]];
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const plus = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const unit = (a) => a.map((x) => x / (Math.hypot(...a) || 1));

// point at a time of those (three numbers each) of stored moments
function pointAt(points, times, t) {
  const [low, high, weight] = between(times, t);
  return [0, 1, 2].map((i) => points[3 * low + i] + weight * (points[3 * high + i] - points[3 * low + i]));
}

// matrix of the projection and the view, column by column, as WebGL takes it
function project(eye, focus, up, aspect, near, far, angle = VIEW_ANGLE) {
  const z = unit(plus(eye, focus, -1)), x = unit(cross(up, z)), y = cross(z, x);
  const f = 1 / Math.tan(angle / 2), a = (near + far) / (near - far), b = (2 * near * far) / (near - far);
  const rows = [[...x.map((v) => (f / aspect) * v), (-f / aspect) * dot(x, eye)],
    [...y.map((v) => f * v), -f * dot(y, eye)],
    [...z.map((v) => a * v), -a * dot(z, eye) + b], [...z.map((v) => -v), dot(z, eye)]];
  const out = new Float32Array(16);
  for (let r = 0; r < 4; r++) for (let c = 0; c < 4; c++) out[4 * c + r] = rows[r][c];
  return out;
}

// the camera goes round a focus: azimuth from the first level axis to the back, elevation upwards [rad]
function eyeOf(camera, frame) {
  const level = Math.cos(camera.elevation);
  const toward = [level * Math.cos(camera.azimuth), level * Math.sin(camera.azimuth), Math.sin(camera.elevation)];
  const direction = frame.reduce((sum, axis, k) => plus(sum, axis, toward[k]), [0, 0, 0]);
  return { eye: plus(camera.focus, direction, camera.distance), direction };
}

// so far away that a box of a size, half of it given, fits into a window, above the slider
function fitted(half, direction, up, width, height) {
  const right = unit(cross(up, direction)), upwards = cross(direction, right), across = Math.tan(VIEW_ANGLE / 2);
  const part = [Math.max((0.95 * width) / Math.max(height, 1), 0.1), Math.max(1 - (2 * SLIDER) / height, 0.5)];
  let distance = 0;
  for (let corner = 0; corner < 8; corner++) {
    const arm = half.map((x, i) => ((corner >> i) & 1 ? x : -x));
    const wide = Math.max(Math.abs(dot(arm, right)) / part[0], Math.abs(dot(arm, upwards)) / part[1]);
    distance = Math.max(distance, dot(arm, direction) + wide / across);
  }
  return distance;
}

const VIEWS = { iso: [Math.atan2(-1.35, 0.75), Math.atan2(0.75, Math.hypot(0.75, 1.35))], front: [0, 0],
  side: [-Math.PI / 2, 0], top: [-Math.PI / 2, Math.PI / 2 - 1e-4] };

// the view among VIEWS that a name means, which may be one along an axis of the world
function levelView(name, worldAxes) {
  const k = "xyz".indexOf(name), along = worldAxes.map((axis) => Math.abs(axis[k]));
  return k < 0 ? name : ["front", "side", "top"][along.indexOf(Math.max(...along))];
}

if (typeof module !== "undefined") {
  module.exports = { decode, between, pointAt, viewAngle, posesAt, strainsAt, wrenchesAt, arrowsOf, rotate, place, project,
    eyeOf, fitted, levelView, VIEWS, TEXELS };
}
