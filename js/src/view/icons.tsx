// Icons: one per kind of tool, and a few for buttons. Decoration only: each has a name next to it.

/** Paths in a square of 16. */
const SHAPES = {
  read: "M8 3.5C6.8 2.6 5 2.3 2.5 2.5v10c2.5-.2 4.3.1 5.5 1 1.2-.9 3-1.2 5.5-1v-10C11 2.3 9.2 2.6 8 3.5Zm0 0v10",
  edit: "m2.5 13.5.8-3.2 7.4-7.4a1.2 1.2 0 0 1 1.7 0l.7.7a1.2 1.2 0 0 1 0 1.7l-7.4 7.4-3.2.8Zm7-9.5 2.5 2.5",
  delete: "M3 4.5h10M6 4.5v-2h4v2m-5.7 0 .6 9h6.2l.6-9M6.7 7v4m2.6-4v4",
  move: "M2.5 8h10m-3.5-3.5L12.5 8 9 11.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm3.3-1.2 3.2 3.2",
  execute: "M2 3h12v10H2V3Zm2.5 3 2 2-2 2m4 0h3",
  think: "M6 13.5h4m-4.3-2.3c0-1.2-2-2.2-2-4.5a4.3 4.3 0 0 1 8.6 0c0 2.3-2 3.3-2 4.5H5.7Z",
  fetch: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0 0c-3-3.3-3-8.7 0-12 3 3.3 3 8.7 0 12ZM2 8h12",
  switch_mode: "M2.5 5.5h9M9 3l2.5 2.5L9 8m4.5 2.5h-9M7 8l-2.5 2.5L7 13",
  add: "M3.5 2.5h6l3 3v8h-9v-11Zm4.5 4v5m-2.5-2.5h5",
  key: "M6 10.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm2.6-2.2h5v2.2m-2.2-2.2v1.6",
  chain:
    "M7 9a2.5 2.5 0 0 0 3.5 0l2-2A2.5 2.5 0 0 0 9 3.5l-.7.7M9 7a2.5 2.5 0 0 0-3.5 0l-2 2A2.5 2.5 0 0 0 7 12.5l.7-.7",
  stop: "M4 4h8v8H4z",
  send: "M8 13V3.5M4 7.3 8 3.3l4 4",
  open: "M6.5 3.5h-3v9h9v-3M9.5 2.5h4v4m0-4L7.5 8.5",
  copy: "M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8v-8Z",
  up: "M8 13V3.5M4 7.3 8 3.3l4 4",
  down: "M8 3v9.5M4 8.7l4 4 4-4",
  attach:
    "m13.8 7.4-5.7 5.7a3.6 3.6 0 0 1-5.1-5.1l5.9-5.9a2.4 2.4 0 0 1 3.4 3.4l-5.9 5.9a1.2 1.2 0 0 1-1.7-1.7l5.3-5.3",
  close: "m4 4 8 8m0-8-8 8",
  sessions: "M5.5 4h8m-8 4h8m-8 4h8M2.5 4h.5m-.5 4h.5m-.5 4h.5",
  settings:
    "M2.5 5h6m3 0h2m-2 1.7a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM13.5 11h-6m-3 0h-2m3.5 1.7a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Z",
} as const;

export type IconName = keyof typeof SHAPES;

/** The kinds of tools that the protocol knows; any other one gets a plain dot. */
export function Icon({ name }: { name: string }) {
  const shape = Object.hasOwn(SHAPES, name) ? SHAPES[name as IconName] : null;
  return (
    <svg class="acp-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {shape ? <path d={shape} /> : <circle cx="8" cy="8" r="3.2" />}
    </svg>
  );
}
