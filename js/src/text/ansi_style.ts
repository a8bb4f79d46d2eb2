// Styles of terminal text: the effect of an SGR sequence (ECMA-48, 8.3.117), and colours that are readable on
// light and dark backgrounds. Knows no lines and no page.

/** A colour: 0 to 255 of the usual palette, or "#rrggbb". */
export type Colour = number | string;

export interface Style {
  readonly fg: Colour | null;
  readonly bg: Colour | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly strike: boolean;
  readonly inverse: boolean;
}

export const PLAIN: Style = {
  fg: null,
  bg: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
};

const NAMES = Object.keys(PLAIN) as (keyof Style)[];

export function isSameStyle(a: Style, b: Style): boolean {
  return a === b || NAMES.every((name) => a[name] === b[name]);
}

const CHANGES: Record<number, Partial<Style>> = {
  0: PLAIN,
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  21: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  29: { strike: false },
  39: { fg: null },
  49: { bg: null },
};

/** A cache of the styles that follow a style: programs use the same few. Cleared when it gets too large. */
let known = new Map<Style, Map<string, Style>>();
let knownCount = 0;
const MAX_KNOWN = 1000;

/** The style after the parameters of an SGR sequence. Ignores "concealed": nothing is hidden. */
export function restyled(style: Style, parameters: string): Style {
  if (parameters === "" || parameters === "0") return PLAIN;
  const before = known.get(style)?.get(parameters);
  if (before) return before;
  if (knownCount++ >= MAX_KNOWN) [known, knownCount] = [new Map(), 1];
  const next = made(style, parameters);
  const after = known.get(style) ?? new Map<string, Style>();
  known.set(style, after.set(parameters, next));
  return next;
}

function made(style: Style, parameters: string): Style {
  const groups = parameters.split(";").map((group) => group.split(":").map(Number));
  let now = style;
  for (let at = 0; at < groups.length; at++) {
    const [code = 0, ...more] = groups[at] ?? [];
    if (code === 38 || code === 48) {
      // "38;2;r;g;b" as separate parameters, or "38:2::r:g:b" as one.
      const own = more.length > 0;
      const rest = own ? more : groups.slice(at + 1, at + 5).map(([first = 0]) => first);
      const colour = extended(own && rest[0] === 2 && rest.length > 4 ? cutSpace(rest) : rest);
      if (colour !== null) now = { ...now, [code === 38 ? "fg" : "bg"]: colour };
      if (!own) at += rest[0] === 2 ? 4 : rest[0] === 5 ? 2 : 0;
    } else if (code === 4 && more[0] === 0) now = { ...now, underline: false };
    else now = { ...now, ...(CHANGES[code] ?? basic(code)) };
  }
  return isSameStyle(now, PLAIN) ? PLAIN : now;
}

function basic(code: number): Partial<Style> {
  if (code >= 30 && code <= 37) return { fg: code - 30 };
  if (code >= 90 && code <= 97) return { fg: code - 90 + 8 };
  if (code >= 40 && code <= 47) return { bg: code - 40 };
  if (code >= 100 && code <= 107) return { bg: code - 100 + 8 };
  return {};
}

/** Removes the id of the colour space, which is between the kind and the colour. */
function cutSpace([kind = 0, , ...rest]: number[]): number[] {
  return [kind, ...rest];
}

function extended([kind, ...values]: readonly number[]): Colour | null {
  const bytes = values.map((value) => Math.min(255, Math.max(0, Math.trunc(value) || 0)));
  if (kind === 5 && bytes.length > 0) return bytes[0] ?? null;
  if (kind !== 2 || bytes.length < 3) return null;
  return hex(bytes.slice(0, 3));
}

// ---- readable colours

/** What a run of text needs: classes, and the values of custom properties. */
export interface Look {
  readonly names: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

/** Text on the page's background needs this contrast (WCAG 2, for normal text). */
const CONTRAST = 4.5;
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
/** Typical backgrounds of code: not quite white, not quite black. */
const LIGHT: Rgb = [243, 244, 246];
const DARK: Rgb = [34, 40, 48];

const looks = new WeakMap<Style, Look>();

export function lookOf(style: Style): Look {
  const look = looks.get(style) ?? newLook(style);
  looks.set(style, look);
  return look;
}

function newLook(style: Style): Look {
  const names = (["bold", "dim", "italic", "underline", "strike"] as const)
    .filter((name) => style[name])
    .map((name) => `acp-ansi-${name}`);
  const [fg, bg] = style.inverse ? [style.bg, style.fg] : [style.fg, style.bg];
  if (style.inverse && bg === null) return { names: [...names, "acp-ansi-inverse"], values: {} };
  if (bg !== null) {
    // With a background we set both colours, whatever the theme.
    const ground = rgbOf(bg);
    const text = fg === null ? bestOn(ground) : rgbOf(fg);
    const shown = contrast(text, ground) < 3 ? bestOn(ground) : text;
    return {
      names: [...names, "acp-ansi-own"],
      values: { "--acp-ansi-fg": hex(shown), "--acp-ansi-bg": hex(ground) },
    };
  }
  if (fg === null) return { names, values: {} };
  if (typeof fg === "number" && fg < 16) return { names: [...names, `acp-ansi-${fg}`], values: {} };
  return {
    names: [...names, "acp-ansi-rgb"],
    values: {
      "--acp-ansi-light": hex(readable(rgbOf(fg), LIGHT, BLACK)),
      "--acp-ansi-dark": hex(readable(rgbOf(fg), DARK, WHITE)),
    },
  };
}

type Rgb = readonly [number, number, number];

function bestOn(ground: Rgb): Rgb {
  return contrast(WHITE, ground) > contrast(BLACK, ground) ? WHITE : BLACK;
}

/** The colour, moved towards black or white as far as the contrast needs. */
function readable(colour: Rgb, ground: Rgb, towards: Rgb): Rgb {
  for (let share = 0; share < 1; share += 0.1) {
    const mixed = colour.map((part, at) => part + ((towards[at] ?? 0) - part) * share);
    if (contrast(mixed as unknown as Rgb, ground) >= CONTRAST) return mixed as unknown as Rgb;
  }
  return towards;
}

function contrast(a: Rgb, b: Rgb): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: Rgb): number {
  const [r = 0, g = 0, b = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const BASIC =
  "000000cd000000cd00cdcd000000eecd00cd00cdcde5e5e57f7f7fff000000ff00ffff005c5cffff00ff00ffffffffff";
const LEVELS = [0, 95, 135, 175, 215, 255];

function rgbOf(colour: Colour): Rgb {
  if (typeof colour === "string" || colour < 16) {
    const digits =
      typeof colour === "string" ? colour.slice(1) : BASIC.slice(colour * 6, colour * 6 + 6);
    const number = parseInt(digits, 16);
    return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
  }
  if (colour >= 232) {
    const grey = 8 + (colour - 232) * 10;
    return [grey, grey, grey];
  }
  const cube = colour - 16;
  const level = (at: number) => LEVELS[at % 6] ?? 0;
  return [level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube)];
}

function hex(colour: readonly number[]): string {
  return `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}
