// Programs of the graphics card: surfaces whose points are fixed in stations, arrows, lines.

const SAMPLES = 20; // of the depths around a pixel

const SOLID = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D poses;
uniform mat4 view;
uniform vec4 floor_;   // vertical, height of the floor
uniform float shadow;
uniform float least;   // half-width of rods and tendons at a distance of 1
layout(location = 0) in vec3 local;
layout(location = 1) in vec3 normal;
layout(location = 2) in uint station;
layout(location = 3) in vec3 growth;
layout(location = 4) in float halfWidth;
out vec3 side;
out vec3 where;
out float value;
vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
void main() {
  int at = 2 * int(station);
  ivec2 texel = ivec2(at % ${TEXELS}, at / ${TEXELS});
  vec4 place = texelFetch(poses, texel, 0), turn = texelFetch(poses, texel + ivec2(1, 0), 0);
  float missing = max(least * (view * vec4(place.xyz, 1.0)).w - halfWidth, 0.0);
  where = place.xyz + turned(turn, local + missing * 1.41421356 * growth);
  side = turned(turn, normal);
  value = place.w;
  if (shadow > 0.0) where += (floor_.w - dot(where, floor_.xyz)) * floor_.xyz;
  gl_Position = view * vec4(where, 1.0);
}`;
const PAINT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D colourMap;
uniform vec4 colour;
uniform vec2 colourRange;    // of values; empty: no colours
uniform float lit;           // 0 flat, 1 by the light
uniform float uniformValue;  // value of all of it where above -1e30
uniform vec3 eye, right, up;
uniform sampler2D depths;    // of all that is opaque
uniform vec4 lens;           // tangent of half its angle, aspect, near, far
uniform float reach;         // of what darkens what is near to it; 0: nothing does
in vec3 side;
in vec3 where;
in float value;
out vec4 shown;
// ambient occlusion: how much of the sky above a point its surroundings hide, by samples of the depths around it
float hidden(vec3 n) {
  vec2 size = vec2(textureSize(depths, 0)), here = gl_FragCoord.xy / size;
  float spread = 0.5 * reach * gl_FragCoord.w / lens.x, sum = 0.0;  // part of the picture's height
  float noise = fract(52.98 * fract(dot(gl_FragCoord.xy, vec2(0.0671, 0.00584))));
  for (int k = 0; k < ${SAMPLES}; k++) {
    float r = spread * sqrt((float(k) + 0.5) / ${SAMPLES}.0), angle = 2.4 * float(k) + 6.28 * noise;
    vec2 at = here + r * vec2(cos(angle) / lens.y, sin(angle));
    float depth = lens.z * lens.w / (lens.w - texture(depths, at).r * (lens.w - lens.z));
    vec2 slope = lens.x * (2.0 * at - 1.0);
    vec3 apart = eye + depth * (slope.x * lens.y * right + slope.y * up - cross(right, up)) - where;
    float far = length(apart) + 1e-9;
    sum += max(dot(n, apart) / far - 0.15, 0.0) * max(1.0 - far / reach, 0.0);
  }
  return sum / ${SAMPLES}.0;
}
void main() {
  vec3 base = colour.rgb;
  float number = uniformValue > -1e30 ? uniformValue : value;
  float span = colourRange.y - colourRange.x;
  if (span > 0.0) base = texture(colourMap, vec2((number - colourRange.x) / span, 0.5)).rgb;
  float shade = 1.0;
  if (lit > 0.0) {
    vec3 n = normalize(side), toward = normalize(eye - where);
    float key = max(dot(n, normalize(toward + 0.8 * up - 0.5 * right)), 0.0), fill = max(dot(n, toward), 0.0);
    float open = reach > 0.0 ? max(1.0 - 2.5 * hidden(n), 0.3) : 1.0;
    shade = open * mix(0.36 + 0.55 * key + 0.14 * fill, 1.0, span > 0.0 ? 0.45 : 1.0 - lit);
  }
  shown = vec4(base * shade, colour.a);
}`;
const ARROW = `#version 300 es
uniform mat4 view;
uniform vec3 start, vector;
uniform vec2 headWidth;  // width of heads, and the most that it may be of the length
layout(location = 0) in vec4 local;   // in widths of heads, and how far the far end moves it
layout(location = 1) in vec3 normal;
out vec3 side;
out vec3 where;
out float value;
void main() {
  float far = length(vector);
  vec3 along = vector / far;
  vec3 e1 = normalize(cross(along, abs(along.x) < 0.7 ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0)));
  mat3 frame = mat3(e1, cross(along, e1), along);
  where = start + frame * (min(headWidth.x, headWidth.y * far) * local.xyz + vec3(0.0, 0.0, far * local.w));
  side = frame * normal;
  value = 0.0;
  gl_Position = view * vec4(where, 1.0);
}`;
const LINE = `#version 300 es
uniform mat4 view;
layout(location = 0) in vec3 point;
layout(location = 1) in vec3 colour;
out vec3 ink;
void main() { ink = colour; gl_Position = view * vec4(point, 1.0); }`;
const INK = `#version 300 es
precision highp float;
in vec3 ink;
out vec4 shown;
void main() { shown = vec4(ink, 1.0); }`;

const AXES = [[0.84, 0.37, 0], [0, 0.62, 0.45], [0, 0.45, 0.7]]; // colours of x, y, z

const rgb = (code) => [1, 3, 5].map((i) => parseInt(code.slice(i, i + 2), 16) / 255);

function program(gl, vertex, fragment) {
  const handle = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(handle, shader);
  }
  gl.linkProgram(handle);
  if (!gl.getProgramParameter(handle, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(handle));
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(handle, i);
    uniforms[name] = gl.getUniformLocation(handle, name);
  }
  return { handle, uniforms };
}
